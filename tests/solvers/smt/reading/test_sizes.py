"""Axioms of sizes, each alone: what a wrong model calls for is true of the concrete sets."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import pytest

from kraftcheck.model.language.anynumber import AnySet
from kraftcheck.model.language.sequences import Sequence as Words
from kraftcheck.model.language.terms import Graph, Term
from kraftcheck.solvers.smt.instances import Instances
from kraftcheck.solvers.smt.reading import z3_endless
from kraftcheck.solvers.smt.reading.z3_endless import Sized, Value
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

WORLDS = list(itertools.product([(0, 0), (1, 0), (1, 1)], [(0, 0), (1, 0), (1, 1)], [(0, 0), (0, 1), (1, 1)]))
"""Three sets of two, in each of the ways in which they may have members in common."""


def said(axioms: Axioms, claimed: Sequence[tuple[int, ...]]) -> Instances:
    """What is said of three sets because a model has wrong sizes of them, whatever their members are in it."""
    graph = Graph()
    sets = [AnySet(Words.of_state(graph, f"set {n}", 0, 1, truths=True)) for n in range(3)]
    instances = Instances(graph)
    instances.require(graph.lift(2 * one.size() == 18) for one in sets)
    instances.require(graph.lift(one.has(at)) for one in sets for at in (0, 1))
    instances.require([graph.lift(sets[0].plus(sets[1]).plus(sets[2]).is_empty())])  # so that all are compared
    before = len(instances.facts)
    for world, wrong in itertools.product(WORLDS, claimed):
        known = value_of_world(concrete(world))
        sizes_of = dict(zip([one.index for one in instances.sets], wrong, strict=True))
        model = partial(_value, sizes_of, known)
        axioms(instances, z3_endless._all_sized(instances, model), model)
    assert len(instances.facts) > before
    return instances


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
