"""Tasks that kill what they run on, the first time they are tried; runs as a script with an executor to lose."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from attrs import frozen

from kraftcheck.ci.spark import jobs, tasks
from kraftcheck.ci.spark.explore import ship_sources
from kraftcheck.ci.spark.session import start_session
from kraftcheck.solvers.blocks.kernel import block_spec
from kraftcheck.solvers.machine_code.objectcache import ObjectCache

KILLED = "killed"


def kill_worker() -> None:
    """End this Python worker as the kernel's memory killer would."""
    os.kill(os.getpid(), signal.SIGKILL)


def kill_executor() -> None:
    """End the JVM that this worker's daemon belongs to, with all shuffle files that only it serves."""
    os.kill(parent(os.getppid()), signal.SIGKILL)


def kill_host() -> None:
    """End the worker process of a standalone cluster that started this executor, which follows it."""
    os.kill(parent(parent(os.getppid())), signal.SIGKILL)
    time.sleep(60)  # the end of the executor is the end of this


def parent(process: int) -> int:
    """The process that started another."""
    return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])


@frozen
class Dying:
    """A stage whose first attempts die after their first batch.

    Attributes:
        make: `expand_task` or `sift_task`.
        kill: what dies.
        depth: at which level.
        note: a file that says that it happened.
    """

    make: Callable[..., Any]
    kill: Callable[[], None]
    depth: int
    note: Path

    def __call__(self, shipped: Any, level: Any, *more: Any) -> Any:
        """The stage's work, with the loss built in."""
        work, kill, doomed, note = self.make(shipped, level, *more), self.kill, level.depth == self.depth, self.note

        def dying(batches: Iterator[Any]) -> Iterator[Any]:
            from pyspark import TaskContext

            context = TaskContext.get()
            first = context.partitionId() == 0 and not note.exists()
            for batch in work(batches):
                if doomed and first:
                    note.write_text(f"pid {os.getpid()}")
                    kill()
                yield batch

        return dying


def lose_an_executor(out: Path) -> dict[str, Any]:
    """Explore a toy on two executors of which one dies in the second stage of a level; what was found."""
    from tests import toys
    from tests.ci.spark.levels import BUCKET_BITS, begun, facts, finished, program_of

    program = program_of(toys.HASTY, "5")
    run, _ = begun(program, out, handover=1000)
    conf = {"spark.executor.memory": "512m", "spark.driver.memory": "512m", "spark.local.dir": str(out / "scratch")}
    session = start_session("local-cluster[2,1,1024]", 2, conf, out / "spark.log")
    try:
        ship_sources(session, out / "sources.zip")
        before = two_executors(session)
        tasks.sift_task = Dying(tasks.sift_task, kill_executor, run.commits[-1].depth + 2, out / KILLED)  # type: ignore[assignment]
        run.expand(
            jobs.SparkCluster.of(session, block_spec(program, BUCKET_BITS, ObjectCache(None)), out / "spark.log")
        )
        return {"facts": facts(finished(run)), "before": sorted(before), "after": sorted(executors(session))}
    finally:
        session.stop()


def two_executors(session: Any) -> set[str]:
    """Ids of the executors, once both are there, which takes a while on a busy machine."""
    deadline = time.monotonic() + 120
    while len(found := executors(session)) < 2:
        if time.monotonic() > deadline:
            raise RuntimeError(f"only executors {sorted(found)} started in two minutes")
        time.sleep(0.1)
    return found


def executors(session: Any) -> set[str]:
    """Ids of the executors that are alive."""
    store = session.sparkContext._jsc.sc().statusStore().executorList(True)
    return {store.apply(i).id() for i in range(store.size())} - {"driver"}


if __name__ == "__main__":
    print(json.dumps(lose_an_executor(Path(sys.argv[1]))))
