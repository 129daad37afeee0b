"""The behaviours that break a liveness property, in an explored graph, and a shortest way into one.

Each property is broken by a fair behaviour that stays in a *region* from some state on: where its goal is false; of
`eventually_always` anywhere, if it visits states where the goal is false again and again. It enters the region where
its *wait* begins: in an initial state (`eventually`), where the premise holds (`leads_to`), anywhere (the others).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import numpy.typing as npt
from attrs import define, field, frozen

from kraftcheck.solvers.liveness.constraints import Bits
from kraftcheck.solvers.liveness.fair import Sweeps
from kraftcheck.solvers.liveness.graph import APPRAISED, Block, Edges, KeptEdges, Labels, Listed, Numbers, Truths
from kraftcheck.solvers.liveness.runs import Ends, Run, Runs, shortest, states_of
from kraftcheck.solvers.machine_code.graph_kernels import emit_components
from kraftcheck.solvers.machine_code.objectcode import address, made

IS_CYCLE, LOSES, FAILS = 1, 2, 4
"""What is seen of a component: an edge, a state that strong fairness leaves out, a constraint satisfied nowhere."""


@define
class Components:
    """The components of some states of a region."""

    sweeps: Sweeps  # over the region, which was surveyed
    open: Truths  # the states that are not decided yet
    fair: Truths = field(init=False)  # the states of components in which every constraint can be satisfied
    labels: Labels = field(init=False)  # of these the least number of their component
    _is_trimmed: bool = False

    def __attrs_post_init__(self) -> None:
        """Nothing is decided."""
        self.fair = np.zeros_like(self.open)
        self.labels = np.zeros(len(self.open), dtype=np.uint32)

    def among(self, states: Numbers) -> Numbers:
        """The states, of some, that are in a fair component, or may be in one."""
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


STEPS = 1 << 22  # steps of a search depth first between two looks at whether it is to end


def label_components(kept: KeptEdges, members: Truths, labels: Labels, check_stop: Callable[[], None]) -> None:
    """Give each of some states the number of one of its component, the same for all of it.

    Args:
        members: the states that count.
        labels: of these are written.
    """
    count = len(members)
    index, stack = np.zeros(count, dtype=np.uint32), np.empty(count, dtype=np.uint32)
    arrays = np.array([address(array) for array in (kept.starts, kept.targets, members, labels, index, stack)])
    control = np.array([0, 0, 0, 1], dtype=np.int64)
    components = made(emit_components).function("components", 5)
    while not components(address(arrays), address(control), count, kept.size, STEPS):
        check_stop()


def _numbers(states: slice) -> Labels:
    return np.arange(states.start, states.stop, dtype=np.uint32)


Asked = tuple[int, ...]  # for each group the bits of the constraints that are asked for


@define
class FairCycle:
    """The search for a cycle."""

    sweeps: Sweeps
    within: Truths  # the states of its component, and maybe others, which are left out where they are met: used up
    state: int  # where the cycle is to begin
    _homeward: dict[int, Run] = field(factory=dict)
    _missed: Asked = ()

    def instances(self) -> tuple[int, ...] | None:
        """The action instances of the shorter one of two: constraint by constraint, or whichever is nearest.

        None: the state is on no fair cycle. A weak constraint that no way leads to and back from cannot be satisfied;
        for a strong one the states are left out that enable its steps.
        """
        every = sum(len(group.constraints) for group in self.sweeps.groups)
        while self.within[self.state]:
            ways = [self._around(most) for most in (1, every)]
            found = [way for way in ways if way is not None]
            if len(found) == len(ways):
                return min(found, key=len)
            for group, missed in zip(self.sweeps.groups, self._missed, strict=True):
                if missed & ~group.strong:
                    return None
                self.within &= (group.enabled & group.enabled.dtype.type(missed)) == 0
            self._homeward.clear()
        return None

    def _around(self, most: int) -> tuple[int, ...] | None:
        """It goes on to the nearest place that satisfies one of so many constraints not satisfied yet, and back."""
        way = Run((self.state,))
        while True:
            home = self._home(way.end)
            assert home is not None, "each place on the way has a way back"
            around = way.on(home)
            missing = self._missing(around)
            if not any(missing):
                return around.instances
            asked = _first(missing, most)
            more = self._on(way.end, asked)
            if more is None:
                self._missed = asked
                return None
            way = way.on(more)

    def _on(self, here: int, asked: Asked) -> Run | None:
        """The way to the nearest place that satisfies a constraint that is asked for, and has a way back."""
        while (more := self._shortest(here, self._satisfies(asked))) is not None:
            if self._home(more.end) is not None:
                return more
        return None

    def _home(self, here: int) -> Run | None:
        """The way back to where the cycle begins; None: there is none, and what was reached is left out."""
        if here == self.state:
            return Run((here,))
        if here not in self._homeward:
            home = self._shortest(here, lambda block: block.targets == self.state, leave_out=True)
            if home is None:
                return None
            self._homeward[here] = home
        return self._homeward[here]

    def _shortest(self, here: int, ends: Ends, *, leave_out: bool = False) -> Run | None:
        return shortest(self.sweeps.edges, here, self.within, ends, self.sweeps.check_stop, leave_out=leave_out)

    def _satisfies(self, asked: Asked) -> Ends:
        """The edges that satisfy a constraint that is asked for, by themselves or by where they lead."""

        def ends(block: Block) -> Truths:
            found, owners = np.zeros(len(block.targets), dtype=np.bool_), block.owners()
            for group, bits in zip(self.sweeps.groups, asked, strict=True):
                taken = group.steps[self.sweeps.kinds[block.instances]] & group.enabled[owners]
                rests = ~group.enabled[block.targets] & group.enabled.dtype.type(group.every & ~group.strong)
                found |= ((taken | rests) & group.enabled.dtype.type(bits)) != 0
            return found

        return ends

    def _missing(self, around: Run) -> Asked:
        """The constraints that a cycle does not satisfy."""
        kinds, states = self.sweeps.kinds[list(around.instances)], list(around.states)
        missing = []
        for group in self.sweeps.groups:
            enabled = group.enabled[states]
            taken = int(np.bitwise_or.reduce(group.steps[kinds] & enabled[:-1]))
            somewhere, everywhere = int(np.bitwise_or.reduce(enabled)), int(np.bitwise_and.reduce(enabled))
            satisfied = taken | ~everywhere & ~group.strong | ~somewhere & group.strong
            missing.append(group.every & ~satisfied)
        return tuple(missing)


def _first(asked: Asked, most: int) -> Asked:
    """The first so many of the constraints asked for."""
    chosen = []
    for bits in asked:
        own = 0
        while bits and most:
            own, bits, most = own | bits & -bits, bits & (bits - 1), most - 1
        chosen.append(own)
    return tuple(chosen)


STATE_BYTES = 15
"""Bytes that the search for a lasso takes for each state of a region, besides those of its constraints' bits."""

MANY_ROUNDS = 6  # rounds of the fixpoint after which components decide, where all edges are kept
ALONE = 2  # states of a block that are tried alone


@frozen
class Question:
    """A liveness property of the states of its region."""

    kind: str  # of `LIVENESS`
    concerned: int  # how many states of the graph it is about
    waiting: Truths  # the states where a wait for the goal begins, the goal being false

    @property
    def begins(self) -> Truths:
        """The states where a behaviour that breaks it may enter the region."""
        return self.waiting if self.kind in ("eventually", "leads_to") else np.ones_like(self.waiting)


@frozen
class Lasso:
    """A run into a fair cycle, by numbers of states."""

    entry: int  # the state where the wait begins
    way: tuple[int, ...]  # action instances from there to the cycle
    cycle: tuple[int, ...]  # action instances of the cycle; none: the behaviour stays where it is


@frozen
class BehavioursAnswer:
    """The answer about one property.

    Attributes:
        concerned, waiting: how many states it is about, and how many of them have to wait.
        lasso: how it is broken; None: by no fair behaviour within the graph.
        uncertain: states that wait, and whose behaviours may leave the graph before the goal.
    """

    concerned: int
    waiting: int
    lasso: Lasso | None
    uncertain: Truths


@define
class Behaviours:
    """Answers the question about a region."""

    # edges, sweeps: the region, and the constraints that the property is under
    edges: Edges
    sweeps: Sweeps
    rounds: int = MANY_ROUNDS  # of the fixpoint, after which components decide

    def answer(self, question: Question) -> BehavioursAnswer:
        """The answer to a question."""
        begins, fair = question.begins, self.fair()
        lasso = None
        if fair.any() and ((fair & begins).any() or (self.sweeps.reaching(fair) & begins).any()):
            lasso = self.lasso(begins, fair)
        uncertain = np.zeros_like(begins)
        if lasso is None and self.sweeps.cut.any():
            uncertain = self.sweeps.reaching(self.sweeps.cut) & question.waiting
        return BehavioursAnswer(question.concerned, int(np.count_nonzero(question.waiting)), lasso, uncertain)

    def fair(self) -> Truths:
        """The states from which a behaviour stays in the region that satisfies all constraints.

        Where many rounds leave out some states each, as on long ways, components decide: all that reach a fair one.
        """
        kept = self.sweeps.fair(self.rounds)
        if not self.sweeps.unfinished:
            return kept
        components = Components(self.sweeps, kept)
        while components.open.any():
            components.decide()
        goal = components.fair
        for first in range(0, len(goal), APPRAISED):
            states = np.arange(first, min(len(goal), first + APPRAISED))
            goal[states] |= self._still(states)
        return self.sweeps.reaching(goal)

    def lasso(self, begins: Truths, fair: Truths) -> Lasso:
        """The lasso with the shortest stem: nearest states first; where a behaviour may stay, before other cycles."""
        state, cycle = self._nearest(begins, fair)
        if begins.all():
            return Lasso(state, (), cycle)
        runs = Runs.none(self.edges, self.sweeps.check_stop, back=True)
        for _ in self._nearest_first(begins, runs):
            if runs.marks[state]:
                break
        way = runs.back(state)
        return Lasso(way.states[0], way.instances, cycle)

    def _nearest(self, begins: Truths, fair: Truths) -> tuple[int, tuple[int, ...]]:
        """The state where the cycle of the lasso begins, and its action instances; `fair` is used up."""
        self.edges.enter()
        bits = sum(group.enabled.itemsize for group in self.sweeps.groups)
        self.sweeps.lend(self.edges.count * max(0, STATE_BYTES - bits))  # 2 for each bit were free again
        components = Components(self.sweeps, fair)
        runs = Runs.none(self.edges, self.sweeps.check_stop, back=False)
        for _ in self._nearest_first(begins, runs):
            for near in runs.numbers():
                halts = near[self._still(near)]
                if len(halts):
                    return int(halts[0]), ()
            for near in runs.numbers():
                found = self._first_cycle(near, components)
                if found is not None:
                    return found
        raise AssertionError("a fair behaviour ends in a cycle")

    def _first_cycle(self, near: Numbers, components: Components) -> tuple[int, tuple[int, ...]] | None:
        """The first of some states that is on a fair cycle, and a short one; None: none is.

        Where edges are computed again, a few are tried alone before components are looked for.
        """
        tried = 0
        while len(near := components.among(near)):
            state = int(near[0])
            if components.fair[state] or (tried < ALONE and not components.at_once):
                tried += 1
                within = components.component(state) if components.fair[state] else components.open.copy()
                cycle = FairCycle(self.sweeps, within, state).instances()
                if cycle is not None:
                    return state, cycle
                assert not components.fair[state], "every constraint can be satisfied in a fair component"
                components.open[state] = False
            else:
                components.decide()
        return None

    def _still(self, states: Numbers) -> Truths:
        """At which of some states a fair behaviour may stay for ever: nothing that is fair is enabled."""
        still = np.ones(len(states), dtype=np.bool_)
        for group in self.sweeps.groups:
            still &= group.enabled[states] == 0
        return still

    def _nearest_first(self, begins: Truths, runs: Runs) -> Iterator[None]:
        """Let the farthest states of runs be, in turn, those to which a shortest run that begins a wait is so long."""
        everywhere, count = bool(begins.all()), self.edges.count
        for first, last in itertools.pairwise(itertools.chain(self.edges.levels, itertools.repeat(count))):
            if last > first:
                runs.begin(first, begins[first:last])
            if runs.moves:
                yield
            elif first == count:
                return
            if everywhere:
                runs.leave()
            else:
                runs.step()
