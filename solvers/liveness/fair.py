"""The states from which a fair behaviour stays in a region: a greatest fixpoint, by backward sweeps.

After Emerson and Lei (1985), for constraints of which strong ones need no nested fixpoint. Of the states of the
region those are kept, for all constraints at once, until nothing changes,

* weak: that reach, among those kept, a state where the steps are not enabled, or a step of them;
* strong: where the steps are not enabled, or that reach, among those kept, a step of them.

From a state that is kept a behaviour visits what it can still reach of each constraint in turn; what it can reach no
more it has no need of. Conversely what a fair behaviour visits infinitely often is never left out. A state has a bit
for each constraint, and a sweep takes all bits backward along all edges; bits only rise, so the number of threads
does not matter.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import define, field, frozen

from kraftcheck.solvers.liveness.graph import Block, Edges, Truths
from kraftcheck.solvers.machine_code.edge_kernel import NOWHERE
from kraftcheck.solvers.machine_code.threads import ThreadPool

GROUP = 32
"""Constraints whose bits are swept together."""

Bits = npt.NDArray[Any]
"""One unsigned number for each state or edge."""


@frozen
class Constraint:
    """A fairness constraint as the sweeps see it.

    Attributes:
        strong: whether it is strong.
        instances: numbers of the action instances it is about.
        cuts: cut bits (`edge_kernel`) of the kinds of these.
    """

    strong: bool
    instances: Sequence[int]
    cuts: int


@define
class Group:
    """Up to `GROUP` constraints, a bit each.

    Attributes:
        strong: the bits of the strong ones.
        by_instance: for each action instance the constraints that it is a step of.
        cuts: for each bit the cut bits by which it may be enabled although no edge shows it.
        enabled: for each state the constraints whose steps it enables, those not counted that are excused there.
    """

    strong: int
    by_instance: Bits
    cuts: tuple[int, ...]
    enabled: Bits

    @property
    def every(self) -> int:
        """The bits of all of them."""
        return (1 << len(self.cuts)) - 1


def group_of(constraints: Sequence[Constraint], states: int) -> Group:
    """A group whose `enabled` is not known yet."""
    size = next(size for size in (1, 2, 4) if len(constraints) <= 8 * size)
    by_instance = np.zeros(1 << 16, dtype=f"u{size}")
    for bit, one in enumerate(constraints):
        by_instance[list(one.instances)] |= by_instance.dtype.type(1 << bit)
    strong = sum(1 << bit for bit, one in enumerate(constraints) if one.strong)
    cuts = tuple(one.cuts for one in constraints)
    return Group(strong, by_instance, cuts, np.zeros(states, dtype=by_instance.dtype))


class StoppedError(Exception):
    """The search was to end."""


@define
class Sweeps:
    """Sweeps over a graph under fairness constraints.

    Attributes:
        edges: the graph.
        groups: the constraints, in order, `GROUP` to a group.
        threads: how many.
        stop: set from outside to end it; then StoppedError is raised.
        report: called after each sweep with their number.
        sweeps: how many there were.
        cut: states with a step that a domain cut, or whose target is not visited.
    """

    edges: Edges
    groups: tuple[Group, ...]
    threads: int = 1
    stop: threading.Event = field(factory=threading.Event)
    report: Callable[[int], None] = lambda sweeps: None
    sweeps: int = 0
    cut: Truths = field(init=False)

    def survey(self, excused: Callable[[int, slice], Bits]) -> None:
        """Note what each state enables.

        Args:
            excused: for a group by its number, and states, the bits of the constraints that are excused there.
        """
        self.cut = np.zeros(self.edges.count, dtype=np.bool_)

        def note(block: Block) -> bool:
            self.cut[block.states] = block.cuts != 0
            for number, group in enumerate(self.groups):
                enabled = np.bitwise_or.reduceat(group.by_instance[block.instances], block.starts)
                for bit, kinds in enumerate(group.cuts):
                    hidden = (block.cuts & np.uint64(kinds | NOWHERE)) != 0
                    enabled |= hidden.astype(enabled.dtype) << enabled.dtype.type(bit)
                group.enabled[block.states] = enabled & ~excused(number, block.states)
            return False

        self._sweep(note)

    def fair(self, region: Truths, constraints: Sequence[int], visit: Truths | None = None) -> Truths:
        """The states from which a behaviour stays in the region that is fair and, if so asked, visits again and again.

        Args:
            region: where it stays.
            constraints: numbers of those it satisfies.
            visit: what it visits infinitely often; None: nothing is asked.
        """
        kept, removed = region.copy(), True
        used = [sum(1 << n % GROUP for n in constraints if n // GROUP == g) for g in range(len(self.groups))]
        while removed and kept.any():
            removed = False
            for group, bits in zip(self.groups, used, strict=True):
                if bits:
                    removed |= _restrict(kept, self._satisfiable(group, bits, kept))
            if visit is not None:
                removed |= _restrict(kept, self.reaching(visit & kept, kept))
        return kept

    def reaching(self, goal: Truths, within: Truths) -> Truths:
        """The states of a set that reach a goal inside of it."""
        marks = (goal & within).astype(np.uint8)
        self._close(marks, within, 1)
        return marks.astype(np.bool_)

    def _satisfiable(self, group: Group, used: int, kept: Truths) -> Truths:
        """The states that can satisfy, for ever, the used constraints of a group among the states kept."""
        kind = group.by_instance.dtype.type
        strong, weak = kind(used & group.strong), kind(used & ~group.strong)
        marks = np.zeros(len(kept), dtype=group.by_instance.dtype)

        def seed(block: Block) -> bool:
            taken = group.by_instance[block.instances] & kind(used)
            taken[~kept[block.targets]] = 0
            enabled = group.enabled[block.states]
            bits = (np.bitwise_or.reduceat(taken, block.starts) & enabled) | (weak & ~enabled)
            marks[block.states] = np.where(kept[block.states], bits, kind(0))
            return False

        self._sweep(seed, lambda states: bool(kept[states].any()))
        self._close(marks, kept, used)
        satisfiable: Truths = ((marks & weak) == weak) & (((marks | ~group.enabled) & strong) == strong)
        return satisfiable

    def _close(self, marks: Bits, within: Truths, full: int) -> None:
        """Take bits of marks backward among the states of a set, until none rises; elsewhere marks are 0."""
        most = marks.dtype.type(full)

        def waiting(states: slice) -> Truths:
            found: Truths = within[states] & (marks[states] != most)
            return found

        def raise_marks(block: Block) -> bool:
            own = marks[block.states]
            above = np.bitwise_or.reduceat(marks[block.targets], block.starts)
            after = np.where(waiting(block.states), above, own)
            rose = bool((after != own).any())
            marks[block.states] = after
            return rose

        while self._sweep(raise_marks, lambda states: bool(waiting(states).any())):
            pass

    def _sweep(self, work: Callable[[Block], bool], wanted: Callable[[slice], bool] = lambda states: True) -> bool:
        """Do some work on every block whose states are wanted; whether some of it says that it changed something.

        The first sweep goes down, from the last state to the first, for edges mostly lead up; the next goes up.
        """
        self.sweeps += 1
        bounds, down, changed = [*self.edges.blocks, self.edges.count], self.sweeps % 2 == 1, [False] * self.threads
        count = len(bounds) - 1

        def job(thread: int, position: int) -> None:
            number = count - 1 - position if down else position
            if wanted(slice(bounds[number], bounds[number + 1])):
                changed[thread] |= work(self.edges.block(thread, number))

        with ThreadPool(self.threads) as pool:
            pool.run(count, job, self.stop.is_set)
        if self.stop.is_set():
            raise StoppedError
        self.report(self.sweeps)
        return any(changed)


def _restrict(kept: Truths, good: Truths) -> bool:
    """Leave states out that are not good; whether there were any."""
    bad = kept & ~good
    kept &= good
    return bool(bad.any())
