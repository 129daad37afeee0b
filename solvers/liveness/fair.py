"""The states of a region from which a fair behaviour stays there: a greatest fixpoint, by backward sweeps.

After Emerson and Lei (1985), for constraints of which strong ones need no nested fixpoint. Of the states of the
region those are kept, for all constraints at once, until nothing changes,

* weak: that reach, among those kept, a state where the steps are not enabled, or a step of them;
* strong: where the steps are not enabled, or that reach, among those kept, a step of them.

From a state that is kept a behaviour visits what it can still reach of each constraint in turn; what it can reach no
more it has no need of. Conversely what a fair behaviour visits infinitely often is never left out. A state has a bit
for each constraint, and a sweep takes all bits backward along all edges; bits only rise, so the number of threads
does not matter. A sweep passes over the states that have all bits already. Edges for which there is no memory are
computed again for the others alone, of which as many as there is room for are kept for the next sweep; and a region is
narrowed to what is left of it, until its edges find room.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import define, field, frozen

from kraftcheck.solvers.liveness.graph import Block, Edges, Truths
from kraftcheck.solvers.liveness.stored import Listed, StoredEdges, only
from kraftcheck.solvers.machine_code.edge_kernel import NOWHERE, OUTSIDE
from kraftcheck.solvers.machine_code.mark_kernel import raise_marks
from kraftcheck.solvers.machine_code.objectcode import address
from kraftcheck.solvers.machine_code.threads import ThreadPool

GROUP = 32
"""Constraints whose bits are swept together."""

Bits = npt.NDArray[Any]
"""One unsigned number for each state or class of edges."""


@frozen
class Constraint:
    """A fairness constraint as the sweeps see it.

    Attributes:
        strong: whether it is strong.
        instances: numbers of the action instances it is about.
        cuts: cut bits (`edge_kernel`) of the kinds of these.
        visits: it stands for a set of states that are visited again and again: those where it is excused. It is
            weak, has no steps, and is enabled everywhere else.
    """

    strong: bool
    instances: Sequence[int]
    cuts: int
    visits: bool = False


TO_VISIT = Constraint(False, (), 0, visits=True)
"""The demand that the states are visited where it is excused."""


@define
class Group:
    """Up to `GROUP` constraints, a bit each.

    Attributes:
        constraints: what the bits stand for.
        steps: for each class of edges the constraints that it is a step of.
        enabled: for each state the constraints whose steps it enables, those not counted that are excused there; of
            states whose edges were not computed yet, those that are not excused.
    """

    constraints: Sequence[Constraint]
    steps: Bits
    enabled: Bits

    @property
    def every(self) -> int:
        """The bits of all of them."""
        return (1 << len(self.constraints)) - 1

    @property
    def strong(self) -> int:
        """The bits of the strong ones."""
        return sum(1 << bit for bit, one in enumerate(self.constraints) if one.strong)


def classes_of(constraints: Sequence[Constraint]) -> tuple[Bits, list[tuple[int, ...]]]:
    """For each action instance its class, and for each class the numbers of the constraints that it is a step of."""
    member: dict[int, tuple[int, ...]] = {}
    for number, one in enumerate(constraints):
        for instance in one.instances:
            member[instance] = (*member.get(instance, ()), number)
    classes = list(dict.fromkeys([(), *member.values()]))
    table = np.zeros(1 << 16, dtype=np.uint8 if len(classes) <= 256 else np.uint16)
    for instance, numbers in member.items():
        table[instance] = classes.index(numbers)
    return table, classes


def groups_of(constraints: Sequence[Constraint], classes: Sequence[tuple[int, ...]], states: int) -> tuple[Group, ...]:
    """The constraints in groups; nothing is excused yet."""
    groups = []
    for first in range(0, len(constraints), GROUP):
        part = constraints[first : first + GROUP]
        kind: Any = np.dtype(f"u{next(size for size in (1, 2, 4) if len(part) <= 8 * size)}").type
        bits = [sum(1 << n - first for n in numbers if first <= n < first + len(part)) for numbers in classes]
        every = np.full(states, (1 << len(part)) - 1, dtype=kind)
        groups.append(Group(part, np.array(bits, dtype=kind), every))
    return tuple(groups)


class StoppedError(Exception):
    """The search was to end."""


@define
class SweepControl:
    """How sweeps run.

    Attributes:
        threads: how many.
        stop: set from outside to end them; then StoppedError is raised.
        report: called after each sweep with their number.
        budget: bytes for edges that are kept.
        sweeps: how many there were.
        stored: most bytes of edges that were kept at once.
    """

    threads: int = 1
    stop: threading.Event = field(factory=threading.Event)
    report: Callable[[int], None] = lambda sweeps: None
    budget: int = 1 << 30
    sweeps: int = 0
    stored: int = 0


@define
class Sweeps:
    """Sweeps over a region under fairness constraints.

    Attributes:
        edges: the region.
        kinds: for each action instance the class of its edges.
        groups: the constraints, in order, `GROUP` to a group.
        control: how they run.
        cut: states with a step that a domain cut, or whose target is not visited; as far as edges were computed.
    """

    edges: Edges
    kinds: Bits
    groups: tuple[Group, ...]
    control: SweepControl
    cut: Truths = field(init=False)
    _stored: StoredEdges = field(init=False)
    _waiting: StoredEdges = field(init=False)
    _surveyed: Truths = field(init=False)

    def __attrs_post_init__(self) -> None:
        """Nothing is computed yet."""
        self.cut = np.zeros(self.edges.count, dtype=np.bool_)
        self._surveyed = np.zeros(len(self.edges.blocks), dtype=np.bool_)
        self._stored = self._waiting = StoredEdges(self.control.budget)

    def note_survey(self, cut: Truths) -> None:
        """What each state enables is in the groups already, and these states are cut."""
        self.cut, self._surveyed[:] = cut, True

    def fair(self) -> Truths:
        """The states from which a behaviour stays in the region that satisfies all constraints."""
        kept, removed = np.ones(self.edges.count, dtype=np.bool_), True
        while removed and kept.any():
            removed = False
            for group in self.groups:
                removed |= _restrict(kept, self._satisfiable(group, kept))
            if removed and self._is_worth_narrowing(kept):
                kept[kept] = self._narrowed(kept).fair()
                return kept
        return kept

    def reaching(self, goal: Truths) -> Truths:
        """The states that reach a goal inside of the region."""
        marks = goal.astype(np.uint8)
        nothing = np.zeros(1 << 8 * self.kinds.itemsize, dtype=np.uint8)
        self._close(marks, np.ones_like(goal), goal.view(np.uint8), nothing, 0, 1)
        return marks.astype(np.bool_)

    def _is_worth_narrowing(self, kept: Truths) -> bool:
        """Whether edges are computed again, and fewer would be."""
        return not self._stored.complete and 4 * int(np.count_nonzero(kept)) < 3 * len(kept)

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
        self._close(marks, kept, group.enabled, group.steps, int(weak), group.every)
        satisfiable: Truths = ((marks & weak) == weak) & (((marks | ~group.enabled) & strong) == strong)
        return satisfiable

    def _close(self, marks: Bits, kept: Truths, enabled: Bits, steps: Bits, weak: int, full: int) -> None:
        """Raise the marks of the states kept until none rises."""
        raise_block = raise_marks(marks.itemsize, self.kinds.itemsize)
        waiting = self._waiting = StoredEdges(self.control.budget)

        def work(thread: int, number: int, down: bool) -> int:
            states = self._states(number)
            wanted = kept[states] & (marks[states] != full)
            if not wanted.any():
                return 0
            edges = waiting.get(number) or self._edges(thread, number, wanted)
            arrays = np.array([address(array) for array in (*edges, steps, marks, kept, enabled)])
            rose = raise_block(address(arrays), states.start, states.stop - states.start, weak, full, int(down))
            if not self._stored.complete and waiting.get(number) is None:
                waiting.put(number, only(edges, kept[states] & (marks[states] != full)))
            return rose

        down = True  # first from the last state to the first, for edges mostly lead up
        while self._sweep(work, down=down):
            down = not down
        waiting.clear()

    def _states(self, number: int) -> slice:
        blocks = self.edges.blocks
        return slice(blocks[number], blocks[number + 1] if number + 1 < len(blocks) else self.edges.count)

    def _edges(self, thread: int, number: int, wanted: Truths) -> Listed:
        """The edges of a block's wanted states within the region: places, targets, classes."""
        stored = self._stored.get(number)
        if stored is not None:
            return stored
        surveyed, may_fit = bool(self._surveyed[number]), self._stored.complete
        every = wanted if surveyed and not may_fit else np.ones_like(wanted)
        block = self.edges.block(thread, number, every, inner=surveyed)
        if not surveyed:
            block, self._surveyed[number] = self._survey(block), True
        edges = block.starts, block.targets, self.kinds[block.instances]
        if may_fit and not self._stored.put(number, edges):
            self._stored.clear()
            self._stored.complete = False
        return edges

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

    def _sweep(self, work: Callable[[int, int, bool], int], *, down: bool) -> bool:
        """Do some work on every block; whether it says that something changed."""
        control = self.control
        control.sweeps += 1
        changed, count = [0] * control.threads, len(self.edges.blocks)
        self.edges.enter()

        def job(thread: int, position: int) -> None:
            changed[thread] += work(thread, count - 1 - position if down else position, down)

        with ThreadPool(control.threads) as pool:
            pool.run(count, job, control.stop.is_set)
        if control.stop.is_set():
            raise StoppedError
        control.stored = max(control.stored, self._stored.bytes + self._waiting.bytes)
        control.report(control.sweeps)
        return any(changed)


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
