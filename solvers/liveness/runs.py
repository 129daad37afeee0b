"""Shortest runs within a region, level by level: of each state no more is kept than how it was reached."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt
from attrs import define, field, frozen

from kraftcheck.solvers.liveness.graph import Block, Edges, Numbers, Truths
from kraftcheck.solvers.machine_code.graph_kernels import OUTSIDE


@frozen
class Run:
    """A run."""

    states: tuple[int, ...]  # the one that it begins in, and those that each instance leads to
    instances: tuple[int, ...] = ()

    @property
    def end(self) -> int:
        """Where it has come to."""
        return self.states[-1]

    def on(self, more: Run) -> Run:
        """It, and a run that begins where it ends."""
        return Run((*self.states, *more.states[1:]), (*self.instances, *more.instances))


CheckStop = Callable[[], None]  # raises an error when the search is to end

NEVER, DONE = 0, 3
"""Marks of states that were not reached, and of those that were left behind; 1 and 2 alternate for the farthest."""


@define
class Runs:
    """Which states of a region were reached from where runs begin, and by which state before."""

    edges: Edges
    marks: npt.NDArray[np.uint8]
    # for each that was reached the state before, `OUTSIDE` where a run begins; None: it is not kept
    origin: npt.NDArray[np.uint32] | None
    check_stop: CheckStop  # called before each block; it raises an error to end the search
    _farthest: int = 1
    _blocks: set[int] = field(factory=set)
    _next: set[int] = field(factory=set)

    @classmethod
    def none(cls, edges: Edges, check_stop: CheckStop, *, back: bool) -> Runs:
        """Nothing was reached yet; `back`: the way to a state will be asked for."""
        origin = np.full(edges.count, OUTSIDE, dtype=np.uint32) if back else None
        return cls(edges, np.zeros(edges.count, dtype=np.uint8), origin, check_stop)

    def begin(self, first: int, states: Truths) -> None:
        """Let runs begin in some of consecutive states that were not reached, beside the farthest that were."""
        marks = self.marks[first : first + len(states)]
        marks[states & (marks == NEVER)] = self._farthest
        self._blocks.update(range(self._block_of(first), self._block_of(first + len(states) - 1) + 1))

    def farthest(self) -> Iterator[tuple[int, Truths]]:
        """The farthest states that were reached: the blocks that have some, ascending, and which these are."""
        for number in sorted(self._blocks):
            self.check_stop()
            found = self.marks[states_of(self.edges, number)] == self._farthest
            if found.any():
                yield number, found

    @property
    def moves(self) -> bool:
        """Whether there are farthest states."""
        return any(True for _ in self.farthest())

    def numbers(self) -> Iterator[Numbers]:
        """The numbers of the farthest states, block by block."""
        for number, found in self.farthest():
            yield self.edges.blocks[number] + np.flatnonzero(found)

    def step(self) -> None:
        """Go one step on from the farthest states."""
        for number, wanted in self.farthest():
            self.note(self.edges.block(0, number, wanted))
        self.leave()

    def note(self, block: Block, within: Truths | None = None) -> None:
        """Reach what the edges of a block lead to, if it is among some states."""
        fresh = self.marks[block.targets] == NEVER
        chosen = np.flatnonzero(fresh if within is None else fresh & within[block.targets])
        states, first = np.unique(block.targets[chosen], return_index=True)
        self.marks[states] = 3 - self._farthest
        self._next.update(np.unique(np.searchsorted(self.edges.blocks, states, side="right") - 1).tolist())
        if self.origin is not None:
            self.origin[states] = block.owners()[chosen[first]]

    def leave(self) -> None:
        """Let what was noted be the farthest."""
        for number in self._blocks:
            marks = self.marks[states_of(self.edges, number)]
            marks[marks == self._farthest] = DONE
        self._blocks, self._next, self._farthest = self._next, set(), 3 - self._farthest

    def back(self, state: int) -> Run:
        """The run to a state from where it begins."""
        assert self.origin is not None, "the way back was kept"
        run = Run((state,))
        while self.origin[run.states[0]] != OUTSIDE:
            before = int(self.origin[run.states[0]])
            number = self._block_of(before)
            states = states_of(self.edges, number)
            block = self.edges.block(0, number, np.arange(states.start, states.stop) == before)
            instance = int(block.instances[np.argmax(block.targets == run.states[0])])
            run = Run((before, run.states[0]), (instance,)).on(run)
        return run

    def _block_of(self, state: int) -> int:
        return bisect_right(self.edges.blocks, state) - 1


Ends = Callable[[Block], Truths]  # for each edge of a block whether a run may end with it


def shortest(
    edges: Edges, start: int, within: Truths, ends: Ends, check_stop: CheckStop, *, leave_out: bool = False
) -> Run | None:
    """A shortest run from a state that stays among some states, up to an edge that may be its last.

    Of runs of equal length it is the first by number. None: there is none.
    `leave_out`: then those that were reached are among them no more.
    """
    runs = Runs.none(edges, check_stop, back=True)
    runs.begin(start, np.ones(1, dtype=np.bool_))
    while runs.moves:
        for number, wanted in runs.farthest():
            block = edges.block(0, number, wanted)
            last = np.flatnonzero(ends(block) & within[block.targets])
            if len(last):
                edge = int(last[0])
                source, target = int(block.owners()[edge]), int(block.targets[edge])
                step = Run((source, target), (int(block.instances[edge]),))  # read before the block is overwritten
                return runs.back(source).on(step)
            runs.note(block, within)
        runs.leave()
    if leave_out:
        within &= runs.marks == NEVER
    return None


def states_of(edges: Edges, number: int) -> slice:
    """The states of a block."""
    blocks = edges.blocks
    return slice(blocks[number], blocks[number + 1] if number + 1 < len(blocks) else edges.count)
