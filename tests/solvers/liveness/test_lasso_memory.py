"""The search for a lasso takes a few bytes for each state, however many edges; what memory lacks goes to a file."""

from __future__ import annotations

import os
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from attrs import define, field

from kraftcheck.solvers.liveness.behaviours import Behaviours, Components
from kraftcheck.solvers.liveness.constraints import TO_VISIT, classes_of, groups_of
from kraftcheck.solvers.liveness.fair import SweepControl, Sweeps
from kraftcheck.solvers.liveness.graph import Block, EdgeFile

STATES, BACK, SIZE = 10_000, 14, 64
EDGE_BYTES = 16 * 5 + 5
"""Bytes of the targets and classes of the edges that leave a state, and more than those of their place."""


@define(eq=False)
class Heap:
    """State s leads to 2s + 1 and 2s + 2 by the actions 0 and 1, and to 14 lesser ones, state 0 among them."""

    count: int
    blocks: range = field(init=False)
    levels: list[int] = field(init=False)

    def __attrs_post_init__(self) -> None:
        """Cut the states into levels and blocks."""
        self.blocks = range(0, self.count, SIZE)
        self.levels = [min(self.count, (1 << depth) - 1) for depth in range(18)]

    def block(self, thread: int, number: int, wanted: Any, *, inner: bool = True) -> Block:
        """The edges of the wanted states; where there is no greater state, another one leads to 0."""
        first = self.blocks[number]
        states = first + np.flatnonzero(wanted)[:, None]
        lesser = states * np.arange(BACK) // BACK
        greater = 2 * states + np.array([1, 2])
        targets = np.hstack([np.where(greater < self.count, greater, 0), lesser])
        moves = targets != states
        instances = np.broadcast_to(np.arange(BACK + 2), targets.shape)[moves].astype(np.uint16)
        lengths = np.zeros(len(wanted), dtype=np.int64)
        lengths[wanted] = moves.sum(axis=1)
        starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.uint32)
        return Block(first, starts, targets[moves].astype(np.uint32), instances, np.zeros(len(wanted), dtype=np.uint64))

    def narrowed(self, states: Any) -> Heap:
        """It is kept whole."""
        raise AssertionError("every state is on a fair cycle")

    def enter(self) -> None:
        """Nothing has to be done to use it."""


def judge(count: int, budget: int) -> tuple[Behaviours, SweepControl]:
    """What judges whether the last state is visited again and again, with so many bytes for edges."""
    kinds, classes = classes_of([TO_VISIT])
    groups = groups_of([TO_VISIT], classes, count)
    groups[0].enabled[-1] = 0
    edges, control = Heap(count), SweepControl(budget=budget)
    return Behaviours(edges, Sweeps(edges, kinds, groups, control)), control


def most_memory(ready: Callable[[], Callable[[], None]]) -> int:
    """Bytes that a task takes at its most, the least of three times: other threads of the process allocate as well."""
    found = list[int]()
    for _ in range(3):
        tracemalloc.start()
        try:
            task = ready()
            before = tracemalloc.get_traced_memory()[0]
            tracemalloc.reset_peak()
            task()
            found.append(tracemalloc.get_traced_memory()[1] - before)
        finally:
            tracemalloc.stop()
    return min(found)


@pytest.mark.parametrize("each", [0, EDGE_BYTES])
def test_a_lasso_is_found_without_a_list_of_edges(each: int) -> None:
    """A cycle to the last state and back takes a few bytes a state, and edges go that have no room beside them."""
    everywhere = np.ones(STATES, dtype=np.bool_)

    def ready() -> Callable[[], None]:
        behaviours, control = judge(STATES, each * STATES)
        fair = behaviours.sweeps.fair()
        assert control.stored > 0.9 * each * STATES or not each

        def search() -> None:
            lasso = behaviours.lasso(everywhere, fair)
            assert (lasso.entry, lasso.way, len(lasso.cycle)) == (0, (), 14)

        return search

    assert most_memory(ready) < (8 if each else 24) * STATES


def test_components_are_found_without_a_list_of_edges() -> None:
    """The one component, of all states, takes a few bytes a state as well."""

    def ready() -> Callable[[], None]:
        behaviours, _ = judge(STATES, 0)
        fair = behaviours.sweeps.fair()

        def decide() -> None:
            components = Components(behaviours.sweeps, fair)
            components.decide()
            assert components.fair.all()
            assert components.component(1).all()

        return decide

    assert most_memory(ready) < 24 * STATES


def test_what_a_full_disk_took_of_a_block_harms_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A block of which a part was written is not kept, and the block after it has its own arrays."""
    write = os.pwrite

    def half(handle: int, data: bytes, place: int) -> int:
        return write(handle, data[: len(data) // 2], place)

    edges = EdgeFile(tmp_path)
    arrays = [(np.arange(40 * n, 40 * n + 9, dtype=np.uint32), np.full(5, n, dtype=np.uint8)) for n in range(3)]
    assert edges.put(0, arrays[0])
    with monkeypatch.context() as full:
        full.setattr(os, "pwrite", half)
        assert not edges.put(1, arrays[1])
    assert edges.put(2, arrays[2])
    assert edges.get(1) is None
    for number in (0, 2):
        kept = edges.get(number)
        assert kept is not None
        assert all(map(np.array_equal, kept, arrays[number]))
