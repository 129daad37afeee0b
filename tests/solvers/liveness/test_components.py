"""Fair components by labels, against the naive judge, which enumerates components."""

import random

import numpy as np

from kraftcheck.solvers.liveness.behaviours import Components, FairCycle
from kraftcheck.solvers.liveness.graph import Truths
from tests.solvers.liveness.naive import Fair, Puzzle, components, on_fair_cycles
from tests.solvers.liveness.puzzles import How, draw_puzzle, sweeps


def places_of(truths: Truths, states: list[int]) -> set[int]:
    """The states of a puzzle where something is true."""
    return {states[place] for place in np.flatnonzero(truths)}


def test_fair_components_are_those_of_the_naive_judge() -> None:
    """Of random graphs the states on fair cycles are found, and which of them reach each other."""
    several = 0
    for seed in range(400):
        source = random.Random(f"components {seed}")
        puzzle = draw_puzzle(source, most=30, fairness=source.choice((0, 1, 3)))
        region = frozenset(range(puzzle.count))
        visit = region - puzzle.goal if source.random() < 0.3 else None
        budget, many = source.choice((0, 90, 1 << 20)), source.choice((1, 2, 12))
        made = sweeps(puzzle, region, visit, How(source.randint(1, 6), source.randint(1, 2), budget, many=many))
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


def test_a_cycle_is_found_through_the_states_of_fair_components_alone() -> None:
    """Searched through each state of random graphs, without components, a fair cycle is found where there is one."""
    through = 0
    for seed in range(60):
        puzzle = draw_puzzle(random.Random(f"through {seed}"), most=12, fairness=3)
        region = frozenset(range(puzzle.count))
        made = sweeps(puzzle, region, None, How())
        states = made.edges.states  # type: ignore[attr-defined]
        made.fair()  # surveys the region
        expected = {s for one in components(on_fair_cycles(puzzle, set(region), None), puzzle.after)
                    if len(one) > 1 for s in one}  # fmt: skip
        for place, state in enumerate(states):
            if any(group.enabled[place] for group in made.groups):  # a behaviour may stay at others
                within = np.ones(len(states), dtype=np.bool_)
                cycle = FairCycle(made, within, place).instances()
                assert (cycle is not None) == (state in expected), (seed, state)
                through += cycle is not None
    assert through > 50


def test_a_cycle_goes_round_a_state_that_enables_what_it_cannot_take() -> None:
    """Of two ways to the state to visit the longer one is taken, for the other one enables what leads out for ever."""
    ways = [(0, 2, 1), (1, 2, 2), (2, 2, 0), (0, 2, 3), (3, 2, 4), (4, 2, 2)]
    for out, length in (([], 3), ([(1, 1, 5)], 4)):
        fair = (Fair(strong=True, actions=frozenset({1})),)
        puzzle = Puzzle(6, frozenset({0, 5}), (*ways, *out), fair, frozenset(), frozenset())
        made = sweeps(puzzle, frozenset(range(6)), frozenset({2}), How())
        made.fair()  # surveys the region
        cycle = FairCycle(made, np.ones(6, dtype=np.bool_), 0).instances()
        assert cycle == (2,) * length
