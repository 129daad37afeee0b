"""Manifests: the description of a committed level, as a value and as a JSON document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from attrs import asdict, evolve, field, frozen

from kraftcheck.ci.dataset.store.groups import Groups
from kraftcheck.ci.dataset.store.levelfiles import LevelFile
from kraftcheck.ci.dataset.store.objects import AnyPath, ObjectPath
from kraftcheck.ci.dataset.store.places import PlacedOccurrence, StatePlace


@frozen
class Commit:
    """A committed level.

    Attributes:
        depth: steps from the initial states.
        files, groups: its Parquet files, and for each bucket that has rows where they are.
        counters: the frame of all expansions up to the level before, added up.
        claims: by number the first occurrence.
        engine: `native`, `disk` or `spark`.
        cost: seconds, tasks, candidates, bytes shuffled and spilled of the job that made it.
        expanded: states of the level before that were expanded to make it, as counted while they were.
    """

    depth: int
    files: tuple[LevelFile, ...]
    groups: Groups
    counters: tuple[int, ...] = field(repr=False)
    claims: Mapping[int, PlacedOccurrence]
    engine: str
    cost: Mapping[str, float]
    expanded: int

    @property
    def rows(self) -> int:
        """Its states."""
        return sum(file.rows for file in self.files)

    @property
    def bytes(self) -> int:
        """Bytes of its files."""
        return sum(file.bytes for file in self.files)

    @property
    def last(self) -> bool:
        """Whether it ends the run: it has no states, so that none is left to be expanded."""
        return not self.files


def content(level: Commit) -> dict[str, Any]:
    """A level as a document."""
    document = asdict(evolve(level, claims={}), filter=lambda attribute, _: attribute.name != "groups")
    document["claims"] = {
        n: [occurrence.state.depth, occurrence.state.id, occurrence.action] for n, occurrence in level.claims.items()
    }
    document["groups"], document["bucket_bits"] = level.groups.packed(), level.groups.bits
    return document


def parse(document: Mapping[str, Any]) -> Commit:
    """A manifest's content as a commit.

    Raises:
        KeyError, TypeError, ValueError: for content of another form, or whose parts do not fit.
    """
    files = tuple(LevelFile(**file) for file in document["files"])
    groups = Groups.unpacked([file.name for file in files], document["groups"], int(document["bucket_bits"]))
    rows = np.bincount(groups.table["file"], groups.table["rows"], len(files))
    if rows.tolist() != [file.rows for file in files]:
        raise ValueError("its groups and its files differ in rows")
    claims = {
        int(number): PlacedOccurrence(StatePlace(int(d), int(i)), int(a))
        for number, (d, i, a) in document["claims"].items()
    }
    return Commit(
        int(document["depth"]), files, groups, tuple(document["counters"]), claims, document["engine"],
        document["cost"],
        int(document["expanded"]),
    )  # fmt: skip


def check(levels: Sequence[Commit], folder: AnyPath) -> None:
    """Check that the last of these levels follows the one before.

    Args:
        levels: from depth 0 on.
        folder: where its files are.

    Raises:
        ValueError: saying what does not fit.
        OSError: for a file that cannot be looked at.
    """
    level = levels[-1]
    if level.depth != len(levels) - 1:
        raise ValueError(f"it is of depth {level.depth}")
    before = levels[-2].rows if len(levels) > 1 else 0
    if level.expanded != before or (len(levels) > 1 and levels[-2].last):
        raise ValueError(f"{level.expanded:,} of {before:,} states of the level before were expanded")
    if level.last and folder.exists() and any(folder.iterdir()):
        raise ValueError(f"it says that there are no states, and {folder} has files")


def check_sizes(level: Commit, folder: AnyPath) -> None:
    """Check that the files of a level have their sizes.

    Raises:
        ValueError: naming the first that has not.
        OSError: for a file that cannot be looked at.
    """
    sizes = folder.sizes() if isinstance(folder, ObjectPath) and level.files else None
    for file in level.files:
        size = _size(folder / file.name, sizes)
        if size != file.bytes:
            raise ValueError(f"{folder / file.name} has {size:,} bytes instead of {file.bytes:,}")


def _size(file: AnyPath, sizes: Mapping[str, int] | None) -> int:
    """The size of a file; of objects all of a folder are known."""
    if isinstance(file, ObjectPath):
        return file.size() if sizes is None or file.name not in sizes else sizes[file.name]
    return file.stat().st_size


def reason(error: Exception) -> str:
    """The reason of an error, in a few words."""
    if isinstance(error, KeyError):
        return f"it has no {error}"
    if isinstance(error, OSError):
        return f"{error.filename}: {error.strerror}"
    return str(error)
