"""Axioms of sizes, each alone: what a wrong model calls for is true of the concrete sets."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import pytest
from attrs import frozen

from kraftcheck.model.language.anynumber import AnySet
from kraftcheck.model.language.sequences import Sequence as Words
from kraftcheck.model.language.sequences import cardinality, word_at
from kraftcheck.model.language.terms import Graph, Term
from kraftcheck.model.language.words import all_of, any_of, choose, implies, negate
from kraftcheck.solvers.smt.instances import Instances
from kraftcheck.solvers.smt.queries import PROVEN, Effort, Premises
from kraftcheck.solvers.smt.reading import z3_endless
from kraftcheck.solvers.smt.reading.quantified.engine import QuantifiedEngine
from kraftcheck.solvers.smt.reading.z3_endless import EndlessEngine, Sized, Value
from kraftcheck.solvers.smt.z3terms import Z3Reader
from tests.shared.interpretation import Places
from tests.solvers.smt.test_any_number import satisfiable, value_of_world

Axioms = Callable[[Instances, list[Sized], Value], None]

CLAIMED = {
    "_members": [(0, 0, 0), (1, 1, 1), (2, 2, 2)],
    "_compared": [(5, 1, 1), (1, 1, 1)],
    "_larger_by_two": [(5, 1, 1), (1, 5, 1)],
    "_covered": [(5, 1, 1), (1, 1, 5)],
    "_apart": [(1, 1, 1), (2, 2, 2), (0, 1, 2)],
}
"""For each kind of axioms, sizes of three sets that a model may have, most of them wrong."""

TOO_LARGE = ((2, 3, 5), (4, 2, 2))
"""Further sizes: members count up to two, and sets are compared beyond that."""

WORLDS = list(itertools.product([(0, 0), (1, 0), (1, 1)], [(0, 0), (1, 0), (1, 1)], [(0, 0), (0, 1), (1, 1)]))
"""Three sets of two, in each of the ways in which they may have members in common."""


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


def concrete(world: Sequence[Sequence[int]]) -> Places:
    """Three sets by their members."""
    return Places(2, {f"set {n}": list(held) for n, held in enumerate(world)})


def _value(sizes_of: Mapping[int, int], known: Value, term: Term) -> int:
    return sizes_of.get(term.index, known(term))


@pytest.mark.parametrize("kind", CLAIMED)
def test_axioms_of_each_kind_are_true_of_three_sets(kind: str) -> None:
    """All that axioms of one kind say, whatever model calls for it, is true of every three sets."""
    instances = said(getattr(z3_endless, kind), CLAIMED[kind])
    assert [world for world in WORLDS if not satisfiable(concrete(world), [], instances)] == []


@frozen
class Mistaken(Places):
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
        case "_apart":
            return any(not one & two and one | two <= whole and size + of_two > of_whole
                       for whole, of_whole in sets for (one, size), (two, of_two) in itertools.combinations(sets, 2))
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
