"""Jobs of two stages over a committed run, whether this machine runs them or Spark.

What the tasks of the first give is sorted, and dealt out to the tasks of the second. Workers import this, so it
imports no model.

Candidates are on their way from task to task as rows of Spark's shuffle, or in files of which it carries the places.
Where all tasks run on one machine, Spark would copy each candidate some ten times on its way through the JVM. There a
task of the first stage writes its candidates into a file under a name of its own, and gives Spark the places of
its blocks in it. Only an attempt that Spark counts has its places brought to the second stage, so that a
file of a lost attempt is never read. Each block has a checksum, and the driver compares how many candidates
were sent with how many arrived.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import threading
import uuid
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, BinaryIO, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from attrs import define, field, frozen

from kraftcheck.ci.dataset.store.levelfiles import cuts
from kraftcheck.ci.dataset.store.objects import GONE, AnyPath, remove_folder
from kraftcheck.ci.terminal.refusal import JobFailedError
from kraftcheck.solvers.blocks.tasks import BlockSpec, Sorted, Words, blocks_of
from kraftcheck.solvers.machine_code.threads import ThreadPool

BLOCK_BYTES = 1 << 20  # most bytes of a block that is a row, about
BATCH_BYTES = 8 << 20  # bytes of the blocks of one batch of rows, about
GROUP_RECORDS = 1 << 22  # records of neighbouring buckets that a task sifts together, about

CANDIDATE_SCHEMA = "target int, bucket int, source int, part int, block binary"

CANDIDATE_COLUMNS = pa.schema([
    ("target", pa.int32()), ("bucket", pa.int32()), ("source", pa.int32()), ("part", pa.int32()),
    ("block", pa.binary()),
])  # fmt: skip

FRAME = -1  # the bucket of a row that holds a task's counters

Batches = Iterator[Any]


class LostCandidatesError(RuntimeError):
    """A file of candidates that is not what was written."""


def candidate_row(target: int, bucket: int, source: int, part: int, block: bytes) -> Any:
    """One row of the shuffle."""
    values = zip((target, bucket, source, part, block), CANDIDATE_COLUMNS, strict=True)
    return pa.RecordBatch.from_arrays([pa.array([v], kind.type) for v, kind in values], schema=CANDIDATE_COLUMNS)


def target_of(spec: BlockSpec, targets: int, bucket: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The task of the second stage that gets a bucket."""
    return bucket * targets >> spec.bucket_bits


def candidate_rows(spec: BlockSpec, targets: int, source: int, part: Iterator[int], drained: Sorted) -> Batches:
    """Sorted records as rows: blocks of at most `BLOCK_BYTES`; `part` numbers those of one source."""
    records, size = np.ascontiguousarray(drained[0]), 8 * spec.record
    step = max(1, BLOCK_BYTES // size)
    ends = np.cumsum(drained[1])
    blocks = [
        (bucket, at, min(at + step, int(ends[bucket])))
        for bucket in np.flatnonzero(drained[1]).tolist()
        for at in range(int(ends[bucket] - drained[1][bucket]), int(ends[bucket]), step)
    ]
    for _, batch in itertools.groupby(blocks, lambda block: block[1] * size // BATCH_BYTES):
        table = np.array(list(batch), dtype=np.int64)
        first, last = int(table[0, 1]), int(table[-1, 2])
        offsets = np.append(table[:, 1] - first, last - first).astype(np.int32) * np.int32(size)
        parts = list(itertools.islice(part, len(table)))
        numbers = (target_of(spec, targets, table[:, 0]), table[:, 0], np.full(len(table), source), parts)
        columns = [pa.array(np.asarray(column, dtype=np.int32)) for column in numbers]
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(records[first:last])]
        columns.append(pa.Array.from_buffers(pa.binary(), len(table), buffers))
        yield pa.RecordBatch.from_arrays(columns, schema=CANDIDATE_COLUMNS)


@define
class CandidateFile:
    """The file of one attempt of a task of the first stage; as a context it removes the file when something fails."""

    spec: BlockSpec
    folder: Path  # where it is made, once there is something to write
    source: int
    _name: str = field(init=False)
    _file: BinaryIO | None = field(init=False, default=None)
    _blocks: list[tuple[int, int, int, int]] = field(factory=list)
    _size: int = 0

    def __attrs_post_init__(self) -> None:
        """Attempts of the same task have different names."""
        self._name = f"part-{self.source:05}-{uuid.uuid4().hex[:12]}.candidates"

    def __enter__(self) -> CandidateFile:
        """Nothing is created before the first record."""
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Close the file, or remove it."""
        if self._file is not None:
            self._file.close()
            if kind is not None:
                (self.folder / self._name).unlink(missing_ok=True)

    def write(self, drained: Sorted) -> None:
        """Add sorted records; each bucket is a block."""
        if self._file is None:
            self._file = open(self.folder / self._name, "xb", buffering=0)  # noqa: SIM115
        for bucket, records in blocks_of(drained):
            data = _bytes(records)
            self._blocks.append((bucket, self._size, len(records), zlib.crc32(data)))
            self._size += data.nbytes
        rest = _bytes(drained[0])
        while rest.nbytes:
            rest = rest[self._file.write(rest) :]

    def rows(self, targets: int) -> Batches:
        """A row for each task of the second stage that gets blocks: the name of the file, and their places in it."""
        if not self._blocks:
            return
        table = np.array(self._blocks, dtype=np.int64)
        of = target_of(self.spec, targets, table[:, 0])
        chosen = np.unique(of).tolist()
        places = [self._name.encode() + b"\n" + table[of == target].tobytes() for target in chosen]
        columns = [chosen, [0] * len(chosen), [self.source] * len(chosen), [0] * len(chosen), places]
        arrays = [pa.array(column, kind.type) for column, kind in zip(columns, CANDIDATE_COLUMNS, strict=True)]
        yield pa.RecordBatch.from_arrays(arrays, schema=CANDIDATE_COLUMNS)


def _bytes(records: Words) -> memoryview:
    """The memory of records that lie side by side."""
    return memoryview(records.reshape(-1).view(np.uint8).data)


@frozen
class FileBlocks:
    """The blocks of one file that a task of the second stage gets: rows (bucket, offset, records, CRC-32)."""

    path: Path
    table: npt.NDArray[np.int64] = field(eq=False)

    @classmethod
    def of(cls, folder: Path, block: Any) -> FileBlocks:
        """What a row says that `CandidateFile.rows` gave."""
        name, _, table = bytes(block).partition(b"\n")
        return cls(folder / name.decode(), np.frombuffer(table, dtype=np.int64).reshape(-1, 4))

    def read(self, lo: int, hi: int, record: int) -> Iterator[Words]:
        """The records of the buckets lo..hi-1, neighbours in the file read at once; raises LostCandidatesError."""
        chosen = self.table[(self.table[:, 0] >= lo) & (self.table[:, 0] < hi)]
        if not len(chosen):
            return
        ends = chosen[:, 1] + 8 * record * chosen[:, 2]
        runs = np.split(chosen, np.flatnonzero(chosen[1:, 1] != ends[:-1]) + 1)
        with open(self.path, "rb", buffering=0) as file:
            for run in runs:
                yield self._run(file, run, record)

    def _run(self, file: BinaryIO, run: npt.NDArray[np.int64], record: int) -> Words:
        records = np.empty((int(run[:, 2].sum()), record), dtype=np.uint64)
        data = _bytes(records)
        read = os.preadv(file.fileno(), [data], int(run[0, 1]))
        while 0 < read < data.nbytes and (more := os.preadv(file.fileno(), [data[read:]], int(run[0, 1]) + read)):
            read += more
        at = 0
        for bucket, _, rows, checksum in run.tolist():
            size = 8 * record * rows
            if read < data.nbytes or zlib.crc32(data[at : at + size]) != checksum:
                raise LostCandidatesError(f"{self.path}: the candidates of bucket {bucket} are not those written")
            at += size
        return records


def sent(spec: BlockSpec, targets: int, source: int, drained: Iterable[Sorted], files: Path | None) -> Batches:
    """What a task of the first stage gives: its sorted records in a file of a folder, or in rows."""
    if files is None:
        part = itertools.count()
        for one in drained:
            yield from candidate_rows(spec, targets, source, part, one)
        return
    with CandidateFile(spec, files, source) as file:
        for one in drained:
            file.write(one)
    yield from file.rows(targets)


@frozen
class CandidateBlocks:
    """Candidates of neighbouring buckets."""

    # lo, hi: the first bucket, and the one after the last
    lo: int
    hi: int
    size: int
    blocks: Iterable[Words]  # them, those of a bucket in the order of sources and parts


class Arrived:
    """What rows bring that are sorted by bucket, source and part: records in them, or in files that they name.

    Attributes:
        told: what rows hold that have no records, by their bucket, which is below 0: `FRAME`, and others of the job.
    """

    def __init__(self, batches: Batches, spec: BlockSpec, files: Path | None) -> None:
        self._spec, self._rows, self.told = spec, _rows_of(batches), defaultdict[int, list[Any]](list)
        self._next = next(self._rows, None)
        while self._next is not None and self._next[0] < 0:
            self.told[self._next[0]].append(self._next[2])
            self._next = next(self._rows, None)
        self._places: list[FileBlocks] | None = None
        if files is not None:
            first = () if self._next is None else (self._next,)
            found = {source: FileBlocks.of(files, block) for _, source, block in itertools.chain(first, self._rows)}
            self._places = [found[source] for source in sorted(found)]

    def within(self, lo: int, hi: int) -> Iterator[Words]:
        """Those of the buckets lo..hi-1, which come after those that were asked for before."""
        for places in self._places or ():
            yield from places.read(lo, hi, self._spec.record)
        while self._places is None and self._next is not None and self._next[0] < hi:
            yield np.frombuffer(self._next[2], np.uint64).reshape(-1, self._spec.record)
            self._next = next(self._rows, None)

    def groups(self) -> Iterator[CandidateBlocks]:
        """All of them, those of neighbouring buckets together up to about `GROUP_RECORDS` records."""
        if self._places is not None:
            for lo, hi, size in _groups(self._places, self._spec):
                yield CandidateBlocks(lo, hi, size, self.within(lo, hi))
        while self._places is None and self._next is not None:
            lo, last, blocks, size = self._next[0], self._next[0], list[Words](), 0
            while self._next is not None and (size < GROUP_RECORDS or self._next[0] == last):
                last = self._next[0]
                blocks += self.within(last, last + 1)
                size = sum(map(len, blocks))
            yield CandidateBlocks(lo, last + 1, size, blocks)


def _rows_of(batches: Batches) -> Iterator[tuple[int, int, Any]]:
    """A bucket, the number of a task of the first stage, and the bytes of a block."""
    for batch in batches:
        columns = [batch.column(name) for name in ("bucket", "source", "block")]
        for bucket, source, block in zip(columns[0].to_pylist(), columns[1].to_pylist(), columns[2], strict=True):
            yield bucket, source, block.as_buffer()


def _groups(places: Sequence[FileBlocks], spec: BlockSpec) -> Iterator[tuple[int, int, int]]:
    """Neighbouring buckets of not many more than `GROUP_RECORDS` records: first, last + 1, records."""
    counts = np.zeros(spec.buckets, dtype=np.int64)
    for one in places:
        np.add.at(counts, one.table[:, 0], one.table[:, 2])
    filled = np.flatnonzero(counts)
    for first, last in cuts(counts[filled], GROUP_RECORDS):
        yield int(filled[first]), int(filled[last - 1]) + 1, int(counts[filled[first:last]].sum())


RESULT_SCHEMA = "kind string, payload binary"

_RESULTS = pa.schema([("kind", pa.string()), ("payload", pa.binary())])

Task: TypeAlias = Callable[[Batches], Batches]

ORDER = ("bucket", "source", "part")  # what the rows of a task of the second stage are sorted by


@frozen
class Stages:
    """A job of two stages: tasks of the first give candidates, those of the second get them sorted."""

    inputs: int  # tasks of the first stage; each gets one number
    targets: int  # tasks of the second
    # first, second: what they do
    first: Task
    second: Task


def result_row(kind: str, payload: bytes) -> Any:
    """One row of what a job brings back."""
    return pa.RecordBatch.from_arrays([pa.array([kind]), pa.array([payload], pa.binary())], schema=_RESULTS)


class JobRunner(Protocol):
    """The runner of jobs of two stages."""

    @property
    def spec(self) -> BlockSpec:
        """The spec that tasks load."""

    @property
    def shipped(self) -> Callable[[], BlockSpec]:
        """What gives it where tasks run."""

    @property
    def cores(self) -> int:
        """Tasks that run at the same time."""

    def exchange(self, where: AnyPath) -> AbstractContextManager[Path | None]:
        """A folder below a place for what goes from stage to stage; None: it goes in rows."""

    def rows(
        self, stages: Stages, label: str, stop: threading.Event, *, here: bool
    ) -> tuple[Sequence[Any], dict[str, float]] | None:
        """Run a job, in this thread if `here`: its rows, and what was moved; None if stopped; raises JobFailedError."""


def rows_here(stages: Stages, threads: int = 1, stopped: Callable[[], bool] = lambda: False) -> list[Any]:
    """The result rows of a job, run in this process with rows in memory; once it is stopped they are not all."""
    with ThreadPool(threads) as pool:
        given: list[list[Any]] = [[] for _ in range(stages.inputs)]
        results: list[list[Any]] = [[] for _ in range(stages.targets)]

        def give(_: int, number: int) -> None:
            given[number] = list(stages.first(iter([pa.RecordBatch.from_pydict({"id": [number]})])))

        pool.run(stages.inputs, give, stopped)
        if stopped():
            return []
        candidates = pa.Table.from_batches(itertools.chain.from_iterable(given), schema=CANDIDATE_COLUMNS)
        given.clear()
        ordered = candidates.sort_by([(name, "ascending") for name in ("target", *ORDER)])
        del candidates
        parts = list(_parts(ordered, stages.targets))

        def take(_: int, number: int) -> None:
            results[number] = list(stages.second(iter(parts[number])))

        pool.run(stages.targets, take, stopped)
    return [SimpleNamespace(**row) for batch in itertools.chain.from_iterable(results) for row in batch.to_pylist()]


def _parts(ordered: pa.Table, targets: int) -> Iterator[Iterable[Any]]:
    borders = np.searchsorted(ordered["target"].to_numpy(), np.arange(targets + 1))
    for first, last in itertools.pairwise(borders.tolist()):
        yield ordered.slice(first, last - first).to_batches()


@contextlib.contextmanager
def exchange_folder(where: Path) -> Iterator[Path]:
    """A folder for what goes from stage to stage; a run that goes on removes it."""
    folder = where / f"{GONE}{uuid.uuid4().hex}"
    folder.mkdir(parents=True)
    try:
        yield folder
    finally:
        remove_folder(folder)


@frozen
class LocalJobs:
    """Runs jobs on the threads of this machine."""

    spec: BlockSpec
    cores: int

    @property
    def shipped(self) -> Callable[[], BlockSpec]:
        """See `JobRunner`."""
        return lambda: self.spec

    def exchange(self, where: AnyPath) -> AbstractContextManager[Path | None]:
        """See `JobRunner`; what goes to a store goes in rows."""
        return exchange_folder(where) if isinstance(where, Path) else contextlib.nullcontext()

    def rows(
        self, stages: Stages, label: str, stop: threading.Event, *, here: bool
    ) -> tuple[Sequence[Any], dict[str, float]] | None:
        """See `JobRunner`."""
        try:
            rows = rows_here(stages, 1 if here else self.cores, stop.is_set)
        except LostCandidatesError as error:
            raise JobFailedError(f"{label}: {error}; --resume goes on") from error
        return None if stop.is_set() else (rows, {})
