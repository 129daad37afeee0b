"""Drivers that are slow or are stopped, as processes: `python -m tests.ci.spark.faults.slow speculate URL OUT`, or
`... stepwise OUT`, which has no Spark."""

import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from attrs import evolve, frozen

from kraftcheck.ci.spark import jobs, tasks
from kraftcheck.ci.spark.explore import ship_sources
from kraftcheck.ci.spark.session import start_session
from kraftcheck.solvers.blocks.kernel import block_spec
from kraftcheck.solvers.machine_code.objectcode import ObjectCache
from tests import toys
from tests.ci.spark.levels import BUCKET_BITS, begun, facts, finished, program_of
from tests.ci.spark.losses import two_executors

SCOPE = "5"
WRITTEN = "written"  # the folder of notes that say which attempts wrote a whole file


@frozen
class Slow:
    """A second stage whose first attempt at task 0 has its file whole, and then does not end for a long time."""

    make: Callable[..., Any]  # `sift_task`
    notes: Path  # where each attempt says that its file is whole
    seconds: float  # that the first one takes then
    depths: tuple[int, ...]  # the levels where it does

    def __call__(self, shipped: Any, level: Any, files: Path | None) -> Any:
        """The stage's work, with the wait built in."""
        work, notes, depth = self.make(shipped, level, files), self.notes, level.depth
        seconds = self.seconds if depth in self.depths else 0.0

        def slowly(batches: Iterator[Any]) -> Iterator[Any]:
            from pyspark import TaskContext

            context = TaskContext.get()
            given = list(work(batches))
            (notes / f"{depth}-{context.partitionId()}-{context.attemptNumber()}").touch()
            if context.partitionId() == 0 and context.attemptNumber() == 0:
                time.sleep(seconds)
            yield from given

        return slowly


def speculate(url: str, out: Path) -> dict[str, Any]:
    """Explore a toy on a cluster that repeats slow tasks elsewhere; what was found, and which attempts wrote."""
    program = program_of(toys.HASTY, SCOPE)
    run, _ = begun(program, out, handover=1300)
    conf = {"spark.executor.memory": "512m", "spark.driver.memory": "512m", "spark.driver.host": "127.0.0.1",
            "spark.speculation": "true", "spark.speculation.interval": "100ms",
            "spark.speculation.task.duration.threshold": "1s"}  # fmt: skip
    notes = out.with_name(WRITTEN)
    notes.mkdir()
    session = start_session(url, 2, conf, out / "spark.log")
    try:
        ship_sources(session, out / "sources.zip")
        two_executors(session)
        first = run.commits[-1].depth + 1
        tasks.sift_task = Slow(tasks.sift_task, notes, 20.0, (first, first + 2))  # type: ignore[assignment]
        spec = block_spec(program, BUCKET_BITS, ObjectCache(None))
        run.expand(jobs.SparkCluster.of(session, spec, out / "spark.log"))
        committed = [file.name for level in run.commits for file in level.files]
        left = sorted(path.name for path in (out / "levels").rglob("*.parquet"))
        return {"facts": facts(finished(run)), "committed": committed, "left": left,
                "slow": [first, first + 2], "wrote": [path.name for path in notes.iterdir()]}  # fmt: skip
    finally:
        session.stop()


def stepwise(out: Path) -> dict[str, Any]:
    """Explore a toy by tasks in this process, saying when each level is begun."""
    program = program_of(toys.HASTY, SCOPE)

    def say(level: Any) -> None:
        print(level.depth, flush=True)

    run, runner = begun(program, out)
    run.expand(evolve(runner, before=say, files=True))
    return {"facts": facts(finished(run))}


if __name__ == "__main__":
    print(json.dumps(speculate(sys.argv[2], Path(sys.argv[3])) if sys.argv[1] == "speculate"
                     else stepwise(Path(sys.argv[2]))))  # fmt: skip
