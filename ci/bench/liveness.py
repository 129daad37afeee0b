"""The benchmark of liveness: `python -m kraftcheck.ci.bench --liveness [--runs N] [--json FILE] [CASE ...]`.

The search for fair behaviours is compared with the search that found the states, in time and in bytes a state.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from attrs import frozen

from kraftcheck.ci.bench.benchmark import Benchmark, column
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

@frozen
class LivenessRow:
    """Medians of one case with one number of threads."""

    case: str = column("case", "<21")
    threads: int = column("threads", "7")
    distinct: int = column("distinct", "11,")
    generated: int = column("generated", "12,")
    sweeps: int = column("sweeps", "6")
    search_seconds: float = column("search s", "8.2f")
    liveness_seconds: float = column("fair s", "7.2f")
    ratio: float = column("ratio", "6.1f")
    search_bytes: float = column("B/state", "7.0f")
    liveness_bytes: float = column("fair B", "7.0f")
    bytes_ratio: float = column("ratio", "6.2f")


def _measure(case: str, threads: int, runs: int) -> LivenessRow:
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


def measure(case: str, runs: int) -> Iterator[LivenessRow]:
    """The row of one case for each number of threads; a large one takes one."""
    for threads in THREADS if case in CASES else THREADS[:1]:
        yield _measure(case, threads, runs)


BENCHMARK = Benchmark(
    LivenessRow, (*CASES, *LARGE), measure, tuple(CASES),
    "medians of {runs}; of edges so many are kept in memory as half of the search's bytes allow",
)  # fmt: skip
