"""Claims as quantifiers of Z3, and axioms of sizes, each alone: nothing false is proven."""

import itertools
import operator
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import pytest
import z3
from attrs import frozen
from hypothesis import given, settings
from hypothesis import strategies as st

from kraftcheck.ci.systems.subject import subject
from kraftcheck.model.language.anynumber import AnyReplicas, AnySet
from kraftcheck.model.language.sequences import Sequence as Words
from kraftcheck.model.language.sequences import cardinality, every, word_at
from kraftcheck.model.language.system import ANY
from kraftcheck.model.language.terms import Graph, Term
from kraftcheck.model.language.words import all_of, any_of, choose, implies, negate
from kraftcheck.solvers.audit.numbers import Interpretation
from kraftcheck.solvers.smt.instances import Instances
from kraftcheck.solvers.smt.queries import PROVEN, UNDECIDED, Effort, Obligation, Premises, Questions
from kraftcheck.solvers.smt.reading import z3_endless
from kraftcheck.solvers.smt.reading.quantified import engine as quantified
from kraftcheck.solvers.smt.reading.quantified.engine import CountedSet, QuantifiedEngine, QuantifiedReader
from kraftcheck.solvers.smt.reading.z3_endless import EndlessEngine, Sized, Value
from kraftcheck.solvers.smt.theory import Theory, theory
from kraftcheck.solvers.smt.z3terms import Z3Reader
from tests.shared.samples import one_in
from tests.solvers.smt.asking import premises_of
from tests.solvers.smt.reading.goals.drawing import proves
from tests.solvers.smt.test_any_number import COUNT, MEMBERS, questions_about, satisfiable, value_of_world

EFFORT = Effort(timeout=20)


def follows(graph: Graph, symbols: Sequence[Term], known: Sequence[Term], goal: Any) -> bool:
    """Whether a goal is proven from what is known of some sequences."""
    read, terms = Z3Reader(), {f"known {number}": truth for number, truth in enumerate(known)}
    premises = premises_of(read, symbols, terms)
    return QuantifiedEngine(premises, EFFORT).refute([graph.lift(goal)]).result == PROVEN


def content(graph: Graph, words: Words, held: Sequence[int]) -> Term:
    """The truth that a sequence has these words, and 0 at every other place."""

    def word(at: Any) -> Any:
        return any_of(*(at == place for place, one in enumerate(held) if one))

    return graph.lift(every(graph, lambda at: any_of(
        all_of(words.at(at), word(at)), all_of(negate(words.at(at)), negate(word(at))))))  # fmt: skip


@settings(max_examples=8, deadline=None)
@given(MEMBERS, MEMBERS, MEMBERS, MEMBERS, st.permutations(range(COUNT)), st.integers(0, COUNT), st.integers(0, 12))
def test_nothing_false_of_concrete_sets_is_proven(
    one: list[int], other: list[int], third: list[int], listed: list[int], ranks: list[int], word: int, asked: int
) -> None:
    """The denial of what is true of concrete sets, their sizes and first members does not follow from their members."""
    graph, world = Graph(), dict[str, list[int]]()

    def members(name: str, held: list[int]) -> Words:
        world[name] = held
        return Words.of_state(graph, name, 0, 1, truths=True)

    named = [members(f"set {n}", held) for n, held in enumerate((one, other, third))]
    in_list, order = members("replicas", listed), Words.of_state(graph, "ranks", 0, 1 << 1000)
    world["ranks"] = ranks
    replicas = AnyReplicas(in_list, order, COUNT)
    truth = operator.itemgetter(asked)(questions_about([AnySet(words) for words in named], replicas, word))
    wrong = negate(truth) if Interpretation(COUNT + 1, world).value(graph.lift(truth)) else truth
    known = [content(graph, words, world[f"set {n}"]) for n, words in enumerate(named)]
    known += [content(graph, in_list, listed), *(graph.lift(order.at(at) == rank) for at, rank in enumerate(ranks))]
    symbols = [words.symbol for words in (*named, in_list, order) if words.symbol is not None]
    assert not follows(graph, symbols, known, wrong)


def kept_sets(claim: Callable[[Graph, Term, Callable[[Any], Any]], Any]) -> bool:
    """Whether a claim about the sizes of the sets that brokers keep is proven."""
    graph = Graph()
    kept = graph.intern("sequence", (graph.constant(2),), len(graph.variables), 0, 1, True)
    graph.variables.append("kept")
    return follows(graph, [kept], [], claim(graph, kept, lambda owner: cardinality(
        graph, lambda at: word_at(kept, owner, at))))  # fmt: skip


def test_a_broker_keeps_one_set() -> None:
    """Sets that equal brokers keep are of one size, in a claim about every broker too; of two brokers they need not."""
    assert kept_sets(lambda graph, kept, size: every(graph, lambda b: implies(b == 3, size(b) == size(3))))
    assert not kept_sets(lambda graph, kept, size: every(graph, lambda b: implies(b == 2, size(b) == size(3))))


def test_sets_of_two_owners_are_not_those_of_one() -> None:
    """What two brokers keep together is of the size of what each keeps only where they keep the same."""

    def together(graph: Graph, kept: Term, one: Any, other: Any) -> Any:
        return cardinality(graph, lambda at: any_of(word_at(kept, one, at), word_at(kept, other, at)))

    def with_others(graph: Graph, kept: Term, _: Any) -> Any:
        return every(graph, lambda b: every(graph, lambda c: every(graph, lambda d: any_of(
            together(graph, kept, b, c) == together(graph, kept, b, d),
            together(graph, kept, b, d) == together(graph, kept, c, d)))))  # fmt: skip

    assert kept_sets(lambda graph, kept, size: every(graph, lambda b: together(graph, kept, b, b) == size(b)))
    assert not kept_sets(with_others)


@pytest.mark.parametrize("largest", [2, 3])
def test_what_is_true_of_a_short_word_is_none_of_a_long_one(largest: int) -> None:
    """A set that a word of an outer place shortens is not taken for one whose word is too small to."""
    graph = Graph()
    held = Words.of_state(graph, "held", 0, 1, truths=True)
    small, word = Words.of_state(graph, "small", 0, 2), Words.of_state(graph, "word", 0, largest)

    def size(words: Words, owner: Any, more: int) -> Any:
        return cardinality(graph, lambda at: all_of(held.at(at), words.at(owner) <= at + more))

    symbols = [one.symbol for one in (held, small, word) if one.symbol is not None]
    goal = every(graph, lambda b: any_of(size(small, b, 0) == 7, size(word, b, 2) >= 1))
    assert follows(graph, symbols, [graph.lift(held.at(0))], goal) == (largest == 2)


def test_a_set_that_speaks_of_every_place_has_an_unknown_size() -> None:
    """Nothing is proven of a set whose members are said by a claim about every place, but that its size is a number."""

    def of_all(graph: Graph, kept: Term, owner: Any) -> Any:
        return cardinality(graph, lambda at: every(graph, lambda x: any_of(
            word_at(kept, owner, x), word_at(kept, x, at))))  # fmt: skip

    def two_alike(graph: Graph, kept: Term, _: Any) -> Any:
        return every(
            graph,
            lambda b: any_of(
                *(of_all(graph, kept, b + one) == of_all(graph, kept, b + two) for one, two in ((1, 2), (1, 3), (2, 3)))
            ),
        )

    assert kept_sets(lambda graph, kept, _: every(graph, lambda b: of_all(graph, kept, b) >= 0))
    assert not kept_sets(two_alike)


def sized(held: Sequence[int], other: Sequence[int], claim: Callable[[Any, Any], Any]) -> bool:
    """Whether a claim about the sizes of two concrete sets is proven."""
    graph = Graph()
    sets = [Words.of_state(graph, name, 0, 1, truths=True) for name in ("one", "other")]
    known = [content(graph, words, members) for words, members in zip(sets, (held, other), strict=True)]
    symbols = [words.symbol for words in sets if words.symbol is not None]
    return follows(graph, symbols, known, claim(*(cardinality(graph, words.at) for words in sets)))


SIZES = [((0, 0), (0, 0)), ((0, 1), (0, 0)), ((1, 1), (1, 0)), ((1, 1), (0, 0)), ((1, 0), (0, 1))]


@pytest.mark.parametrize(("held", "other"), SIZES)
def test_sizes_are_those_of_concrete_sets(held: tuple[int, ...], other: tuple[int, ...]) -> None:
    """Members of a set are counted, up to two, and sets are compared by members; no other size is proven."""
    count, difference = sum(held), sum(held) - sum(other)
    assert sized(held, other, lambda one, _: one >= count)
    assert not sized(held, other, lambda one, _: one > count)
    assert not sized(held, other, lambda one, _: one < count)
    assert not sized(held, other, lambda one, two: one - two != difference)


def test_a_set_within_another_is_smaller() -> None:
    """A set is smaller than one that has all its members and another, whatever these are; and not by two."""

    def smaller(by: int) -> bool:
        graph = Graph()
        one, two = (Words.of_state(graph, name, 0, 1, truths=True) for name in ("one", "two"))
        known = [every(graph, lambda at: implies(one.at(at), two.at(at))), two.at(7), negate(one.at(7))]
        goal = cardinality(graph, one.at) + by <= cardinality(graph, two.at)
        symbols = [words.symbol for words in (one, two) if words.symbol is not None]
        return follows(graph, symbols, [graph.lift(truth) for truth in known], goal)

    assert smaller(1)
    assert not smaller(2)


def test_two_sets_that_cover_a_third_are_no_smaller() -> None:
    """A set whose members are each in one of two others is as large as both at most; else nothing is said."""

    def together(outside: int) -> bool:
        graph = Graph()
        words = [Words.of_state(graph, name, 0, 1, truths=True) for name in ("whole", "one", "other")]
        whole, one, other = words
        covered = every(graph, lambda at: any_of(negate(whole.at(at)), one.at(at), other.at(at), at < outside))
        symbols = [each.symbol for each in words if each.symbol is not None]
        sizes = [cardinality(graph, each.at) for each in words]
        return follows(graph, symbols, [graph.lift(covered)], sizes[0] <= sizes[1] + sizes[2])

    assert together(0)
    assert not together(1)


def test_a_set_that_is_one_of_two_has_its_size() -> None:
    """By a condition that is the same at every place a set is one of two; it is of the size of that one alone."""
    graph = Graph()
    sets = [Words.of_state(graph, name, 0, 1, truths=True) for name in ("one", "other")]
    first = graph.truth_variable("first")
    symbols = [first, *(words.symbol for words in sets if words.symbol is not None)]
    one, other, either = (cardinality(graph, claim) for claim in (
        sets[0].at, sets[1].at, lambda at: choose(first, sets[0].at(at), sets[1].at(at))))  # fmt: skip
    assert follows(graph, symbols, [], either == choose(first, one, other))
    assert not follows(graph, symbols, [], either == one)
    assert not follows(graph, symbols, [first], either == other)


def any_replication(rules: str = "fixed") -> Theory:
    """The theory of replication with any number of brokers, records and leader epochs."""
    chosen = subject("replication", "tiny", {"brokers": ANY, "unbounded": 1}, rules, proof=True)
    return theory(chosen.system, chosen.setting)


def proven(of: Theory, claim: str, action: str, assumed: Sequence[str]) -> bool:
    """Whether a claim is proven of an action from some invariants, with quantifiers."""
    questions = Questions(of)
    return proves(questions, Obligation(claim, action), questions.premises(action, assumed), EFFORT)


COMMITS = ("lemma-logs-sorted", "lemma-ends-within-log", "lemma-commits-reach-candidates", "lemma-shown-is-committed",
           "watermark-within-log", "loss-is-paid-for")  # fmt: skip
"""What a commit is safe by."""

HARD = [
    ("fence", "lemma-leader-has-its-epoch",
     ("lemma-history-is-current", "lemma-logs-sorted", "lemma-no-record-of-the-future")),
    ("produce", "leader-complete", ("lemma-controller-leader-in-isr", *COMMITS)),
    ("produce", "consistent-reads", COMMITS),
]  # fmt: skip
"""Claims of which instances prove nothing in a minute, and what they rest on."""


@pytest.mark.parametrize("case", one_in(3, HARD), ids=lambda case: f"{case[0]} {case[1]}")
def test_what_instances_do_not_prove_is_proven(case: tuple[str, str, tuple[str, ...]]) -> None:
    """Claims about any number of brokers, records and epochs are proven from what they rest on, not from nothing."""
    action, claim, assumed = case
    of = any_replication()
    assert proven(of, claim, action, [claim, *assumed])
    assert not proven(of, claim, action, [])


def test_false_does_not_follow() -> None:
    """What is assumed of each step does not refute itself."""
    of = any_replication()
    false = of.program.graph.constant(False)
    for kind in of.program.kinds:
        premises = Questions(of).premises(kind.action.name, ["lemma-logs-sorted", "lemma-history-is-current"])
        assert QuantifiedEngine(premises, EFFORT).refute([false]).result != PROVEN, kind.action.name


def test_a_claim_is_proven_in_each_case_of_a_guard() -> None:
    """Where a guard is a disjunction a claim must hold in every case; the proof rests on the guard."""
    graph = Graph()
    words = Words.of_state(graph, "words", 0, 9)
    assert words.symbol is not None
    guard = {"guard: either": graph.lift(any_of(words.at(0) == 1, words.at(0) == 2, words.at(0) == 3))}
    premises = premises_of(Z3Reader(), (words.symbol,), guard)
    engine = QuantifiedEngine(premises, EFFORT)
    answer = engine.refute([graph.lift(words.at(0) <= 3)])
    assert (answer.result, answer.core) == (PROVEN, ("guard: either",))
    for most in (1, 2):
        assert engine.refute([graph.lift(words.at(0) <= most)]).result != PROVEN
    assert engine.refute([graph.lift(words.at(0) >= 2)]).result != PROVEN


def test_a_query_ends_where_z3_has_done_what_it_may() -> None:
    """What takes more than it may is undecided, in no time at all; with more it is proven."""
    graph = Graph()
    words = Words.of_state(graph, "words", 0, 9)
    assert words.symbol is not None
    rises = {"rises": graph.lift(every(graph, lambda at: words.at(at) < words.at(at + 1)))}
    premises = premises_of(Z3Reader(), (words.symbol,), rises)
    goal = graph.lift(words.at(0) < words.at(3))
    little, much = (QuantifiedEngine(premises, Effort(resources=most)).refute([goal]) for most in (10, 10_000_000))
    assert (little.result, much.result) == (UNDECIDED, PROVEN)


Axioms = Callable[[Instances, list[Sized], Value], None]

CLAIMED = {
    "_members": [(0, 0, 0), (1, 1, 1), (2, 2, 2)],
    "_compared": [(5, 1, 1), (1, 1, 1)],
    "_larger_by_two": [(5, 1, 1), (1, 5, 1)],
    "_covered": [(5, 1, 1), (1, 1, 5)],
    "_apart": [(1, 1, 1), (2, 2, 2), (0, 1, 2)],
    "_overlapping": [(1, 2, 1), (2, 2, 1), (0, 2, 1)],
}
"""For each kind of axioms, sizes of three sets that a model may have, most of them wrong."""

TOO_LARGE = ((2, 3, 5), (4, 2, 2))  # further sizes: members count up to two, and sets are compared beyond that

WORLDS = [*itertools.product([(0, 0), (1, 0), (1, 1)], [(0, 0), (1, 0), (1, 1)], [(0, 0), (0, 1), (1, 1)]),
          ((1, 0), (0, 1), (1, 0))]  # fmt: skip
"""Three sets of two, in each of the ways in which they may have members in common, and two that are equal."""


def said(axioms: Axioms, claimed: Sequence[tuple[int, ...]]) -> Instances:
    """What is said of three sets because a model has wrong sizes of them, whatever their members are in it."""
    instances, _ = of_three_sets()
    before = len(instances.facts)
    for world, wrong in itertools.product(WORLDS, claimed):
        known = value_of_world(concrete(world))
        sizes_of = dict(zip([one.index for one in instances.sets], wrong, strict=True))
        model = partial(_value, sizes_of, known)
        axioms(instances, z3_endless._all_sized(instances, model), model)
    assert len(instances.facts) > before
    return instances


def of_three_sets() -> tuple[Instances, list[int]]:
    """What is said of three sets before anything is said of their sizes, and the indices of these."""
    graph = Graph()
    sets = [AnySet(Words.of_state(graph, f"set {n}", 0, 1, truths=True)) for n in range(3)]
    instances = Instances(graph)
    instances.require(graph.lift(2 * one.size() == 18) for one in sets)
    instances.require(graph.lift(one.has(at)) for one in sets for at in (0, 1))
    instances.require([graph.lift(sets[0].plus(sets[1]).plus(sets[2]).is_empty())])  # so that all are compared
    return instances, [graph.lift(one.size()).index for one in sets]


def concrete(world: Sequence[Sequence[int]]) -> Interpretation:
    """Three sets by their members."""
    return Interpretation(2, {f"set {n}": list(held) for n, held in enumerate(world)})


def _value(sizes_of: Mapping[int, int], known: Value, term: Term) -> int:
    return sizes_of.get(term.index, known(term))


@pytest.mark.parametrize("kind", CLAIMED)
def test_axioms_of_each_kind_are_true_of_three_sets(kind: str) -> None:
    """All that axioms of one kind say, whatever model calls for it, is true of every three sets."""
    instances = said(getattr(z3_endless, kind), CLAIMED[kind])
    assert [world for world in WORLDS if not satisfiable(concrete(world), [], instances)] == []


@frozen
class Mistaken(Interpretation):
    """Concrete sets whose sizes, by the indices of their terms, may be wrong."""

    sizes: Mapping[int, int]

    def value(self, term: Term | int, bound: Mapping[int, int] | None = None) -> int:
        """A size as it is claimed; all else as it is."""
        claimed = self.sizes.get(term.index) if isinstance(term, Term) else None
        return super().value(term, bound) if claimed is None else claimed


def contradicted(kind: str, world: Sequence[Sequence[int]], claimed: Sequence[int]) -> bool:
    """Whether the axioms of a kind, as provers.md has them, contradict the claimed sizes of three sets."""
    sets = [({at for at, held in enumerate(one) if held}, size) for one, size in zip(world, claimed, strict=True)]
    pairs = list(itertools.permutations(sets, 2))
    match kind:
        case "_members":
            # Of a set with a known member the first one is not named, from which a second would have to differ.
            return any((size > 0 and not one) or size < min(len(one), 2) for one, size in sets)
        case "_compared":
            return any(one <= other and (size > of_other or (size == of_other and one != other))
                       for (one, size), (other, of_other) in pairs)  # fmt: skip
        case "_larger_by_two":
            return any(size >= of_other + 2 and len(one - other) < 2 for (one, size), (other, of_other) in pairs)
        case "_apart" | "_overlapping":
            return any(one & two <= shared and one | two <= whole and size + of_two > of_whole + of_shared
                       for (whole, of_whole), ((one, size), (two, of_two)) in itertools.product(sets, pairs)
                       for shared, of_shared in ([(set[int](), 0)] if kind == "_apart" else sets)
                       if shared is not one and shared is not two)  # fmt: skip
    return any(one <= two | three and size > of_two + of_three
               for (one, size), (two, of_two), (three, of_three) in itertools.permutations(sets, 3))  # fmt: skip


@pytest.mark.parametrize("kind", CLAIMED)
def test_axioms_of_each_kind_refute_wrong_sizes(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of three sets whose members are known, just those sizes are refuted that the axioms of one kind contradict."""
    for other in CLAIMED.keys() - {kind}:
        monkeypatch.setattr(z3_endless, other, lambda *_: None)
    outcomes = set()
    for world, claimed in itertools.product(WORLDS[::2], [*CLAIMED[kind], *TOO_LARGE]):
        instances, indices = of_three_sets()
        wrong, of = contradicted(kind, world, claimed), concrete(world)
        mistaken = Mistaken(of.count, of.words, dict(zip(indices, claimed, strict=True)))
        assert satisfiable(mistaken, [], instances) != wrong, (world, claimed)
        outcomes.add(wrong)
    assert outcomes == {True, False}


def kept_by_three(claim: Callable[[Callable[..., Any], Callable[[int], Any], Any], Any]) -> bool:
    """Whether a claim is proven about sizes of what three brokers keep, by who they are, and of another set."""
    graph = Graph()
    kept = graph.intern("sequence", (graph.constant(2),), len(graph.variables), 0, 1, True)
    graph.variables.append("kept")
    who = Words.of_state(graph, "who", 0, 1 << 1000)

    def size(*owners: int) -> Any:
        """Of the union of what these keep."""
        return cardinality(graph, lambda at: any_of(*(word_at(kept, who.at(one), at) for one in owners)))

    def one_of(condition: Any, one: int, other: int) -> Any:
        """Of what the first keeps where a condition holds, else of what the other does."""
        return cardinality(graph, lambda at: choose(
            condition, word_at(kept, who.at(one), at), word_at(kept, who.at(other), at)))  # fmt: skip

    goal = claim(size, who.at, one_of)
    premises = Premises({}, (), (kept,), 1, {})
    engine = EndlessEngine(premises, Effort(timeout=20), Z3Reader(), time.monotonic)
    return engine.refute([graph.lift(goal)]).result == PROVEN


@pytest.mark.parametrize(
    ("claim", "proven"),
    [
        (lambda size, who, _: implies(who(0) == who(1), size(0) == size(1)), True),
        (lambda size, who, _: size(0) == size(1), False),
        (lambda size, who, _: implies(who(1) == who(2), size(0, 1) == size(0, 2)), True),
        (lambda size, who, _: size(0, 1) == size(0, 2), False),
        (lambda size, who, _: implies(who(0) == who(1), size(0, 2) == size(1, 1)), False),
        (lambda size, who, _: implies(who(0) == who(1), size(1, 2, 0) == size(0, 2, 1)), True),
        (lambda size, who, _: any_of(size(0) == size(1), size(1) == size(2), size(0) == size(2)), False),
        (lambda size, who, one_of: any_of(*(one_of(who(2) == 3, 0, 1) == size(n) for n in (0, 2))), False),
        (lambda size, who, one_of: implies(who(2) == 3, one_of(who(2) == 3, 0, 1) == size(0)), True),
        (lambda size, who, one_of: implies(who(2) == 4, one_of(who(2) == 3, 0, 1) == size(1)), True),
        (lambda size, who, one_of: implies(who(2) == 4, one_of(who(2) == 3, 0, 1) == size(0)), False),
        (lambda size, who, one_of: implies(who(2) == 3, one_of(who(2) == 3, 0, 1) == size(1)), False),
    ],
)  # fmt: skip
def test_equal_brokers_keep_sets_of_one_size(claim: Callable[..., Any], proven: bool) -> None:
    """What two brokers keep is of one size where they are one, and else not; one of two sets is of the size of that."""
    assert kept_by_three(claim) == proven


def test_what_is_said_of_equal_brokers_is_true_of_what_they_keep() -> None:
    """Whatever sizes a model has of what two brokers keep, all that it calls for is true whoever these are."""
    graph = Graph()
    kept = graph.intern("sequence", (graph.constant(2),), len(graph.variables), 0, 1, True)
    graph.variables.append("kept")
    who = Words.of_state(graph, "who", 0, 1 << 1000)
    sizes = [cardinality(graph, lambda at, n=n: word_at(kept, who.at(n), at)) for n in (0, 1)]  # type: ignore[misc]
    instances = Instances(graph)
    instances.require(graph.lift(2 * size == 18) for size in sizes)
    before, worlds = len(instances.facts), [
        Interpretation(2, {"kept": held, "who": whose})
        for held in ([[1, 1], [0, 1]], [[0, 1], [1, 0]]) for whose in itertools.product((0, 1), repeat=2)
    ]  # fmt: skip
    for world, wrong in itertools.product(worlds, ((2, 1), (0, 1))):
        model = partial(_value, dict(zip([size.index for size in sizes], wrong, strict=True)), value_of_world(world))
        z3_endless._same(instances, z3_endless._all_sized(instances, model), model)
    said = instances.facts[before:]
    assert said
    assert [world for world in worlds if not all(world.value(fact) for fact in said)] == []


@pytest.mark.parametrize("of_any", [EndlessEngine, QuantifiedEngine])
@pytest.mark.parametrize(("turned", "proven"), [(False, True), (True, False)])
def test_what_one_broker_keeps_without_another_is_not_the_other_way_round(
    of_any: Any, turned: bool, proven: bool
) -> None:
    """Differences are of one size where their brokers are the same in the same order, and not where they are turned."""
    graph = Graph()
    kept = graph.intern("sequence", (graph.constant(2),), len(graph.variables), 0, 1, True)
    graph.variables.append("kept")
    who = Words.of_state(graph, "who", 0, 1 << 1000)

    def keeps(one: int) -> Callable[[Any], Any]:
        return lambda at: word_at(kept, who.at(one), at)

    def both(*parts: Callable[[Any], Any]) -> Any:
        return cardinality(graph, lambda at: all_of(*(part(at) for part in parts)))

    def lacks(one: int) -> Callable[[Any], Any]:
        return lambda at: negate(keeps(one)(at))

    same = all_of(who.at(0) == who.at(2), who.at(1) == who.at(3))
    second = both(lacks(2), keeps(3)) if turned else both(keeps(2), lacks(3))
    goal = graph.lift(implies(same, both(keeps(0), lacks(1)) == second))
    assert who.symbol is not None
    symbols, read = (kept, who.symbol), Z3Reader()
    premises = Premises({}, tuple(map(read.expression, symbols)), symbols, 2, {"known": graph.lift(True)})
    args = (premises, Effort(timeout=20), read, time.monotonic)
    engine = of_any(*args if of_any is EndlessEngine else args[:2])
    assert (engine.refute([goal]).result == PROVEN) == proven


NUMBER = 2  # places that may be members, and brokers that may keep some

World = Mapping[str, tuple[Any, ...]]
"""The members of each set, place by place; of sets that brokers keep, broker by broker."""


@frozen
class Claimed:
    """A model that says of each size only what it is claimed to be."""

    sizes: Mapping[str, int]

    def eval(self, size: Any, model_completion: bool) -> Any:
        """The claimed size."""
        assert model_completion
        return z3.IntVal(self.sizes[str(size)], size.ctx)


def read_sets() -> QuantifiedReader:
    """A reader of the sizes of three sets, of what a broker keeps, and of that without the first set, or without it."""
    graph = Graph()
    sets = [Words.of_state(graph, f"set {n}", 0, 1, truths=True) for n in range(3)]
    kept = graph.intern("sequence", (graph.constant(2),), len(graph.variables), 0, 1, True)
    graph.variables.append("kept")
    asked = [cardinality(graph, one.at) == 5 for one in sets]
    asked.append(every(graph, lambda b: cardinality(graph, lambda at: word_at(kept, b, at)) == 5))
    asked.append(every(graph, lambda b: cardinality(
        graph, lambda at: all_of(word_at(kept, b, at), negate(sets[0].at(at)))) == 5))  # fmt: skip
    asked.append(every(graph, lambda b: cardinality(
        graph, lambda at: all_of(word_at(kept, b, at), negate(at == b))) == 5))  # fmt: skip
    read = QuantifiedReader(graph)
    for truth in asked:
        read.expression(graph.lift(truth))
    return read


def worlds() -> Iterator[World]:
    """Three sets, which may have members in common or cover each other, and what two brokers keep."""
    held = [*itertools.product((0, 1), repeat=NUMBER)]
    for one, other, third in itertools.product(held, held[1:], held[::3]):
        yield {"set 0": one, "set 1": other, "set 2": third, "kept": (other, third)}


def looked_up(held: Any, context: z3.Context, at: int = 0) -> Any:
    """Whether a set has what its function is given; a tuple is looked up by the first of it."""
    if not isinstance(held, tuple):
        return z3.BoolVal(bool(held), context)
    found: Any = z3.BoolVal(False, context)
    for number, one in enumerate(held):
        found = z3.If(z3.Var(at, z3.IntSort(context)) == number, looked_up(one, context, at + 1), found)
    return found


def meaning_in(world: World, read: QuantifiedReader) -> list[tuple[Any, Any]]:
    """What stands for each set, and for each size: how many places are members."""
    context, made = read.context, list[tuple[Any, Any]]()
    for name, held in world.items():
        sorts = [z3.IntSort(context)] * (2 if name == "kept" else 1)
        made.append((z3.Function(f"${name}", *sorts, z3.BoolSort(context)), looked_up(held, context)))
    for one in read.sets.values():
        given = [(constant, z3.Var(at, constant.sort())) for at, constant in enumerate(one.parameters)]
        inside = [z3.substitute_funs(one.has(z3.IntVal(at, context)), *made[: len(world)]) for at in range(NUMBER)]
        size = z3.Sum([z3.If(z3.substitute(member, *given), z3.IntVal(1, context), 0) for member in inside])
        made.append((one.size.decl(), size))
    return made


def instances_of(axiom: Any) -> Iterator[Any]:
    """An axiom at each place and broker, and at what is none."""
    if not z3.is_quantifier(axiom):
        yield axiom
        return
    for at in itertools.product(range(-1, NUMBER + 1), repeat=axiom.num_vars()):
        yield z3.substitute_vars(axiom.body(), *(z3.IntVal(one, axiom.ctx) for one in at))


def axioms_of(sets: Sequence[CountedSet]) -> Iterator[Any]:
    """All axioms; those of sets that cover another, whichever a model has too large."""
    yield from quantified.of_members(sets)
    yield from (truth for pair in quantified.of_pairs(sets) for truth in pair.truths)
    single = [one for one in sets if not one.parameters]
    for large in single:
        model: Any = Claimed({str(one.size): 9 if one is large else 1 for one in single})
        yield from (truth for cover in quantified.of_covers(sets, model) for truth in cover.truths)


def test_each_axiom_of_sizes_is_true_of_sets_that_are_known() -> None:
    """Of sets of which one may be within another, or two cover a third, and of those that brokers keep."""
    read = read_sets()
    sets = [*read.sets.values()]
    assert [len(one.parameters) for one in sets] == [0, 0, 0, 1, 1, 2]
    instances = [one for axiom in axioms_of(sets) for one in instances_of(axiom)]
    for world in worlds():
        solver, meaning = z3.Solver(ctx=read.context), meaning_in(world, read)
        solver.add(z3.substitute_funs(one, *meaning) for one in instances)
        assert solver.check() == z3.sat, world


def test_who_keeps_some_places_is_in_no_set_of_those_who_keep_all_or_none() -> None:
    """Sets whose members are said by a claim about every place may both be empty."""

    def either_has_one(graph: Graph, kept: Term, _: Any) -> Any:
        sets: list[Callable[[Any], Any]] = [
            lambda at: every(graph, lambda x: word_at(kept, at, x)),
            lambda at: every(graph, lambda x: negate(word_at(kept, at, x))),
        ]
        return any_of(*(cardinality(graph, one) >= 1 for one in sets))

    assert not kept_sets(either_has_one)
