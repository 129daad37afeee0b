"""The search of `explore --engine disk`: memory has a compact visited set and a level in the making."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from attrs import define, field, frozen

from kraftcheck.ci.dataset.search.levels import JobResult, UnfinishedLevelError, least
from kraftcheck.ci.dataset.store import levelfiles
from kraftcheck.ci.dataset.store.stores import place_of
from kraftcheck.solvers.blocks.expansion import Expansion
from kraftcheck.solvers.blocks.tasks import ROW_BITS, BlockKernel, BlockSpec, Words, blocks_of, load_block_kernel
from kraftcheck.solvers.blocks.visited import CompactBucket, OutOfMemoryError
from kraftcheck.solvers.machine_code.threads import ThreadPool
from kraftcheck.solvers.search.levels import OUT_OF_MEMORY

JOB_ROWS = 1 << 15  # states that a job expands, at most
ROUND = 16  # jobs of a round
FILES = 16  # files of a level, at most, where nobody says how many; each is written by one thread
ROOM = 1.1  # how many times as many states as are visited a set has room for at first: the levels to come may be small
WINDOW_ROWS = 1 << 19  # states of a committed level that a thread reads at once, about
Slice: TypeAlias = "tuple[int, Words]"  # the id of the first of some states that follow each other, and the states


@frozen
class RoundProgress:
    """How far the work on a level is."""

    depth: int  # of the level that is being made
    expanded: int  # states of the level before that are expanded
    new: int  # states of the level so far
    frame: npt.NDArray[np.int64] = field(eq=False)  # the counters of its expansions


@frozen
class _Written:
    """One file of a level, if it has rows, and what is in it."""

    file: levelfiles.LevelFile | None
    groups: tuple[levelfiles.RowGroup, ...]
    claims: dict[int, int]


@define
class DiskRunner:
    """Runs the jobs of levels on this machine, as `ci.dataset.search.levels.LevelRunner`."""

    kernel: BlockKernel
    threads: int
    memory: int  # bytes for the visited set and the level that is being made
    report: Callable[[RoundProgress], None] = lambda progress: None  # called after each round with what it found so far
    visited: list[CompactBucket] = field(factory=list)  # the visited states of each bucket
    peak: int = 0  # most bytes that visited states, new states and candidates took
    _levels: int = 0

    @property
    def spec(self) -> BlockSpec:
        """The kernel's spec."""
        return self.kernel.spec

    @property
    def most_bits(self) -> int:
        """Those of the spec: the visited set lies in memory by bucket, and is not split."""
        return self.spec.bucket_bits

    @property
    def cores(self) -> int:
        """The same on every machine, so that jobs are, too."""
        return ROUND

    @property
    def bytes_in_use(self) -> int:
        """Bytes of the visited set."""
        return sum(bucket.bytes_in_use for bucket in self.visited)

    def forget(self) -> None:
        """Give back the memory."""
        self.visited, self._levels = [], 0

    def run(self, level: levelfiles.LevelJob, stop: threading.Event, files: int | None = None) -> JobResult | None:
        """Expand a level into the next, in so many files if said; None when stopped; raises UnfinishedLevelError."""
        start = time.monotonic()
        try:
            with ThreadPool(self.threads) as pool:
                self._catch_up(level, pool)
                work = _LevelWork(self, level, pool, stop)
                if not work.expand():
                    return None
                written = work.write(max(1, min(FILES, work.new // JOB_ROWS)) if files is None else files)
        except OutOfMemoryError as error:
            raise UnfinishedLevelError(f"{OUT_OF_MEMORY} {self.memory:,} bytes") from error
        self._levels += 1
        return work.result(written, time.monotonic() - start)

    def _catch_up(self, level: levelfiles.LevelJob, pool: ThreadPool) -> None:
        """Hold the visited states of a job and no others: of levels that were not made here they are read."""
        if self._levels > len(level.visited):  # a level that is made again
            self.forget()
        buckets, rows = self.spec.buckets, sum(part.rows for part in level.visited)
        if not self.visited:
            budget = self.memory // (buckets + self.threads)  # each thread has at most one table beside that it makes
            self.visited = [CompactBucket(self.kernel, budget, int(ROOM * rows / buckets)) for _ in range(buckets)]
        for part in level.visited[self._levels :]:
            self._read(part, pool)
        self._levels = len(level.visited)
        if (count := sum(bucket.count for bucket in self.visited)) != rows:
            raise levelfiles.DamagedLevelError(f"{level.frontier}: {count:,} states up to there instead of {rows:,}")

    def _read(self, level: levelfiles.StoredLevel, pool: ThreadPool) -> None:
        buckets, bits = self.spec.buckets, self.spec.bucket_bits
        windows, finer = min(buckets, level.rows // WINDOW_ROWS + 1), level.bits - bits

        def visit(_: int, window: int) -> None:
            chosen = (window * buckets // windows, (window + 1) * buckets // windows)
            for bucket, states in level.blocks(levelfiles.BucketRange(*chosen, bits), self.spec.words):
                self.visited[bucket >> finer].admit(states)

        pool.run(windows, visit)


@define
class _LevelWork:
    runner: DiskRunner
    level: levelfiles.LevelJob
    pool: ThreadPool
    stop: threading.Event
    expanded: int = 0
    candidates: int = 0
    new: int = 0
    _kernel: BlockKernel = field(init=False)
    _new: list[list[Words]] = field(init=False)
    _expansions: list[Expansion] = field(init=False)

    def __attrs_post_init__(self) -> None:
        """An expansion for each thread, by the buckets of the level, which may be finer than those of the set."""
        self._kernel = load_block_kernel(self.runner.spec.with_bits(self.level.bits))
        self._new = [[] for _ in range(self._kernel.spec.buckets)]
        self._expansions = [Expansion(self._kernel) for _ in range(self.runner.threads)]

    def expand(self) -> bool:
        """Expand the level; false when it was stopped."""
        jobs = self._jobs()
        while chosen := list(itertools.islice(jobs, ROUND)):
            self._round(chosen)
            if self.stop.is_set():
                return False
            frame = np.sum([expansion.frame for expansion in self._expansions], axis=0)
            self.runner.report(RoundProgress(self.level.depth, self.expanded, self.new, frame))
        return True

    def _jobs(self) -> Iterator[list[Slice]]:
        """The rows of the level, in order, in jobs of a limited size."""
        job: list[Slice] = []
        rows = 0
        for at, states in self._slices():
            if job and rows + len(states) > JOB_ROWS:
                yield job
                job, rows = [], 0
            job.append((at, states))
            rows += len(states)
        if job:
            yield job

    def _slices(self) -> Iterator[Slice]:
        folder, words = place_of(self.level.frontier), self.runner.spec.words
        groups = itertools.chain.from_iterable(self.level.splits)
        for _, together in itertools.groupby(groups, lambda group: (group.file, group.group)):
            for group, states in levelfiles.read_states(folder, together, words):
                for at in range(0, len(states), JOB_ROWS):
                    yield group.bucket << ROW_BITS | at, states[at : at + JOB_ROWS]

    def _round(self, jobs: list[list[Slice]]) -> None:
        """Expand jobs, then admit what they lead to."""
        blocks: list[list[tuple[int, Words]]] = [[] for _ in jobs]

        def expand(thread: int, number: int) -> None:
            own = self._expansions[thread]
            for identity, states in jobs[number]:
                for drained in own.take(states, identity):
                    blocks[number].extend(blocks_of(drained))
            blocks[number].extend(blocks_of(own.empty()))

        self.pool.run(len(jobs), expand, self.stop.is_set)
        if self.stop.is_set():
            return
        self.expanded += sum(len(states) for job in jobs for _, states in job)
        visited, finer = self.runner.visited, self.level.bits - self.runner.spec.bucket_bits
        waiting: list[dict[int, list[Words]]] = [{} for _ in visited]
        for bucket, records in itertools.chain.from_iterable(blocks):
            waiting[bucket >> finer].setdefault(bucket, []).append(records)
            self.candidates += len(records)
        filled = [own for own, parts in enumerate(waiting) if parts]

        def admit(_: int, number: int) -> None:
            for bucket, parts in waiting[filled[number]].items():
                self._new[bucket].append(np.concatenate([visited[filled[number]].admit(records) for records in parts]))

        self.pool.run(len(filled), admit)
        self.new += sum(len(self._new[bucket][-1]) for own in filled for bucket in waiting[own])
        self._note_memory(sum(records.nbytes for _, records in itertools.chain.from_iterable(blocks)))

    def _note_memory(self, blocks: int) -> None:
        in_use = self.runner.bytes_in_use + self.new * 8 * self.runner.spec.record
        self.runner.peak = max(self.runner.peak, in_use + blocks)
        if in_use > self.runner.memory:
            raise OutOfMemoryError

    def write(self, files: int) -> list[_Written]:
        """Write the new states; a file holds neighbouring buckets, as one that a task writes."""
        written: list[_Written | None] = [None] * files

        def write_file(_: int, file: int) -> None:
            ends = [-(-len(self._new) * (file + k) // files) for k in range(2)]
            written[file] = self._file(file, range(*ends))

        self.pool.run(files, write_file)
        return [part for part in written if part is not None]

    def _file(self, number: int, buckets: Iterable[int]) -> _Written:
        spec = self.runner.spec
        writer = levelfiles.LevelWriter(place_of(self.level.folder), number, spec.words, spec.claim_words)
        with writer:
            for bucket in buckets:
                if not (parts := self._new[bucket]) or not len(records := np.concatenate(parts)):
                    continue
                parts.clear()
                writer.write(bucket, records, self._kernel.claims(records))
        return _Written(writer.result(), tuple(writer.groups), writer.claims)

    def result(self, written: list[_Written], seconds: float) -> JobResult:
        """What was found, in the form of a job's result."""
        return JobResult(
            tuple(part.file for part in written if part.file is not None),
            levelfiles.Groups.of((group for part in written for group in part.groups), self.level.bits),
            np.stack([expansion.frame for expansion in self._expansions]), self.expanded,
            least(part.claims for part in written),
            {"seconds": seconds, "cores": self.level.cores, "candidates": self.candidates,
             "visited": self.runner.bytes_in_use, "peak": self.runner.peak},
        )  # fmt: skip
