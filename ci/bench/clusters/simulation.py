"""A model of a Spark run on more cores than measured: its tasks, list-scheduled, level by level.

From the times of a run's tasks (`OUT/stages.jsonl`) and the sizes of its levels it predicts the seconds of the jobs of
levels on N cores, and of a space k times as large with as many levels. Each level is planned as the engine plans it.
Work is proportional to rows, spread over tasks as it was among the measured ones (skew and stragglers), with a fixed
cost a task, a cost a file that is opened, and a cost a job and a task for the driver.

Left out: the network (tasks were measured where the shuffle is a local disk), storage that many read at the same time,
lost tasks, cores of another speed, memory that does not suffice, the time that merging old levels takes, the native
start, and the backward search.
"""

from __future__ import annotations

import heapq
import itertools
import math
import statistics
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

import pyarrow.parquet as pq
from attrs import define, field, frozen

from kraftcheck.ci.dataset.search.compaction import first_merged, merge_tasks
from kraftcheck.ci.dataset.search.levels import bucket_bits, task_sizes
from kraftcheck.ci.dataset.store.groups import BucketRange
from kraftcheck.ci.dataset.store.manifests import Commit
from kraftcheck.ci.spark.times import JobTimes, StageTimes
from kraftcheck.solvers.blocks.tasks import MOST_BUCKET_BITS

OPENED = 50
"""Files that are opened to measure what that takes."""


@frozen
class LevelTimes:
    """A level as it was made.

    Attributes:
        job: its times.
        rows: states that were expanded.
        visited: states of all levels before it.
        native: levels before it that were made natively, each in one file.
    """

    job: JobTimes
    rows: int
    visited: int
    native: int = 0


@frozen
class Prediction:
    """What a run would take.

    Attributes:
        seconds: of all jobs, and of the driver between them.
        busy: the part of the cores' time in which they have a task.
        tasks: how many there are.
        work: seconds that all of them take together.
        opens: files that tasks of second stages open.
        buckets: of the level that has the most.
    """

    seconds: float
    busy: float
    tasks: int
    work: float
    opens: int
    buckets: int


def levels_of(commits: Sequence[Commit], jobs: Iterable[JobTimes]) -> list[LevelTimes]:
    """The levels that a run's jobs made."""
    by_label, levels = {job.label: job for job in jobs}, []
    for before, level in itertools.pairwise(commits):
        job = by_label.get(f"level {level.depth}")
        if job is not None:
            visited = sum(one.rows for one in commits[: level.depth])
            native = sum(one.engine == "native" for one in commits[: level.depth])
            levels.append(LevelTimes(job, before.rows, visited, native))
    return levels


File = Sequence[BucketRange]
"""The buckets that a file holds."""


def opened(commits: Sequence[Commit], cores: int | None = None) -> int:
    """Files that the tasks of second stages opened, by the buckets that they sifted and those that files hold.

    Args:
        commits: the levels.
        cores: on which old levels were merged; None: they were not.
    """
    count, rows, parts, bits = 0, list[int](), list[list[File]](), list[int]()
    for level in commits:
        if targets := int(level.cost.get("sift_tasks", 0)):
            if cores is not None and (at := first_merged(rows)) is not None:
                rows[at:], bits[at:] = [sum(rows[at:])], [min(bits[at:])]
                parts[at:] = [_merged_files(bits[at], merge_tasks(rows[at], cores))]
            count += sum(_readers(file, level.groups.bits, targets) for part in parts for file in part)
        rows.append(level.rows)
        bits.append(level.groups.bits)
        parts.append(_files_of(level))
    return count


def _readers(file: File, bits: int, targets: int) -> int:
    """How many of so many tasks, which share the buckets of so many bits, sift a bucket of the file."""
    ranges = [buckets.of(bits) for buckets in file]
    tasks = [range(one.lo * targets >> bits, ((one.hi - 1) * targets >> bits) + 1) for one in ranges]
    return len(set(itertools.chain.from_iterable(tasks)))


def _files_of(level: Commit) -> list[File]:
    """The files of a level."""
    files = dict[str, list[BucketRange]]()
    for group in level.groups:
        files.setdefault(group.file, []).append(BucketRange(group.bucket, group.bucket + 1, level.groups.bits))
    return [*files.values()]


def _merged_files(bits: int, tasks: int) -> list[File]:
    """The files of a run that so many tasks merged, of parts of which the coarsest has buckets of so many bits."""
    borders = [(task << bits) // tasks for task in range(tasks + 1)]
    return [[BucketRange(first, last, bits)] for first, last in itertools.pairwise(borders) if first < last]


def makespan(seconds: Iterable[float], cores: int) -> float:
    """When the last of some tasks ends, each begun in order by the first core that is idle."""
    ends = [0.0] * cores
    for one in seconds:
        heapq.heapreplace(ends, ends[0] + one)
    return max(ends)


def spread(quantiles: Sequence[float], count: int) -> list[float]:
    """So many values with these quantiles, in an order that is no order of size."""
    steps = len(quantiles) - 1
    values = []
    for number in range(count):
        at = (number + 0.5) / count * steps
        low = min(int(at), steps - 1)
        values.append(quantiles[low] + (at - low) * (quantiles[low + 1] - quantiles[low]))
    stride = next(n for n in range(max(1, int(count * 0.618)), count + 2) if math.gcd(n, count) == 1)
    return [values[number * stride % count] for number in range(count)]


@define
class _Parts:
    """The parts of the visited states: in how many files each is, and its states."""

    files: list[int] = field(factory=list)
    rows: list[int] = field(factory=list)

    @classmethod
    def native(cls, levels: int) -> _Parts:
        """So many levels that were made natively: one file each, of few states."""
        return cls([1] * levels, [1] * levels)

    def opened_by(self, tasks: int) -> int:
        """Files that so many tasks open, which share the buckets."""
        return _opens(tasks, self.files)

    def add(self, files: int, rows: int, cores: int) -> None:
        """A level; old ones are merged as the engine does."""
        self.files.append(files)
        self.rows.append(rows)
        at = first_merged(self.rows)
        if at is not None:
            self.rows[at:] = [sum(self.rows[at:])]
            self.files[at:] = [merge_tasks(self.rows[at], cores)]


@frozen
class Simulation:
    """A run as a model.

    Attributes:
        levels: as they were made.
        bits: of the number of a bucket, at the first level.
        task_seconds: a task that has nothing to do.
        open_seconds: a file that is opened.
        job_seconds, dispatch_seconds: of the driver, for a job and for each of its tasks.
        driver_seconds: between two jobs.
    """

    levels: tuple[LevelTimes, ...]
    bits: int
    task_seconds: float
    open_seconds: float
    job_seconds: float
    dispatch_seconds: float
    driver_seconds: float

    @classmethod
    def of(cls, levels: Sequence[LevelTimes], bits: int, files: Sequence[Path]) -> Simulation:
        """The model of a run; its files are opened to see what that takes.

        Raises:
            ValueError: when Spark made no level.
        """
        jobs = [level.job for level in levels if level.job.stages]
        if not jobs:
            raise ValueError("Spark made no level of this run: explore it with --handover 20000 or less")
        task = min(stage.seconds[0] for job in jobs for stage in job.stages)
        overheads = [
            max(0.0, job.seconds - sum(makespan(spread(s.seconds, s.tasks), job.cores) for s in job.stages))
            for job in jobs
        ]  # fmt: skip
        per_job, per_task = _line([sum(stage.tasks for stage in job.stages) for job in jobs], overheads)
        gaps = [b.job.start - a.job.start - a.job.seconds for a, b in itertools.pairwise(levels)]
        between = statistics.median(gaps) if gaps else 0.0
        return cls(tuple(levels), bits, task, _open_seconds(files), per_job, per_task, max(0.0, between))

    def predict(self, cores: int, scale: float = 1.0) -> Prediction:
        """The run on so many cores.

        Args:
            cores: tasks that run at the same time.
            scale: how many times as many states each level has.
        """
        seconds = used = 0.0
        many = opens = 0
        bits = self.bits
        simulated, measured = (_Parts.native(self.levels[0].native) for _ in range(2))
        for level in self.levels:
            seconds += self.driver_seconds
            if not level.job.stages and scale * level.rows < 1 << 13:
                seconds += level.job.seconds
                continue
            stages = level.job.stages or self._like(level)
            rows, visited = int(level.rows * scale), int(level.visited * scale)
            split, second = task_sizes(rows, visited, cores)
            first = _packed(rows, 1 << bits, split)
            bits = bucket_bits(bits, second, MOST_BUCKET_BITS)
            counts = first, min(second, 1 << bits)
            mine = simulated.opened_by(counts[1])
            extra = max(0.0, mine - measured.opened_by(stages[1].tasks))
            simulated.add(counts[1], rows, cores)
            measured.add(stages[1].tasks, level.rows, level.job.cores)
            opens, many = opens + mine, many + sum(counts)
            for number, (stage, count) in enumerate(zip(stages, counts, strict=True)):
                tasks = self._tasks(stage, count, scale, extra * self.open_seconds / count if number else 0.0)
                used += sum(tasks)
                seconds += makespan(tasks, cores)
            seconds += self.job_seconds + self.dispatch_seconds * sum(counts)
        return Prediction(seconds, used / (cores * seconds), many, used, opens, 1 << bits)

    def _like(self, level: LevelTimes) -> tuple[StageTimes, ...]:
        """A level that the driver made, as if Spark had: with the work a row that the largest level has."""
        other = max((one for one in self.levels if one.job.stages), key=lambda one: one.rows)
        share = level.rows / other.rows
        return tuple(
            StageTimes(1, tuple([self.task_seconds + share * sum(spread(s.seconds, s.tasks))] * 2), 0, 0)
            for s in other.job.stages
        )  # fmt: skip

    def _tasks(self, stage: StageTimes, count: int, scale: float, more: float) -> list[float]:
        """The seconds of so many tasks that do a stage's work, so many times."""
        work = [max(0.0, one - self.task_seconds) for one in spread(stage.seconds, stage.tasks)]
        mean = sum(work) / stage.tasks
        shape = [max(0.0, one - self.task_seconds) for one in spread(stage.seconds, count)]
        total = sum(shape) or 1.0
        each = mean * stage.tasks * scale / total
        return [self.task_seconds + more + one * each for one in shape]


def _packed(rows: int, buckets: int, most: int) -> int:
    """Tasks of at most so many rows, if buckets of equal size are not split."""
    groups = max(1, min(rows, buckets))
    return -(-groups // max(1, most * groups // max(1, rows)))


def _opens(tasks: int, files: Iterable[int]) -> int:
    """Files that tasks open, each of which has a range of buckets, of levels that have so many files of a range."""
    return sum(tasks + one - math.gcd(tasks, one) for one in files)


def _line(xs: Sequence[float], ys: Sequence[float]) -> tuple[float, float]:
    """The line through points, by the median of the slopes between them; neither of its numbers is below 0."""
    points = list(zip(xs, ys, strict=True))
    slopes = [(d - b) / (c - a) for (a, b), (c, d) in itertools.combinations(points, 2) if a != c]
    slope = max(0.0, statistics.median(slopes)) if slopes else 0.0
    return max(0.0, statistics.median(y - slope * x for x, y in points)), slope


def _open_seconds(files: Sequence[Path]) -> float:
    """The median of opening a file of the run and reading its footer."""
    seconds = []
    for path in files[:OPENED]:
        start = time.perf_counter()
        pq.read_metadata(path)
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds) if seconds else 0.0
