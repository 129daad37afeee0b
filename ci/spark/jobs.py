"""The jobs of levels, run by Spark and checked; of small levels in the driver, where scheduling would take longer.

The tasks are those of `kraftcheck.ci.spark.tasks`, and depend on their input alone. The driver makes a small level as
the search of one machine does, in as many files: so a level has the same files, wherever it was made.
"""

from __future__ import annotations

import contextlib
import json
import pickle
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from attrs import evolve, field, frozen

from kraftcheck.ci.dataset import jobs
from kraftcheck.ci.dataset.disk import DiskRunner
from kraftcheck.ci.dataset.search.levels import JobResult, UnfinishedLevelError, least
from kraftcheck.ci.dataset.store.levelfiles import PLACE, Groups, LevelFile, LevelJob
from kraftcheck.ci.dataset.store.objects import AnyPath
from kraftcheck.ci.dataset.store.stores import place_of
from kraftcheck.ci.spark.services import MOVED, Services, services_of
from kraftcheck.ci.spark.session import job_error
from kraftcheck.ci.spark.tasks import level_stages
from kraftcheck.ci.terminal import machine
from kraftcheck.ci.terminal.refusal import JobFailedError
from kraftcheck.solvers.blocks.tasks import MOST_BUCKET_BITS, BlockSpec, load_block_kernel

WORD_BYTES = 16  # bytes that the table of a set has for each word of a state, at most about
SMALL = 1 << 15  # states of a level below which its job is not worth Spark's
VISITED_BYTES = 1 << 30  # bytes of the visited states that the driver holds for small levels, at most


@contextlib.contextmanager
def errors_of_a_job(log: Path) -> Iterator[None]:
    """What goes wrong meanwhile, but for want of memory, is told as of a job of Spark's; raises JobFailedError then."""
    try:
        yield
    except UnfinishedLevelError:
        raise
    except Exception as error:
        raise job_error(RuntimeError(f"{type(error).__name__}: {error}"), log) from error


def job_result(rows: Iterable[Any], cost: Mapping[str, float], bits: int) -> JobResult:
    """The result of a level's job, from its rows; raises JobFailedError for a task's result missing, or twice."""
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
        tuple(files), level, frame_rows[:, :-2], expanded, least(claims), cost={**cost, "candidates": candidates}
    )


@frozen
class SparkCluster:
    """A session and what was shipped to it."""

    session: Any
    services: Services
    shipped: Callable[[], BlockSpec]  # gives the spec on a worker
    spec: BlockSpec  # the same on the driver
    log: Path  # where Spark's messages go
    small: int  # levels with fewer states are expanded in the driver
    driver: DiskRunner = field(eq=False)  # expands them, and holds what is visited meanwhile

    @classmethod
    def of(cls, session: Any, spec: BlockSpec, log: Path, small: int = 0, memory: int = VISITED_BYTES) -> SparkCluster:
        """Ship the kernel once to every worker; the driver may take so much memory for small levels."""
        services = services_of(session)
        shipped, _ = services.share(spec)
        driver = DiskRunner(load_block_kernel(spec), machine.cores(), memory)
        return cls(session, services, shipped, spec, log, small, driver)

    @property
    def most_bits(self) -> int:
        """As many as the id of a state has room for."""
        return MOST_BUCKET_BITS

    @property
    def cores(self) -> int:
        """Tasks that run at the same time."""
        return self.services.cores

    def frame(self, stages: jobs.Stages) -> Any:
        """A job of two stages as a data frame: one shuffle, of candidates only."""
        numbers = self.session.range(0, stages.inputs, 1, stages.inputs)
        candidates = numbers.mapInArrow(stages.first, jobs.CANDIDATE_SCHEMA)
        placed = candidates.repartitionById(stages.targets, "target")
        ordered = placed.sortWithinPartitions(*jobs.ORDER)
        return ordered.mapInArrow(stages.second, jobs.RESULT_SCHEMA)

    @contextlib.contextmanager
    def sent(self, stages: jobs.Stages) -> Iterator[jobs.Stages]:
        """The job with tasks that fetch what they do: it goes to each worker once, not with each task."""
        from pyspark import cloudpickle

        shipped = self.shipped
        content = cloudpickle.dumps((stages.first, stages.second))  # type: ignore[no-untyped-call]
        tasks, let_go = self.services.share(content)

        def fetched(stage: int) -> jobs.Task:
            def run(batches: jobs.Batches) -> jobs.Batches:
                shipped()  # Spark brings a task only the broadcasts that it finds here
                yield from pickle.loads(tasks())[stage](batches)

            return run

        try:
            yield evolve(stages, first=fetched(0), second=fetched(1))
        finally:
            let_go()

    def run(self, level: LevelJob, stop: threading.Event) -> JobResult | None:
        """Run the job of a level; None when stopped; raises JobFailedError; files without a manifest stay."""
        start, label = time.monotonic(), f"level {level.depth}"
        cost = {"expand_tasks": len(level.splits), "sift_tasks": level.targets, "cores": level.cores}
        if self.is_small(level):
            with contextlib.suppress(UnfinishedLevelError), errors_of_a_job(self.log):
                if (made := self.driver.run(level, stop, level.targets)) is None:
                    return None
                took = {name: made.cost[name] for name in ("seconds", "candidates")}
                return evolve(made, cost={**took, **cost, **dict.fromkeys(MOVED, 0.0)})
            self.driver.forget()
        with self.exchange(place_of(level.folder).parent) as files:
            done = self.rows(level_stages(self.shipped, level, files), label, stop, here=False)
            if done is None:
                return None
            rows, moved = done
            if files is not None:
                moved["shuffled"] += sum(file.stat().st_size for file in files.iterdir())
        return job_result(rows, {"seconds": time.monotonic() - start, **cost, **moved}, level.bits)

    def is_small(self, level: LevelJob) -> bool:
        """Whether a level has few states, and the driver has room for all that is visited before it."""
        visited = sum(part.rows for part in level.visited) * self.spec.words * WORD_BYTES
        return sum(split.rows for split in level.splits) < self.small and visited <= self.driver.memory

    @contextlib.contextmanager
    def exchange(self, where: AnyPath) -> Iterator[Path | None]:
        """A folder for what goes between stages on one machine, by a place or log; a run that goes on removes it."""
        if not self.services.embedded:
            yield None
            return
        with jobs.exchange_folder(where if isinstance(where, Path) else self.log.parent) as folder:
            yield folder

    def rows(
        self, stages: jobs.Stages, label: str, stop: threading.Event, *, here: bool
    ) -> tuple[Sequence[Any], dict[str, float]] | None:
        """See `JobRunner`; `label` is what Spark calls it, `here`: in the driver, without Spark."""
        if here:
            with errors_of_a_job(self.log):
                return jobs.rows_here(stages), dict.fromkeys(MOVED, 0.0)
        with self.sent(stages) as sent:
            frame = self.frame(sent)
            try:
                with self.services.job(label, stop) as name:
                    rows = frame.collect()
            except Exception as error:
                if stop.is_set():
                    return None
                raise job_error(error, self.log) from error
        return rows, self.services.costs(name, frame)
