"""A driver that judges liveness by rounds of jobs, to be killed: `python -m tests.ci.spark.killed_judge OUT`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from kraftcheck.ci.spark.jobs import SparkCluster
from kraftcheck.ci.spark.liveness.search import SparkLiveness
from kraftcheck.ci.spark.session import start_session
from kraftcheck.solvers.program.program import Program
from tests.ci.spark.levels import begun, only, program_of
from tests.solvers.liveness.toys import LIFT


def judged_program() -> Program:
    """A toy with one property that has a lasso: rounds of jobs are slow, and there are many for each."""
    return program_of(only(LIFT, "up"), "idle")


def judge(out: Path) -> None:
    """Commit the levels of a toy, then judge its liveness property under Spark, by jobs."""
    program = judged_program()
    run, runner = begun(program, out)
    run.expand(runner)
    conf = {"spark.driver.memory": "512m", "spark.local.dir": str(out / "scratch")}
    session: Any = start_session("local[1,4]", 1, conf, out / "spark.log")
    try:
        cluster = SparkCluster.of(session, runner.spec, out / "spark.log")
        search = SparkLiveness(cluster, run.log, run.commits, program, 1 << 30, lambda rounds, rows: None, collect=0)
        search.run(run.stop)
    finally:
        session.stop()


if __name__ == "__main__":
    judge(Path(sys.argv[1]))
