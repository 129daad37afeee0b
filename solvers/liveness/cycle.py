"""Fair cycles: which states are on one, and a short one through a state."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from attrs import define, field, frozen

from kraftcheck.solvers.liveness.graph import Truths
from kraftcheck.solvers.liveness.subgraph import Subgraph


@frozen
class Demand:
    """What a cycle has to satisfy: one fairness constraint, or a set of states that it visits.

    Attributes:
        strong: whether it is strong fairness.
        enabled: for each state whether the steps are enabled; to visit a set, where it is not visited.
        taken: for each edge whether it is one of the steps.
    """

    strong: bool
    enabled: Truths
    taken: Truths

    def met(self, states: Sequence[int], edges: Sequence[int]) -> bool:
        """Whether a cycle of these states and edges satisfies it."""
        disabled = ~self.enabled[list(states)]
        return bool(self.taken[list(edges)].any() or (disabled.all() if self.strong else disabled.any()))


@define
class Cycles:
    """The fair cycles of a part of a graph, from each of whose states a fair behaviour stays there.

    Attributes:
        graph: the part.
        demands: what a cycle has to satisfy.
        still: states at which a behaviour may stay for ever.
        candidates: states that may be on a fair cycle.
    """

    graph: Subgraph
    demands: tuple[Demand, ...]
    still: Truths = field(init=False)
    candidates: Truths = field(init=False)

    def __attrs_post_init__(self) -> None:
        """Find where nothing need happen, and leave out what is on no cycle at all."""
        self.still = np.ones(self.graph.count, dtype=np.bool_)
        for demand in self.demands:
            self.still &= ~demand.enabled
        self.candidates = self.graph.trimmed(self.still)

    def through(self, state: int) -> list[int] | None:
        """The edges of a short fair cycle through a state, none where it may stay; None: there is no such cycle."""
        if self.still[state]:
            return []
        if not self.candidates[state]:
            return None
        within = self.candidates
        while True:
            component = self.graph.component(state, within)
            fair = self._fair(component)
            if not fair.any():
                self.candidates = self.candidates & (~component | self.still)
                return None
            if not fair[state]:
                return None
            if (fair == component).all():
                ways = [self._around(state, component, most) for most in (1, len(self.demands))]
                return min(ways, key=len)
            within = fair

    def _fair(self, component: Truths) -> Truths:
        """The states of a component that are left where strong fairness allows for nothing else.

        None are left where some demand cannot be met at all.
        """
        graph = self.graph
        inside = component[graph.sources] & component[graph.targets]
        left = component.copy()
        for demand in self.demands:
            if (demand.taken & inside).any():
                continue
            if demand.strong:
                left &= ~demand.enabled
            elif not (component & ~demand.enabled).any():
                return np.zeros_like(component)
        return left

    def _around(self, state: int, component: Truths, most: int) -> list[int]:
        """A cycle through a component all of whose demands can be met.

        It goes on to the nearest place that meets one of so many demands not met yet, and back in the end.
        """
        nowhere = np.zeros(len(self.graph.sources), dtype=np.bool_)
        home = np.zeros(self.graph.count, dtype=np.bool_)
        home[state] = True
        way: list[int] = []
        while True:
            here = self._end(state, way)
            around = [*way, *self._way(here, component, home, nowhere)]
            states = [state, *(int(self.graph.targets[edge]) for edge in around)]
            missing = [demand for demand in self.demands if not demand.met(states, around)]
            if not missing:
                return around
            goal, steps = home & False, nowhere.copy()
            for demand in missing[:most]:
                steps |= demand.taken
                if not demand.strong:
                    goal |= component & ~demand.enabled
            way += self._way(here, component, goal, steps)

    def _end(self, state: int, way: Sequence[int]) -> int:
        return int(self.graph.targets[way[-1]]) if way else state

    def _way(self, start: int, component: Truths, states: Truths, edges: Truths) -> list[int]:
        found = self.graph.way(start, component, states, edges)
        assert found is not None, "a component is connected"
        return found


def demand_of(graph: Subgraph, strong: bool, enabled: Truths, step: Truths) -> Demand:
    """The demand of a fairness constraint, by states and edges; a step counts only where the steps are enabled."""
    return Demand(strong, enabled, step & enabled[graph.sources])
