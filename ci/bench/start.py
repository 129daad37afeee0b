"""The benchmark of starting: `python -m kraftcheck.ci.bench --start [--runs N] [--json FILE] [CASE ...]`.

A case is a command that computes nothing, in a process of its own; its time is the processor's, imports included.
"""

from __future__ import annotations

from collections.abc import Iterator

from attrs import frozen

from kraftcheck.ci.bench.benchmark import Benchmark, column, command, medians

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

    case: str = column("command", "<16")
    seconds: float = column("CPU s", "6.2f")


def measure(case: str, runs: int) -> Iterator[StartRow]:
    """The median of several starts of one command."""
    yield StartRow(case, medians(command(CASES[case]) for _ in range(runs))[1])


BENCHMARK = Benchmark(StartRow, tuple(CASES), measure)
