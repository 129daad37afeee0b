"""The job that expands a level, as workers see it.

They look for their driver's lease, and read runs and committed levels.
"""

from __future__ import annotations

import json
import socket
import zlib
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
from attrs import cmp_using, define, field, frozen

from kraftcheck.ci.dataset.store.levelfiles import BucketRange, Groups, Table, read_states
from kraftcheck.ci.dataset.store.objects import AnyPath, TaskFile, new_file, opened
from kraftcheck.ci.dataset.store.stores import place_of
from kraftcheck.solvers.blocks.expansion import Descent
from kraftcheck.solvers.blocks.tasks import Words

Sight: TypeAlias = tuple[str, str]
"""A driver's lease as workers look at it: where it is, and its token."""


_KINDS: dict[str, Any] = {
    "host": str, "boot": str, "pid": int, "token": str, "processes": str, "started": int | None,
}  # fmt: skip
"""The keys of a lease, and what they hold."""

_MOST_PID = 1 << 30


class SightError(RuntimeError):
    """A worker that does not see the run of its driver; the message is a refusal."""


def owner_of(data: bytes) -> dict[str, Any]:
    """Whom a lease names, by its keys and their kinds; nobody when it names none."""
    try:
        owner = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    fits = isinstance(owner, dict) and all(isinstance(value, _KINDS.get(key, ())) for key, value in owner.items())
    return owner if fits and 0 <= owner.get("pid", 0) <= _MOST_PID else {}


def names(lease: AnyPath, token: str) -> bool:
    """Whether a lease can be read and names the driver with this token."""
    try:
        return owner_of(lease.read_bytes()).get("token") == token
    except OSError:
        return False


def check_sight(sight: Sight | None) -> None:
    """Refuse to work for a run whose lease this process does not see: it would write elsewhere, or for a dead driver.

    Raises:
        SightError: naming this machine.
    """
    if sight is not None and not names(place_of(sight[0]), sight[1]):
        raise SightError(
            f"the worker on {socket.gethostname()} does not see the driver's {sight[0]}; "
            "choose an --out that all workers share, or look whether its driver lives"
        )


BLOCK = np.dtype([("bucket", "<u2"), ("file", "<u4"), ("at", "<u8"), ("rows", "<u4"), ("crc", "<u4")])
"""A block: its bucket, the number of its file, its first row there, its rows, the CRC-32 of its bytes."""

BLOCK_ROWS = 1 << 18
"""Most states of a block."""

READ_ROWS = 1 << 20
"""States that are read at once, about."""


class DamagedRunError(RuntimeError):
    """A run that is not what was written."""


@frozen
class StoredRun:
    """A run as workers see it.

    Attributes:
        folder: where its files are.
        first, last: the depth of its first level, and the one after its last.
        files: their names.
        table: a `BLOCK` for each block, in the order of files and of rows.
        bits: of a bucket's number.
    """

    folder: str
    first: int
    last: int
    files: tuple[str, ...]
    table: Table = field(eq=cmp_using(eq=np.array_equal), repr=False)
    bits: int

    @classmethod
    def of(cls, folder: AnyPath, first: int, last: int, parts: Sequence[tuple[str, Table]], bits: int) -> StoredRun:
        """The run of files with these blocks."""
        tables = [table.copy() for _, table in parts]
        for number, table in enumerate(tables):
            table["file"] = number
        return cls(str(folder), first, last, tuple(name for name, _ in parts), np.concatenate(tables), bits)

    @property
    def rows(self) -> int:
        """Its states."""
        return int(self.table["rows"].sum(dtype=np.int64))

    def blocks(self, chosen: BucketRange, words: int) -> Iterator[tuple[int, Words]]:
        """The states of some buckets, each block with its own bucket; of coarser buckets others too.

        Raises:
            DamagedRunError: when a file is lost, or has other bytes than were written.
        """
        mine, buckets = chosen.of(self.bits), self.table["bucket"]
        blocks = self.table[(buckets >= mine.lo) & (buckets < mine.hi)]
        for number in np.unique(blocks["file"]).tolist():
            path = place_of(self.folder) / self.files[number]
            try:
                with opened(path) as stream:
                    for together in _neighbours(blocks[blocks["file"] == number]):
                        yield from _read(path, stream, together, words)
            except OSError as error:
                raise DamagedRunError(f"{path}: {error}") from error


def _neighbours(blocks: Table) -> Iterator[Table]:
    """Blocks that follow each other in a file, as many together as are read at once."""
    numbers = np.cumsum(blocks["rows"], dtype=np.int64) // READ_ROWS
    apart = blocks["at"][1:] != blocks["at"][:-1] + blocks["rows"][:-1]
    yield from np.split(blocks, np.flatnonzero(apart | (numbers[1:] != numbers[:-1])) + 1)


def _read(path: AnyPath, stream: Any, blocks: Table, words: int) -> Iterator[tuple[int, Words]]:
    size = 8 * words
    stream.seek(int(blocks["at"][0]) * size)
    wanted = int(blocks["rows"].sum(dtype=np.int64)) * size
    data = b""
    while len(data) < wanted and (more := stream.read(wanted - len(data))):
        data = data + more if data else more
    at = 0
    for bucket, _, _, rows, crc in blocks.tolist():
        part = memoryview(data)[at : at + rows * size]
        if len(part) < rows * size or zlib.crc32(part) != crc:
            raise DamagedRunError(f"{path}: the states of bucket {bucket} are not those that were written")
        at += rows * size
        yield bucket, np.frombuffer(part, dtype=np.uint64).reshape(-1, words)


@define
class RunWriter(TaskFile):
    """Writes one file of a run."""

    ending = "states"
    _blocks: list[tuple[int, int, int, int, int]] = field(factory=list)
    _rows: int = 0

    def write(self, bucket: int, states: Words) -> None:
        """Add the states of a bucket."""
        if self._file is None:
            self._file = new_file(self.folder / self._name)
        for at in range(0, len(states), BLOCK_ROWS):
            block = np.ascontiguousarray(states[at : at + BLOCK_ROWS])
            data = block.reshape(-1).view(np.uint8).data
            self._blocks.append((bucket, 0, self._rows, len(block), zlib.crc32(data)))
            self._rows += len(block)
            self._file.write(data)

    def result(self) -> tuple[str, Table] | None:
        """The name of the finished file, and its blocks; None when nothing was written."""
        return None if self._file is None else (self._name, np.array(self._blocks, dtype=BLOCK))


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
