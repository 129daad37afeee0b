"""A part of a graph in memory: what a counterexample is looked for in."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from attrs import define, field

from kraftcheck.solvers.liveness.graph import Edges, Numbers, Truths
from kraftcheck.solvers.search.arcs import ranges

Numbers32 = npt.NDArray[np.uint32]
Numbers16 = npt.NDArray[np.uint16]


@define
class Subgraph:
    """Some states and the edges between them; states are numbered anew from 0, in their order.

    Attributes:
        states: the numbers that they have in the graph, ascending.
        sources, targets: of each edge; sorted by source.
        instances: the action instance of each edge.
    """

    states: Numbers
    sources: Numbers32
    targets: Numbers32
    instances: Numbers16
    _begins: Numbers = field(init=False)
    _back: tuple[Numbers, Numbers] | None = field(init=False, default=None)

    def __attrs_post_init__(self) -> None:
        """Index the edges by source."""
        self._begins = np.searchsorted(self.sources, np.arange(self.count + 1))

    @property
    def count(self) -> int:
        """Number of states."""
        return len(self.states)

    def leaving(self, states: Numbers) -> Numbers:
        """The edges that leave some states, state by state."""
        return ranges(self._begins[states], self._begins[states + 1])

    def entering(self, states: Numbers) -> Numbers:
        """The edges that enter some states."""
        if self._back is None:  # many lassos need none
            backward = np.argsort(self.targets, kind="stable")
            self._back = backward, np.searchsorted(self.targets[backward], np.arange(self.count + 1))
        order, begins = self._back
        found: Numbers = order[ranges(begins[states], begins[states + 1])]
        return found

    def component(self, state: int, within: Truths) -> Truths:
        """The strongly connected component of a state in a set of states."""
        return self._reached(state, within, back=False) & self._reached(state, within, back=True)

    def _reached(self, state: int, within: Truths, *, back: bool) -> Truths:
        reached = np.zeros(self.count, dtype=np.bool_)
        reached[state] = True
        frontier = np.array([state])
        while len(frontier):
            after = self.sources[self.entering(frontier)] if back else self.targets[self.leaving(frontier)]
            frontier = np.unique(after[within[after] & ~reached[after]])
            reached[frontier] = True
        return reached

    def way(self, start: int, within: Truths, states: Truths, edges: Truths) -> list[int] | None:
        """The edges of a shortest way from a state to one of some states, or through one of some edges.

        Ways stay in a set of states, and of those of equal length the first by number is taken. None: there is none.
        """
        if states[start]:
            return []
        by = np.full(self.count, -1, dtype=np.int64)
        reached = np.zeros(self.count, dtype=np.bool_)
        reached[start] = True
        frontier = np.array([start])
        while len(frontier):
            out = self.leaving(frontier)
            out = out[within[self.targets[out]]]
            ends = out[edges[out] | states[self.targets[out]]]
            if len(ends):
                last = int(ends.min())
                return [*self._back_to(start, by, int(self.sources[last])), last]
            out = out[~reached[self.targets[out]]]
            frontier, first = np.unique(self.targets[out], return_index=True)
            by[frontier], reached[frontier] = out[first], True
        return None

    def _back_to(self, start: int, by: Numbers, state: int) -> list[int]:
        found = []
        while state != start:
            found.append(int(by[state]))
            state = int(self.sources[found[-1]])
        return found[::-1]

    def trimmed(self, keep: Truths) -> Truths:
        """The states that may be on a cycle: those to keep, and those with edges from and to such states."""
        alive = np.ones(self.count, dtype=np.bool_)
        while True:
            live = alive[self.sources] & alive[self.targets]
            out = np.bincount(self.sources[live], minlength=self.count) > 0
            into = np.bincount(self.targets[live], minlength=self.count) > 0
            after = alive & (keep | (out & into))
            if (after == alive).all():
                return alive
            alive = after


def wanted_of(edges: Edges, number: int, states: Numbers) -> Truths:
    """Which states of a block are among some, which are ascending."""
    first = edges.blocks[number]
    last = edges.blocks[number + 1] if number + 1 < len(edges.blocks) else edges.count
    wanted = np.zeros(last - first, dtype=np.bool_)
    wanted[states[np.searchsorted(states, first) : np.searchsorted(states, last)] - first] = True
    return wanted


def subgraph(edges: Edges, states: Truths) -> Subgraph:
    """Some states of a region and the edges between them."""
    numbers = np.flatnonzero(states)
    place = np.zeros(edges.count, dtype=np.uint32)
    place[numbers] = np.arange(len(numbers))
    parts: list[tuple[Numbers32, Numbers32, Numbers16]] = []
    for number in range(len(edges.blocks)):
        wanted = wanted_of(edges, number, numbers)
        if wanted.any():
            block = edges.block(0, number, wanted)
            chosen = states[block.targets]
            parts.append(
                (place[block.owners()[chosen]], place[block.targets[chosen]], block.instances[chosen])
            )
    nothing = np.empty(0, dtype=np.uint32)
    sources, targets, instances = (
        np.concatenate([nothing.astype(kind), *(part[n] for part in parts)])
        for n, kind in enumerate((np.uint32, np.uint32, np.uint16))
    )
    return Subgraph(numbers, sources, targets, instances)
