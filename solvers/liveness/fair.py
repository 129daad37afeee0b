"""The states of a region from which a fair behaviour stays there: a greatest fixpoint, by backward sweeps.

After Emerson and Lei (1985), for constraints of which strong ones need no nested fixpoint. Of the states of the
region those are kept, for all constraints at once, until nothing changes,

* weak: that reach, among those kept, a state where the steps are not enabled, or a step of them;
* strong: where the steps are not enabled, or that reach, among those kept, a step of them.

From a state that is kept a behaviour visits what it can still reach of each constraint in turn; what it can reach no
more it has no need of. Conversely what a fair behaviour visits infinitely often is never left out. A state has a bit
for each constraint, and a sweep takes all bits backward along all edges; bits only rise, so the number of threads
does not matter. A sweep passes over the states that have all bits already; where marks still rise after some, they
follow a list of edges, if it has room. Edges for which there is no memory are computed again for the others alone, of
which as many as there is room for are kept for the next sweep; and a region is narrowed to what is left of it, until
its edges find room.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
from attrs import define, field

from kraftcheck.solvers.liveness.constraints import Bits, Group
from kraftcheck.solvers.liveness.graph import (
    Block,
    EdgeFile,
    Edges,
    KeptEdges,
    Labels,
    Listed,
    StoredEdges,
    Truths,
    alike,
    only,
)
from kraftcheck.solvers.liveness.runs import states_of
from kraftcheck.solvers.machine_code.closure import MOST_WAYS, HeldArcs
from kraftcheck.solvers.machine_code.graph_kernels import NOWHERE, OUTSIDE, emit_raise
from kraftcheck.solvers.machine_code.objectcode import address, made
from kraftcheck.solvers.machine_code.threads import ThreadPool

ARC_BYTES = 48  # bytes that an arc takes at most
LEAST_ROOM = 256 << 20  # bytes that listed steps may take however little the search took, within the limit of memory


@define
class Marking:
    """The marked states."""

    marks: Bits  # for each state the bits that it has, which rise
    kept: Truths  # the states that count
    enabled: Bits  # for each state the bits whose steps it enables
    steps: Bits  # for each class of edges the bits that it is a step for
    weak: int  # the bits that a state has that does not enable their steps
    full: int
    labels: Labels | None = None  # marks rise along edges between states of the same one alone; None: along all
    flows: Bits | None = None  # for each class of edges the bits that rise along it; None: all

    def lacking(self, states: slice) -> Truths:
        """The states of a block that may get bits."""
        found: Truths = self.kept[states] & (self.marks[states] != self.full)
        return found

    def rise(self, edges: Listed, states: slice, *, down: bool) -> int:
        """Raise the marks of a block along its edges, those of its last state first if `down`; how many rose."""
        kernel = made(emit_raise, self.marks.itemsize, edges[2].itemsize, int(self.flows is not None))
        arrays = (*edges, self.steps, self.marks, self.kept, self.enabled)
        places = np.array([*map(address, arrays), 0 if self.flows is None else address(self.flows)])
        count, given = states.stop - states.start, (self.weak, self.full, int(down))
        return kernel.function("raise", 6)(address(places), states.start, count, *given)


MANY_SWEEPS = 6  # sweeps after which marks that still rise follow a list of edges: the graph is long and thin


TOLD = 128  # blocks of a sweep between two reports


class StoppedError(Exception):
    """The search was to end."""


@define
class SweepControl:
    """How sweeps run."""

    threads: int = 1
    stop: threading.Event = field(factory=threading.Event)  # set from outside to end them; then StoppedError is raised
    # called now and then with the number of the sweep, and how many states wait in it
    report: Callable[[int, int], None] = lambda sweep, queue: None
    budget: int = 1 << 30  # bytes of memory for edges that are kept
    scratch: Path | None = None  # folder for a file of those that have no room there; None: they are computed again
    spare: int = LEAST_ROOM  # bytes for a list of edges that marks follow where many sweeps do not suffice
    many: int = MANY_SWEEPS  # after so many sweeps of one kind marks follow that list; at least 1
    sweeps: int = 0
    stored: int = 0  # most bytes of edges that were kept at once, with those that were lent


@define
class Sweeps:
    """Sweeps over a region under fairness constraints."""

    edges: Edges
    kinds: Bits  # for each action instance the class of its edges
    groups: tuple[Group, ...]  # the constraints, in order, `GROUP` to a group
    control: SweepControl
    # states with a step that a domain cut, or whose target is not visited; as far as edges were computed
    cut: Truths = field(init=False)
    unfinished: bool = False  # some states are kept from which no fair behaviour stays
    _stored: StoredEdges = field(init=False)
    _waiting: StoredEdges = field(init=False)
    _surveyed: Truths = field(init=False)
    _lent: int = 0

    def __attrs_post_init__(self) -> None:
        """Nothing is computed yet."""
        self.cut = np.zeros(self.edges.count, dtype=np.bool_)
        self._surveyed = np.zeros(len(self.edges.blocks), dtype=np.bool_)
        scratch = self.control.scratch
        self._stored = StoredEdges(self.control.budget, None if scratch is None else EdgeFile(scratch))
        self._waiting = StoredEdges(0)

    def note_survey(self, cut: Truths) -> None:
        """What each state enables is in the groups already, and these states are cut."""
        self.cut, self._surveyed[:] = cut, True

    def fair(self, most: int | None = None) -> Truths:
        """The states from which a behaviour stays in the region that satisfies all constraints.

        `most`: where all edges are kept, it ends after so many rounds, with more states, and is unfinished.
        """
        kept, removed, rounds = np.ones(self.edges.count, dtype=np.bool_), True, 0
        while removed and kept.any():
            if rounds == most and self.keeps_all:
                self.unfinished = True
                break
            removed, rounds = False, rounds + 1
            for group in self.groups:
                removed |= _restrict(kept, self._satisfiable(group, kept))
            if removed and not self._stored.complete and 4 * int(np.count_nonzero(kept)) < 3 * len(kept):
                kept[kept] = self._narrowed(kept).fair()
                return kept
        return kept

    def reaching(self, goal: Truths) -> Truths:
        """The states that reach a goal inside of the region."""
        found = goal.copy()
        self.lead_back(found, np.ones_like(goal), None)
        return found

    def lead_back(self, goal: Truths, kept: Truths, labels: Labels | None) -> None:
        """Add to a goal the states that reach it among the states kept, along states of the same label if so asked."""
        marks = goal.view(np.uint8)
        nothing = np.zeros(1 << 8 * self.kinds.itemsize, dtype=np.uint8)
        self._close(Marking(marks, kept, marks, nothing, 0, full=1, labels=labels))

    def lend(self, nbytes: int) -> None:
        """Leave so many bytes to others from now on; edges without room besides go to the file, or are dropped."""
        self._lent = nbytes
        self._stored.shrink(self._room)

    @property
    def keeps_all(self) -> bool:
        """Whether no edge had to be dropped."""
        return self._stored.complete

    def kept(self) -> KeptEdges | None:
        """The edges of all blocks within the region; None where some have no room. Asked by one thread."""
        blocks = self.edges.blocks
        for number in range(len(blocks)):
            self.listed(number, np.ones(states_of(self.edges, number).stop - blocks[number], dtype=np.bool_))
            if not self._stored.complete:
                return None
        listed = [one for one in map(self._stored.get, range(len(blocks))) if one is not None]
        if len(listed) < len(blocks):
            return None
        return KeptEdges.of(blocks[1] if len(blocks) > 1 else self.edges.count, listed)

    def check_stop(self) -> None:
        """Raise StoppedError if the search was to end."""
        if self.control.stop.is_set():
            raise StoppedError

    @property
    def _room(self) -> int:
        """Bytes for edges."""
        return max(0, self.control.budget - self._lent)

    def listed(self, number: int, wanted: Truths) -> Listed:
        """The edges of a block's wanted states within the region, and maybe those of others; asked by one thread."""
        self.check_stop()
        self.edges.enter()
        return self._edges(0, number, wanted)

    def _narrowed(self, kept: Truths) -> Sweeps:
        """The sweeps over what is kept; what was stored of other edges is dropped."""
        self._stored.clear()
        groups = tuple(Group(group.constraints, group.steps, group.enabled[kept]) for group in self.groups)
        narrow = Sweeps(self.edges.narrowed(kept), self.kinds, groups, self.control)
        narrow.note_survey(self.cut[kept])
        return narrow

    def _satisfiable(self, group: Group, kept: Truths) -> Truths:
        """The states that can satisfy, for ever, the constraints of a group among the states kept."""
        kind = group.enabled.dtype.type
        strong, weak = kind(group.strong), kind(group.every & ~group.strong)
        marks = np.zeros(len(kept), dtype=kind)
        self._close(Marking(marks, kept, group.enabled, group.steps, int(weak), full=group.every))
        satisfiable: Truths = ((marks & weak) == weak) & (((marks | ~group.enabled) & strong) == strong)
        return satisfiable

    def _close(self, marking: Marking) -> None:
        """Raise the marks of the states kept until none can rise."""
        self._waiting, sweep, rose = StoredEdges(self._room), 0, [True]
        while rose and not (sweep == self.control.many and self._follow(marking)):
            sweep, rose = sweep + 1, []
            down = sweep % 2 == 1  # from the last state to the first, as most edges lead up; then from the first
            self._sweep(functools.partial(self._raise, marking, down, rose), down=down)
        self._waiting.clear()

    def _raise(self, marking: Marking, down: bool, rose: list[bool], thread: int, number: int) -> None:
        """Raise the marks of a block, and keep the edges that the next sweep may need where there is room."""
        states = states_of(self.edges, number)
        wanted = marking.lacking(states)
        if not wanted.any():
            return
        waits = self._waiting.get(number)
        edges = waits or self._edges(thread, number, wanted)
        if marking.labels is not None:
            edges = alike(edges, marking.labels, states)
        if marking.rise(edges, states, down=down):
            rose.append(True)
        if waits is None and not self._stored.complete:
            self._waiting.put(number, only(edges, marking.lacking(states)))

    def _follow(self, marking: Marking) -> bool:
        """Raise all marks that can rise along listed edges, each looked at once for each rise of its target.

        After a sweep marks rise only by those of other states. False: the edges take more bytes, or are of too many
        classes.
        """
        if marking.flows is not None and len(marking.flows) > MOST_WAYS:
            return False
        parts, size = [np.empty((3, 0), dtype=np.uint32)], 0
        for number in range(len(self.edges.blocks)):
            states = states_of(self.edges, number)
            wanted = marking.lacking(states)
            if not wanted.any():
                continue
            edges = self.listed(number, wanted)
            starts, targets, kinds = edges if marking.labels is None else alike(edges, marking.labels, states)
            owners = np.repeat(np.arange(len(wanted), dtype=np.uint32), np.diff(starts))
            chosen = wanted[owners] & marking.kept[targets]
            parts.append(np.stack([owners[chosen] + np.uint32(states.start), targets[chosen], kinds[chosen]]))
            size += ARC_BYTES * int(np.count_nonzero(chosen))
            if size > self.control.spare:
                return False
        sources, targets, kinds = np.concatenate(parts, axis=1)
        ways, kinds = ([marking.full], np.zeros_like(kinds)) if marking.flows is None else (marking.flows, kinds)
        HeldArcs.of(ways, marking.marks, (targets, sources, kinds)).close(self.control.stop.is_set)
        self.check_stop()
        self._note_bytes(size)
        return True

    def _edges(self, thread: int, number: int, wanted: Truths) -> Listed:
        """The edges of a block's wanted states within the region: places, targets, classes."""
        stored, may_fit = self._stored.get(number), self._stored.complete
        if stored is not None:
            return stored
        edges = self._computed(thread, number, wanted)
        if may_fit and not self._stored.put(number, edges):
            self._stored.clear()
            self._stored.complete = False
        return edges

    def _computed(self, thread: int, number: int, wanted: Truths) -> Listed:
        """The edges of a block's wanted states, and those of others where they may be kept."""
        surveyed = bool(self._surveyed[number])
        every = wanted if surveyed and not self._stored.complete else np.ones_like(wanted)
        block = self.edges.block(thread, number, every, inner=surveyed)
        if not surveyed:
            block, self._surveyed[number] = self._survey(block), True
        return block.starts, block.targets, self.kinds[block.instances]

    def _survey(self, block: Block) -> Block:
        """Note what the states of a block enable; the block without edges that leave the region."""
        states, kinds = block.states, self.kinds[block.instances]
        self.cut[states] = block.cuts != 0
        for group in self.groups:
            found = _any_of(group.steps[kinds], block.starts)
            for bit, one in enumerate(group.constraints):
                hidden = (block.cuts & np.uint64(one.cuts | NOWHERE)) != 0
                found |= (hidden | one.visits).astype(found.dtype) << found.dtype.type(bit)
            group.enabled[states] &= found
        inner = block.targets != OUTSIDE
        places = np.concatenate([[0], np.cumsum(inner)]).astype(np.uint32)[block.starts]
        return Block(block.first, places, block.targets[inner], block.instances[inner], block.cuts)

    def _sweep(self, work: Callable[[int, int], None], *, down: bool) -> None:
        """Do some work on every block."""
        control = self.control
        control.sweeps += 1
        count = len(self.edges.blocks)
        self.edges.enter()

        def job(thread: int, position: int) -> None:
            if thread == 0 and position % TOLD == TOLD - 1:
                control.report(control.sweeps, self.edges.count * (count - position) // count)
            work(thread, count - 1 - position if down else position)

        with ThreadPool(control.threads) as pool:
            pool.run(count, job, control.stop.is_set)
        self.check_stop()
        self._note_bytes(0)
        control.report(control.sweeps, 0)

    def _note_bytes(self, more: int) -> None:
        """Note how many bytes edges and what was lent take now."""
        used = self._stored.bytes + self._waiting.bytes + self._lent + more
        self.control.stored = max(self.control.stored, used)


def _any_of(bits: Bits, starts: Bits) -> Bits:
    """The bits of the edges of each state together; 0 of those without edges."""
    found = np.zeros(len(starts) - 1, dtype=bits.dtype)
    leaving = starts[:-1] != starts[1:]
    if len(bits):
        found[leaving] = np.bitwise_or.reduceat(bits, starts[:-1][leaving])
    return found


def _restrict(kept: Truths, good: Truths) -> bool:
    """Leave states out that are not good; whether there were any."""
    bad = kept & ~good
    kept &= good
    return bool(bad.any())
