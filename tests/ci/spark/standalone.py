"""A run on a standalone cluster that loses a worker and then an executor; runs as a script."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from kraftcheck.ci.spark import jobs, tasks
from kraftcheck.ci.spark.explore import ship_sources
from kraftcheck.ci.spark.session import start_session
from kraftcheck.solvers.blocks.kernel import block_spec
from kraftcheck.solvers.machine_code.objectcache import ObjectCache
from tests.ci.spark.faults.cluster import HOST
from tests.ci.spark.losses import Dying, executors, kill_executor, kill_host, two_executors

HOST_KILLED, EXECUTOR_KILLED = "host-killed", "executor-killed"


def explore_on(url: str, out: Path) -> dict[str, Any]:
    """Explore a toy on a cluster, losing a worker with its executor at one level, an executor two levels later."""
    from tests import toys
    from tests.ci.spark.levels import BUCKET_BITS, begun, facts, finished, program_of

    program = program_of(toys.HASTY, "5")
    run, _ = begun(program, out, handover=1000)
    first = run.commits[-1].depth + 1
    conf = {"spark.executor.memory": "512m", "spark.driver.memory": "512m", "spark.driver.host": HOST,
            "spark.local.dir": str(out / "scratch")}  # fmt: skip
    session = start_session(url, 2, conf, out / "spark.log")
    try:
        ship_sources(session, out / "sources.zip")
        before = two_executors(session)
        tasks.expand_task = Dying(tasks.expand_task, kill_host, first, out / HOST_KILLED)  # type: ignore[assignment]
        tasks.sift_task = Dying(tasks.sift_task, kill_executor, first + 2, out / EXECUTOR_KILLED)  # type: ignore[assignment]
        spec = block_spec(program, BUCKET_BITS, ObjectCache(None))
        run.expand(jobs.SparkCluster.of(session, spec, out / "spark.log"))
        committed = [file.name for level in run.commits for file in level.files]
        return {"facts": facts(finished(run)), "before": sorted(before), "after": sorted(executors(session)),
                "committed": committed}  # fmt: skip
    finally:
        session.stop()


if __name__ == "__main__":
    print(json.dumps(explore_on(sys.argv[1], Path(sys.argv[2]))))
