"""Guides: what they are after states are left out, and that they hide nothing from later sweeps."""

import random

import numpy as np

from kraftcheck.solvers.liveness.constraints import guiding, later, no_guides, renumbered
from kraftcheck.solvers.liveness.fair import Closing, Marking
from kraftcheck.solvers.liveness.graph import Edges, Listed, StoredEdges, Truths
from kraftcheck.solvers.machine_code.graph_kernels import UNGUIDED
from tests.solvers.liveness.naive import reachable
from tests.solvers.liveness.puzzles import How, draw_puzzle, sweeps


def test_guides_are_renumbered_with_their_states() -> None:
    """Where states are left out, guides have new numbers, and those that are left out guide none."""
    guides, kept = np.array([1, 4, 3, UNGUIDED, 2], dtype=np.uint32), np.array([True, True, False, True, True])
    assert renumbered(guides, kept).tolist() == [1, 3, UNGUIDED, UNGUIDED]
    assert no_guides(2).tolist() == [UNGUIDED] * 2


def test_guides_are_edges_of_the_states_that_are_wanted() -> None:
    """Only wanted states with a guide have an edge, to that one; one that comes later in a sweep down is awaited."""
    guides, wanted = np.array([3, UNGUIDED, 0, 1], dtype=np.uint32), np.array([True, True, True, False])
    listed = guiding(guides, wanted, np.uint8)
    assert listed is not None
    assert [array.tolist() for array in listed] == [[0, 1, 1, 2, 2], [3, 0], [0, 0]]
    assert guiding(guides, ~wanted & (guides == UNGUIDED), np.uint8) is None
    kept, marks = np.array([True, False, True, True]), np.array([0, 0, 0, 1], dtype=np.uint8)
    assert later(guides, kept, marks, 1, slice(0, 4)).tolist() == [False, False, True, False]
    assert not later(guides, kept, marks | 1, 1, slice(0, 4)).any()


def marked(edges: Edges, marking: Marking, room: int) -> set[int]:
    """The states with marks after all sweeps, where edges are computed for the wanted states alone."""

    def listed(thread: int, number: int, wanted: Truths) -> Listed:
        block = edges.block(thread, number, wanted)
        return block.starts, block.targets, np.zeros(len(block.targets), dtype=np.uint8)

    nothing = StoredEdges(0, complete=False)
    closing = Closing(edges, np.uint8, marking, listed, nothing, StoredEdges(room))
    while closing.goes_on:
        closing.begin()
        blocks = range(len(edges.blocks))
        for number in reversed(blocks) if closing.is_down else blocks:
            closing.work(0, number)
        closing.end()
    return set(np.flatnonzero(marking.marks).tolist())


def test_what_guides_put_off_is_looked_at() -> None:
    """Whatever edges guide, and whether others can be kept, those that reach a goal are marked, and no others."""
    for seed in range(60):
        source = random.Random(f"guides {seed}")
        puzzle = draw_puzzle(source, most=20, fairness=1)
        count = puzzle.count
        edges = sweeps(puzzle, frozenset(range(count)), None, How(source.randint(1, 7))).edges
        states = edges.states  # type: ignore[attr-defined]
        after = {place: {states.index(t) for t in puzzle.after[s] if s != t} for place, s in enumerate(states)}
        kept = np.array([source.random() < 0.8 for _ in range(count)])
        goal = kept & np.array([source.random() < 0.1 for _ in range(count)])
        guides = np.array([source.choice([*after[s], UNGUIDED]) for s in range(count)], dtype=np.uint32)
        marks, nothing = goal.astype(np.uint8), np.zeros(256, dtype=np.uint8)
        marking = Marking(marks, kept, marks.copy(), nothing, 0, 1, guides=guides)
        among, goals = set(np.flatnonzero(kept).tolist()), set(np.flatnonzero(goal).tolist())
        expected = {s for s in among if reachable([s], after, among).keys() & goals}
        assert marked(edges, marking, source.choice((0, 1 << 20))) == expected, seed
