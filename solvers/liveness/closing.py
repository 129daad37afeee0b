"""Raising marks along the edges of a region until none can rise, block by block and sweep by sweep."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from attrs import define, field

from kraftcheck.solvers.liveness.constraints import Bits
from kraftcheck.solvers.liveness.graph import Edges, Truths
from kraftcheck.solvers.liveness.guides import Guides, guiding, later
from kraftcheck.solvers.liveness.late_rises import LateRises
from kraftcheck.solvers.liveness.runs import states_of
from kraftcheck.solvers.liveness.stored import Labels, Listed, StoredEdges, alike, only
from kraftcheck.solvers.machine_code.mark_kernel import raise_marks
from kraftcheck.solvers.machine_code.objectcode import address
from kraftcheck.solvers.search.arcs import ARC_BYTES, Arcs


@define
class Marking:
    """What is marked.

    Attributes:
        marks: for each state the bits that it has, which rise.
        kept: the states that count.
        enabled: for each state the bits whose steps it enables.
        steps: for each class of edges the bits that it is a step for.
        weak: the bits that a state has that does not enable their steps.
        full: all bits.
        labels: marks rise along edges between states of the same one alone; None: along all.
        guides: of the states, which are followed, and noted for a next time; None: there are none.
    """

    marks: Bits
    kept: Truths
    enabled: Bits
    steps: Bits
    weak: int
    full: int
    labels: Labels | None = None
    guides: Guides | None = None


@define
class Closing:
    """Sweeps that raise marks. In the first two each state is looked at that has not all bits.

    Attributes:
        edges: the region.
        kind: the type of classes of edges.
        marking: what is marked.
        listed: the edges of wanted states of a block, by thread and number.
        stored, waiting: edges that are kept, and those kept for these sweeps alone.
        sweep: how many there were.
        arc_bytes: bytes of a list of edges.
    """

    edges: Edges
    kind: npt.DTypeLike
    marking: Marking
    listed: Callable[[int, int, Truths], Listed]
    stored: StoredEdges
    waiting: StoredEdges
    sweep: int = 0
    arc_bytes: int = 0
    _late: LateRises = field(init=False)
    _watch: Bits = field(init=False)
    _raise: Callable[..., int] = field(init=False)
    _rises: list[tuple[int, int]] = field(factory=list)
    _put_off: bool = False

    def __attrs_post_init__(self) -> None:
        """Nothing was looked at."""
        self._late, self._watch = LateRises.of(self.edges, ()), np.empty_like(self.marking.marks)
        self._raise = raise_marks(self.marking.marks.itemsize, np.dtype(self.kind).itemsize)

    @property
    def goes_on(self) -> bool:
        """Whether another sweep is needed."""
        return self.sweep == 0 or bool(self._late.states) or (self.sweep == 1 and self._put_off)

    @property
    def is_down(self) -> bool:
        """Whether the sweep goes from the last state to the first, as the first one does, for edges mostly lead up."""
        return self.sweep % 2 == 1

    def begin(self) -> None:
        """Begin a sweep."""
        self.sweep += 1
        self._rises = []
        if self.sweep <= 2:
            self._watch[:] = self.marking.full  # each state is looked at, up to those with all bits

    def end(self) -> None:
        """See what rose too late in the sweep."""
        self._late = LateRises.of(self.edges, self._rises)

    def follow_arcs(self, room: int, stopped: Callable[[], bool]) -> bool:
        """Raise all marks that can rise along listed edges, each looked at once for each rise of its target.

        After the first two sweeps marks rise only by those of other states. False: the edges take more bytes.
        """
        marking, parts = self.marking, [np.empty((2, 0), dtype=np.uint32)]
        for number in range(len(self.edges.blocks)):
            states = states_of(self.edges, number)
            wanted = marking.kept[states] & (marking.marks[states] != marking.full)
            if stopped() or not wanted.any():
                continue
            edges = self.listed(0, number, wanted)
            starts, targets, _ = edges if marking.labels is None else alike(edges, marking.labels, states)
            owners = np.repeat(np.arange(len(wanted), dtype=np.uint32), np.diff(starts))
            chosen = wanted[owners] & marking.kept[targets]
            parts.append(np.stack([owners[chosen] + np.uint32(states.start), targets[chosen]]))
            self.arc_bytes += ARC_BYTES * int(np.count_nonzero(chosen))
            if self.arc_bytes > room:
                return False
        sources, targets = np.concatenate(parts, axis=1)
        Arcs(sources, targets, np.full(len(sources), marking.full, dtype=marking.marks.dtype)).close(
            marking.marks, stopped
        )
        return True

    def work(self, thread: int, number: int) -> None:
        """Raise the marks of a block."""
        states, late = states_of(self.edges, number), np.array([len(self.marking.marks), 0])
        wanted, put_off = self._lacking(number, states), np.zeros(0, dtype=np.bool_)
        guides = self.marking.guides
        first = None if guides is None or self.sweep > 2 else guiding(guides[states], wanted, self.kind)
        if guides is not None and first is not None:
            self._look(first, states, late)
            wanted = self._lacking(number, states)
            put_off = wanted & later(guides, self.marking.kept, self.marking.marks, self.marking.full, states)
            if self.sweep == 2 or 2 * np.count_nonzero(put_off) < np.count_nonzero(wanted):
                put_off[:] = False  # few: it is better to keep the edges of all
            self._put_off |= bool(put_off.any())
            wanted &= ~put_off
        if wanted.any():
            edges = self.waiting.get(number) or self.listed(thread, number, wanted)
            if self.marking.labels is not None:
                edges = alike(edges, self.marking.labels, states)
            self._look(edges, states, late)
            if not put_off.any():
                self._keep(number, edges, states)
        self._rises.append((int(late[0]), int(late[1])))

    def _lacking(self, number: int, states: slice) -> Truths:
        """The states of a block that lack bits which they may get."""
        looks = self.marking.full if self.sweep <= 2 else self._late.gain(number)
        marks = self.marking.marks
        lacking: Truths = self.marking.kept[states] & ((marks.dtype.type(looks) & ~marks[states]) != 0)
        return lacking

    def _look(self, edges: Listed, states: slice, late: npt.NDArray[np.int64]) -> None:
        """Raise the marks of a block along some edges."""
        marking = self.marking
        arrays = (*edges, marking.steps, marking.marks, marking.kept, marking.enabled, self._watch)
        guides = 0 if marking.guides is None else address(marking.guides)
        places = np.array([*(address(array) for array in arrays), guides])
        first, count, down = states.start, states.stop - states.start, int(self.is_down)
        self._raise(address(places), first, count, marking.weak, marking.full, down, address(late))

    def _keep(self, number: int, edges: Listed, states: slice) -> None:
        """Keep the edges of a block for the next sweep that were computed, of the states that lack bits."""
        lacks = self.marking.kept[states] & (self.marking.marks[states] != self.marking.full)
        if self.sweep <= 2 and not self.stored.complete and self.waiting.get(number) is None:
            self.waiting.put(number, only(edges, lacks))
