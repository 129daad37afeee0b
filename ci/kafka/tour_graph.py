"""The transitions of an explored system, and action sequences that take every one of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from attrs import frozen

from ci.kafka.columns import Rows
from ci.kafka.tour_model import Kind, TourModel
from solvers.explorer import Exploration

Numbers = npt.NDArray[np.int32]


@frozen
class Transitions:
    """Every transition that is to be taken; arrays have one entry for each.

    Attributes:
        model: whose transitions they are.
        states: the leaves of the reachable states.
        starts: the initial states, by number.
        before, after: states, by number; transitions are sorted by `before`.
        instance: numbers of action instances, see `kinds`.
        kinds: for each instance number its kind and its number within it.
        impossible: how many more there are that nothing on Kafka's side corresponds to.
    """

    model: TourModel
    states: npt.NDArray[np.int64]
    starts: Numbers
    before: Numbers
    after: Numbers
    instance: Numbers
    kinds: tuple[tuple[Kind, int], ...]
    impossible: int

    def __len__(self) -> int:
        return len(self.before)

    def questions(self, chosen: Numbers) -> Rows:
        """The rows that ask for some transitions, in order."""
        columns, wide = self.model.inputs, self.model.width
        table = columns.empty(len(chosen))
        table[:, :wide] = self.states[self.before[chosen]]
        asked = np.stack([kind.asked[within] for kind, within in self.kinds])
        table[:, wide:] = asked[self.instance[chosen]]
        return table

    def answers(self, chosen: Numbers) -> npt.NDArray[np.int64]:
        """The model's answers to them."""
        result = np.empty((len(chosen), self.model.outputs.width), dtype=np.int64)
        numbers = self.instance[chosen]
        for number in np.unique(numbers):
            at = np.flatnonzero(numbers == number)
            result[at] = self.model.answers(self.states[self.before[chosen[at]]], *self.kinds[number])
        return result


def transitions(model: TourModel, found: Exploration) -> Transitions:
    """Every transition of an exploration.

    Raises:
        ValueError: when a transition leads out of the explored states: the exploration is not of this model.
    """
    states = model.unpacked(found.packed())
    index = _Index(states)
    kinds: list[tuple[Kind, int]] = []
    sources, targets, instances, impossible = [], [], [], 0
    for kind in model.kinds:
        for within in range(len(kind.table)):
            enabled = model.steps(states, kind, within)
            lacking = enabled & ~_possible(model, states, kind, within)
            impossible += int(lacking.sum())
            before = np.flatnonzero(enabled & ~lacking).astype(np.int32)
            if len(before):
                after = model.answers(states[before], kind, within)[:, _after(model)]
                sources.append(before)
                targets.append(index.find(after))
                instances.append(np.full(len(before), len(kinds), dtype=np.int32))
                kinds.append((kind, within))
    before = np.concatenate(sources)
    order = np.argsort(before, kind="stable")
    starts = np.array(model.program.initial, dtype=np.uint64)
    return Transitions(
        model, states, index.find(model.unpacked(starts)), before[order], np.concatenate(targets)[order],
        np.concatenate(instances)[order], tuple(kinds), impossible,
    )  # fmt: skip


def _after(model: TourModel) -> slice:
    first = model.outputs.places[next(name for name in model.outputs if name.startswith("after."))][0]
    return slice(first, first + model.width)


def _possible(model: TourModel, states: npt.NDArray[np.int64], kind: Kind, within: int) -> npt.NDArray[np.bool_]:
    """Whether the event can be put to Kafka: of a broker that is not on file there is no epoch to have stopped with."""
    everywhere = np.ones(len(states), dtype=np.bool_)
    asked = dict(zip(list(model.inputs)[-5:], _row(model, kind, within), strict=True))
    if kind.name != "new_incarnation" or not asked["first"][0]:
        return everywhere
    registered = states[:, model.inputs.places["registered"][0]]
    known: npt.NDArray[np.bool_] = (registered >> int(asked["broker"][0]) & 1) != 0
    return known


def _row(model: TourModel, kind: Kind, within: int) -> list[npt.NDArray[np.int32]]:
    table = model.inputs.empty(1)
    table[:, model.width :] = kind.asked[within]
    return [table[0, model.inputs.slice(name)] for name in list(model.inputs)[-5:]]


class _Index:
    """Numbers of states by their leaves."""

    def __init__(self, states: npt.NDArray[np.int64]) -> None:
        keys = self._keys(states)
        self._order = np.argsort(keys, kind="stable")
        self._keys_sorted = keys[self._order]

    @staticmethod
    def _keys(states: npt.NDArray[np.int64]) -> npt.NDArray[np.void]:
        rows = np.ascontiguousarray(states, dtype=np.int8)
        return rows.view(np.dtype((np.void, rows.shape[1]))).ravel()

    def find(self, states: npt.NDArray[np.int64]) -> Numbers:
        keys = self._keys(states)
        places = np.minimum(np.searchsorted(self._keys_sorted, keys), len(self._keys_sorted) - 1)
        if (self._keys_sorted[places] != keys).any():
            raise ValueError("a transition leads out of the explored states")
        found: Numbers = self._order[places].astype(np.int32)
        return found


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
class Roads:
    """The shortest way to each state: its last transition, -1 for initial states; and its length."""

    last: Numbers
    depth: Numbers

    def to(self, graph: Transitions, state: int) -> list[int]:
        """The transitions from an initial state to a state."""
        way = []
        while self.last[state] >= 0:
            way.append(int(self.last[state]))
            state = int(graph.before[way[-1]])
        return way[::-1]


def roads(graph: Transitions) -> Roads:
    """The shortest ways, by breadth-first search."""
    last = np.full(len(graph.states), -1, dtype=np.int32)
    depth = np.full(len(graph.states), -1, dtype=np.int32)
    depth[graph.starts] = 0
    level = 0
    while True:
        onward = np.flatnonzero((depth[graph.before] == level) & (depth[graph.after] < 0))
        if not len(onward):
            return Roads(last, depth)
        targets, first = np.unique(graph.after[onward], return_index=True)
        last[targets] = onward[first]
        level += 1
        depth[targets] = level


def tour(graph: Transitions, ways: Roads, wanted: npt.NDArray[np.bool_]) -> Tour:
    """Sequences that take every wanted transition whose state can be reached.

    Each begins in an initial state, takes the shortest way to the farthest state with a wanted transition that was not
    taken, and goes on with such transitions as long as there is one here or a step away.
    """
    far = np.argsort(-ways.depth, kind="stable")
    bounds = np.searchsorted(graph.before, np.arange(len(graph.states) + 1)).tolist()
    after, open_, left = graph.after.tolist(), wanted.tolist(), bounds[:-1].copy()
    steps: list[int] = []
    begins: list[int] = []
    for state in far[ways.depth[far] >= 0].tolist():
        while _has(state, left, bounds, open_):
            begins.append(len(steps))
            way = ways.to(graph, state)
            for one in way:
                open_[one] = False
            steps += way
            here = state
            while True:
                step = _next(here, left, bounds, open_)
                if step is None:
                    onward = (s for s in range(*bounds[here : here + 2]) if _has(after[s], left, bounds, open_))
                    step = next(onward, None)
                if step is None:
                    break
                open_[step] = False
                steps.append(step)
                here = after[step]
    return Tour(np.array(steps, dtype=np.int32), np.array(begins, dtype=np.int32))


def _next(state: int, left: list[int], bounds: Sequence[int], open_: list[bool]) -> int | None:
    """A transition of a state that is still to be taken."""
    at, end = left[state], bounds[state + 1]
    while at < end and not open_[at]:
        at += 1
    left[state] = at
    return at if at < end else None


def _has(state: int, left: list[int], bounds: Sequence[int], open_: list[bool]) -> bool:
    return _next(state, left, bounds, open_) is not None
