"""Claims about any number as quantifiers of Z3: nothing false is proven, and what no instances prove in time is."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kraftcheck.ci.systems.subject import subject
from kraftcheck.model.language.anynumber import AnyReplicas, AnySet
from kraftcheck.model.language.sequences import Sequence as Words
from kraftcheck.model.language.sequences import cardinality, every, word_at
from kraftcheck.model.language.system import ANY
from kraftcheck.model.language.terms import Graph, Term
from kraftcheck.model.language.words import all_of, any_of, choose, implies, negate
from kraftcheck.solvers.audit.numbers import Places
from kraftcheck.solvers.smt.queries import PROVEN, UNDECIDED, Effort, Obligation, Questions
from kraftcheck.solvers.smt.reading.quantified.engine import QuantifiedEngine
from kraftcheck.solvers.smt.theory import Theory, theory
from kraftcheck.solvers.smt.z3terms import Z3Reader
from tests.shared.samples import one_in
from tests.solvers.smt.asking import premises_of
from tests.solvers.smt.reading.goals.proving import proves
from tests.solvers.smt.test_any_number import COUNT, MEMBERS, questions_about

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
    wrong = negate(truth) if Places(COUNT + 1, world).value(graph.lift(truth)) else truth
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


def test_a_set_that_speaks_of_every_place_has_an_unknown_size() -> None:
    """Nothing is proven of a set whose members are said by a claim about every place, but that its size is a number."""

    def of_all(graph: Graph, kept: Term, owner: Any) -> Any:
        return cardinality(graph, lambda at: every(graph, lambda x: any_of(
            word_at(kept, owner, x), word_at(kept, x, at))))  # fmt: skip

    def two_alike(graph: Graph, kept: Term, _: Any) -> Any:
        return every(graph, lambda b: any_of(*(
            of_all(graph, kept, b + one) == of_all(graph, kept, b + two) for one, two in ((1, 2), (1, 3), (2, 3)))))

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
