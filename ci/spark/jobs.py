"""Spark jobs: the job of a level, run and checked."""

from __future__ import annotations

import contextlib
import json
import pickle
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from attrs import evolve, field, frozen

from kraftcheck.ci.dataset.jobs.exchange import CANDIDATE_SCHEMA, Batches
from kraftcheck.ci.dataset.jobs.stages import (
    ORDER,
    RESULT_SCHEMA,
    JobFailedError,
    Stages,
    Task,
    exchange_folder,
    rows_here,
)
from kraftcheck.ci.dataset.search.levels import JobResult, least
from kraftcheck.ci.dataset.store.job import LevelJob
from kraftcheck.ci.dataset.store.levelfiles import PLACE, Groups, LevelFile
from kraftcheck.ci.dataset.store.objects import AnyPath
from kraftcheck.ci.dataset.store.stores import place_of
from kraftcheck.ci.spark.errors import job_error
from kraftcheck.ci.spark.session import is_embedded
from kraftcheck.ci.spark.small import VISITED_BYTES, DriverVisited, errors_of_a_job, is_small
from kraftcheck.ci.spark.tasks import level_stages
from kraftcheck.solvers.blocks.tasks import MOST_BUCKET_BITS, BlockSpec, load_block_kernel

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
        if here:
            with errors_of_a_job(self.log):
                return rows_here(stages), dict.fromkeys(MOVED, 0.0)
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
        self._free(frame)
        return rows, self._bytes(name)

    def _free(self, frame: Any) -> None:
        """Have the files of a job's shuffle removed; Spark would keep them until Java collects its garbage."""
        node, cleaner = frame._jdf.queryExecution().executedPlan(), self.session.sparkContext._jsc.sc().cleaner()
        while node.getClass().getSimpleName() != "ShuffleExchangeExec":
            node = node.children().head()
        if cleaner.isDefined():
            cleaner.get().doCleanupShuffle(node.shuffleDependency().shuffleId(), False)

    def _bytes(self, group: str) -> dict[str, float]:
        """Bytes shuffled and spilled by the stages of a job group."""
        context = self.session.sparkContext
        tracker, store = context.statusTracker(), context._jsc.sc().statusStore()
        jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(group)]
        totals = dict.fromkeys(MOVED, 0.0)
        for stage in (stage for job in jobs if job is not None for stage in job.stageIds):
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
