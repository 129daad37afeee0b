"""The benchmark of liveness: `python -m kraftcheck.ci.bench --liveness [--runs N] [--json FILE] [CASE ...]`.

The search for fair behaviours is compared with the search that found the states, in time and in bytes a state.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from attrs import frozen

from kraftcheck.ci.bench.native.cases import coffee_can
from kraftcheck.model.rules.ruleset import parse
from kraftcheck.properties.elections.fairness import FAIR_ELECTIONS
from kraftcheck.solvers.exploration.explore import explore
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.trace import trace

THREADS = (1, 2)

Case = Callable[[], Program]


def elections(scope: str, rules: str, **bounds: int) -> Case:
    """Elections with fairness in a scope."""
    return lambda: trace(FAIR_ELECTIONS, FAIR_ELECTIONS.setting(scope, bounds, rules=parse(rules)))


CASES: dict[str, Case] = {
    **{f"elections-{scope}": elections(scope, "fixed") for scope in ("tiny", "small", "directories", "default")},
    "coffee-can-1000": lambda: coffee_can(1000, fair=True),
}
LARGE: dict[str, Case] = {
    "elections-lasso-4.0": elections("default", "kafka-4.0", replication=2),
    "elections-default-4.0": elections("default", "kafka-4.0"),
}
"""Programs by the name of the case; large ones take minutes, and are measured where they are named, with one thread."""

NAMES = (*CASES, *LARGE)


@frozen
class LivenessRow:
    """Medians of one case with one number of threads."""

    case: str
    threads: int
    distinct: int
    generated: int
    sweeps: int
    search_seconds: float
    liveness_seconds: float
    ratio: float
    search_bytes: float
    liveness_bytes: float
    bytes_ratio: float


def measure(case: str, threads: int, runs: int) -> LivenessRow:
    """The medians of several explorations; raises RuntimeError when two differ in their verdicts.

    Seconds are those of the processor, of all threads: other work of the machine does not count.
    """
    program = (CASES | LARGE)[case]()
    with tempfile.TemporaryDirectory() as folder:
        found = [
            explore(program, clock=time.process_time, threads=threads, keep=False, cache_dir=Path(folder))
            for _ in range(runs)
        ]
    if len({tuple(type(one.verdict).__name__ for one in each.verdicts) for each in found}) > 1:
        raise RuntimeError(f"{case}: the verdicts differ between runs")
    first = found[0]
    searching = statistics.median(each.seconds for each in found)
    judging = statistics.median(each.liveness.seconds for each in found)
    return LivenessRow(
        case, threads, first.distinct, first.generated, first.liveness.sweeps, searching, judging,
        judging / searching, first.bytes_per_state, first.liveness.memory / first.distinct,
        first.liveness.memory / first.distinct / first.bytes_per_state,
    )  # fmt: skip


def measure_cases(cases: Sequence[str], runs: int) -> list[LivenessRow]:
    """Measure the cases, all by default, and print the table."""
    print(
        f"{'case':21} {'threads':>7} {'distinct':>11} {'generated':>12} {'sweeps':>6} {'search s':>8} {'fair s':>7} "
        f"{'ratio':>6} {'B/state':>7} {'fair B':>7} {'ratio':>6}"
    )
    rows = []
    for case in cases or CASES:
        for threads in THREADS if case in CASES else THREADS[:1]:
            row = measure(case, threads, runs)
            rows.append(row)
            print(
                f"{row.case:21} {row.threads:7} {row.distinct:11,} {row.generated:12,} {row.sweeps:6} "
                f"{row.search_seconds:8.2f} {row.liveness_seconds:7.2f} {row.ratio:6.1f} {row.search_bytes:7.0f} "
                f"{row.liveness_bytes:7.0f} {row.bytes_ratio:6.2f}",
                flush=True,
            )
    print(f"\nmedians of {runs}; of edges so many are kept in memory as half of the search's bytes allow")
    return rows
