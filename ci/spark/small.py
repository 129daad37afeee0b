"""Small levels: both stages of a level's job in the driver, where Spark's scheduling would take longer than the work.

The tasks are those of `kraftcheck.ci.spark.tasks`, and depend on their input alone: so a level has the same
files, wherever it was made.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from attrs import define, field

from kraftcheck.ci.dataset.store.job import LevelJob, StoredLevel
from kraftcheck.ci.dataset.store.levelfiles import BucketRange, DamagedLevelError
from kraftcheck.ci.spark.errors import job_error
from kraftcheck.ci.terminal import machine
from kraftcheck.solvers.blocks.tasks import BlockKernel, Sorted, blocks_of
from kraftcheck.solvers.blocks.visited import CompactBucket, OutOfMemoryError
from kraftcheck.solvers.machine_code.threads import ThreadPool

WORD_BYTES = 16
"""Bytes that the table of a set has for each word of a state, at most about."""

ROOM = 1.1
"""How many times as many states as are visited a set has room for at first: the levels to come are small."""

WINDOW_ROWS = 1 << 19
"""States that a thread reads at once, about."""


@define
class DriverVisited:
    """The visited states up to a level.

    Attributes:
        kernel: functions on blocks.
        memory: bytes that it may take.
    """

    kernel: BlockKernel
    memory: int
    _buckets: list[CompactBucket] = field(factory=list)
    _levels: int = 0

    @property
    def count(self) -> int:
        """How many states it has."""
        return sum(bucket.count for bucket in self._buckets)

    def has_room(self, rows: int) -> bool:
        """Whether so many states fit."""
        return rows * self.kernel.spec.words * WORD_BYTES <= self.memory

    def clear(self) -> None:
        """Give back the memory."""
        self._buckets, self._levels = [], 0

    def catch_up(self, level: LevelJob) -> bool:
        """Hold the visited states of a job, and no others; false, and nothing is held, when they do not fit.

        Raises:
            DamagedLevelError: when what is read is not what was written.
        """
        if self._levels > level.depth:
            self.clear()
        try:
            self._take(level)
        except OutOfMemoryError:
            self.clear()
            return False
        except BaseException:
            self.clear()
            raise
        self._levels = level.depth
        return True

    def _take(self, level: LevelJob) -> None:
        buckets, rows = self.kernel.spec.buckets, sum(part.rows for part in level.visited)
        if not self._buckets:
            budget, room = self.memory // buckets, int(ROOM * rows / buckets)
            self._buckets = [CompactBucket(self.kernel, budget, room) for _ in range(buckets)]
        with ThreadPool(machine.cores()) as pool:
            for part in level.visited[self._levels :]:
                self._read(part, pool)
        if self.count != rows:
            raise DamagedLevelError(f"{level.frontier}: {self.count:,} states up to there instead of {rows:,}")

    def _read(self, part: StoredLevel, pool: ThreadPool) -> None:
        buckets, spec = len(self._buckets), self.kernel.spec
        windows, finer = min(buckets, part.rows // WINDOW_ROWS + 1), part.bits - spec.bucket_bits

        def visit(_: int, window: int) -> None:
            chosen = (window * buckets // windows, (window + 1) * buckets // windows)
            for bucket, states in part.blocks(BucketRange(*chosen, spec.bucket_bits), spec.words):
                self._buckets[bucket >> finer].admit(states)

        pool.run(windows, visit)

    def others(self, drained: Sorted) -> Sorted:
        """The records whose states are not among them, in order, and how many each bucket has."""
        records, counts = drained
        left, finer = np.zeros_like(counts), len(counts) // len(self._buckets)
        kept: list[Any] = [records[:0]]
        for bucket, block in blocks_of(drained):
            kept.append(block[~self._buckets[bucket // finer].holds(block)])
            left[bucket] = len(kept[-1])
        return np.concatenate(kept), left


SMALL = 1 << 15
"""States of a level below which its job is not worth Spark's."""

VISITED_BYTES = 1 << 30
"""Bytes of the visited states that the driver holds for small levels, at most."""


def is_small(level: LevelJob, rows: int, visited: DriverVisited) -> bool:
    """Whether a level of fewer than so many states is expanded, and the driver has room for all that is visited."""
    expanded = sum(split.rows for split in level.splits)
    return expanded < rows and visited.has_room(sum(part.rows for part in level.visited))


@contextlib.contextmanager
def errors_of_a_job(log: Path) -> Iterator[None]:
    """What goes wrong meanwhile is told as of a job of Spark's.

    Raises:
        JobFailedError: then.
    """
    try:
        yield
    except Exception as error:
        raise job_error(RuntimeError(f"{type(error).__name__}: {error}"), log) from error


