"""The benchmark of the native explorer: `python -m kraftcheck.ci.bench [--runs N] [--json FILE] [CASE ...]`."""

from __future__ import annotations

import platform
import statistics
from collections.abc import Iterator

from attrs import frozen

from kraftcheck.ci.bench.benchmark import Benchmark, column
from kraftcheck.ci.bench.native.cases import CASES, ELECTIONS_STATES, REPLICATION_STATES, Case, case_of
from kraftcheck.ci.bench.native.processes import Clocks
from kraftcheck.solvers.exploration.explore import explore

THREADS = (1, 2)


@frozen
class ExploreRow:
    """Medians of one case with one number of threads."""

    case: str = column("system", "<23")
    threads: int = column("threads", "7")
    distinct: int = column("distinct", "12,")
    generated: int = column("generated", "13,")
    compile_seconds: float = column("compile s", "9.2f")
    seconds: float = column("search s", "8.2f")
    generated_per_second: float = column("M gener./s", "12.2f", 1e6)
    distinct_per_second: float = column("M dist./s", "11.2f", 1e6)
    bytes_per_state: float = column("bytes/state", "11.1f")
    backward_seconds: float = column("backward s", "10.2f")
    processor_seconds: float = column("CPU s", "8.2f")
    speed_up: float | None = column("speed-up", "8.2f")


@frozen
class CompilersRow:
    """What quick compiling saves of one case on one thread, and what it costs the search: medians."""

    case: str = column("system", "<23")
    compile_seconds: float = column("compile s", "9.2f")
    quick_compile_seconds: float = column("quick", "9.2f")
    compile_ratio: float = column("ratio", "9.2f")
    seconds: float = column("search s", "9.2f")
    quick_seconds: float = column("quick", "9.2f")
    ratio: float = column("ratio", "9.2f")


def measured(case: Case, threads: int, runs: int, *, quick: bool = True, alone: float | None = None) -> ExploreRow:
    """The medians of several runs, nothing cached; `quick` as in `explore`; `alone`: seconds on one thread.

    Raises:
        WrongSpaceError: when a run finds another number of states than it must.
    """
    program = case.program()
    results, processor = [], []
    for _ in range(runs):
        clocks = Clocks()
        result = explore(program, clock=clocks, threads=threads, max_states=case.max_states, keep=False, quick=quick)
        case.check(result)
        results.append(result)
        processor.append(clocks.processor(result))
    first, seconds = results[0], statistics.median(result.seconds for result in results)
    return ExploreRow(
        case.name, threads, first.distinct, first.generated,
        statistics.median(result.compile_seconds for result in results),
        seconds, first.generated / seconds, first.distinct / seconds, first.bytes_per_state,
        statistics.median(result.recoverability.seconds for result in results), statistics.median(processor),
        None if alone is None else alone / seconds,
    )  # fmt: skip


def measure(name: str, runs: int) -> Iterator[ExploreRow]:
    """The row of one case for each number of threads."""
    alone = None
    for threads in THREADS:
        row = measured(case_of(name), threads, runs, alone=alone)
        alone = row.seconds
        yield row


def compilers(name: str, runs: int) -> Iterator[CompilersRow]:
    """The medians of both ways of compiling."""
    best, quick = (measured(case_of(name), 1, runs, quick=quick) for quick in (False, True))
    pairs = ((best.compile_seconds, quick.compile_seconds), (best.seconds, quick.seconds))
    yield CompilersRow(name, *(number for a, b in pairs for number in (a, b, b / a)))


NAMES = tuple(case.name for case in CASES)
BENCHMARK = Benchmark(ExploreRow, NAMES, measure, note=(
    f"medians of {{runs}}; {platform.machine()}, Python {platform.python_version()}; elections stops once "
    f"{ELECTIONS_STATES:,} states are known, replication-one-crash {REPLICATION_STATES:,}"
))  # fmt: skip
COMPILERS = Benchmark(CompilersRow, NAMES, compilers)
