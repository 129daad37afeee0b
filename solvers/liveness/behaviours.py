"""The behaviours that break a liveness property, in an explored graph, and a shortest way into one.

Each property is broken by a fair behaviour that stays in a *region* from some state on: where its goal is false; of
`eventually_always` anywhere, if it visits states where the goal is false again and again. It enters the region where
its *wait* begins: in an initial state (`eventually`), where the premise holds (`leads_to`), anywhere (the others).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from attrs import define, field, frozen

from kraftcheck.solvers.liveness.cycle import Cycles, Demand, demand_of, demand_to_visit
from kraftcheck.solvers.liveness.fair import GROUP, Sweeps
from kraftcheck.solvers.liveness.graph import Edges, Numbers, Truths
from kraftcheck.solvers.liveness.subgraph import Subgraph, subgraph


@frozen
class Question:
    """A liveness property of a graph.

    Attributes:
        kind: of `LIVENESS`.
        premise, goal: the states where they hold.
        initial: the initial states.
        constraints: numbers of the fairness constraints that it is under.
    """

    kind: str
    premise: Truths
    goal: Truths
    initial: Truths
    constraints: tuple[int, ...]

    @property
    def region(self) -> Truths:
        """Where a behaviour that breaks it stays in the end."""
        return np.ones_like(self.goal) if self.kind == "eventually_always" else ~self.goal

    @property
    def visit(self) -> Truths | None:
        """The states that it has to visit again and again."""
        return ~self.goal if self.kind == "eventually_always" else None

    @property
    def concerned(self) -> Truths:
        """The states where a wait for the goal may begin."""
        return self.initial if self.kind == "eventually" else self.premise

    @property
    def waiting(self) -> Truths:
        """Those of them that have to wait, the goal being false."""
        return self.concerned & ~self.goal


@frozen
class Lasso:
    """A run into a fair cycle, by numbers of states.

    Attributes:
        entry: the state where the wait begins.
        way: action instances from there to the cycle.
        cycle: action instances of the cycle; none: the behaviour stays where it is.
    """

    entry: int
    way: tuple[int, ...]
    cycle: tuple[int, ...]


@frozen
class Answer:
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
    """Answers questions about a graph.

    Attributes:
        edges, sweeps: the graph.
        depth: distance of each state from the initial ones.
    """

    edges: Edges
    sweeps: Sweeps
    depth: Numbers

    def answer(self, question: Question) -> Answer:
        """The answer to a question."""
        region, waiting = question.region, question.waiting
        fair = self.sweeps.fair(region, question.constraints, question.visit)
        begins = waiting if question.kind in ("eventually", "leads_to") else region
        lasso = None
        if fair.any() and (self.sweeps.reaching(fair, region) & begins).any():
            lasso = self._lasso(question, begins & region, fair)
        uncertain = np.zeros_like(region)
        if lasso is None and self.sweeps.cut.any():
            uncertain = self.sweeps.reaching(self.sweeps.cut & region, region) & waiting
        concerned, waits = int(np.count_nonzero(question.concerned)), int(np.count_nonzero(waiting))
        return Answer(concerned, waits, lasso, uncertain)

    def _lasso(self, question: Question, begins: Truths, fair: Truths) -> Lasso:
        """The lasso with the shortest stem: nearest states first; where a behaviour may stay, before other cycles."""
        still, cycles, place = self._still(question, fair), None, np.cumsum(fair) - 1
        for frontier, stem in self._nearest_first(begins, question.region):
            near = frontier[fair[frontier]]
            halts = near[still[near]]
            if len(halts):
                entry, way = stem.back(int(halts[0]))
                return Lasso(entry, way, ())
            for state in near:
                cycles = cycles or self._cycles(question, fair)
                found = cycles.through(int(place[state]))
                if found is not None:
                    entry, way = stem.back(int(state))
                    return Lasso(entry, way, tuple(int(cycles.graph.instances[edge]) for edge in found))
        raise AssertionError("a fair behaviour ends in a cycle")

    def _still(self, question: Question, fair: Truths) -> Truths:
        """The states at which a fair behaviour may stay for ever: nothing that is fair is enabled."""
        still = fair.copy() if question.visit is None else fair & question.visit
        for number in question.constraints:
            group, bit = self.sweeps.groups[number // GROUP], number % GROUP
            still &= (group.enabled >> bit & 1) == 0
        return still

    def _cycles(self, question: Question, fair: Truths) -> Cycles:
        graph = subgraph(self.edges, fair)
        demands = [self._demand(graph, number) for number in question.constraints]
        if question.visit is not None:
            demands.append(demand_to_visit(graph, question.visit[graph.states]))
        return Cycles(graph, tuple(demands))

    def _demand(self, graph: Subgraph, number: int) -> Demand:
        group, bit = self.sweeps.groups[number // GROUP], number % GROUP
        enabled: Any = group.enabled[graph.states] >> bit & 1
        of_instance: Any = group.by_instance >> bit & 1
        return demand_of(graph, bool(group.strong >> bit & 1), enabled.astype(np.bool_), of_instance.astype(np.bool_))

    def _nearest_first(self, begins: Truths, region: Truths) -> Any:
        """The states of the region by the length of a shortest run that begins a wait and stays in the region."""
        stem = _Stem(self.edges.count)
        everywhere = bool((begins == region).all())
        waiting, level = np.flatnonzero(begins), int(self.depth[begins].min())
        grown = np.empty(0, dtype=np.int64)
        while len(waiting) or len(grown):
            begin = waiting[self.depth[waiting] == level]
            waiting = waiting[self.depth[waiting] > level]
            begin = begin[~stem.reached[begin]]
            stem.reached[begin] = True
            frontier = np.union1d(begin, grown)
            yield frontier, stem
            grown = frontier[:0] if everywhere else self._step(frontier, region, stem)
            level += 1

    def _step(self, frontier: Numbers, region: Truths, stem: _Stem) -> Numbers:
        """The states of the region one step on, whose origins are noted."""
        bounds = np.array([*self.edges.blocks, self.edges.count])
        found: list[Numbers] = []
        for number in np.unique(np.searchsorted(bounds, frontier, side="right") - 1).tolist():
            block = self.edges.block(0, number)
            owners, targets = block.owners(), block.targets.astype(np.int64)
            chosen = np.flatnonzero(np.isin(owners, frontier) & region[targets] & ~stem.reached[targets])
            states, first = np.unique(targets[chosen], return_index=True)
            edges = chosen[first]
            stem.reached[states] = True
            stem.origin[states], stem.instance[states] = owners[edges], block.instances[edges]
            found.append(states)
        return np.unique(np.concatenate(found)) if found else frontier[:0]


@define
class _Stem:
    """How states of a region were reached from where a wait began.

    Attributes:
        count: number of states.
        reached: the states that were.
        origin, instance: the state before, and the action instance that led on; -1: the wait begins there.
    """

    count: int
    reached: Truths = field(init=False)
    origin: Numbers = field(init=False)
    instance: Numbers = field(init=False)

    def __attrs_post_init__(self) -> None:
        """None was reached."""
        self.reached = np.zeros(self.count, dtype=np.bool_)
        self.origin = np.full(self.count, -1, dtype=np.int64)
        self.instance = np.full(self.count, -1, dtype=np.int64)

    def back(self, state: int) -> tuple[int, tuple[int, ...]]:
        """Where the wait began that led to a state, and the action instances from there."""
        way: list[int] = []
        while self.origin[state] >= 0:
            way.append(int(self.instance[state]))
            state = int(self.origin[state])
        return state, tuple(way[::-1])


def depths(parents: Numbers) -> Numbers:
    """The distance of each state from the initial ones, by the states' parents."""
    depth = np.where(parents < 0, 0, -1)
    left, level = np.flatnonzero(parents >= 0), 0
    while len(left):
        level += 1
        now = depth[parents[left]] == level - 1
        depth[left[now]] = level
        left = left[~now]
    return depth


def initial_states(parents: Numbers) -> Truths:
    """The states without a parent."""
    initial: Truths = parents < 0
    return initial


def bits_of(rows: Any, column: int) -> Truths:
    """One truth of every state, of rows of 64-bit words."""
    bits: Truths = (rows[:, column // 64] >> np.uint64(column % 64) & np.uint64(1)).astype(np.bool_)
    return bits


def excuses(rows: Any, first: int, constraints: Sequence[Any], group: int, states: slice, kind: Any) -> Any:
    """The bits of a group's constraints that are excused in some states, by the truths of these."""
    bits = np.zeros(states.stop - states.start, dtype=kind)
    for bit in range(min(GROUP, len(constraints) - group * GROUP)):
        excused = bits_of(rows[states], first + group * GROUP + bit)
        bits |= excused.astype(kind) << kind.type(bit)
    return bits
