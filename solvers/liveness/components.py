"""The strongly connected components in which every fairness constraint can be satisfied.

Where all edges are kept, one search depth first finds all components. Else sweeps do, over many at once: of the states
that are not decided yet those are left out that no cycle leads to, again and again what no edge leads to.
Then each state gets the least number of those that lead to it, its *label*, and the states that lead back to the one
with that number, along states of the same label, are its component (Orzan, 2004).

Of each component it is seen which constraints it satisfies. One that can satisfy some weak constraint nowhere is left
out; one that can take no step of a strong constraint loses the states that enable one, and what is left of it is looked
at in the next round. So are the states of components that were not found yet.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
from attrs import define, field

from kraftcheck.solvers.liveness.constraints import Bits
from kraftcheck.solvers.liveness.fair import Sweeps
from kraftcheck.solvers.liveness.graph import Numbers, Truths
from kraftcheck.solvers.liveness.runs import states_of
from kraftcheck.solvers.liveness.stored import KeptEdges, Labels, Listed
from kraftcheck.solvers.machine_code.component_kernel import find_components
from kraftcheck.solvers.machine_code.objectcode import address

IS_CYCLE, LOSES, FAILS = 1, 2, 4
"""What is seen of a component: an edge, a state that strong fairness leaves out, a constraint satisfied nowhere."""


@define
class Components:
    """The components of some states of a region.

    Attributes:
        sweeps: over the region, which was surveyed.
        open: the states that are not decided yet.
        fair: the states of components in which every constraint can be satisfied.
        labels: of these the least number of their component.
    """

    sweeps: Sweeps
    open: Truths
    fair: Truths = field(init=False)
    labels: Labels = field(init=False)
    _is_trimmed: bool = False

    def __attrs_post_init__(self) -> None:
        """Nothing is decided."""
        self.fair = np.zeros_like(self.open)
        self.labels = np.zeros(len(self.open), dtype=np.uint32)

    def among(self, states: Numbers) -> Numbers:
        """Those of some states that are in a fair component, or may be in one."""
        if self.open[states].any() and not self.at_once:
            self._trim()
        return states[self.fair[states] | self.open[states]]

    @property
    def at_once(self) -> bool:
        """Whether all components are found at once, because every edge is kept."""
        return self.sweeps.keeps_all

    def decide(self) -> None:
        """Decide about components: all of them where edges are kept, else those with the least states among them."""
        kept = self.sweeps.kept() if self.at_once else None
        members = self.open.copy() if kept is not None else np.zeros_like(self.open)
        if kept is not None:
            label_components(kept, members, self.labels, self.sweeps.check_stop)
        else:
            self._trim()
            self._label()
            for states in self._blocks():
                members[states] = self.open[states] & (self.labels[states] == _numbers(states))
            self.sweeps.lead_back(members, self.open, self.labels)
        self._judge(members)
        self._is_trimmed = False

    def component(self, state: int) -> Truths:
        """The states of the component of one that is known to be fair."""
        found: Truths = self.fair & (self.labels == self.labels[state])
        return found

    def _blocks(self) -> list[slice]:
        return [states_of(self.sweeps.edges, number) for number in range(len(self.sweeps.edges.blocks))]

    def _edges(self, number: int, wanted: Truths, among: Truths) -> Listed:
        """The source, target and class of the edges that lead from some states of a block to some states."""
        starts, targets, kinds = self.sweeps.listed(number, wanted)
        owners = np.repeat(np.arange(len(wanted), dtype=np.uint32), np.diff(starts))
        chosen = wanted[owners] & among[targets]
        return owners[chosen] + np.uint32(states_of(self.sweeps.edges, number).start), targets[chosen], kinds[chosen]

    def _until_none(self, wanted: Callable[[slice], Truths], work: Callable[[int, Truths], None]) -> None:
        """Work on the states that are wanted, block by block, until there are none."""
        found = True
        while found:
            found = False
            for number, states in enumerate(self._blocks()):
                while (some := wanted(states)).any():
                    work(number, some)
                    found = True

    def _trim(self) -> None:
        """Leave out what no cycle leads to. The labels are used to count the edges that lead to a state."""
        if self._is_trimmed:
            return
        self._is_trimmed = True
        self.labels[self.open] = 0
        for number, states in enumerate(self._blocks()):
            if self.open[states].any():
                np.add.at(self.labels, self._edges(number, self.open[states], self.open)[1], 1)

        def leave_out(number: int, some: Truths) -> None:
            _, targets, _ = self._edges(number, some, self.open)
            self.open[states_of(self.sweeps.edges, number)] &= ~some
            np.subtract.at(self.labels, targets, 1)

        self._until_none(lambda states: self.open[states] & (self.labels[states] == 0), leave_out)

    def _label(self) -> None:
        """Give each state the least number of those that lead to it."""
        for states in self._blocks():
            self.labels[states] = np.where(self.open[states], _numbers(states), self.labels[states])
        waits = self.open.copy()

        def pass_on(number: int, some: Truths) -> None:
            waits[states_of(self.sweeps.edges, number)] &= ~some
            sources, targets, _ = self._edges(number, some, self.open)
            lower = self.labels[sources] < self.labels[targets]
            np.minimum.at(self.labels, targets[lower], self.labels[sources[lower]])
            waits[targets[lower]] = True

        self._until_none(lambda states: waits[states].copy(), pass_on)

    def _judge(self, members: Truths) -> None:
        """Decide about the components that these states make up."""
        seen, met = self._seen(members)
        for states in self._blocks():
            own = members[states]
            label = np.where(own, self.labels[states], 0)
            is_cycle = own & ((seen[label] & (IS_CYCLE | FAILS)) == IS_CYCLE)
            whole = is_cycle & ((seen[label] & LOSES) == 0)
            self.fair[states] |= whole
            self.open[states] &= ~own | (is_cycle & ~whole & ~self._excess(states, label, met))

    def _seen(self, members: Truths) -> tuple[npt.NDArray[np.uint8], list[Bits]]:
        """What is seen of components, by their labels, and of each group the constraints that they satisfy."""
        groups = self.sweeps.groups
        seen, met = np.zeros(len(members), dtype=np.uint8), [np.zeros_like(group.enabled) for group in groups]
        for number, states in enumerate(self._blocks()):
            own = members[states]
            if not own.any():
                continue
            sources, targets, kinds = self._edges(number, own, members)
            inside = self.labels[sources] == self.labels[targets]
            sources, kinds = sources[inside], kinds[inside]
            seen[self.labels[sources]] |= IS_CYCLE
            labels = self.labels[states][own]
            for group, bits in zip(groups, met, strict=True):
                rests = ~group.enabled[states][own] & group.enabled.dtype.type(group.every & ~group.strong)
                np.bitwise_or.at(bits, labels, rests)
                np.bitwise_or.at(bits, self.labels[sources], group.steps[kinds] & group.enabled[sources])
        for states in self._blocks():
            label = np.where(members[states], self.labels[states], 0)
            seen[label[members[states] & self._excess(states, label, met)]] |= LOSES
            for group, bits in zip(groups, met, strict=True):
                weak = group.enabled.dtype.type(group.every & ~group.strong)
                seen[states][(bits[states] & weak) != weak] |= FAILS
        return seen, met

    def _excess(self, states: slice, labels: Labels, met: Sequence[Bits]) -> Truths:
        """The states of a block that enable what their component can never take, and strong fairness asks for."""
        found = np.zeros(len(labels), dtype=np.bool_)
        for group, bits in zip(self.sweeps.groups, met, strict=True):
            found |= (group.enabled[states] & ~bits[labels] & group.enabled.dtype.type(group.strong)) != 0
        return found


STEPS = 1 << 22
"""Steps of a search depth first between two looks at whether it is to end."""


def label_components(kept: KeptEdges, members: Truths, labels: Labels, check_stop: Callable[[], None]) -> None:
    """Give each of some states the number of one of its component, the same for all of it.

    Args:
        kept: the edges.
        members: the states that count.
        labels: of these are written.
        check_stop: called now and then.
    """
    count = len(members)
    index, stack = np.zeros(count, dtype=np.uint32), np.empty(count, dtype=np.uint32)
    arrays = np.array([address(array) for array in (kept.starts, kept.targets, members, labels, index, stack)])
    control = np.array([0, 0, 0, 1], dtype=np.int64)
    while not find_components()(address(arrays), address(control), count, kept.size, STEPS):
        check_stop()


def _numbers(states: slice) -> Labels:
    return np.arange(states.start, states.stop, dtype=np.uint32)
