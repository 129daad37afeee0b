"""Spark jobs: the job of a level, run and checked."""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import asdict, evolve, field, frozen

from kraftcheck.ci.dataset.jobs.exchange import CANDIDATE_SCHEMA, Batches, candidate_row
from kraftcheck.ci.dataset.jobs.stages import (
    ORDER,
    RESULT_SCHEMA,
    JobFailedError,
    Stages,
    Task,
    exchange_folder,
    result_row,
    rows_here,
)
from kraftcheck.ci.dataset.search.levels import MOST_BLOCKS, JobResult, MergeJob, least, merge_tasks
from kraftcheck.ci.dataset.store.job import BLOCK, LevelJob, RunWriter, StoredRun, check_sight
from kraftcheck.ci.dataset.store.levelfiles import PLACE, BucketRange, Groups, LevelFile, Table, pack, unpack
from kraftcheck.ci.dataset.store.objects import AnyPath
from kraftcheck.ci.dataset.store.stores import place_of
from kraftcheck.ci.spark.errors import job_error
from kraftcheck.ci.spark.session import is_embedded
from kraftcheck.ci.spark.small import VISITED_BYTES, DriverVisited, errors_of_a_job, is_small
from kraftcheck.ci.spark.tasks import level_stages
from kraftcheck.solvers.blocks.tasks import (
    MOST_BUCKET_BITS,
    BlockKernel,
    BlockSpec,
    Words,
    blocks_of,
    load_block_kernel,
)
from kraftcheck.solvers.machine_code.regular import open_regular

WINDOW_ROWS = 1 << 20
"""States of neighbouring buckets that a task holds at once, about."""


def merge_stages(shipped: Callable[[], BlockSpec], job: MergeJob, tasks: int) -> Stages:
    """The stages of a merge by so many tasks."""
    return Stages(tasks, tasks, _numbers, merge_task(shipped, job, tasks))


def _numbers(batches: Batches) -> Batches:
    for batch in batches:
        for number in batch.column(0).to_pylist():
            yield candidate_row(number, number, number, 0, b"")


def merge_task(shipped: Callable[[], BlockSpec], job: MergeJob, tasks: int) -> Task:
    """The second stage: a row is the number of a task; writes its buckets, and says which blocks its file has."""

    def merge(batches: Batches) -> Batches:
        check_sight(job.sight)
        kernel = load_block_kernel(shipped().with_bits(job.bits))
        for batch in batches:
            for number in batch.column("bucket").to_pylist():
                made = _merged(kernel, job, number, tasks)
                told = {"task": number, "file": made and made[0], "blocks": None if made is None else pack(made[1])}
                yield result_row("run", json.dumps(told).encode())

    return merge


def _merged(kernel: BlockKernel, job: MergeJob, number: int, tasks: int) -> tuple[str, Table] | None:
    buckets = 1 << job.coarsest
    rows = np.zeros(buckets, dtype=np.int64)
    for part in job.parts:
        table = part.table if isinstance(part, StoredRun) else part.groups.table
        np.add.at(rows, table["bucket"] >> part.bits - job.coarsest, table["rows"])
    writer = RunWriter(place_of(job.folder), number)
    with writer:
        for lo, hi in _windows(rows, number * buckets // tasks, (number + 1) * buckets // tasks):
            states: dict[int, list[Words]] = {}
            for part in job.parts:
                for one in part.blocks(BucketRange(lo, hi, job.coarsest), job.words):
                    for bucket, block in [one] if part.bits == job.bits else _split(kernel, one[1]):
                        states.setdefault(bucket, []).append(block)
            for bucket in sorted(states):
                writer.write(bucket, np.concatenate(states[bucket]))
    return writer.result()


def _split(kernel: BlockKernel, states: Words) -> Iterator[tuple[int, Words]]:
    """The states of a coarser bucket by the buckets of the run."""
    records = np.column_stack([states, np.zeros(len(states), dtype=np.uint64)])
    for bucket, block in blocks_of(kernel.by_bucket(records)):
        yield bucket, block[:, :-1]


def _windows(rows: npt.NDArray[np.int64], lo: int, end: int) -> Iterator[tuple[int, int]]:
    """Neighbouring buckets of about `WINDOW_ROWS` states: the first, and the one after the last."""
    ends = np.cumsum(rows)
    while lo < end:
        before = int(ends[lo]) - int(rows[lo])
        hi = max(lo + 1, min(end, int(np.searchsorted(ends, before + WINDOW_ROWS, side="right"))))
        yield lo, hi
        lo = hi


def merged_files(results: Iterable[Any], tasks: int) -> list[tuple[str, Table]]:
    """The files that tasks wrote, and their blocks.

    Raises:
        JobFailedError: when a task's result is missing or there twice.
    """
    told = sorted((json.loads(bytes(row.payload)) for row in results), key=lambda part: int(part["task"]))
    if [part["task"] for part in told] != list(range(tasks)):
        raise JobFailedError(f"a merge brought back {len(told)} results of {tasks} tasks; --resume goes on")
    return [(part["file"], unpack(part["blocks"], BLOCK, 1, MOST_BLOCKS)) for part in told if part["file"] is not None]


NAME = "stages.jsonl"
"""Beside a run's levels; one line a job. It is a measurement: no verdict rests on it."""

QUANTILES = tuple(step / 20 for step in range(21))


@frozen
class StageTimes:
    """A stage.

    Attributes:
        tasks: how many.
        seconds: that its tasks took, as quantiles in steps of a twentieth.
        read, written: bytes of its shuffles.
    """

    tasks: int
    seconds: tuple[float, ...]
    read: int
    written: int


@frozen
class JobTimes:
    """A job.

    Attributes:
        label: what it is.
        start: when it began, in seconds of a clock that only differences are taken of.
        seconds: how long it took.
        cores: tasks that ran at the same time.
        stages: in their order; none where the driver did it.
    """

    label: str
    start: float
    seconds: float
    cores: int
    stages: tuple[StageTimes, ...]

    def append(self, folder: Path) -> None:
        """Write it down."""
        handle = open_regular(folder / NAME, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        with os.fdopen(handle, "a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(self)) + "\n")


def stage_times(context: Any, stages: Sequence[int]) -> tuple[StageTimes, ...]:
    """The times of finished stages, of their last attempts."""
    store, gateway = context._jsc.sc().statusStore(), context._gateway
    quantiles = gateway.new_array(gateway.jvm.double, len(QUANTILES))
    for number, value in enumerate(QUANTILES):
        quantiles[number] = value
    found = []
    for stage in sorted(stages):
        data = store.lastStageAttempt(stage)
        summary = store.taskSummary(stage, data.attemptId(), quantiles)
        if summary.isEmpty():
            continue
        durations = summary.get().duration()
        seconds = tuple(float(durations.apply(number)) / 1000 for number in range(len(QUANTILES)))
        found.append(StageTimes(data.numTasks(), seconds, data.shuffleReadBytes(), data.shuffleWriteBytes()))
    return tuple(found)


MOVED = ("shuffled", "spilled", "shuffles")
"""What a job costs beside its tasks: bytes shuffled and spilled, and stages that shuffle."""


def job_result(rows: Iterable[Any], cost: Mapping[str, float], bits: int) -> JobResult:
    """The result of a level's job, from its result rows, whose buckets have numbers of so many bits.

    Raises:
        JobFailedError: when a task's result is missing or there twice, which exactly-once forbids.
    """
    frames, files, groups, claims = [], [], [], list[dict[int, int]]()
    parts = candidates = 0
    for row in rows:
        if row.kind == "frame":
            frames.append(np.frombuffer(row.payload, dtype=np.int64))
            continue
        part = json.loads(bytes(row.payload))
        parts, candidates = parts + 1, candidates + part["candidates"]
        if part["file"] is None:
            continue
        files.append(LevelFile(**part["file"]))
        places = [(bucket, 0, *place) for bucket, *place in part["groups"]]
        groups.append(Groups((files[-1].name,), np.array(places, dtype=PLACE), bits))
        claims.append({int(claim): identity for claim, identity in part["claims"].items()})
    level = Groups.joined(groups, bits)
    duplicate = len(np.unique(level.table["bucket"])) != len(level)
    if len(frames) != cost["expand_tasks"] or parts != cost["sift_tasks"] or duplicate:
        raise JobFailedError(f"a level's job brought back {len(frames)} and {parts} results of its tasks: {dict(cost)}")
    frame_rows = np.stack(frames)
    sent, expanded = frame_rows[:, -2:].sum(axis=0).tolist()
    if sent != candidates:
        raise JobFailedError(f"a level's job gave {sent:,} candidates, of which {candidates:,} arrived")
    return JobResult(
        tuple(files), level, frame_rows[:, :-2], expanded, least(claims),
        cost={**cost, "candidates": candidates},
    )  # fmt: skip


@frozen
class SparkCluster:
    """A session and what was shipped to it.

    Attributes:
        session: the Spark session.
        shipped: gives the spec on a worker.
        spec: the same on the driver.
        log: where Spark's messages go.
        small: levels with fewer states are expanded in the driver.
        memory: bytes that the driver may take for the visited states meanwhile.
        visited: they.
    """

    session: Any
    shipped: Callable[[], BlockSpec]
    spec: BlockSpec
    log: Path
    small: int = 0
    memory: int = VISITED_BYTES
    visited: DriverVisited = field(init=False, eq=False)

    @visited.default
    def _none_visited(self) -> DriverVisited:
        return DriverVisited(load_block_kernel(self.spec), self.memory)

    @classmethod
    def of(cls, session: Any, spec: BlockSpec, log: Path, small: int = 0, memory: int = VISITED_BYTES) -> SparkCluster:
        """Ship the kernel once to every worker."""
        handle = session.sparkContext.broadcast(spec)
        return cls(session, lambda: handle.value, spec, log, small, memory)

    @property
    def most_bits(self) -> int:
        """As many as the id of a state has room for."""
        return MOST_BUCKET_BITS

    @property
    def cores(self) -> int:
        """Tasks that run at the same time."""
        return int(self.session.sparkContext.defaultParallelism)

    def frame(self, stages: Stages) -> Any:
        """A job of two stages as a data frame: one shuffle, of candidates only."""
        numbers = self.session.range(0, stages.inputs, 1, stages.inputs)
        candidates = numbers.mapInArrow(stages.first, CANDIDATE_SCHEMA)
        placed = candidates.repartitionById(stages.targets, "target")
        ordered = placed.sortWithinPartitions(*ORDER)
        return ordered.mapInArrow(stages.second, RESULT_SCHEMA)

    @contextlib.contextmanager
    def sent(self, stages: Stages) -> Iterator[Stages]:
        """The job with tasks that fetch what they do: it goes to each worker once, not with each task."""
        from pyspark import cloudpickle

        shipped = self.shipped
        content = cloudpickle.dumps((stages.first, stages.second))  # type: ignore[no-untyped-call]
        tasks = self.session.sparkContext.broadcast(content)

        def fetched(stage: int) -> Task:
            def run(batches: Batches) -> Batches:
                shipped()  # Spark brings a task only the broadcasts that it finds here
                yield from pickle.loads(tasks.value)[stage](batches)

            return run

        try:
            yield evolve(stages, first=fetched(0), second=fetched(1))
        finally:
            tasks.destroy()

    def run(self, level: LevelJob, stop: threading.Event) -> JobResult | None:
        """Run the job of a level; None when it was cancelled because `stop` was set.

        Raises:
            JobFailedError: when it fails on all attempts; files without a manifest are left behind.
        """
        start, tasks = time.monotonic(), {"expand_tasks": len(level.splits), "sift_tasks": level.targets}
        here, label = self._is_held(level), f"level {level.depth}"
        if here:  # the driver keeps no memo, and drops what is visited when it expands
            level = evolve(level, descent=None, visited=())
        with contextlib.nullcontext() if here else self.exchange(place_of(level.folder).parent) as files:
            stages = level_stages(self.shipped, level, files, self.visited.others if here else None)
            done = self.rows(stages, label, stop, here=here)
            if done is None:
                return None
            rows, moved = done
            moved["shuffled"] += sum(file.stat().st_size for file in files.iterdir()) if files else 0
        cost = {"seconds": time.monotonic() - start, **tasks, "cores": level.cores, **moved}
        return job_result(rows, cost, level.bits)

    def _is_held(self, level: LevelJob) -> bool:
        """Whether a level is small, and the driver holds what is visited before it."""
        if not is_small(level, self.small, self.visited):
            return False
        with errors_of_a_job(self.log):
            return self.visited.catch_up(level)

    def merge(self, job: MergeJob, label: str, stop: threading.Event) -> list[tuple[str, Table]] | None:
        """Merge parts to the files of a run; None when it was cancelled because `stop` was set.

        Raises:
            JobFailedError: when it fails on all attempts.
        """
        tasks = min(1 << job.coarsest, merge_tasks(job.rows, self.cores))
        done = self.rows(merge_stages(self.shipped, job, tasks), label, stop, here=tasks == 1)
        return None if done is None else merged_files(done[0], tasks)

    @contextlib.contextmanager
    def exchange(self, where: AnyPath) -> Iterator[Path | None]:
        """A folder for what goes from stage to stage, where all tasks are on this machine.

        A run that goes on removes it.

        Args:
            where: the place that it is made in; it is beside Spark's log where that is a store.
        """
        if not is_embedded(self.session.sparkContext.master):
            yield None
            return
        with exchange_folder(where if isinstance(where, Path) else self.log.parent) as folder:
            yield folder

    def rows(
        self, stages: Stages, label: str, stop: threading.Event, *, here: bool
    ) -> tuple[Sequence[Any], dict[str, float]] | None:
        """See `JobRunner`; `label` is what Spark calls it, `here`: in the driver, without Spark."""
        start = time.monotonic()
        if here:
            with errors_of_a_job(self.log):
                rows = rows_here(stages)
            JobTimes(label, start, time.monotonic() - start, 1, ()).append(self.log.parent)
            return rows, dict.fromkeys(MOVED, 0.0)
        context, name = self.session.sparkContext, f"kraftcheck-{uuid.uuid4().hex}"
        context.setJobGroup(name, label)
        with self.sent(stages) as sent:
            frame = self.frame(sent)
            try:
                with cancel_on(stop, context, name):
                    rows = frame.collect()
            except Exception as error:
                if stop.is_set():
                    return None
                raise job_error(error, self.log) from error
        seconds = time.monotonic() - start
        self._free(frame)
        numbers = self._stages(name)
        JobTimes(label, start, seconds, self.cores, stage_times(context, numbers)).append(self.log.parent)
        return rows, self._bytes(numbers)

    def _free(self, frame: Any) -> None:
        """Have the files of a job's shuffle removed; Spark would keep them until Java collects its garbage."""
        node, cleaner = frame._jdf.queryExecution().executedPlan(), self.session.sparkContext._jsc.sc().cleaner()
        while node.getClass().getSimpleName() != "ShuffleExchangeExec":
            node = node.children().head()
        if cleaner.isDefined():
            cleaner.get().doCleanupShuffle(node.shuffleDependency().shuffleId(), False)

    def _stages(self, group: str) -> list[int]:
        """The stages of a job group."""
        tracker = self.session.sparkContext.statusTracker()
        jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(group)]
        return [stage for job in jobs if job is not None for stage in job.stageIds]

    def _bytes(self, stages: Iterable[int]) -> dict[str, float]:
        """Bytes shuffled and spilled by stages."""
        store = self.session.sparkContext._jsc.sc().statusStore()
        totals = dict.fromkeys(MOVED, 0.0)
        for stage in stages:
            data = store.lastStageAttempt(stage)
            totals["shuffled"] += data.shuffleWriteBytes()
            totals["spilled"] += data.diskBytesSpilled()
            totals["shuffles"] += data.shuffleWriteBytes() > 0
        return totals


@contextlib.contextmanager
def cancel_on(stop: threading.Event, context: Any, group: str) -> Iterator[None]:
    """Cancel a job group as soon as the flag is set."""
    from py4j.protocol import Py4JNetworkError

    over = threading.Event()

    def watch() -> None:
        while not over.wait(0.1):
            if stop.is_set():
                with contextlib.suppress(Py4JNetworkError, OSError):  # a JVM that has gone has no job left
                    context.cancelJobGroup(group)
                return

    watcher = threading.Thread(target=watch, name="watch", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()
