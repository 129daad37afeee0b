"""Symmetry, naively: the states that differ by the numbers of brokers, by trying every order of plain values."""

import itertools
from collections.abc import Sequence
from typing import Any

from kraftcheck.solvers.exploration.explore import SearchBudget, explore
from kraftcheck.solvers.search.symmetry import reduced
from tests.random_systems.comparison import Case, agree_on_verdicts
from tests.random_systems.machines import Field, Machine, State
from tests.random_systems.naive import Graph


def renamed(one: Field, value: Any, order: Sequence[int]) -> Any:
    """A plain value after every broker b became `order[b]`."""
    match one.kind:
        case "id":
            return order[value] if value >= 0 else value
        case "set":
            return frozenset(order[b] for b in value)
        case "list" | "one":
            return tuple(order[b] if b >= 0 else b for b in value)
        case "record":
            return tuple(renamed(part, item, order) for part, item in zip(one.parts, value, strict=True))
        case "tuple":
            moved = [None] * one.size
            for number, item in enumerate(value):
                moved[order[number]] = renamed(one.parts[0], item, order)
            return tuple(moved)
    return value


def orbit(machine: Machine, state: State) -> frozenset[State]:
    """Every state that a state can be renamed to."""
    return frozenset(
        tuple(renamed(one, value, order) for one, value in zip(machine.fields, state, strict=True))
        for order in itertools.permutations(range(machine.brokers))
    )


def orbits(machine: Machine, graph: Graph) -> dict[frozenset[State], State]:
    """The orbits of a space, each with the first of its states that was found."""
    found: dict[frozenset[State], State] = {}
    for state in graph.depth:
        found.setdefault(orbit(machine, state), state)
    return found


def is_symmetric(machine: Machine) -> bool:
    """Whether a machine's brokers can change places, and its initial states are as symmetric."""
    return machine.symmetric and {s for one in machine.initial for s in orbit(machine, one)} == {*machine.initial}


def agrees_with_symmetry(case: Case) -> None:
    """With states reduced by symmetry, a state is found for each orbit; verdicts and lengths stay the same."""
    graph, machine = case.graph, case.machine
    found = explore(reduced(case.program), SearchBudget(cache_dir=case.cache), clock=lambda: 0.0)
    known = orbits(machine, graph)
    kept = list(known.values())
    depths = [graph.depth[state] for state in kept]
    taken = [one for state in kept for one in graph.taken[state]]
    fired = {move.name: 0 for move in machine.moves}
    for one in taken:
        fired[machine.moves[one.move].name] += not one.cut
    naive = {
        "distinct": len(known),
        "levels": tuple(depths.count(n) for n in range(max(depths) + 1)),
        "fired": fired,
        "generated": sum(fired.values()) + depths.count(0),
    }
    case.same("numbers up to symmetry", {name: getattr(found, name) for name in naive}, naive)
    agree_on_verdicts(case, found)
    packed = [case.plain(state) for state in found.states()]
    case.same("orbits", {orbit(machine, state) for state in packed}, set(known))
