"""The job that expands a level, and the committed levels as those who run it see them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from attrs import field, frozen

from kraftcheck.ci.dataset.store.groups import BucketRange, Groups
from kraftcheck.ci.dataset.store.levelfiles import read_states
from kraftcheck.ci.dataset.store.runs import StoredRun
from kraftcheck.ci.dataset.store.sight import Sight
from kraftcheck.ci.dataset.store.stores import place_of
from kraftcheck.solvers.blocks.expansion import Descent
from kraftcheck.solvers.blocks.tasks import Words


@frozen
class StoredLevel:
    """A committed level as workers see it: its folder, and where its rows are."""

    folder: str
    groups: Groups

    @property
    def rows(self) -> int:
        """Its states."""
        return self.groups.rows

    @property
    def bits(self) -> int:
        """Of the number of one of its buckets."""
        return self.groups.bits

    def blocks(self, chosen: BucketRange, words: int) -> Iterator[tuple[int, Words]]:
        """The states of some buckets, each block with its own bucket; of coarser buckets others too.

        Raises:
            DamagedLevelError: see `read_states`.
        """
        for group, states in read_states(place_of(self.folder), self.groups.within(chosen), words):
            yield group.bucket, states


Part: TypeAlias = StoredLevel | StoredRun
"""A part of the visited states."""


@frozen
class LevelJob:
    """One level's job.

    Attributes:
        depth: of the states that it finds.
        folder: where they go.
        frontier: the level that is expanded.
        splits: for each task of the first stage the groups that it expands.
        visited: all committed levels, some of them perhaps merged to runs.
        targets: tasks of the second stage.
        bits: of the number of a bucket of the states that it finds.
        cores: that it was planned for; the order of the rows depends on it.
        sight: what a task has to see of the run before it writes; None: nothing.
        descent: the digests of the level that is expanded and of the one before; None: workers keep no memo for it.
    """

    depth: int
    folder: str
    frontier: str
    splits: tuple[Groups, ...] = field(eq=False)
    visited: tuple[Part, ...]
    targets: int
    bits: int
    cores: int
    sight: Sight | None = None
    descent: Descent | None = None
