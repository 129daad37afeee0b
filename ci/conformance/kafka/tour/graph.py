"""The graph of a tour: transitions of an explored system, and sequences that cover the target transitions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from attrs import frozen

from kraftcheck.ci.conformance.kafka.columns import Rows
from kraftcheck.ci.conformance.kafka.tour.model import States, TourModel

Numbers = npt.NDArray[np.int32]


@frozen
class TourGraph:
    """Transitions between some of the states; arrays have one entry for each transition.

    Attributes:
        model: whose transitions they are.
        states: the leaves of the states.
        starts: the initial states, by number.
        before, after: states, by number; transitions are sorted by `before`.
        instance: numbers of action instances.
    """

    model: TourModel
    states: States
    starts: Numbers
    before: Numbers
    after: Numbers
    instance: Numbers

    def __len__(self) -> int:
        return len(self.before)

    def asks_managers(self) -> npt.NDArray[np.bool_]:
        """Which transitions make a request to the managers."""
        silent = [self.model.is_silent(number) for number in range(len(self.model.instances))]
        asks: npt.NDArray[np.bool_] = ~np.array(silent)[self.instance]
        return asks

    def questions(self, chosen: Numbers) -> Rows:
        """The rows that ask for some transitions, in order."""
        result = self.model.inputs.empty(len(chosen))
        for number, at in self._by_instance(chosen):
            result[at] = self.model.requests(self.states[self.before[chosen[at]]], number)[1]
        return result

    def answers(self, chosen: Numbers) -> npt.NDArray[np.int64]:
        """The model's answers to them."""
        result = np.empty((len(chosen), self.model.outputs.width), dtype=np.int64)
        for number, at in self._by_instance(chosen):
            result[at] = self.model.decide(self.states[self.before[chosen[at]]], number)[0]
        return result

    def _by_instance(self, chosen: Numbers) -> list[tuple[int, npt.NDArray[np.intp]]]:
        numbers = self.instance[chosen]
        return [(int(number), np.flatnonzero(numbers == number)) for number in np.unique(numbers)]

    def call(self, transition: int) -> str:
        """The action of a transition, with its arguments."""
        return self.model.call(int(self.instance[transition]))


def connect(
    model: TourModel, sources: States, targets: States, instances: Numbers
) -> tuple[TourGraph, npt.NDArray[np.intp]]:
    """The graph of some transitions, and for each of its transitions which of those given it is.

    Args:
        model: whose transitions they are.
        sources, targets, instances: for each its states (their leaves), and its action instance.
    """
    starts = model.unpack(np.array(model.program.initial, dtype=np.uint64))
    every = np.concatenate([starts, sources, targets])
    _, first, number_of = np.unique(keys_of(every), return_index=True, return_inverse=True)
    initial, before, after = np.split(number_of.astype(np.int32), (len(starts), len(starts) + len(sources)))
    order = np.argsort(before, kind="stable")
    return TourGraph(model, every[first], initial, before[order], after[order], instances[order]), order


def keys_of(rows: npt.NDArray[np.generic]) -> npt.NDArray[np.void]:
    """One key for each row; equal rows have equal keys."""
    rows = np.ascontiguousarray(rows)
    return rows.view(np.dtype((np.void, rows.shape[1] * rows.itemsize))).ravel()


@frozen
class Tour:
    """Action sequences, one after the other.

    Attributes:
        steps: transitions in order.
        begins: where a sequence begins, each in an initial state.
    """

    steps: Numbers
    begins: Numbers


@frozen
class ShortestPaths:
    """The shortest path to each state: its last transition, -1 for initial states; and its length."""

    last: Numbers
    depth: Numbers

    def to(self, graph: TourGraph, state: int) -> list[int]:
        """The transitions from an initial state to a state."""
        path = []
        while self.last[state] >= 0:
            path.append(int(self.last[state]))
            state = int(graph.before[path[-1]])
        return path[::-1]


def shortest_paths(graph: TourGraph) -> ShortestPaths:
    """The shortest paths, by breadth-first search."""
    last = np.full(len(graph.states), -1, dtype=np.int32)
    depth = np.full(len(graph.states), -1, dtype=np.int32)
    depth[graph.starts] = 0
    level = 0
    while True:
        edges = np.flatnonzero((depth[graph.before] == level) & (depth[graph.after] < 0))
        if not len(edges):
            return ShortestPaths(last, depth)
        targets, first = np.unique(graph.after[edges], return_index=True)
        last[targets] = edges[first]
        level += 1
        depth[targets] = level


def tour(graph: TourGraph, paths: ShortestPaths, targets: npt.NDArray[np.bool_]) -> Tour:
    """Sequences that take every wanted transition whose state can be reached.

    Each begins in an initial state, takes the shortest way to the farthest state with a wanted transition that was not
    taken, and goes on with such transitions as long as there is one here or a step away.
    """
    by_depth = np.argsort(-paths.depth, kind="stable")
    bounds = np.searchsorted(graph.before, np.arange(len(graph.states) + 1)).tolist()
    after, untaken, cursor = graph.after.tolist(), targets.tolist(), bounds[:-1].copy()
    steps: list[int] = []
    begins: list[int] = []
    for state in by_depth[paths.depth[by_depth] >= 0].tolist():
        while _has(state, cursor, bounds, untaken):
            begins.append(len(steps))
            path = paths.to(graph, state)
            for transition in path:
                untaken[transition] = False
            steps += path
            current = state
            while True:
                step = _next(current, cursor, bounds, untaken)
                if step is None:
                    candidates = (
                        s for s in range(*bounds[current : current + 2]) if _has(after[s], cursor, bounds, untaken)
                    )
                    step = next(candidates, None)
                if step is None:
                    break
                untaken[step] = False
                steps.append(step)
                current = after[step]
    return Tour(np.array(steps, dtype=np.int32), np.array(begins, dtype=np.int32))


def _next(state: int, cursor: list[int], bounds: Sequence[int], untaken: list[bool]) -> int | None:
    """A transition of a state that is still to be taken."""
    at, end = cursor[state], bounds[state + 1]
    while at < end and not untaken[at]:
        at += 1
    cursor[state] = at
    return at if at < end else None


def _has(state: int, cursor: list[int], bounds: Sequence[int], untaken: list[bool]) -> bool:
    return _next(state, cursor, bounds, untaken) is not None
