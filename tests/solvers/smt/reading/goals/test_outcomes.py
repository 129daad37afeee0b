"""Proofs from lemmas about steps: of anything that a step decides of which they hold."""

import time
from collections import Counter
from collections.abc import Sequence as Sequence_
from typing import Any

import pytest
from attrs import evolve, frozen

import kraftcheck as kc
from kraftcheck.model.language.sequences import Sequence, every, symbol_of
from kraftcheck.model.language.terms import Term
from kraftcheck.model.language.words import all_of, any_of, choose
from kraftcheck.solvers.audit.numbers import Interpretation
from kraftcheck.solvers.program.evaluation import closure
from kraftcheck.solvers.program.parts import SystemFault
from kraftcheck.solvers.smt.induction import prove
from kraftcheck.solvers.smt.queries import PROVEN, Effort, Obligation, ObligationAnswer, Questions
from kraftcheck.solvers.smt.reading.goals import prover, truths
from kraftcheck.solvers.smt.reading.goals.proof import STEP, Frame
from kraftcheck.solvers.smt.reading.goals.prover import GoalProver
from kraftcheck.solvers.smt.reading.goals.truths import Decisions, decided_sets
from kraftcheck.solvers.smt.reading.quantified.engine import QuantifiedEngine
from kraftcheck.solvers.smt.theory import Theory, theory
from kraftcheck.solvers.smt.worker import rests_on
from kraftcheck.solvers.smt.z3terms import Substitution
from tests.shared.any_number import LEASE, Lease, lease
from tests.solvers.smt.asking import any_theory
from tests.solvers.smt.reading.goals.drawing import Drawing, drawing, interpretations

EFFORT = Effort(timeout=30)
LEMMA, FALSE = "lemma-who-is-fenced-does-not-lead", "lemma-nobody-is-fenced"
ANEW, KEPT = "lemma-nobody-is-fenced-anew", "lemma-the-fenced-stay-so"
UNFENCED, UNFENCED_STAYS = "leader-unfenced", "lemma-unfenced stays"


def _does_not_lead(step: kc.Step) -> kc.Truth:
    """It says all that is needed of a step: who leads is not fenced by it, and who begins to lead is not fenced."""
    before, after = step.before, step.after
    new = after.fenced.minus(before.fenced)
    begins = kc.negate(after.leader == before.leader)
    return kc.all_of(kc.negate(new.has(after.leader)),
                     kc.implies(begins, kc.negate(after.fenced.has(after.leader))))  # fmt: skip


def _is_unfenced(state: Lease) -> kc.Truth:
    return kc.negate(state.fenced.has(state.leader))


def with_lemmas(
    rests_on: Sequence_[str], system: kc.System = LEASE, decided: Sequence_[str] = ("fenced",)
) -> kc.System:
    """A lease whose invariant rests on lemmas about steps, one of which is false, and on what is decided of a step."""
    unfenced = kc.always(UNFENCED, "a fenced broker does not lead",
                         _is_unfenced, rests_on=(tuple(rests_on),))  # fmt: skip
    lemmas = [
        kc.step(LEMMA, "who is fenced does not lead", _does_not_lead),
        kc.step(FALSE, "nobody is fenced", lambda step: step.after.fenced.is_empty()),
        kc.step(ANEW, "nobody is fenced anew", lambda step: step.after.fenced.minus(step.before.fenced).is_empty()),
        kc.step(KEPT, "the fenced stay so", lambda step: step.before.fenced.minus(step.after.fenced).is_empty()),
        kc.always("lemma-unfenced", "as the invariant", _is_unfenced),
    ]
    return evolve(system, properties=[unfenced], lemmas=lemmas, decided=tuple(decided))


def answer(system: kc.System, action: str, *assumed: str) -> ObligationAnswer:
    """The answer to whether the invariant stays, where some may be assumed."""
    asked = GoalProver(Questions(any_theory(system)), EFFORT, time.monotonic)
    return asked.from_before(Obligation(UNFENCED, action), (), (), (), assumed)


@pytest.mark.parametrize("action", ["fence", "unfence"])
def test_a_claim_is_proven_from_a_lemma_about_the_step(action: str) -> None:
    """The proof names the lemma, and the invariants by which the lemma was proven."""
    system = with_lemmas([LEMMA])
    found = answer(system, action, UNFENCED, "lemma-unfenced")
    of_lemma = GoalProver(Questions(any_theory(system)), EFFORT, time.monotonic).from_before(
        Obligation(LEMMA, action), (), (), (), [UNFENCED, "lemma-unfenced"]
    )
    assert (found.result, of_lemma.result) == (PROVEN, PROVEN)
    assert STEP + LEMMA in found.core
    assert {*of_lemma.core} <= {*found.core}


def test_a_system_that_says_what_is_decided_is_asked_as_any_other() -> None:
    """Its rules are compared with ints, which know no step of any outcome; and the lemma that is false stays so."""
    found = kc.prove(with_lemmas([LEMMA]), cache=False, brokers="any")
    assert {row.id: row.verdict for row in found.rows if row.id in (UNFENCED, LEMMA, FALSE)} == {
        UNFENCED: "holds", LEMMA: "holds", FALSE: "refuted 1"}  # fmt: skip


def test_a_lemma_that_is_not_proven_proves_nothing() -> None:
    """What no step keeps is not assumed of one: the claim is proven without it, or not at all."""
    right, wrong = (answer(with_lemmas([FALSE], system), "fence", UNFENCED) for system in (LEASE, lease(forgets=True)))
    assert right.result == PROVEN
    assert STEP + FALSE not in right.core
    assert wrong.result != PROVEN


def test_a_lemma_is_of_one_action_and_of_what_may_be_assumed() -> None:
    """What holds of other steps, or another lemma, proves nothing, nor does what is proven from what fell since."""
    asked = GoalProver(Questions(any_theory(with_lemmas([ANEW], lease(forgets=True)))), EFFORT, time.monotonic)
    found = [asked.from_before(Obligation(UNFENCED, action), (), (), (), [UNFENCED]) for action in ("unfence", "fence")]
    assert [one.result == PROVEN for one in found] == [True, False]
    both = answer(with_lemmas([KEPT, FALSE], lease(forgets=True)), "fence", UNFENCED)
    assert both.result != PROVEN
    stays = GoalProver(Questions(any_theory(with_lemmas([UNFENCED_STAYS]))), EFFORT, time.monotonic)
    for name in ("lemma-unfenced", UNFENCED):
        found = [stays.from_before(Obligation(UNFENCED, "fence"), (), (), (), [name])]
        assert [(one.result, rests_on(one)) for one in found] == [(PROVEN, [name])]


def test_a_frame_is_of_one_action(monkeypatch: pytest.MonkeyPatch) -> None:
    """What one action leaves as it is another may change: each is asked what it leaves, and each once."""
    counted = Counter[str]()

    def frame(questions: Questions, action: str, assumed: Sequence_[str]) -> Frame:
        counted[action] += 1
        return Frame(core=frozenset({f"of {action}"}))

    monkeypatch.setattr(prover, "frame_of", frame)
    asked = GoalProver(Questions(any_theory(LEASE)), EFFORT, time.monotonic)
    for action in ("fence", "unfence", "fence"):
        found = asked.from_before(Obligation(UNFENCED, action), (), (), (), [UNFENCED])
        assert {name for name in found.core if name.startswith("of ")} == {f"of {action}"}
    assert counted == {"fence": 1, "unfence": 1}


def test_where_nothing_is_decided_no_lemma_is_asked() -> None:
    """A claim that rests on lemmas about steps is proven as any other where the system says not what steps decide."""
    found = answer(with_lemmas([LEMMA], decided=()), "fence", UNFENCED)
    assert found.result == PROVEN
    assert not any(name.startswith(STEP) for name in found.core)


def test_what_is_decided_is_anything_but_for_the_lemmas() -> None:
    """Without a lemma that holds nothing is proven of any outcome, though all of it is of the outcome that there is."""
    of = any_theory(with_lemmas([LEMMA]))
    questions = Questions(of)
    premises = questions.premises("fence", [UNFENCED])
    loose = questions.of_any_outcome("fence", UNFENCED)
    (exact,) = questions.goals(Obligation(UNFENCED, "fence"))
    refuted = {name: QuantifiedEngine(premises, EFFORT).refute([goal]).result for name, goal in
               (("loose", loose), ("exact", exact))}  # fmt: skip
    assert refuted["exact"] == PROVEN
    assert refuted["loose"] != PROVEN


def test_an_invariant_that_stays_is_a_lemma_about_the_step() -> None:
    """It is proven from what holds before the step, and the claim rests on that."""
    found = answer(with_lemmas([UNFENCED_STAYS]), "fence", "lemma-unfenced")
    assert found.result == PROVEN
    assert {STEP + UNFENCED_STAYS, "invariant: lemma-unfenced"} <= {*found.core}
    assert answer(with_lemmas([UNFENCED_STAYS], lease(forgets=True)), "fence", "lemma-unfenced").result != PROVEN


@pytest.mark.parametrize("forgets", [False, True])
def test_a_lemma_of_a_wrong_system_does_not_hide_its_defect(forgets: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """All claims of the lease are proven with a lemma, which is not idle; and none of them where it forgets leaders."""
    monkeypatch.setattr(GoalProver, "is_needed", True)
    system = with_lemmas([LEMMA], lease(forgets))
    few = theory(system, system.setting(None, {}))
    proof = prove(lambda: any_theory(system), effort=EFFORT, clock=time.monotonic, few=[lambda: few])
    assert [proof.proven(name) for name in (UNFENCED, LEMMA)] == [not forgets] * 2
    assert not proof.proven(FALSE)
    assert LEMMA not in proof.idle_lemmas()


@frozen
class Deep:
    """A record with two sets."""

    inner: Any
    outer: Any


@frozen
class Many:
    """Sets, some of them in records and tuples, a truth and a word."""

    one: Any
    other: Any
    kept: Any
    flag: Any
    word: Any
    deep: Deep
    pair: Any


def many() -> Theory:
    """Any number of participants, and an action that changes every field, and another that changes one."""

    def go(s: Many) -> Many:
        return Many(s.kept, s.one, s.other, kc.negate(s.flag), s.word - 1, Deep(s.one, s.kept), (s.one, s.kept))

    def stay(s: Many) -> Many:
        return evolve(s, flag=kc.negate(s.flag), one=kc.choose(s.flag, s.one, s.one))

    def all_fields(s: Many) -> kc.Truth:
        return kc.any_of(s.flag, s.one.same(s.other), s.kept.same(s.one), s.word < 0, s.deep.inner.same(s.deep.outer),
                         *(one.is_empty() for one in s.pair))  # fmt: skip

    claim = kc.always("all", "a claim about every field", all_fields, rests_on=(("lemma",),))
    system = kc.System(
        name="many", summary="Sets.", bounds=[kc.Bound("n", 1, 5, "how many", takes_any=True)],
        layout=lambda at: Many(
            *(kc.set_below(at["n"]) for _ in range(3)), kc.truth(), kc.word_below(at["n"], -1),
            Deep(kc.set_below(at["n"]), kc.set_below(at["n"])), tuple(kc.set_below(at["n"]) for _ in range(2))),
        initial=lambda setting: [kc.all_where(lambda s: {"any": s.word >= -1})], properties=[claim],
        actions=[kc.Action("go", go), kc.Action("stay", stay)],
        lemmas=[kc.step("lemma", "a lemma about a step", lambda t: all_fields(t.after))],
        decided=("one", "other", "flag", "word", "deep", "pair"), scopes={"default": {"n": 2}},
    )  # fmt: skip
    return any_theory(system)


def test_each_decided_set_and_truth_has_a_symbol_of_its_own() -> None:
    """Two fields with one symbol would be said to be equal; what an action leaves, or does not decide, has none."""
    of = many()
    assert of.outcome is not None
    symbols = {action: of.outcome.names(action) for action in ("go", "stay")}
    assert {action: [*names] for action, names in symbols.items()} == {
        "go": ["one", "other", "flag", "deep.inner", "deep.outer", "pair[0]", "pair[1]"], "stay": ["flag"],
    }  # fmt: skip
    indexes = [symbol.index for names in symbols.values() for symbol in names.values()]
    assert len({*indexes}) == 8
    for kind in of.program.kinds:
        named = {node.index for node in closure([of.outcome_truth(kind, "all")])}
        assert named & {*indexes} == {symbol.index for symbol in symbols[kind.action.name].values()}
        assert of.outcome_truth(kind, "lemma") is of.outcome_truth(kind, "all")


def test_a_field_that_is_none_cannot_be_decided() -> None:
    """A system that names another field is refused, with the nearest names."""
    with pytest.raises(SystemFault, match=r"lease: 'fence' is decided, and no field; .*fenced"):
        any_theory(with_lemmas([LEMMA], decided=["fence"]))


def with_names(world: Interpretation, of: Drawing, sets: Sequence_[tuple[Term, Term]]) -> Interpretation:
    """An interpretation in which each name means the word, or the set, that it is for."""
    graph, words = of.graph, dict(world.words)
    for name in graph.variables:
        if name.startswith("decision "):
            words[name] = [world.value(graph.nodes[int(name.removeprefix("decision "))])]
    for member, symbol in sets:
        words[graph.variables[symbol.value]] = [world.value(member, {0: place}) for place in range(world.count)]
    return Interpretation(world.count, words)


def test_a_claim_of_every_decision_holds_of_the_one_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """A drawn claim has the same value with names, where these mean the words and the set that they are for."""
    monkeypatch.setattr(truths, "LONG", 4)
    monkeypatch.setattr(truths, "SHORT", 2)
    named = Counter[str]()
    for seed in range(60):
        of = drawing(seed)
        argument, symbol = of.graph.variable("argument", 0, 2), decided_set(of, "decided")
        claims = [of.claim(2) for _ in range(3)]
        sets = [(member(of, claims[0]), symbol)]
        whole = claim_about(of, claims, argument)
        told = Decisions(Substitution(of.graph), sets, [*of.words, argument]).named(whole)
        named.update({of.graph.variables[n.value].split()[0] for n in closure([told]) if n.op in ("var", "sequence")})
        for number, world in enumerate(interpretations(of)):
            meaning = with_names(Interpretation(world.count, {**world.words, "argument": [number % 3]}), of, sets)
            assert meaning.value(told) == meaning.value(whole)
            inside = [node for node in closure([told]) if node.op == "var"]
            assert all(node.lo <= meaning.value(node) <= node.hi for node in inside)
    assert min(named["decision"], named["decided"]) > 10


def decided_set(of: Drawing, name: str) -> Term:
    """The name of a set of places."""
    return symbol_of(Sequence.of_state(of.graph, name, 0, 1, truths=True))


def member(of: Drawing, condition: Any) -> Term:
    """Whether a place is a member of a set that is decided by a condition."""
    return _decided_by(of, condition).anywhere()


def _decided_by(of: Drawing, condition: Any) -> Sequence:
    return Sequence(of.graph, lambda at: choose(condition, of.bits.at(at), at == of.words[0]))


def claim_about(of: Drawing, truths: Sequence_[Any], argument: Term) -> Term:
    """A claim about the members of the set, and about a word, that the first truth decides."""
    members, word = _decided_by(of, truths[0]), choose(truths[0], *of.words)
    each = every(of.graph, lambda place: any_of(members.at(place), word == place))
    asked = any_of(members.at(argument), members.at(of.words[1]))
    return of.graph.lift(all_of(any_of(truths[1], each), any_of(truths[2], asked)))


def test_a_set_whose_members_depend_on_other_places_has_no_name() -> None:
    """To ask for another member would bind a place anew; nor has a name what is no set, or is the same everywhere."""
    of = drawing(0)
    simple = Sequence(of.graph, lambda at: any_of(of.bits.at(at), at == of.words[0])).anywhere()
    deep = Sequence(of.graph, lambda at: every(of.graph, lambda other: any_of(of.bits.at(other), at == other)))
    either = Sequence(of.graph, lambda at: any_of(of.bits.at(at), deep.at(at)))
    symbols = {name: decided_set(of, name) for name in ("simple", "deep", "either", "whole")}
    closed, truth = of.graph.lift(of.claim(1)), of.graph.truth_variable("truth")
    after = {"simple": simple, "deep": deep.anywhere(), "either": either.anywhere(), "closed": closed, "whole": closed}
    names = {**symbols, "closed": truth}
    assert decided_sets(Substitution(of.graph), after, names) == [(simple, symbols["simple"])]
