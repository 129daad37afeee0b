"""Metamorphic relations: changes of a system that must not change what the native engine finds of it."""

from __future__ import annotations

import functools
import random
from typing import Any

import pytest
from attrs import evolve

from kraftcheck.solvers.exploration.explore import Exploration, explore
from kraftcheck.solvers.program.trace import trace
from tests.random_systems.building import build
from tests.random_systems.machines import Machine
from tests.random_systems.nodes import Applied, Constant
from tests.random_systems.operators import OPERATORS
from tests.random_systems.relations import RELATIONS
from tests.random_systems.systems import drawn
from tests.shared.samples import one_in

SEEDS = range(1, 121, 4)
"""Thirty systems, of each of which two changes are explored."""

BOTH, NOT, TRUE = OPERATORS["all_of(truth, truth)"], OPERATORS["negate(truth)"], Constant("truth", True)


def explored(machine: Machine) -> Exploration:
    """What the native engine finds."""
    system = build(machine)
    return explore(trace(system, system.setting()), clock=lambda: 0.0)


def facts(found: Exploration, names: dict[str, str]) -> dict[str, Any]:
    """What no change may change; actions count for those that they stand for."""
    fired: dict[str, int] = {}
    for name, count in found.fired.items():
        if name in names or count:
            fired[names[name]] = fired.get(names[name], 0) + count
    return {
        "distinct": found.distinct, "generated": found.generated, "levels": found.levels, "fired": fired,
        "pruned": sum(found.pruned.values()),
        "verdicts": {v.claim: (type(v.verdict).__name__, v.depth) for v in found.verdicts},
    }  # fmt: skip


@pytest.mark.parametrize("seed", one_in(2, SEEDS))
def test_changes_without_meaning_change_nothing(seed: int) -> None:
    """Other names, orders and numbers, and parts that never matter, leave space and verdicts as they are."""
    machine = drawn(seed).machine
    wanted = facts(explored(machine), {move.name: move.name for move in machine.moves})
    related = {name: change(machine, random.Random(seed)) for name, change in RELATIONS.items()}
    altered = [name for name, one in related.items() if one.machine != machine]
    for name in random.Random(seed).sample(altered, min(2, len(altered))):
        found = explored(related[name].machine)
        assert facts(found, dict(related[name].names)) == wanted, (seed, name)


def test_each_relation_applies_to_several_systems() -> None:
    """Each change alters at least six of the systems: none is left out for all of them."""
    machines = {seed: drawn(seed).machine for seed in SEEDS}
    for name, change in RELATIONS.items():
        altered = [change(one, random.Random(seed)).machine != one for seed, one in machines.items()]
        assert sum(altered) >= 6, name


def test_a_change_with_meaning_is_noticed() -> None:
    """With the guard of its first action negated, a system has another space or other numbers, in most cases."""
    noticed = 0
    for seed in SEEDS[:8]:
        machine = drawn(seed).machine
        (first, *others), names = machine.moves, {move.name: move.name for move in machine.moves}
        whole = functools.reduce(lambda a, b: Applied(BOTH, (a, b)), (first.guard or {"": TRUE}).values())
        changed = evolve(first, guard={"": Applied(NOT, (whole,))})
        other = evolve(machine, moves=(changed, *others))
        noticed += facts(explored(other), names) != facts(explored(machine), names)
    assert noticed >= 6
