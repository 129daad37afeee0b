"""Level files: the states of a level as Parquet, written and read by workers; and the job that expands a level.

A file holds its buckets in order. A row group is one bucket, or several small
ones: a bucket of ten rows would pay more for its footer than for its rows. A
file is written under a name of its own; it counts only once the manifest of
its level names it, with its size, rows and digest.
"""

from __future__ import annotations

import base64
import contextlib
import functools
import hashlib
import itertools
import json
import os
import re
import socket
import uuid
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeAlias, overload

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
from attrs import cmp_using, define, field, frozen

from kraftcheck.ci.dataset.store.objects import AnyPath, DigestingFile, ObjectPath, durable, new_file, opened
from kraftcheck.ci.dataset.store.stores import place_of
from kraftcheck.ci.dataset.values import FILE_NAME, SHA256, attribute, matching, whole
from kraftcheck.solvers.blocks.expansion import Descent
from kraftcheck.solvers.blocks.tasks import ROW_BITS, Words, first_claims
from kraftcheck.solvers.machine_code.regular import open_regular

PLACE = np.dtype([("bucket", "<u2"), ("file", "<u4"), ("group", "<u4"), ("rows", "<u4"), ("first", "<u4")])
"""A row of the table: see `RowGroup`; files by number."""

Table = npt.NDArray[np.void]


@frozen
class BucketRange:
    """Neighbouring buckets: all states whose hashes begin with the bits of one of them."""

    # lo, hi: the first, and the one after the last
    lo: int
    hi: int
    bits: int  # of a bucket's number

    def of(self, bits: int) -> BucketRange:
        """The buckets whose numbers have so many bits, as few as hold all states of these."""
        finer, coarser = max(0, bits - self.bits), max(0, self.bits - bits)
        return BucketRange(self.lo << finer >> coarser, -(-(self.hi << finer) >> coarser), bits)


@frozen
class RowGroup:
    """Where the rows of one bucket of a level are: in a row group of a file, `rows` of it from row `first` on."""

    bucket: int
    file: str
    group: int
    rows: int
    first: int = 0


@frozen
class Groups(Sequence[RowGroup]):
    """The places of the buckets of a level."""

    files: tuple[str, ...]
    # for each bucket that has rows a `PLACE`, with the number of its file among them
    table: Table = field(eq=cmp_using(eq=np.array_equal), repr=False)
    bits: int  # of a bucket's number; a later level may have more of them

    @classmethod
    def empty(cls, bits: int) -> Groups:
        """Those of a level without states."""
        return cls((), np.zeros(0, PLACE), bits)

    @classmethod
    def of(cls, groups: Iterable[RowGroup], bits: int) -> Groups:
        """The columns of groups."""
        rows = list(groups)
        number = {name: at for at, name in enumerate(dict.fromkeys(group.file for group in rows))}
        places = [(group.bucket, number[group.file], group.group, group.rows, group.first) for group in rows]
        return cls(tuple(number), np.array(places, dtype=PLACE), bits)

    @classmethod
    def joined(cls, parts: Sequence[Groups], bits: int) -> Groups:
        """Those of files that have different names, one after the other."""
        tables, files = [cls.empty(bits).table], list[str]()
        for part in parts:
            tables.append(part.table.copy())
            tables[-1]["file"] += len(files)
            files += part.files
        return cls(tuple(files), np.concatenate(tables), bits)

    def __len__(self) -> int:
        return len(self.table)

    @overload
    def __getitem__(self, at: int) -> RowGroup: ...

    @overload
    def __getitem__(self, at: slice) -> Groups: ...

    def __getitem__(self, at: int | slice) -> RowGroup | Groups:
        if isinstance(at, slice):
            return Groups(self.files, self.table[at], self.bits)
        bucket, file, *place = self.table[at].item()
        return RowGroup(bucket, self.files[file], *place)

    def __iter__(self) -> Iterator[RowGroup]:
        return map(self.__getitem__, range(len(self.table)))

    @property
    def rows(self) -> int:
        """The rows of all of them."""
        return int(self.table["rows"].sum(dtype=np.int64))

    def within(self, chosen: BucketRange) -> Groups:
        """Those that hold the states of some buckets; of coarser buckets they hold others too."""
        mine, buckets = chosen.of(self.bits), self.table["bucket"]
        return Groups(self.files, self.table[(buckets >= mine.lo) & (buckets < mine.hi)], self.bits)

    def packed(self) -> str:
        """The table as text: base64 of what zlib makes of all first bytes of its rows, then all second ones, ..."""
        planes = self.table.view(np.uint8).reshape(-1, PLACE.itemsize).T
        return base64.b64encode(zlib.compress(planes.tobytes())).decode()

    @classmethod
    def unpacked(cls, files: Sequence[str], text: str, bits: int) -> Groups:
        """The groups of a packed table; raises ValueError for other texts, unknown files and buckets, repeats."""
        table = _unpacked(text, len(files), 1 << bits)
        if len(np.unique(table["bucket"])) != len(table):
            raise ValueError("its table has a bucket twice")
        if len(table) and int(table["bucket"].max()) >> bits:
            raise ValueError(f"its table has a bucket whose number has more than {bits} bits")
        return cls(tuple(files), table, bits)


def _unpacked(text: Any, files: int, most: int) -> Table:
    """The table that was packed, which has so many rows at most and names one of so many files in each."""
    if not isinstance(text, str):
        raise ValueError("its table is no text")
    size, reader = most * PLACE.itemsize, zlib.decompressobj()
    try:
        data = reader.decompress(base64.b64decode(text, validate=True), size + 1)
    except zlib.error as error:
        raise ValueError(f"its table cannot be read ({error})") from error
    if len(data) > size or not reader.eof or reader.unused_data:
        raise ValueError(f"its table has more than {most:,} rows, or is cut")
    if len(data) % PLACE.itemsize:
        raise ValueError("its table ends within a row")
    planes = np.frombuffer(data, np.uint8).reshape(PLACE.itemsize, -1)
    table: Table = np.ascontiguousarray(planes.T).view(PLACE).reshape(-1)
    if len(table) and int(table["file"].max()) >= files:
        raise ValueError("its table is of a file that it does not name")
    if not table["rows"].all():
        raise ValueError("its table has a row of no states")
    return table


def cuts(rows: npt.NDArray[Any], most: int) -> Iterator[tuple[int, int]]:
    """Neighbours together up to about so many rows: the first of them, and the one after the last."""
    ends, first = np.cumsum(rows, dtype=np.int64), 0
    while first < len(ends):
        before = int(ends[first - 1]) if first else 0
        last = max(first + 1, int(np.searchsorted(ends, before + most, side="right")))
        yield first, last
        first = last


COMPRESSION = "lz4"
GROUP_ROWS = 1 << 13  # rows up to which neighbouring buckets share a row group
PART_BYTES = 8 << 20  # bytes that are read at once to compute a digest; of a store each part is a request
MOST_ROWS, MOST_BYTES = 1 << 40, 1 << 46  # rows and bytes of a file, at most: sums over a dataset stay within 64 bits
ROWS_OF_A_BYTE = 32  # rows of 8 bytes that LZ4 makes a byte of, at most

NO_PARENT = -1
NO_ACTION = 0xFFFF


class DamagedLevelError(RuntimeError):
    """A committed file that is not what its manifest says."""


@frozen
class LevelFile:
    """A committed file: name below the level's folder, rows, bytes, SHA-256 of its bytes."""

    name: str = attribute(matching(FILE_NAME), "name")
    rows: int = attribute(whole(1, MOST_ROWS), "rows")
    bytes: int = attribute(whole(1, MOST_BYTES), "bytes")
    sha256: str = attribute(matching(SHA256), "sha256")

    def __attrs_post_init__(self) -> None:
        """Its rows are no more than its bytes can tell, so that memory for them follows from the size of the file."""
        if self.rows > ROWS_OF_A_BYTE * self.bytes:
            raise ValueError(f"rows: {self.rows:,} are not in {self.bytes:,} bytes")


def schema(words: int, claim_words: int) -> pa.Schema:
    """The columns of a level file; its depth is the partition."""
    columns = [("id", pa.int64()), ("parent", pa.int64()), ("action", pa.int32())]
    columns += [(f"w{i}", pa.int64()) for i in range(words)]
    columns += [(f"claims{i}", pa.int64()) for i in range(claim_words)]
    return pa.schema(columns)


COLUMN = re.compile(r"id|parent|action|w[0-9]{1,2}|claims[0-9]{1,3}", re.ASCII)  # the name of a column of a level file


@define
class ParquetFile:
    """A file of row groups that a job writes: there once it has one, and gone again where something fails."""

    folder: AnyPath
    _file: DigestingFile | None = field(init=False, default=None)
    _name: str = field(init=False)
    _writer: Any = field(init=False, default=None)
    _rows: int = field(init=False, default=0)

    def __enter__(self) -> Self:
        """Nothing is created yet."""
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None) -> None:
        """Finish the file, or remove it."""
        if self._file is None:
            return
        try:
            if kind is None:
                self.finish()
                self._file.close()
                durable(self.folder)
        except BaseException:
            kind = OSError
            raise
        finally:
            if kind is not None:
                with contextlib.suppress(OSError):  # what was not written is not missed; else Python closes it later
                    if self._writer is not None:
                        self._writer.close()
                self._file.abandon()
                if isinstance(self.folder, Path):
                    (self.folder / self._name).unlink(missing_ok=True)

    def finish(self) -> None:
        """Write what is still held."""
        self._writer.close()

    def begin(self, schema: pa.Schema, **options: Any) -> None:
        """Make the file, unless it is there, for columns of a schema; the options are those of `ParquetWriter`."""
        if self._file is None:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._file = new_file(self.folder / self._name)
            sink = pa.PythonFile(self._file, mode="w")
            self._writer = pq.ParquetWriter(sink, schema, compression=COMPRESSION, write_page_checksum=True, **options)

    def write_group(self, table: pa.Table) -> None:
        """Add rows as a row group."""
        self._writer.write_table(table, row_group_size=table.num_rows)
        self._rows += table.num_rows

    def result(self) -> LevelFile | None:
        """The finished file; None when nothing was written."""
        if self._file is None:
            return None
        return LevelFile(self._name, self._rows, self._file.size, self._file.hexdigest())


@define
class LevelWriter(ParquetFile):
    """Writes one file of a level."""

    task: int  # its number, for the name; attempts of the same task have different names
    words: int
    claim_words: int
    groups: list[RowGroup] = field(factory=list)
    claims: dict[int, int] = field(factory=dict)  # for each claim that a state shows, the first that was written
    _pending: list[Any] = field(factory=list)
    _pending_rows: int = 0
    _row_groups: int = 0

    def __attrs_post_init__(self) -> None:
        """Draw the name."""
        self._name = f"part-{self.task:05}-{uuid.uuid4().hex[:12]}.parquet"

    def finish(self) -> None:
        """See `ParquetFile`."""
        self._finish_group()
        super().finish()

    def write_sorted(self, records: Words, counts: npt.NDArray[np.int64], bits: Words) -> None:
        """Add the rows of all buckets, in their order; `counts` says how many each has."""
        ends = np.cumsum(counts)
        for bucket in np.flatnonzero(counts).tolist():
            rows = slice(int(ends[bucket] - counts[bucket]), int(ends[bucket]))
            self.write(bucket, records[rows], bits[rows])

    def write(self, bucket: int, records: Words, bits: Words) -> None:
        """Add the rows of a bucket: records, and the claim bits of their states."""
        marks = np.ascontiguousarray(records[:, self.words])
        initial = marks == np.uint64(0xFFFF_FFFF_FFFF_FFFF)
        parents = np.where(initial, NO_PARENT, (marks >> np.uint64(16)).view(np.int64))
        actions = np.where(initial, -1, (marks & np.uint64(NO_ACTION)).astype(np.int32))
        first = bucket << ROW_BITS
        columns: list[npt.NDArray[Any]] = [np.arange(first, first + len(records), dtype=np.int64)]
        columns += [parents, actions.astype(np.int32)]
        columns += [np.ascontiguousarray(records[:, i]).view(np.int64) for i in range(self.words)]
        columns += [np.ascontiguousarray(bits[:, i]).view(np.int64) for i in range(self.claim_words)]
        layout = schema(self.words, self.claim_words)
        plain = [name for name in layout.names if name.startswith("w") or name == "parent"]
        self.begin(
            layout, use_dictionary=[name for name in layout.names if name not in (*plain, "id")],
            column_encoding={**dict.fromkeys(plain, "PLAIN"), "id": "DELTA_BINARY_PACKED"},
            write_statistics=[name for name in layout.names if not name.startswith("w")],
        )  # fmt: skip
        if self._pending_rows + len(records) > GROUP_ROWS:
            self._finish_group()
        self.groups.append(RowGroup(bucket, self._name, self._row_groups, len(records), self._pending_rows))
        self._pending.append(pa.Table.from_arrays([pa.array(column) for column in columns], schema=layout))
        self._pending_rows += len(records)
        for claim, row in first_claims(bits).items():
            self.claims.setdefault(claim, first | row)

    def _finish_group(self) -> None:
        if self._pending:
            self.write_group(pa.concat_tables(self._pending))
            self._pending, self._pending_rows, self._row_groups = [], 0, self._row_groups + 1


@functools.lru_cache(maxsize=4096)
def footer(path: str) -> Any:
    """Metadata of a file; names are never used twice, so that it stays true."""
    return pq.read_metadata(source_of(place_of(path)))


def source_of(path: AnyPath) -> Any:
    """A file as Arrow reads it; raises OSError for what is no regular file."""
    if isinstance(path, ObjectPath):
        return pa.PythonFile(path.opened(), mode="r")
    os.close(open_regular(path))
    return path


@contextlib.contextmanager
def row_groups(path: AnyPath) -> Iterator[Any]:
    """A file of states, open for its row groups; raises DamagedLevelError when it cannot be read."""
    try:
        with pq.ParquetFile(source_of(path), metadata=footer(str(path)), page_checksum_verification=True) as source:
            yield source
    except (OSError, pa.ArrowException) as error:
        raise DamagedLevelError(f"{path}: {error}") from error


def check_group(path: AnyPath, source: Any, number: int, rows: int) -> int:
    """A row group's rows; raises DamagedLevelError for fewer than these, or more than its bytes can tell."""
    count: int = source.metadata.row_group(number).num_rows if number < source.metadata.num_row_groups else -1
    size = path.size() if isinstance(path, ObjectPath) else os.stat(path).st_size
    if not rows <= count <= ROWS_OF_A_BYTE * size:
        raise DamagedLevelError(f"{path}: its row groups have other rows than its manifest says")
    return count


def read_columns(path: AnyPath, source: Any, numbers: Sequence[int], names: Sequence[str]) -> pa.Table:
    """Columns of row groups, all of them whole numbers; raises DamagedLevelError where the file has others."""
    columns = source.schema_arrow
    for name in names:
        kind = columns.field(name).type if name in columns.names else None
        if kind not in (pa.int32(), pa.int64()):
            raise DamagedLevelError(f"{path}: it has no column {name} of whole numbers")
    return source.read_row_groups(numbers, columns=[*names], use_threads=False)


def read_states(folder: AnyPath, groups: Iterable[RowGroup], words: int) -> Iterator[tuple[RowGroup, Words]]:
    """The states of buckets, bucket by bucket; raises DamagedLevelError for files that are not as committed."""
    by_file: dict[str, list[RowGroup]] = {}
    for group in groups:
        by_file.setdefault(group.file, []).append(group)
    names = [f"w{i}" for i in range(words)]
    for name, file_groups in by_file.items():
        path = folder / name
        needed: dict[int, int] = {}
        for group in file_groups:
            needed[group.group] = max(needed.get(group.group, 0), group.first + group.rows)
        with row_groups(path) as source:
            sizes = [check_group(path, source, number, rows) for number, rows in needed.items()]
            table = read_columns(path, source, [*needed], names)
        if table.num_rows != sum(sizes) or any(column.null_count for column in table.columns):
            raise DamagedLevelError(f"{path}: its row groups have other rows than its manifest says")
        starts = dict(zip(needed, itertools.accumulate(sizes, initial=0), strict=False))
        states = np.empty((table.num_rows, words), dtype=np.uint64)
        for i in range(words):
            states[:, i] = table.column(i).to_numpy().astype(np.int64, copy=False).view(np.uint64)
        for group in file_groups:
            at = starts[group.group] + group.first
            yield group, states[at : at + group.rows]


def verify(folder: AnyPath, file: LevelFile) -> str | None:
    """The damage of a committed file, in words; None when its bytes are those that were committed."""
    path = folder / file.name
    digest, size = hashlib.sha256(), 0
    try:
        with opened(path) as stream:
            while data := stream.read(PART_BYTES):
                digest.update(data)
                size += len(data)
            if size != file.bytes:
                return f"{path}: {size:,} bytes instead of {file.bytes:,}"
            if digest.hexdigest() != file.sha256:
                return f"{path}: its bytes are not those that were committed (SHA-256 differs)"
            stream.seek(0)
            rows = pq.read_metadata(pa.PythonFile(stream, mode="r")).num_rows
    except (OSError, pa.ArrowException) as error:
        return f"{path}: {error}"
    return None if rows == file.rows else f"{path}: {rows:,} rows instead of {file.rows:,}"


Sight: TypeAlias = tuple[str, str]  # a driver's lease as workers look at it: where it is, and its token


_KINDS: dict[str, Any] = {
    "host": str, "boot": str, "pid": int, "token": str, "beats": int, "processes": str, "started": int | None
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
    """Refuse, as SightError, to work for a run whose lease is not seen here: it may be elsewhere, or dead."""
    if sight is not None and not names(place_of(sight[0]), sight[1]):
        raise SightError(
            f"the worker on {socket.gethostname()} does not see the driver's {sight[0]}; "
            "choose an --out that all workers share, or look whether its driver lives"
        )


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
        """The states of some buckets, each block with its own; of coarser ones others too; raises as `read_states`."""
        for group, states in read_states(place_of(self.folder), self.groups.within(chosen), words):
            yield group.bucket, states


@frozen
class LevelJob:
    """One level's job."""

    depth: int  # of the states that it finds
    folder: str  # where they go
    frontier: str  # the level that is expanded
    splits: tuple[Groups, ...] = field(eq=False)  # for each task of the first stage the groups that it expands
    visited: tuple[StoredLevel, ...]
    targets: int  # tasks of the second stage
    bits: int  # of the number of a bucket of the states that it finds
    cores: int  # that it was planned for; the order of the rows depends on it
    sight: Sight | None = None  # what a task has to see of the run before it writes; None: nothing
    # the digests of the level that is expanded and of the one before; None: workers keep no memo for it
    descent: Descent | None = None
