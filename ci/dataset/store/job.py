"""The job that expands a level, and the committed levels as those who run it see them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from attrs import field, frozen

from kraftcheck.ci.dataset.store.levelfiles import RowGroup
from kraftcheck.ci.dataset.store.objects import AnyPath
from kraftcheck.ci.dataset.store.sight import Sight


@frozen
class StoredLevel:
    """A committed level as workers see it: its folder, and its groups as columns (files by number)."""

    folder: str
    files: tuple[str, ...]
    table: npt.NDArray[np.int64] = field(eq=False)

    @classmethod
    def of(cls, folder: AnyPath, groups: Sequence[RowGroup]) -> StoredLevel:
        """The compact form of a level's groups."""
        files = tuple(dict.fromkeys(group.file for group in groups))
        number = {name: at for at, name in enumerate(files)}
        rows = [(g.bucket, number[g.file], g.group, g.rows, g.first) for g in groups]
        return cls(str(folder), files, np.array(rows, dtype=np.int64).reshape(-1, 5))

    def groups(self, lo: int, hi: int) -> list[RowGroup]:
        """The groups of the buckets lo..hi-1."""
        return self._groups_of(self.table[(self.table[:, 0] >= lo) & (self.table[:, 0] < hi)])

    def slice(self, first: int, last: int) -> list[RowGroup]:
        """The groups first..last-1, as they were written."""
        return self._groups_of(self.table[first:last])

    def _groups_of(self, rows: npt.NDArray[np.int64]) -> list[RowGroup]:
        return [RowGroup(bucket, self.files[file], *place) for bucket, file, *place in rows.tolist()]


@frozen
class LevelJob:
    """One level's job.

    Attributes:
        depth: of the states that it finds.
        folder: where they go.
        frontier: the level that is expanded.
        splits: for each task of the first stage the row groups that it expands.
        visited: all committed levels.
        targets: tasks of the second stage.
        cores: that it was planned for; the order of the rows depends on it.
        sight: what a task has to see of the run before it writes; None: nothing.
    """

    depth: int
    folder: str
    frontier: str
    splits: tuple[tuple[RowGroup, ...], ...] = field(eq=False)
    visited: tuple[StoredLevel, ...]
    targets: int
    cores: int
    sight: Sight | None = None
