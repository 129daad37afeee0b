"""A region in memory: its states by depth, and its steps, as the native judge of behaviours takes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from attrs import define, field, frozen

from kraftcheck.ci.dataset.backward.arcs import CUT, WAITING, Numbering
from kraftcheck.ci.dataset.backward.files import read_groups
from kraftcheck.ci.dataset.backward.rounds import PartFiles, marks_of
from kraftcheck.ci.dataset.liveness.fixpoint import KEPT, lead_out, nodes_of
from kraftcheck.ci.dataset.store.manifests import PLACE_BITS
from kraftcheck.ci.dataset.store.objects import AnyPath
from kraftcheck.solvers.liveness.behaviours import Behaviours
from kraftcheck.solvers.liveness.constraints import GROUP, Constraint, classes_of, groups_of
from kraftcheck.solvers.liveness.fair import SweepControl, Sweeps
from kraftcheck.solvers.liveness.graph import MOST_STATES, Block, Numbers, Truths

STATE_BYTES, EDGE_BYTES = 64, 40
"""Bytes that a state and a step take at most while they are read and searched."""


@define(eq=False)
class CollectedEdges:
    """The steps of a region in memory, as `kraftcheck.solvers.liveness.graph.Edges`.

    Attributes:
        places: of the states, ascending: so they are by depth.
        starts, targets, instances: the steps, sorted by source.
    """

    places: Numbers
    starts: Any
    targets: Any
    instances: Any
    levels: Sequence[int] = field(init=False)
    blocks: Sequence[int] = field(init=False)

    def __attrs_post_init__(self) -> None:
        """Find where each depth and each block begins."""
        self.blocks = range(0, self.count, MOST_STATES)
        deepest = int(self.places[-1]) >> PLACE_BITS
        self.levels = np.searchsorted(self.places, np.arange(deepest + 2) << PLACE_BITS).tolist()

    @property
    def count(self) -> int:
        """Number of states."""
        return len(self.places)

    def block(self, thread: int, number: int, wanted: Truths, *, inner: bool = True) -> Block:
        """The steps of the wanted states of a block; none leaves the region."""
        first = self.blocks[number]
        own = self.starts[first : first + len(wanted) + 1]
        lengths = np.diff(own)
        chosen = np.repeat(wanted, lengths)
        starts = np.concatenate([[0], np.cumsum(np.where(wanted, lengths, 0))]).astype(np.uint32)
        targets, instances = (steps[own[0] : own[-1]][chosen] for steps in (self.targets, self.instances))
        return Block(first, starts, targets, instances, np.zeros(len(wanted), dtype=np.uint64))

    def narrowed(self, states: Truths) -> CollectedEdges:
        """The region of some of its states, in the same order."""
        number = np.cumsum(states) - 1
        chosen = np.repeat(states, np.diff(self.starts)) & states[self.targets]
        sources = np.repeat(np.arange(self.count), np.diff(self.starts))[chosen]
        starts = np.searchsorted(number[sources], np.arange(np.count_nonzero(states) + 1)).astype(np.uint32)
        targets = number[self.targets[chosen]].astype(np.uint32)
        return CollectedEdges(self.places[states], starts, targets, self.instances[chosen])

    def enter(self) -> None:
        """Nothing has to be done to use it."""


@frozen
class Collected:
    """A region in memory.

    Attributes:
        numbers, places: of its states, by ascending place.
        behaviours: the native engine's judge of it.
        waiting: the states that have to wait for the goal.
    """

    numbers: Numbers
    places: Numbers
    behaviours: Behaviours
    waiting: Truths

    def kept(self, folder: AnyPath, parts: Sequence[PartFiles], numbering: Numbering) -> Truths:
        """The states that marks keep."""
        found = np.zeros(len(self.numbers), dtype=np.bool_)
        for number, part in enumerate(parts):
            first, last = numbering.states_of(number)
            bits = marks_of(folder, part, last - first)
            inside = (self.numbers >= first) & (self.numbers < last)
            found[inside] = (bits[self.numbers[inside] - first] & KEPT) != 0
        return found

    def depth(self, states: Truths) -> int | None:
        """The least depth of some states; None: there are none."""
        return int(self.places[np.argmax(states)]) >> PLACE_BITS if states.any() else None


def collected(
    folder: AnyPath, parts: Sequence[PartFiles], numbering: Numbering, constraints: Sequence[Constraint],
    control: SweepControl,
) -> Collected:  # fmt: skip
    """A region, under what is fair, read into memory; it is not empty."""
    nodes = np.concatenate([nodes_of(folder, part) for part in parts])
    for part in parts:
        for (lost,) in read_groups(folder, part.leaves, "number"):
            lead_out(nodes, np.searchsorted(nodes[:, 0], lost))
    places = numbering.places(nodes[:, 0])
    order = np.argsort(places)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    target, source, instance = _steps(folder, parts, nodes[:, 0], rank)
    along = np.lexsort((target, instance, source))
    starts = np.searchsorted(source[along], np.arange(len(places) + 1)).astype(np.uint32)
    places = places[order]
    own = CollectedEdges(places, starts, target[along].astype(np.uint32), instance[along].astype(np.uint16))
    kinds, classes = classes_of(constraints)
    groups, enabled = groups_of(constraints, classes, len(places)), nodes[order, 1]
    for number, group in enumerate(groups):
        group.enabled[:] = (enabled >> GROUP * number & group.every).astype(group.enabled.dtype)
    waiting, cut = ((nodes[order, 3] & flag) != 0 for flag in (WAITING, CUT))
    sweeps = Sweeps(own, kinds, groups, control)
    sweeps.note_survey(cut)
    return Collected(nodes[order, 0], places, Behaviours(own, sweeps), waiting)


def _steps(folder: AnyPath, parts: Sequence[PartFiles], numbers: Numbers, rank: Numbers) -> tuple[Any, Any, Any]:
    """Targets, sources and action instances of all steps, states by their rank."""
    groups = [[], [], []]  # type: list[list[Any]]
    for part in parts:
        for target, source, instance in read_groups(folder, part.arcs, "target", "source", "way"):
            groups[0].append(rank[np.searchsorted(numbers, target)])
            groups[1].append(rank[np.searchsorted(numbers, source)])
            groups[2].append(instance)
    target, source, instance = (np.concatenate([np.zeros(0, np.int64), *one]) for one in groups)
    return target, source, instance
