"""Spark jobs: the job of a level, run and checked."""

from __future__ import annotations

import json
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from attrs import frozen

from kraftcheck.ci.dataset.search.levels import JobFailedError, JobResult, least
from kraftcheck.ci.dataset.store.job import LevelJob
from kraftcheck.ci.dataset.store.levelfiles import LevelFile, RowGroup
from kraftcheck.ci.spark.errors import job_error
from kraftcheck.ci.spark.small import is_small, rows_here
from kraftcheck.ci.spark.tasks import CANDIDATE_SCHEMA, RESULT_SCHEMA, expand_task, sift_task
from kraftcheck.solvers.blocks.tasks import BlockSpec

MOVED = ("shuffled", "spilled", "shuffles")
"""What a job costs beside its tasks: bytes shuffled and spilled, and stages that shuffle."""


def job_result(rows: Iterable[Any], cost: Mapping[str, float]) -> JobResult:
    """The result of a level's job, from its result rows.

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
        groups += [RowGroup(bucket, files[-1].name, *place) for bucket, *place in part["groups"]]
        claims.append({int(claim): identity for claim, identity in part["claims"].items()})
    duplicate = len({group.bucket for group in groups}) != len(groups)
    if len(frames) != cost["expand_tasks"] or parts != cost["sift_tasks"] or duplicate:
        raise JobFailedError(f"a level's job brought back {len(frames)} and {parts} results of its tasks: {dict(cost)}")
    frame_rows = np.stack(frames)
    return JobResult(
        tuple(files), tuple(groups), frame_rows[:, :-1], int(frame_rows[:, -1].sum()), least(claims),
        {**cost, "candidates": candidates},
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
    """

    session: Any
    shipped: Callable[[], BlockSpec]
    spec: BlockSpec
    log: Path
    small: int = 0

    @classmethod
    def of(cls, session: Any, spec: BlockSpec, log: Path, small: int = 0) -> SparkCluster:
        """Ship the kernel once to every worker."""
        handle = session.sparkContext.broadcast(spec)
        return cls(session, lambda: handle.value, spec, log, small)

    @property
    def cores(self) -> int:
        """Tasks that run at the same time."""
        return int(self.session.sparkContext.defaultParallelism)

    def frame(self, level: LevelJob) -> Any:
        """The job of a level as a data frame: one shuffle, of candidates only."""
        numbers = self.session.range(0, len(level.splits), 1, len(level.splits))
        candidates = numbers.mapInArrow(expand_task(self.shipped, level), CANDIDATE_SCHEMA)
        placed = candidates.repartitionById(level.targets, "target")
        ordered = placed.sortWithinPartitions("bucket", "source", "part")
        return ordered.mapInArrow(sift_task(self.shipped, level), RESULT_SCHEMA)

    def run(self, level: LevelJob, stop: threading.Event) -> JobResult | None:
        """Run the job of a level; None when it was cancelled because `stop` was set.

        Raises:
            JobFailedError: when it fails on all attempts; files without a manifest are left behind.
        """
        start, tasks = time.monotonic(), {"expand_tasks": len(level.splits), "sift_tasks": level.targets}
        if is_small(level, self.small):
            rows, moved = rows_here(self.spec, level, self.log), dict.fromkeys(MOVED, 0.0)
            seconds = time.monotonic() - start
        else:
            context, name = self.session.sparkContext, f"kraftcheck-{uuid.uuid4().hex}"
            context.setJobGroup(name, f"level {level.depth}")
            try:
                with cancel_on(stop, context, name):
                    rows = self.frame(level).collect()
            except Exception as error:
                if stop.is_set():
                    return None
                raise job_error(error, self.log) from error
            seconds, moved = time.monotonic() - start, self._bytes(name)
        return job_result(rows, {"seconds": seconds, **tasks, "cores": level.cores, **moved})

    def _bytes(self, group: str) -> dict[str, float]:
        """Bytes shuffled and spilled by the stages of a job group."""
        context = self.session.sparkContext
        tracker, store = context.statusTracker(), context._jsc.sc().statusStore()
        totals = dict.fromkeys(MOVED, 0.0)
        for job in tracker.getJobIdsForGroup(group):
            info = tracker.getJobInfo(job)
            for stage in info.stageIds if info is not None else ():
                data = store.lastStageAttempt(stage)
                totals["shuffled"] += data.shuffleWriteBytes()
                totals["spilled"] += data.diskBytesSpilled()
                totals["shuffles"] += data.shuffleWriteBytes() > 0
        return totals


@contextmanager
def cancel_on(stop: threading.Event, context: Any, group: str) -> Iterator[None]:
    """Cancel a job group as soon as the flag is set."""
    over = threading.Event()

    def watch() -> None:
        while not over.wait(0.1):
            if stop.is_set():
                context.cancelJobGroup(group)
                return

    watcher = threading.Thread(target=watch, name="watch", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()
