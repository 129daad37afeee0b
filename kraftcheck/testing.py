"""Tests of systems of your own, or of changed ones: machines of Hypothesis, strategies, and `assert_holds`.

What draws needs the package hypothesis, which comes with the extra `test`. `docs/how-to/testing.md` shows it at work.
"""

from kraftcheck.ci.testing.judging import assert_holds, integers, machine
from kraftcheck.solvers.hypothesis.machine import (
    DiffersError,
    LeavesDomainError,
    NotJudgedWarning,
    SystemMachine,
    Violation,
    run,
)
from kraftcheck.solvers.hypothesis.strategies import arguments, moves, reachable, states, values
from kraftcheck.solvers.hypothesis.tally import Tally, VacuousRun

__all__ = [
    "DiffersError", "LeavesDomainError", "NotJudgedWarning", "SystemMachine", "Tally", "VacuousRun", "Violation",
    "arguments", "assert_holds", "integers", "machine", "moves", "reachable", "run", "states", "values",
]  # fmt: skip
