"""Fair components by labels, against the naive judge, which enumerates components."""

from __future__ import annotations

import random

import numpy as np

from kraftcheck.solvers.liveness.components import Components
from kraftcheck.solvers.liveness.graph import Truths
from tests.solvers.liveness.naive import components, on_fair_cycles
from tests.solvers.liveness.puzzles import How, draw_puzzle, sweeps


def places_of(truths: Truths, states: list[int]) -> set[int]:
    """The states of a puzzle where something is true."""
    return {states[place] for place in np.flatnonzero(truths)}


def test_fair_components_are_those_of_the_naive_judge() -> None:
    """Of random graphs the states on fair cycles are found, and which of them reach each other."""
    several = 0
    for seed in range(120):
        source = random.Random(f"components {seed}")
        puzzle = draw_puzzle(source, most=30, fairness=source.choice((0, 1, 3)))
        region = frozenset(range(puzzle.count))
        visit = region - puzzle.goal if source.random() < 0.3 else None
        made = sweeps(puzzle, region, visit, How(source.randint(1, 6), source.randint(1, 2), source.choice((0, 90))))
        states = made.edges.states  # type: ignore[attr-defined]
        made.fair()  # surveys the region
        found = Components(made, np.ones(len(states), dtype=np.bool_))
        while found.open.any():
            found.decide()
        naive = on_fair_cycles(puzzle, set(region), None if visit is None else set(visit))
        expected = [one for one in components(naive, puzzle.after) if len(one) > 1]  # others may only stay
        assert places_of(found.fair, states) == set().union(*expected), seed
        for one in expected:
            assert places_of(found.component(states.index(min(one))), states) == one, seed
        several += len(expected) > 1
    assert several >= 5
