"""A region whose states and steps the driver has collected: it is judged by the code of the native engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from attrs import define, field, frozen

from kraftcheck.ci.dataset.store.places import PLACE_BITS
from kraftcheck.ci.spark.liveness.rounds import Round
from kraftcheck.solvers.liveness.behaviours import Behaviours
from kraftcheck.solvers.liveness.constraints import GROUP, Constraint, classes_of, groups_of
from kraftcheck.solvers.liveness.fair import SweepControl, Sweeps
from kraftcheck.solvers.liveness.graph import MOST_STATES, Block, Numbers, Truths

STATE_BYTES, EDGE_BYTES = 64, 40
"""Bytes that a state and a step take at most while they are collected and searched."""


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


def fits(nodes: Round, edges: Round, memory: int) -> bool:
    """Whether a region may be collected into so many bytes."""
    return nodes.count * STATE_BYTES + edges.count * EDGE_BYTES <= memory


@frozen
class Collected:
    """A region in memory.

    Attributes:
        places: of its states, ascending.
        behaviours: the native engine's judge of it.
        waiting: the states that have to wait for the goal.
    """

    places: Numbers
    behaviours: Behaviours
    waiting: Truths

    def among(self, states: Round) -> Truths:
        """Which of the states are among some that a round has."""
        found: Truths = np.isin(self.places, pq.read_table(states.files, columns=["place"])["place"].to_numpy())
        return found

    def depth(self, states: Truths) -> int | None:
        """The least depth of some states; None: there are none."""
        return int(self.places[np.argmax(states)]) >> PLACE_BITS if states.any() else None


def collected(nodes: Round, edges: Round, constraints: Sequence[Constraint], control: SweepControl) -> Collected:
    """A region, under what is fair, read into memory; it is not empty."""
    rows = pq.read_table(nodes.files)
    order = np.argsort(rows["place"].to_numpy())
    places = rows["place"].to_numpy()[order]
    steps = pq.read_table(edges.files, columns=["src", "instance", "dst"])
    source, target = (np.searchsorted(places, steps[name].to_numpy()) for name in ("src", "dst"))
    instance = steps["instance"].to_numpy()
    along = np.lexsort((target, instance, source))
    starts = np.searchsorted(source[along], np.arange(len(places) + 1)).astype(np.uint32)
    own = CollectedEdges(places, starts, target[along].astype(np.uint32), instance[along].astype(np.uint16))
    kinds, classes = classes_of(constraints)
    groups, enabled = groups_of(constraints, classes, len(places)), rows["enabled"].to_numpy()[order]
    for number, group in enumerate(groups):
        group.enabled[:] = (enabled >> GROUP * number & group.every).astype(group.enabled.dtype)
    waiting, cut = (rows[name].to_numpy(zero_copy_only=False)[order] for name in ("waiting", "cut"))
    sweeps = Sweeps(own, kinds, groups, control)
    sweeps.note_survey(cut)
    return Collected(places, Behaviours(own, sweeps), waiting)
