"""The services of a session beside its data frames: values for every worker, jobs that are cancelled, their costs.

A session of this process has a JVM here. One of Spark Connect has a server elsewhere, which takes plans alone: a value
travels with each job, what a job shuffled is not told, and files of a shuffle stay until the server removes them.
"""

from __future__ import annotations

import contextlib
import threading
import uuid
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from attrs import frozen

from kraftcheck.ci.dataset.jobs import Batches
from kraftcheck.ci.spark.session import is_embedded, log_to
from kraftcheck.ci.terminal.interrupts import called_on

T = TypeVar("T")

MOVED = ("shuffled", "spilled", "shuffles")
"""What a job costs beside its tasks: bytes shuffled and spilled, and stages that shuffle."""


@frozen
class JvmServices:
    """The services of a session whose JVM is beside this process."""

    session: Any

    @property
    def master(self) -> str:
        """The cluster's URL, as far as it is known."""
        return str(self.session.sparkContext.master)

    @property
    def embedded(self) -> bool:
        """Whether all tasks run in processes of this machine, on its disk and with its packages."""
        return is_embedded(self.master)

    @property
    def cores(self) -> int:
        """Tasks that run at the same time."""
        return int(self.session.sparkContext.defaultParallelism)

    @property
    def application(self) -> str:
        """What lives as long as what is shipped."""
        return str(self.session.sparkContext.applicationId)

    def share(self, value: T) -> tuple[Callable[[], T], Callable[[], None]]:
        """What gives a value on a worker, and what lets go of it: a broadcast, which each worker fetches once."""
        handle = self.session.sparkContext.broadcast(value)
        return lambda: handle.value, handle.destroy

    @contextlib.contextmanager
    def job(self, label: str, stop: threading.Event) -> Iterator[str]:
        """A job's name: a group of jobs; the one that runs meanwhile is cancelled once `stop` is set."""
        from py4j.protocol import Py4JNetworkError

        context, name = self.session.sparkContext, f"kraftcheck-{uuid.uuid4().hex}"
        context.setJobGroup(name, label)

        def cancel() -> None:
            with contextlib.suppress(Py4JNetworkError, OSError):  # a JVM that has gone has no job left
                context.cancelJobGroup(name)

        with called_on(stop, cancel):
            yield name

    def costs(self, name: str, frame: Any) -> dict[str, float]:
        """What an ended job has cost; the files of its shuffle go, else they stay until Java collects garbage."""
        context = self.session.sparkContext
        node, cleaner = frame._jdf.queryExecution().executedPlan(), context._jsc.sc().cleaner()
        while node.getClass().getSimpleName() != "ShuffleExchangeExec":
            node = node.children().head()
        if cleaner.isDefined():
            cleaner.get().doCleanupShuffle(node.shuffleDependency().shuffleId(), False)
        tracker, store = context.statusTracker(), context._jsc.sc().statusStore()
        jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(name)]
        totals = dict.fromkeys(MOVED, 0.0)
        for stage in (stage for job in jobs if job is not None for stage in job.stageIds):
            data = store.lastStageAttempt(stage)
            totals["shuffled"] += data.shuffleWriteBytes()
            totals["spilled"] += data.diskBytesSpilled()
            totals["shuffles"] += data.shuffleWriteBytes() > 0
        return totals

    def ship(self, archive: Path) -> None:
        """Send an archive of Python to every worker."""
        self.session.sparkContext.addPyFile(str(archive))

    def log_to(self, log: Path) -> Callable[[], None]:
        """Write the driver's warnings to a file; what ends that."""
        return log_to(self.session, log)


@frozen
class ConnectServices:
    """The services of a session of Spark Connect."""

    session: Any

    @cached_property
    def cores(self) -> int:
        """As of `JvmServices`: as many as the tasks of a frame that says nothing; no setting tells it."""
        return len(self.session.range(1 << 20).mapInArrow(_count, "task long").collect())

    master, embedded = "sc://", False  # the server is elsewhere, whatever it calls itself

    @property
    def application(self) -> str:
        """As of `JvmServices`: artifacts are a session's."""
        return str(self.session.session_id)

    def share(self, value: T) -> tuple[Callable[[], T], Callable[[], None]]:
        """As of `JvmServices`: it goes with each job."""
        return lambda: value, lambda: None

    @contextlib.contextmanager
    def job(self, label: str, stop: threading.Event) -> Iterator[str]:
        """As of `JvmServices`: a tag."""
        name = f"kraftcheck-{uuid.uuid4().hex}"
        self.session.addTag(name)
        try:
            with called_on(stop, lambda: self.session.interruptTag(name)):
                yield name
        finally:
            self.session.removeTag(name)

    def costs(self, name: str, frame: Any) -> dict[str, float]:
        """As of `JvmServices`: they are not told."""
        return {}

    def ship(self, archive: Path) -> None:
        """As of `JvmServices`."""
        self.session.addArtifacts(str(archive), pyfile=True)

    def log_to(self, log: Path) -> Callable[[], None]:
        """As of `JvmServices`: the server's messages are the server's."""
        with log.open("a", encoding="utf-8") as file:
            print(f"Spark {self.session.version} by Spark Connect: its server has its messages", file=file)
        return lambda: None


def _count(batches: Batches) -> Iterator[Any]:
    import pyarrow as pa

    for _ in batches:
        continue
    yield pa.RecordBatch.from_pydict({"task": [1]}, schema=pa.schema([("task", pa.int64())]))


Services: TypeAlias = JvmServices | ConnectServices  # what `SparkCluster` asks of a session


def services_of(session: Any) -> Services:
    """The services of a session of either kind."""
    return JvmServices(session) if hasattr(session, "_jsparkSession") else ConnectServices(session)
