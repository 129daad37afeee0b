"""The benchmark of data frames: `python -m kraftcheck.ci.bench --frame [--runs N] [--json FILE] [CASE ...]`.

It measures `Result.to_pandas()` of spaces of about a million states, from packed states to a frame with plain columns,
in seconds of processor time: it works in one thread.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator

from attrs import frozen

from kraftcheck.ci.bench.benchmark import Benchmark, column
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

    case: str = column("case", "<16")
    states: int = column("states", "12,")
    columns: int = column("columns", "9")
    seconds: float = column("seconds", "9.2f")
    seconds_a_million: float = column("for a million", "15.2f")


def measure(case: str, runs: int) -> Iterator[FrameRow]:
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
    yield FrameRow(case, len(states), columns, median, median / len(states) * 1e6)


BENCHMARK = Benchmark(FrameRow, tuple(CASES), measure)
