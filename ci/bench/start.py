"""The benchmark of starting: `python -m kraftcheck.ci.bench --start [--runs N] [--json FILE] [CASE ...]`.

A case is a command that computes nothing, in a process of its own; its time is the processor's, imports included.
"""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
from collections.abc import Sequence

from attrs import frozen

CASES = {
    "help": ("--help",),
    "version": ("--version",),
    "list": ("list",),
    "list-elections": ("list", "elections"),
    "explore-help": ("explore", "--help"),
    "check-help": ("check", "--help"),
}
"""The words of the command by the name of the case."""


@frozen
class StartRow:
    """The median of one case, in seconds of processor time."""

    case: str
    seconds: float


def _seconds(words: Sequence[str]) -> float:
    def used() -> float:
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        return children.ru_utime + children.ru_stime

    before = used()
    subprocess.run([sys.executable, "-m", "kraftcheck", *words], check=True, stdout=subprocess.DEVNULL)
    return used() - before


def measured(cases: Sequence[str], runs: int) -> list[StartRow]:
    """Measure the cases, all by default, and print the table."""
    print(f"{'command':16} {'CPU s':>6}")
    rows = []
    for case in cases or CASES:
        rows.append(StartRow(case, statistics.median(_seconds(CASES[case]) for _ in range(runs))))
        print(f"{case:16} {rows[-1].seconds:6.2f}", flush=True)
    return rows
