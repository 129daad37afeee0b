"""The behaviours that break a liveness property, in an explored graph, and a shortest way into one.

Each property is broken by a fair behaviour that stays in a *region* from some state on: where its goal is false; of
`eventually_always` anywhere, if it visits states where the goal is false again and again. It enters the region where
its *wait* begins: in an initial state (`eventually`), where the premise holds (`leads_to`), anywhere (the others).
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import define, field, frozen

from kraftcheck.solvers.liveness.cycle import Cycles, demand_of
from kraftcheck.solvers.liveness.fair import Sweeps
from kraftcheck.solvers.liveness.graph import Edges, Numbers, Truths
from kraftcheck.solvers.liveness.subgraph import subgraph, wanted_of
from kraftcheck.solvers.machine_code.edge_kernel import OUTSIDE


@frozen
class Question:
    """A liveness property of the states of its region.

    Attributes:
        kind: of `LIVENESS`.
        concerned: how many states of the graph it is about.
        waiting: the states where a wait for the goal begins, the goal being false.
    """

    kind: str
    concerned: int
    waiting: Truths

    @property
    def begins(self) -> Truths:
        """The states where a behaviour that breaks it may enter the region."""
        return self.waiting if self.kind in ("eventually", "leads_to") else np.ones_like(self.waiting)


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
    """Answers the question about a region.

    Attributes:
        edges, sweeps: the region, and the constraints that the property is under.
    """

    edges: Edges
    sweeps: Sweeps

    def answer(self, question: Question) -> Answer:
        """The answer to a question."""
        begins, fair = question.begins, self.sweeps.fair()
        lasso = None
        if fair.any() and (self.sweeps.reaching(fair) & begins).any():
            lasso = self.lasso(begins, fair)
        uncertain = np.zeros_like(begins)
        if lasso is None and self.sweeps.cut.any():
            uncertain = self.sweeps.reaching(self.sweeps.cut) & question.waiting
        return Answer(question.concerned, int(np.count_nonzero(question.waiting)), lasso, uncertain)

    def lasso(self, begins: Truths, fair: Truths) -> Lasso:
        """The lasso with the shortest stem: nearest states first; where a behaviour may stay, before other cycles."""
        self.edges.enter()
        still, cycles = self._still(fair), None
        for frontier, stem in self._nearest_first(begins):
            near = frontier[fair[frontier]]
            halts = near[still[near]]
            if len(halts):
                entry, way = stem.back(int(halts[0]))
                return Lasso(entry, way, ())
            for state in near:
                cycles = cycles or self._cycles(fair)
                found = cycles.through(int(np.searchsorted(cycles.graph.states, state)))
                if found is not None:
                    entry, way = stem.back(int(state))
                    return Lasso(entry, way, tuple(int(cycles.graph.instances[edge]) for edge in found))
        raise AssertionError("a fair behaviour ends in a cycle")

    def _still(self, fair: Truths) -> Truths:
        """The states at which a fair behaviour may stay for ever: nothing that is fair is enabled."""
        still = fair.copy()
        for group in self.sweeps.groups:
            still &= group.enabled == 0
        return still

    def _cycles(self, fair: Truths) -> Cycles:
        graph = subgraph(self.edges, fair)
        kinds = self.sweeps.kinds[graph.instances]
        demands = []
        for group in self.sweeps.groups:
            for bit, one in enumerate(group.constraints):
                enabled: Any = group.enabled[graph.states] >> bit & 1
                steps: Any = group.steps >> bit & 1
                demands.append(demand_of(graph, one.strong, enabled.astype(np.bool_), steps.astype(np.bool_)[kinds]))
        return Cycles(graph, tuple(demands))

    def _nearest_first(self, begins: Truths) -> Any:
        """The states of the region by the length of a shortest run that begins a wait and stays in the region."""
        stem, everywhere = _Stem(self.edges.count), bool(begins.all())
        grown = np.empty(0, dtype=np.int64)
        levels = itertools.pairwise([*self.edges.levels, *itertools.repeat(self.edges.count, self.edges.count)])
        for first, last in levels:
            begin = first + np.flatnonzero(begins[first:last] & ~stem.reached[first:last])
            stem.reached[begin] = True
            frontier = np.union1d(begin, grown)
            if len(frontier):
                yield frontier, stem
            elif first == self.edges.count:
                return
            grown = frontier[:0] if everywhere else self._step(frontier, stem)

    def _step(self, frontier: Numbers, stem: _Stem) -> Numbers:
        """The states of the region one step on, whose origins are noted."""
        found: list[Numbers] = []
        for number in np.unique(np.searchsorted(self.edges.blocks, frontier, side="right") - 1).tolist():
            block = self.edges.block(0, number, wanted_of(self.edges, number, frontier))
            targets = block.targets.astype(np.int64)
            chosen = np.flatnonzero(~stem.reached[targets])
            states, first = np.unique(targets[chosen], return_index=True)
            edges = chosen[first]
            stem.reached[states] = True
            stem.origin[states], stem.instance[states] = block.owners()[edges], block.instances[edges]
            found.append(states)
        return np.unique(np.concatenate(found)) if found else frontier[:0]


@define
class _Stem:
    """How states of a region were reached from where a wait began.

    Attributes:
        count: number of states.
        reached: the states that were.
        origin, instance: the state before, `OUTSIDE` where the wait begins, and the action instance that led on.
    """

    count: int
    reached: Truths = field(init=False)
    origin: npt.NDArray[np.uint32] = field(init=False)
    instance: npt.NDArray[np.uint16] = field(init=False)

    def __attrs_post_init__(self) -> None:
        """None was reached."""
        self.reached = np.zeros(self.count, dtype=np.bool_)
        self.origin = np.full(self.count, OUTSIDE, dtype=np.uint32)
        self.instance = np.zeros(self.count, dtype=np.uint16)

    def back(self, state: int) -> tuple[int, tuple[int, ...]]:
        """Where the wait began that led to a state, and the action instances from there."""
        way: list[int] = []
        while self.origin[state] != OUTSIDE:
            way.append(int(self.instance[state]))
            state = int(self.origin[state])
        return state, tuple(way[::-1])
