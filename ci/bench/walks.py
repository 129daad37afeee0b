"""The benchmark of random walks: `python -m kraftcheck.ci.bench --walks [--runs N] [--json FILE] [CASE ...]`."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence

from attrs import frozen

from kraftcheck.model.rules.ruleset import parse
from kraftcheck.properties.catalogue import find
from kraftcheck.solvers.program.trace import trace
from kraftcheck.solvers.walks.walks import simulate

THREADS = (1, 2)
WALKS, STEPS = 512, 1000

CASES = {
    "elections": ("elections", "default", "fixed"),
    "replication": ("replication", "large", "fixed"),
    "directories": ("directories", "medium", "fixed"),
}
"""System, scope and rules by the name of the case."""


@frozen
class WalksRow:
    """Medians of one case with one number of threads."""

    case: str
    threads: int
    steps: int
    distinct: int
    compile_seconds: float
    seconds: float
    steps_per_second: float


def measure(case: str, threads: int, runs: int) -> WalksRow:
    """The medians of several simulations of one seed, nothing cached.

    Raises:
        RuntimeError: when two of them differ in what they visited.
    """
    system, scope, rules = CASES[case]
    subject = find(system)
    program = trace(subject, subject.setting(scope, rules=parse(rules)))
    results = [simulate(program, WALKS, STEPS, 1, clock=time.perf_counter, threads=threads) for _ in range(runs)]
    if len({(walks.steps, walks.distinct) for walks in results}) > 1:
        raise RuntimeError(f"{case}: one seed walked {[(walks.steps, walks.distinct) for walks in results]}")
    seconds = statistics.median(walks.seconds for walks in results)
    return WalksRow(
        case, threads, results[0].steps, results[0].distinct,
        statistics.median(walks.compile_seconds for walks in results),
        seconds, results[0].steps / seconds,
    )  # fmt: skip


def measure_cases(cases: Sequence[str], runs: int) -> list[WalksRow]:
    """Measure the cases, all by default, and print the table."""
    print(f"{'system':12} {'threads':>7} {'steps':>10} {'distinct':>10} {'compile s':>9} {'walk s':>7} {'k/s':>10}")
    rows = []
    for case in cases or CASES:
        for threads in THREADS:
            row = measure(case, threads, runs)
            rows.append(row)
            print(
                f"{row.case:12} {row.threads:7} {row.steps:10,} {row.distinct:10,} {row.compile_seconds:9.2f} "
                f"{row.seconds:7.2f} {row.steps_per_second / 1e3:10.0f}",
                flush=True,
            )
    print(f"\n{WALKS} runs of at most {STEPS:,} steps, seed 1; medians of {runs}; k/s is thousands of steps a second")
    return rows
