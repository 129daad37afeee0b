"""Goals and premises in parts: all hold just where the whole does, and the most relevant come first."""

import itertools
import random
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kraftcheck as kc
from kraftcheck.model.language.sequences import every
from kraftcheck.model.language.terms import Term
from kraftcheck.model.language.words import all_of, any_of, choose, negate
from kraftcheck.solvers.audit.numbers import Interpretation
from kraftcheck.solvers.smt.queries import PREMISE, PROVEN, Effort, Obligation, Premises, Questions, SolverAnswer
from kraftcheck.solvers.smt.reading.goals.proof import (
    SOON,
    STEP,
    Attempt,
    Cases,
    Frame,
    GoalProof,
    Parts,
    PremiseParts,
    Relevance,
    chosen,
    frame_of,
    simplified,
)
from kraftcheck.solvers.smt.reading.goals.truths import MOST, Conjuncts, consequences, replaced
from kraftcheck.solvers.smt.reading.quantified.engine import GUARD
from kraftcheck.solvers.smt.z3terms import Substitution, Z3Reader
from tests.shared.any_number import LEASE, lease
from tests.solvers.smt.asking import any_theory, premises_of
from tests.solvers.smt.reading.goals.drawing import PLACES, Drawing, by_parts, drawing, interpretations, proves
from tests.solvers.smt.reading.test_premises import ACTIONS, COUNT, endless, most_of_each
from tests.solvers.smt.reading.worlds import meaning

CLAIMS = ("lemma-commits-reach-candidates", "lemma-commits-are-applied", "lemma-known-covers-candidates", "logs-match")
"""Claims with what is cut: conjunctions, comparisons of places, and conditions."""

WORLDS = 5  # interpretations of each goal; all but the first are of no state that can be reached


def worlds(at: Interpretation, dice: random.Random) -> Iterator[Interpretation]:
    """An interpretation, and others with some words of the same fields in other places."""
    yield at
    for _ in range(WORLDS - 1):
        words = deepcopy(dict(at.words))
        for path in dice.choices([*words], k=12):
            held: Any = words[path]
            while held and isinstance(held[0], list):
                held = dice.choice(held)
            if len(held) > 1:
                held[dice.randrange(len(held))] = dice.choice(held)
        yield Interpretation(at.count, words)


LONG = ("alter_partition", "fence", "shut_down", "unfence", "register", "elect_preferred", "fetch", "apply_metadata")
"""What takes long to evaluate; events of the controller take minutes."""


@pytest.mark.parametrize("action", [pytest.param(a, marks=pytest.mark.slow) if a in LONG else a for a in ACTIONS])
def test_all_parts_hold_just_where_the_goal_does(action: str) -> None:
    """Whole, cut by places, and cut by conditions, where the guards hold; some goals fail, and some hold."""
    of, dice, values = endless(), random.Random(5), set[bool]()
    (step,) = most_of_each(25, 2)[action][:1]
    questions, at = Questions(of), meaning(of, step.before, step.arguments, COUNT)
    premises = questions.premises(action, [])
    guards = [term for name, term in premises.terms.items() if name.startswith(GUARD)]
    cutter = by_parts(questions, premises, Effort())
    tried = [one for one in worlds(at, dice) if all(one.value(guard) for guard in guards)]
    assert len(tried) > 1
    for claim in CLAIMS:
        goals = questions.goals(Obligation(claim, action))
        parts = cutter.parts(goals)
        cuts = [cutter.cut(part, 0) for part in parts]
        some = dice.sample([case for cases in cuts for case in cases], min(6, sum(map(len, cuts))))
        for world in tried:
            holds = all(world.value(goal) for goal in goals)
            values.add(holds)
            each = [bool(world.value(part)) for part in parts]
            assert all(each) == holds, claim
            assert [all(world.value(case) for case in cases) for cases in cuts] == each, claim
            for case in some:
                assert all(world.value(one) for one in cutter.cut(case, 1)) == bool(world.value(case)), claim
    assert True in values


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 10**9))
def test_drawn_claims_hold_just_where_all_their_parts_do(seed: int) -> None:
    """Conjuncts, denied ones, cases by place and by condition, and what is simplified, of any claim."""
    of = drawing(seed)
    truth = of.graph.lift(of.claim(5))
    substitution = Substitution(of.graph)
    conjuncts = Conjuncts(substitution)
    cases = Cases(substitution, conjuncts)
    each = {
        "conjuncts": conjuncts.of(truth), "by place": cases.by_place(truth), "by condition": cases.by_condition(truth),
        "simplified": [simplified(substitution, truth)],
    }  # fmt: skip
    denied = conjuncts.of(truth, holds=False)
    for world in interpretations(of):
        holds = bool(world.value(truth))
        told = {name: all(world.value(part) for part in parts) for name, parts in each.items()}
        assert told == dict.fromkeys(each, holds)
        assert all(world.value(part) for part in denied) == (not holds)


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 10**9))
def test_what_is_known_changes_no_claim_where_it_holds(seed: int) -> None:
    """A claim in which a truth that is known is replaced is as true where that truth is what it is said to be."""
    of = drawing(seed)
    fact, truth = (of.graph.lift(of.claim(depth)) for depth in (2, 4))
    substitution = Substitution(of.graph)
    simpler = {holds: simplified(substitution, truth, consequences(fact, holds)) for holds in (True, False)}
    for world in interpretations(of):
        assert world.value(simpler[bool(world.value(fact))]) == world.value(truth)


def claim_of_every(of: Drawing, claim: Callable[[Any], Any]) -> Term:
    """A claim about every place, as a term."""
    return of.graph.lift(every(of.graph, claim))


def test_a_place_that_is_bound_again_is_another_place() -> None:
    """What is known of a place is not said of the places of a claim within, though these have the same number."""
    of = drawing(0)
    closed = claim_of_every(of, lambda place: of.bits.at(place))
    whole = claim_of_every(of, lambda place: any_of(negate(of.bits.at(place)), closed))
    assert closed.args[0] is whole.args[0]
    assert simplified(Substitution(of.graph), whole) is whole
    elsewhere = claim_of_every(of, lambda place: any_of(of.bits.at(place), negate(place == of.words[0])))
    here = claim_of_every(of, lambda place: any_of(negate(place == of.words[0]), elsewhere))
    assert simplified(Substitution(of.graph), here) is here  # a word that is that place is not the one within


def as_true(of: Drawing, whole: Term, parts: Sequence[Term]) -> bool:
    """Whether parts all hold just where the whole does, whatever its words, its sequence and a truth `known` are."""
    worlds = [
        Interpretation(at.count, {**at.words, "known": [known]}) for at in interpretations(of) for known in (0, 1)
    ]
    return all(all(at.value(part) for part in parts) == bool(at.value(whole)) for at in worlds)


def test_what_is_replaced_outside_is_not_replaced_within() -> None:
    """A truth about a place is there outside and within a claim that binds a place of the same number."""
    of = drawing(0)
    known = of.graph.truth_variable("known")

    def each(place: Any) -> Any:
        return any_of(of.bits.at(place), place == of.words[0])

    every_one = claim_of_every(of, each)
    whole = claim_of_every(of, lambda place: any_of(of.bits.at(place), known, all_of(each(place), every_one)))
    assert as_true(of, whole, [simplified(Substitution(of.graph), whole)])


def test_a_conjunct_of_a_claim_within_is_of_the_outer_place() -> None:
    """One that does not depend on the inner place says of each outer place what the whole says."""
    of = drawing(0)
    known = of.graph.truth_variable("known")

    def within(outer: Any) -> Any:
        return every(of.graph, lambda at: all_of(outer == of.words[0], any_of(of.bits.at(at), known)))

    whole = claim_of_every(of, lambda place: any_of(of.bits.at(place), within(place)))
    parts = Conjuncts(Substitution(of.graph)).of(whole)
    assert len(parts) > 1
    assert as_true(of, whole, parts)


def check_one_place(seed: int) -> None:
    """Compare a drawn claim about two places, with parts that bind one again, with what it is where some is known."""
    of, made = drawing(seed), list[tuple[Any, Any]]()
    closed = [of.claim(2), of.claim(1)]

    def of_one(first: Any) -> bool:
        parts = [*closed, of.claim(1, first), of.claim(2, first)]

        def of_two(second: Any) -> bool:
            fact = of.dice.choice([any_of, all_of])(of.claim(seed % 2, second), of.claim(0, first), of.claim(0))
            both = [*parts, of.claim(1, second), of.claim(2, first, second)]
            of.dice.shuffle(both)
            truth = choose(any_of(*both[:2]), all_of(*both[1:4]), any_of(*both[3:]))
            made.append((of.graph.lift(fact), of.graph.lift(truth)))
            return True

        return bool(every(of.graph, of_two))

    every(of.graph, of_one)
    ((fact, truth),) = made
    told = {holds: replaced(Substitution(of.graph), truth, consequences(fact, holds)) for holds in (True, False)}
    for world, first, second in itertools.product(interpretations(of), range(PLACES), range(PLACES)):
        at = {0: first, 1: second}
        assert world.value(told[bool(world.value(fact, at))], at) == world.value(truth, at), seed


def test_what_is_known_of_one_place_is_known_of_no_other() -> None:
    """A drawn claim about a place is as true where what is known of that place is replaced in it."""
    for seed in range(150):
        check_one_place(seed)


def test_cases_of_two_disjuncts_are_left_as_they_are() -> None:
    """Each has a case for each place that it names: of one of them alone the cases would say less."""
    of = drawing(0)

    def claim(number: int) -> Term:
        at_word = of.bits.at(of.words[1 - number])
        return claim_of_every(of, lambda at: choose(at == of.words[number], at_word, of.bits.at(at)))

    one, other = claim(0), claim(1)
    substitution = Substitution(of.graph)
    for truth in (of.graph.lift(any_of(*pair)) for pair in itertools.permutations((one, other, of.bits.at(0)))):
        cases = Cases(substitution, Conjuncts(substitution)).by_place(truth)
        for _, world in itertools.product(range(4), interpretations(of)):
            assert all(world.value(case) for case in cases) == bool(world.value(truth))


def test_disjunctions_are_distributed_up_to_a_limit() -> None:
    """Of few conjuncts the products are made; more are left, the longest in one piece; together they are as true."""
    of = drawing(0)
    several = [of.graph.truth_variable(f"truth {number}") for number in range(2 * MOST)]
    conjuncts = Conjuncts(Substitution(of.graph))

    def parts(some: int, others: int) -> int:
        one, other = all_of(*several[:some]), all_of(*several[MOST : MOST + others])
        whole = of.graph.lift(any_of(one, other))
        found = conjuncts.of(whole)
        for _ in range(20):
            world = Interpretation(0, {name: [of.dice.random() < 0.8] for name in of.graph.variables})
            assert all(world.value(part) for part in found) == bool(world.value(whole))
        return len(found)

    assert [parts(2, 3), parts(2, 4), parts(MOST, 1), parts(3, 3), parts(MOST, 2)] == [6, 8, MOST, 3, MOST]


def test_a_disjunct_takes_it_that_the_others_fail() -> None:
    """What another disjunct says is not asked again; one that is implied is gone, and one that holds is all."""
    of = drawing(0)
    a, b, c = (of.graph.truth_variable(name) for name in "abc")
    substitution = Substitution(of.graph)

    def simpler(*disjuncts: Any) -> Any:
        return simplified(substitution, of.graph.lift(any_of(*disjuncts)))

    assert simpler(negate(a), all_of(a, b)) is of.graph.lift(any_of(negate(a), b))
    assert simpler(a, all_of(a, b)) is a
    assert simpler(a, choose(a, b, c)) is of.graph.lift(any_of(a, c))
    assert simpler(all_of(a, b), negate(a), negate(b)) is of.graph.constant(True)


EFFORT = Effort(timeout=20)


@pytest.mark.parametrize(("system", "stays"), [(LEASE, True), (lease(forgets=True), False)], ids=["right", "wrong"])
def test_a_goal_is_proven_only_if_all_its_parts_are(system: kc.System, stays: bool) -> None:
    """A claim that a step keeps is proven by parts, and one that a defect of the step breaks is not."""
    of = any_theory(system)
    questions, assumed = Questions(of), [claim.id for claim in of.invariants]
    kept = [
        proves(questions, Obligation("leader-unfenced", kind.action.name),
               questions.premises(kind.action.name, assumed), EFFORT)
        for kind in of.program.kinds
    ]  # fmt: skip
    assert len(kept) > 1
    assert all(kept) == stays


def test_every_part_of_a_goal_is_proven_and_names_what_it_rests_on() -> None:
    """A part that does not follow is seen wherever it is; what proves the others, soon or late, is in the core."""
    of = drawing(0)
    a, b, c = (of.graph.truth_variable(name) for name in "abc")
    names = {f"{GUARD}three": of.graph.truth_variable("g"), f"{PREMISE}one": a, f"{PREMISE}two": b}
    read = Z3Reader()
    premises = premises_of(read, (a,), names)
    for soon in (True, False):
        for goals in itertools.permutations((a, b, c)):
            parts = PremiseParts(Parts(Substitution(of.graph)), read.expression)
            proof = Late(Substitution(of.graph), (parts.of(premises),), parts, EFFORT, Frame())
            proof.soon = soon
            assert proof.answer(goals).result != PROVEN
            assert proof.answer([of.graph.lift(negate(names[f"{GUARD}three"]))]).result != PROVEN
            assert proof.answer([goal for goal in goals if goal is not c]).core == tuple(sorted(names))


class Late(GoalProof):
    """A proof that may find nothing soon, for there it attempts nothing."""

    soon = True

    def _from_any(self, part: Term, attempts: Sequence[Attempt]) -> SolverAnswer:
        return super()._from_any(part, attempts if self.soon or attempts is not SOON else ())


def framed(action: str) -> Frame:
    """What a step of an action leaves as it is, by all that is short."""
    of = endless()
    assumed = [claim.id for claim in of.invariants]
    return frame_of(Questions(of), action, [name for name in assumed if "controller" in name])


LEADER = {"controller.leader", "leader_epoch"}


@pytest.mark.parametrize(("action", "words"), [("alter_partition", LEADER), ("fence", set())])
def test_the_frame_of_a_step_is_what_no_such_step_changes(action: str, words: set[str]) -> None:
    """An ISR is altered, and the leader stays, though elected anew; not so by a fencing; so it is in steps taken."""
    of, frame = endless(), framed(action)
    paths = {term.index: slot.path for term, slot in zip(of.program.state, of.program.layout.slots, strict=True)}
    names = {paths[before.index] for _, before in frame.facts}
    assert names & LEADER == words
    assert words == set() or frame.core
    for step in most_of_each(25, 2)[action]:
        at = meaning(of, step.before, step.arguments, COUNT)
        assert [paths[before.index] for after, before in frame.facts if at.value(after) != at.value(before)] == []


def test_a_proof_rests_on_what_its_frame_rests_on() -> None:
    """The core of a proof names the premises of the frame, and the guards by which parts were made simpler."""
    of, questions = endless(), Questions(endless())
    premises = questions.premises("fence", [])
    frame = Frame(core=frozenset({"invariant: of the frame"}))
    found = by_parts(questions, premises, EFFORT, frame).answer([of.program.graph.constant(True)])
    guards = {name for name in premises.terms if name.startswith(GUARD)}
    assert guards
    assert {*found.core} == {"invariant: of the frame"} | guards


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 10**9))
def test_a_claim_holds_just_where_all_its_parts_do(seed: int) -> None:
    """Where the facts hold by which they were made simpler, as many times as it takes."""
    of = drawing(seed)
    fact, truth = (of.graph.lift(of.claim(depth)) for depth in (1, 5))
    parts = Parts(Substitution(of.graph), consequences(fact, True)).of(truth)
    for world in interpretations(of):
        if world.value(fact):
            assert all(world.value(part) for part in parts) == bool(world.value(truth))


def truths(of: Drawing, names: str) -> list[Term]:
    """Truths that nothing else is said of."""
    return [of.graph.truth_variable(name) for name in names]


def cut_premises(terms: dict[str, Term], **others: int) -> Premises:
    """Premises with some terms by name, each read as its name, and with others that are no terms."""
    return Premises({name: name for name in terms} | others, (), (), 0, terms)


def test_invariants_and_lemmas_about_steps_have_parts() -> None:
    """Each conjunct has a name of its own, by which the whole is named; guards are left as they are."""
    of = drawing(0)
    a, b, c = truths(of, "abc")
    both = of.graph.lift(all_of(a, b))
    whole = cut_premises({"guard: g": both, "other": c, PREMISE + "one": both, STEP + "two": both}, domain=5)
    of_parts = PremiseParts(Parts(Substitution(of.graph)), lambda term: f"read {term.index}")
    parts = of_parts.of(whole)
    in_parts = {f"{name}, part {number}": part for name in (PREMISE + "one", STEP + "two")
                for number, part in enumerate((a, b))}  # fmt: skip
    assert parts.terms == {"guard: g": both, "other": c, **in_parts}
    kept = {"guard: g": "guard: g", "other": "other", "domain": 5}
    assert parts.truths == kept | {name: f"read {term.index}" for name, term in in_parts.items()}
    assert {name: of_parts.whole(name) for name in parts.truths} == {
        name: name.partition(",")[0] for name in parts.truths
    }


def test_only_what_may_be_left_out_is() -> None:
    """A choice of premises has all guards and domains, and no invariant, bound or lemma that it does not name."""
    of = drawing(0)
    a, b, c, d, e = truths(of, "abcde")
    names = ("invariant: a", "invariant: b", "bound: c", "guard: d", STEP + "e")
    some = chosen(cut_premises(dict(zip(names, (a, b, c, d, e), strict=True)), domain=5), ["invariant: b"])
    assert some.truths == {"invariant: b": "invariant: b", "guard: d": "guard: d", "domain": 5}
    assert some.terms == {"invariant: b": b, "guard: d": d}


def test_the_parts_that_share_most_with_a_goal_are_most_relevant() -> None:
    """Of each invariant so many are left as are wanted, and whatever has no more parts than that is left whole."""
    of = drawing(0)
    a, b, c, d = truths(of, "abcd")
    either = of.graph.lift(any_of(a, b))
    long = (of.graph.lift(any_of(c, d)), either, a)
    parts = {f"{PREMISE}long, part {number}": part for number, part in enumerate(long)}
    premises = cut_premises({**parts, PREMISE + "short, part 0": d}, domain=5)
    relevance = Relevance(premises, lambda name: name.partition(",")[0])
    goal = of.graph.lift(any_of(either, negate(c)))
    kept = {count: [*relevance.most(premises, goal, count).truths] for count in (1, 2, 3)}
    assert kept[1] == [PREMISE + "long, part 1", PREMISE + "short, part 0", "domain"]
    assert kept[2] == [PREMISE + "long, part 1", PREMISE + "long, part 2", PREMISE + "short, part 0", "domain"]
    assert kept[3] == [*premises.truths]
