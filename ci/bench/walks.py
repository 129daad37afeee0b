"""The benchmark of random walks: `python -m kraftcheck.ci.bench --walks [--runs N] [--json FILE] [CASE ...]`."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator

from attrs import frozen

from kraftcheck.ci.bench.benchmark import Benchmark, column
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

    case: str = column("system", "<12")
    threads: int = column("threads", "7")
    steps: int = column("steps", "10,")
    distinct: int = column("distinct", "10,")
    compile_seconds: float = column("compile s", "9.2f")
    seconds: float = column("walk s", "7.2f")
    steps_per_second: float = column("k/s", "10.0f", 1e3)


def measure(case: str, runs: int) -> Iterator[WalksRow]:
    """The medians of several simulations of one seed, nothing cached, for each number of threads.

    Raises:
        RuntimeError: when two of them differ in what they visited.
    """
    system, scope, rules = CASES[case]
    subject = find(system)
    program = trace(subject, subject.setting(scope, rules=parse(rules)))
    for threads in THREADS:
        results = [simulate(program, WALKS, STEPS, 1, clock=time.perf_counter, threads=threads) for _ in range(runs)]
        if len({(walks.steps, walks.distinct) for walks in results}) > 1:
            raise RuntimeError(f"{case}: one seed walked {[(walks.steps, walks.distinct) for walks in results]}")
        seconds = statistics.median(walks.seconds for walks in results)
        compiling = statistics.median(walks.compile_seconds for walks in results)
        steps = results[0].steps
        yield WalksRow(case, threads, steps, results[0].distinct, compiling, seconds, steps / seconds)


BENCHMARK = Benchmark(WalksRow, tuple(CASES), measure, note=(
    f"{WALKS} runs of at most {STEPS:,} steps, seed 1; medians of {{runs}}; k/s is thousands of steps a second"
))  # fmt: skip
