"""A driver that judges liveness by rounds of jobs, to be killed: `python -m tests.ci.dataset.killed_judge OUT`."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from kraftcheck.ci.dataset.jobs import LocalJobs
from kraftcheck.ci.dataset.liveness import CommittedLiveness
from kraftcheck.solvers.program.program import Program
from tests.ci.spark.levels import begun, only, program_of
from tests.solvers.liveness.toys import LIFT

ROUND_S = 0.2
"""Seconds after each round, so that there is a time to be killed in."""


def judged_program() -> Program:
    """A toy with one property that has a lasso."""
    return program_of(only(LIFT, "up"), "idle")


def judge(out: Path) -> None:
    """Commit the levels of a toy, then judge its liveness property by jobs."""
    program = judged_program()
    run, runner = begun(program, out)
    run.expand(runner)
    of = (LocalJobs(runner.spec, 1), run.log, run.commits, program, 1 << 30)
    CommittedLiveness(*of, lambda rounds, rows: time.sleep(ROUND_S), collect=0).run(run.stop)


if __name__ == "__main__":
    judge(Path(sys.argv[1]))
