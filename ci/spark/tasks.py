"""Tasks on workers: the two stages of a level's job, and the verification of committed files.

One level is one job of two stages. The first expands row groups of the last
committed level into blocks, one row each; the shuffle brings the blocks of a
bucket together, in an order that does not depend on scheduling; the second
drops what committed levels hold and writes the rest. Both depend on their
input alone, so that an attempt that is repeated gives what the first would have given.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from attrs import asdict, frozen

from kraftcheck.ci.dataset.store.job import LevelJob
from kraftcheck.ci.dataset.store.levelfiles import LevelFile, LevelWriter, RowGroup, read_states, verify
from kraftcheck.ci.dataset.store.objects import place_of
from kraftcheck.ci.dataset.store.sight import Sight, check_sight
from kraftcheck.solvers.blocks.tasks import ROW_BITS, BlockSpec, Expansion, Words, first_claims, load_block_kernel, sift

BLOCK_BYTES = 1 << 20
"""Most bytes of a block, about."""

GROUP_RECORDS = 1 << 22
"""Records of neighbouring buckets that a task sifts together, about."""

CANDIDATE_SCHEMA = "target int, bucket int, source int, part int, block binary"
RESULT_SCHEMA = "kind string, payload binary"

CANDIDATE_COLUMNS = pa.schema([
    ("target", pa.int32()), ("bucket", pa.int32()), ("source", pa.int32()), ("part", pa.int32()),
    ("block", pa.binary()),
])  # fmt: skip
_RESULTS = pa.schema([("kind", pa.string()), ("payload", pa.binary())])

FRAME = -1
"""The bucket of a row that holds a task's counters, and last how many states it expanded."""

Batches = Iterator[Any]
Task = Callable[[Batches], Batches]


@frozen
class Stages:
    """A job of two stages: tasks of the first give candidates, those of the second get them sorted.

    Attributes:
        inputs: tasks of the first stage; each gets one number.
        targets: tasks of the second.
        first, second: what they do.
    """

    inputs: int
    targets: int
    first: Task
    second: Task


def level_stages(shipped: Callable[[], BlockSpec], level: LevelJob) -> Stages:
    """The stages of a level's job."""
    return Stages(len(level.splits), level.targets, expand_task(shipped, level), sift_task(shipped, level))


def expand_task(shipped: Callable[[], BlockSpec], level: LevelJob) -> Callable[[Batches], Batches]:
    """The first stage: one input row is the number of a split."""

    def expand_splits(batches: Batches) -> Batches:
        check_sight(level.sight)
        kernel = load_block_kernel(shipped())
        spec = kernel.spec
        for batch in batches:
            for source in batch.column(0).to_pylist():
                expansion = Expansion(kernel)
                part = itertools.count()
                expanded = 0
                for group, states in read_states(place_of(level.frontier), level.splits[source], spec.words):
                    for bucket, records in expansion.take(states, group.bucket << ROW_BITS):
                        yield from candidate_rows(spec, level.targets, bucket, source, part, records)
                    expanded += len(states)
                for bucket, records in expansion.empty():
                    yield from candidate_rows(spec, level.targets, bucket, source, part, records)
                frame = np.append(expansion.frame, expanded)
                yield candidate_row(source % level.targets, FRAME, source, 0, frame.tobytes())

    return expand_splits


def candidate_rows(
    spec: BlockSpec, targets: int, bucket: int, source: int, part: Iterator[int], records: Words
) -> Batches:
    """Blocks of at most `BLOCK_BYTES`; `part` numbers those of one source."""
    step = max(1, BLOCK_BYTES // (8 * spec.record))
    target = bucket * targets >> spec.bucket_bits
    for at in range(0, len(records), step):
        block = np.ascontiguousarray(records[at : at + step])
        yield candidate_row(target, bucket, source, next(part), block.tobytes())


def candidate_row(target: int, bucket: int, source: int, part: int, block: bytes) -> Any:
    """One row of the shuffle."""
    values = zip((target, bucket, source, part, block), CANDIDATE_COLUMNS, strict=True)
    return pa.RecordBatch.from_arrays([pa.array([v], kind.type) for v, kind in values], schema=CANDIDATE_COLUMNS)


def sift_task(shipped: Callable[[], BlockSpec], level: LevelJob) -> Callable[[Batches], Batches]:
    """The second stage: rows sorted by bucket, source and part; writes one file and says what is in it."""

    def sift_blocks(batches: Batches) -> Batches:
        check_sight(level.sight)
        kernel = load_block_kernel(shipped())
        spec = kernel.spec
        task = _task_number()
        writer = LevelWriter(place_of(level.folder), level.depth, spec.words, spec.claim_words, task)
        claims: dict[int, int] = {}
        candidates = 0
        with writer:
            for item in _group(batches, spec):
                if isinstance(item, bytes):
                    yield result_row("frame", item)
                    continue
                lo, hi, blocks = item
                candidates += sum(len(block) for block in blocks)
                visited = (
                    states
                    for stored in level.visited
                    for _, states in read_states(place_of(stored.folder), stored.groups(lo, hi), spec.words)
                )
                records, counts = sift(kernel, blocks, visited)
                bits = kernel.claims(records)
                ends = np.cumsum(counts)
                for bucket in np.flatnonzero(counts).tolist():
                    rows = slice(int(ends[bucket] - counts[bucket]), int(ends[bucket]))
                    writer.write(bucket, records[rows], bits[rows])
                    for claim, row in first_claims(bits[rows]).items():
                        claims.setdefault(claim, bucket << ROW_BITS | row)
        yield result_row("file", _description(writer.result(), writer.groups, claims, candidates))

    return sift_blocks


def _group(batches: Batches, spec: BlockSpec) -> Iterator[bytes | tuple[int, int, list[Words]]]:
    """Frames as bytes; blocks as (first bucket, last bucket + 1, blocks), neighbours together."""
    blocks: list[Words] = []
    lo, last, records = 0, FRAME, 0
    for batch in batches:
        columns = [batch.column(name) for name in ("bucket", "block")]
        for bucket, block in zip(columns[0].to_pylist(), columns[1], strict=True):
            if bucket == FRAME:
                yield block.as_py()
                continue
            if bucket != last and records >= GROUP_RECORDS:
                yield lo, last + 1, blocks
                blocks, records = [], 0
            if not blocks:
                lo = bucket
            last = bucket
            rows = np.frombuffer(block.as_buffer(), dtype=np.uint64).reshape(-1, spec.record)
            blocks.append(rows)
            records += len(rows)
    if blocks:
        yield lo, last + 1, blocks


def _description(file: LevelFile | None, groups: Sequence[RowGroup], claims: dict[int, int], candidates: int) -> bytes:
    content = {
        "file": None if file is None else asdict(file),
        "groups": [[g.bucket, g.group, g.rows, g.first] for g in groups],
        "claims": claims,
        "candidates": candidates,
    }
    return json.dumps(content).encode()


def result_row(kind: str, payload: bytes) -> Any:
    """One row of what a job brings back."""
    return pa.RecordBatch.from_arrays([pa.array([kind]), pa.array([payload], pa.binary())], schema=_RESULTS)


def _task_number() -> int:
    from pyspark import TaskContext  # only on workers of Spark

    context = TaskContext.get()
    return 0 if context is None else context.partitionId()


def verify_task(files: Sequence[tuple[str, LevelFile]]) -> Callable[[Batches], Batches]:
    """Checks committed files; one input row is the number of a file, the result what is wrong with it."""

    def verify_files(batches: Batches) -> Batches:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                folder, file = files[number]
                damage = verify(place_of(folder), file)
                if damage is not None:
                    yield result_row("damage", damage.encode())

    return verify_files


def sight_task(sight: Sight) -> Callable[[Batches], Batches]:
    """Checks that a worker sees the run: the result is as many rows as came in, or an error that names the worker."""

    def see(batches: Batches) -> Batches:
        for batch in batches:
            check_sight(sight)
            for _ in range(batch.num_rows):
                yield result_row("sight", b"")

    return see
