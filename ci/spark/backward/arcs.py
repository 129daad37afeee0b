"""The arcs of a run: the steps by which marks may flow backward, found once by a job of two stages.

The first expands states as an exploration does, but keeps every step of a state that does not satisfy a claim by
itself; the shuffle brings the steps into a bucket together; the second looks their targets up among the committed
states of the bucket, and writes the arcs of its part sorted by target, beside the marks that its states have by
themselves. What leads out of the explored states, or out of a domain, is a row of `leaves`.
"""

from __future__ import annotations

import functools
import itertools
import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from attrs import frozen

from kraftcheck.ci.dataset.store.groups import BucketRange
from kraftcheck.ci.dataset.store.job import StoredLevel
from kraftcheck.ci.dataset.store.levelfiles import DamagedLevelError, read_states
from kraftcheck.ci.dataset.store.stores import place_of
from kraftcheck.ci.spark.backward.files import PartWriter, written_file
from kraftcheck.ci.spark.backward.numbering import Numbering, Numbers
from kraftcheck.ci.spark.exchange import FRAME, GROUP_RECORDS, Batches, candidate_row, candidate_rows
from kraftcheck.ci.spark.tasks import result_row
from kraftcheck.solvers.blocks.expansion import CANDIDATES
from kraftcheck.solvers.blocks.recordset import BATCH
from kraftcheck.solvers.blocks.tasks import BlockKernel, BlockSpec, CandidateSet, Words, load_block_kernel

STATES_AT_ONCE = 4096
SPLIT_STATES = 1 << 16
"""States whose steps one task of the first stage lists, about."""

WINDOW_STATES = 1 << 19
"""States of neighbouring buckets among which a task looks targets up together, about."""

HEAD = FRAME - 1
"""The bucket of a row that says which part a task of the second stage makes; each gets one, so that none is idle."""


@frozen
class ArcsJob:
    """The job.

    Attributes:
        folder: where files go.
        numbering: the numbers of the states, and the parts, one for each task of the second stage.
        visited: all committed levels.
        splits: for each task of the first stage the groups that it expands: depth, first group, the one after the last.
    """

    folder: str
    numbering: Numbering
    visited: tuple[StoredLevel, ...]
    splits: tuple[tuple[int, int, int], ...]


def splits_of(visited: Sequence[StoredLevel]) -> tuple[tuple[int, int, int], ...]:
    """All groups of the levels, neighbours together up to about `SPLIT_STATES`."""
    splits = []
    for depth, level in enumerate(visited):
        ends = np.cumsum(level.groups.table["rows"], dtype=np.int64)
        first = 0
        while first < len(ends):
            before = int(ends[first - 1]) if first else 0
            last = max(first + 1, int(np.searchsorted(ends, before + SPLIT_STATES, side="right")))
            splits.append((depth, first, last))
            first = last
    return tuple(splits)


@functools.lru_cache(maxsize=4)
def ways_of(spec: BlockSpec) -> Words:
    """The bits that may flow back through some action instance, each value once; an arc has its number here."""
    return np.unique(np.array(spec.flows, dtype=np.uint64))


def exits_task(shipped: Callable[[], BlockSpec], job: ArcsJob) -> Callable[[Batches], Batches]:
    """The first stage: one input row is the number of a split."""

    def list_exits(batches: Batches) -> Batches:
        kernel = load_block_kernel(shipped())
        for batch in batches:
            for source in batch.column(0).to_pylist():
                yield from _exits(kernel, job, source)

    return list_exits


def _exits(kernel: BlockKernel, job: ArcsJob, source: int) -> Batches:
    spec, parts = kernel.spec, job.numbering.parts
    depth, first, last = job.splits[source]
    if source == 0:
        for part in range(parts):
            yield candidate_row(part, HEAD, source, 0, np.int64(part).tobytes())
    part_numbers, expanded = itertools.count(), 0
    waiting: list[Words] = []
    leaves: list[Numbers] = []
    stored = job.visited[depth]
    for group, states in read_states(place_of(stored.folder), stored.groups[first:last], spec.words):
        base = job.numbering.first_of(group.bucket, depth)
        for at in range(0, len(states), STATES_AT_ONCE):
            numbers = np.arange(base + at, base + min(at + STATES_AT_ONCE, len(states)))
            records, left = _steps_of(kernel, np.ascontiguousarray(states[at : at + STATES_AT_ONCE]), numbers)
            waiting.append(records)
            leaves.append(left)
        expanded += len(states)
        if sum(map(len, waiting)) >= CANDIDATES:
            yield from _blocks(kernel, parts, source, part_numbers, waiting)
            waiting = []
    yield from _blocks(kernel, parts, source, part_numbers, waiting)
    frame = np.concatenate([np.array([expanded]), *(pairs.ravel() for pairs in leaves)])
    yield candidate_row(source % parts, FRAME, source, 0, frame.astype(np.int64).tobytes())


def _steps_of(kernel: BlockKernel, states: Words, numbers: Numbers) -> tuple[Words, Numbers]:
    """Records (target, source << 16 | way) of some states, and (source, bits) where a domain cuts a way."""
    words, ways = kernel.spec.words, ways_of(kernel.spec)
    records, counts, leaves = kernel.exits_of(states)
    owners = np.repeat(np.arange(len(states)), counts)
    flows = (records[:, words] != 0) & (records[:, :words] != states[owners]).any(axis=1)
    records, owners = records[flows], owners[flows]
    marks = np.searchsorted(ways, records[:, words]).astype(np.uint64)
    records[:, words] = numbers[owners].astype(np.uint64) << np.uint64(16) | marks
    cut = leaves != 0
    return records, np.column_stack([numbers[cut], leaves[cut].view(np.int64)])


def _blocks(kernel: BlockKernel, parts: int, source: int, number: Iterator[int], waiting: Sequence[Words]) -> Batches:
    """The records as blocks of one bucket each."""
    if not waiting:
        return
    drained = kernel.by_bucket(np.ascontiguousarray(np.concatenate(waiting)))
    yield from candidate_rows(kernel.spec, parts, source, number, drained)


def arcs_task(shipped: Callable[[], BlockSpec], job: ArcsJob) -> Callable[[Batches], Batches]:
    """The second stage: rows sorted by bucket; writes the files of one part, and says what is in them."""

    def list_arcs(batches: Batches) -> Batches:
        kernel = load_block_kernel(shipped())
        rows = _rows(batches)
        bucket, block = next(rows)
        if bucket != HEAD:
            raise RuntimeError("a task of arcs was not told its part")
        part = _Part(kernel, job, int(np.frombuffer(block, np.int64)[0]))
        yield result_row("part", json.dumps(part.made(rows)).encode())

    return list_arcs


def _rows(batches: Batches) -> Iterator[tuple[int, Any]]:
    for batch in batches:
        for bucket, block in zip(batch.column("bucket").to_pylist(), batch.column("block"), strict=True):
            yield bucket, block.as_buffer()


class _Part:
    """One part in the making."""

    def __init__(self, kernel: BlockKernel, job: ArcsJob, part: int) -> None:
        self._kernel, self._job, self._part = kernel, job, part
        self._first, last = job.numbering.states_of(part)
        self._marks = np.zeros(last - self._first, dtype=np.uint64)
        self._leaves: list[Numbers] = []
        n = kernel.spec.recovers
        self._beyond = np.uint64(((1 << n) - 1) << n)

    def made(self, rows: Iterator[tuple[int, Any]]) -> dict[str, Any]:
        """Write the part; its description."""
        spec, folder, expanded = self._kernel.spec, place_of(self._job.folder), 0
        with PartWriter(folder, "arcs") as writer:
            windows = self._windows()
            candidates, stop = None, 0
            waiting: list[Words] = []
            for bucket, block in rows:
                if bucket == FRAME:
                    frame = np.frombuffer(block, np.int64)
                    expanded += int(frame[0])
                    self._leaves.append(frame[1:].reshape(-1, 2))
                    continue
                while bucket >= stop or candidates is None:
                    self._list(writer, candidates, waiting)
                    candidates, stop = next(windows)
                    waiting = []
                waiting.append(np.frombuffer(block, np.uint64).reshape(-1, spec.record))
                if sum(map(len, waiting)) >= GROUP_RECORDS:
                    self._list(writer, candidates, waiting)
                    waiting = []
            self._list(writer, candidates, waiting)
            for _ in windows:
                pass
        pairs = np.concatenate([np.zeros((0, 2), np.int64), *self._leaves])
        files = {
            "arcs": writer.result(), "marks": written_file(folder, "marks", bits=self._marks.view(np.int64)),
            "leaves": written_file(folder, "leaves", number=pairs[:, 0].copy(), bits=pairs[:, 1].copy()),
        }  # fmt: skip
        described = {name: None if file is None else file.document() for name, file in files.items()}
        return {"part": self._part, "expanded": expanded, "own": self._own(), **described}

    def _windows(self) -> Iterator[tuple[CandidateSet, int]]:
        """The states of neighbouring buckets as a set whose marks are their numbers, and the bucket after them."""
        numbering, buckets = self._job.numbering, self._job.numbering.buckets_of(self._part)
        lo = buckets.start
        while lo < buckets.stop:
            hi = lo + 1
            while hi < buckets.stop and numbering.first(hi + 1) - numbering.first(lo) <= WINDOW_STATES:
                hi += 1
            yield self._window(lo, hi), hi
            lo = hi

    def _window(self, lo: int, hi: int) -> CandidateSet:
        numbering, spec = self._job.numbering, self._kernel.spec
        count = numbering.first(hi) - numbering.first(lo)
        candidates, chosen = CandidateSet(self._kernel, count + BATCH), BucketRange(lo, hi, spec.bucket_bits)
        for depth, stored in enumerate(self._job.visited):
            for group, states in read_states(place_of(stored.folder), stored.groups.within(chosen), spec.words):
                first = numbering.first_of(group.bucket, depth)
                numbers = np.arange(first, first + len(states))
                candidates.gather(np.column_stack([states, numbers.astype(np.uint64)]))
                own = self._kernel.marks(np.ascontiguousarray(states))
                self._marks[first - self._first : first - self._first + len(states)] = own
        if len(candidates.records) != count:
            found = len(candidates.records)
            raise DamagedLevelError(f"the buckets {lo} to {hi - 1} have {found:,} states instead of {count:,}")
        return candidates

    def _list(self, writer: PartWriter, candidates: CandidateSet | None, waiting: Sequence[Words]) -> None:
        """Write the arcs of some records; what none of the states is leads out of what was explored."""
        if candidates is None or not waiting:
            return
        words = self._kernel.spec.words
        records = np.concatenate(waiting)
        found = candidates.find(records)
        sources = (records[:, words] >> np.uint64(16)).view(np.int64)
        ways = (records[:, words] & np.uint64(0xFFFF)).astype(np.int32)
        out = found < 0
        bits = ways_of(self._kernel.spec)[ways[out]] & self._beyond
        self._leaves.append(np.column_stack([sources[out], bits.view(np.int64)]))
        sources, ways = sources[~out], ways[~out]
        targets = candidates.records[found[~out], words].view(np.int64)
        order = np.argsort(targets)
        writer.write(target=targets[order], source=sources[order], way=ways[order])

    def _own(self) -> list[list[int]]:
        """For each property states concerned, those of them that fail by themselves, whether any satisfies it."""
        n, marks = self._kernel.spec.recovers, self._marks
        bits = [(np.uint64(1 << number), np.uint64(1 << 2 * n + number)) for number in range(n)]
        return [
            [int(np.count_nonzero(marks & about)), int(np.count_nonzero(marks & (reach | about) == about)),
             int((marks & reach).any())]
            for reach, about in bits
        ]  # fmt: skip
