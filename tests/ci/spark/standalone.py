"""A standalone cluster on this machine, and a run on it that loses a worker and then an executor; runs as a script."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyspark

from kraftcheck.ci.spark import jobs, tasks
from kraftcheck.ci.spark.session import start_session
from kraftcheck.ci.spark.shipping import ship_sources
from kraftcheck.solvers.blocks.kernel import block_spec
from kraftcheck.solvers.machine_code.objectcache import ObjectCache
from tests.ci.spark.losses import Dying, executors, kill_executor, kill_host, two_executors
from tests.shared.places import ROOT

HOST = "127.0.0.1"
HOST_KILLED, EXECUTOR_KILLED = "host-killed", "executor-killed"


@contextlib.contextmanager
def standalone(place: Path, workers: int) -> Iterator[str]:
    """A master and workers of one core each, whose processes end with the context; gives the master's URL."""
    with contextlib.ExitStack() as stack:
        log = stack.enter_context(_daemon(place, "master", "master.Master", "--host", HOST, "--port", "0"))
        url = _awaited(log, r"Starting Spark master at (spark://\S+)")
        for number in range(workers):
            words = ["--host", HOST, "--cores", "1", "--memory", "768m",
                     "--work-dir", str(place / f"work{number}"), url]  # fmt: skip
            log = stack.enter_context(_daemon(place, f"worker{number}", "worker.Worker", *words))
            _awaited(log, r"(Successfully registered with master)")
        yield url


@contextlib.contextmanager
def _daemon(place: Path, name: str, main: str, *words: str) -> Iterator[Path]:
    """A process of the cluster; gives its log."""
    home = Path(pyspark.__file__).parent
    log = place / f"{name}.log"
    command = [str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{main}", "--webui-port", "0", *words]
    environment = {**os.environ, "SPARK_HOME": str(home), "SPARK_DAEMON_MEMORY": "256m", "PYTHONPATH": str(ROOT),
                   "SPARK_LOCAL_DIRS": str(place / "scratch")}  # fmt: skip
    with open(log, "w", encoding="utf-8") as stream:
        daemon = subprocess.Popen(command, cwd=place, env=environment, stdout=stream, stderr=subprocess.STDOUT)
    try:
        yield log
    finally:
        daemon.terminate()  # a worker ends its executors
        try:
            daemon.wait(30)
        finally:
            daemon.kill()
            daemon.wait()


def _awaited(log: Path, pattern: str) -> str:
    """The group of a pattern, once the log has it."""
    deadline = time.monotonic() + 120
    while (match := re.search(pattern, log.read_text(encoding="utf-8"))) is None:
        if time.monotonic() > deadline:
            raise RuntimeError(f"{log} has no {pattern} after two minutes: {log.read_text()[-1000:]}")
        time.sleep(0.1)
    return match[1]


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
