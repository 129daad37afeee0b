"""The benchmark of data frames: `python -m kraftcheck.ci.bench --frame [--runs N] [--json FILE] [CASE ...]`.

It measures `Result.to_pandas()` of spaces of about a million states, from packed states to a frame with plain columns,
in seconds of processor time: it works in one thread.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence

from attrs import frozen

from kraftcheck.ci.interface.engines import explore
from kraftcheck.ci.run.result import States

CASES = {
    "elections": ("elections", "default", 1_000_000),
    "directories": ("directories", "medium", 1_000_000),
    "replication": ("replication", "large", 1_000_000),
}
"""System, scope and least states by the name of the case."""


@frozen
class FrameRow:
    """Medians of one case."""

    case: str
    states: int
    columns: int
    seconds: float
    seconds_a_million: float


def measure(case: str, runs: int) -> FrameRow:
    """The median of several runs; the search before them is not counted."""
    system, scope, most = CASES[case]
    states: States = explore(system, scope=scope, rules="fixed", max_states=most).states()
    seconds, columns = list[float](), 0
    for _ in range(runs):
        start = time.process_time()
        frame = states.to_pandas()
        seconds.append(time.process_time() - start)
        columns = len(frame.columns)
    median = statistics.median(seconds)
    return FrameRow(case, len(states), columns, median, median / len(states) * 1e6)


def measure_cases(cases: Sequence[str], runs: int) -> list[FrameRow]:
    """Measure and print the cases, all of them by default."""
    print(f"{'case':<16}{'states':>12}{'columns':>9}{'seconds':>9}{'for a million':>15}")
    rows = []
    for case in cases or CASES:
        rows.append(row := measure(case, runs))
        print(
            f"{row.case:<16}{row.states:>12,}{row.columns:>9}{row.seconds:>9.2f}{row.seconds_a_million:>13.2f} s",
            flush=True,
        )
    return rows
