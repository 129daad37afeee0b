"""The benchmark: `python -m kraftcheck.ci.bench [--KIND] [--runs N] [--json FILE] [CASE...]`; `--help` lists kinds."""

from __future__ import annotations

import argparse
import json
import platform
import resource
import statistics
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from attrs import asdict, frozen

from kraftcheck.ci.bench import audit as bench_audit
from kraftcheck.ci.bench import conformance as bench_conform
from kraftcheck.ci.bench import disk as bench_disk
from kraftcheck.ci.bench import frame as bench_frame
from kraftcheck.ci.bench import liveness as bench_liveness
from kraftcheck.ci.bench import logs as bench_logs
from kraftcheck.ci.bench import proofs as bench_proofs
from kraftcheck.ci.bench import query as bench_query
from kraftcheck.ci.bench import serve as bench_serve
from kraftcheck.ci.bench import start as bench_start
from kraftcheck.ci.bench import walks as bench_walks
from kraftcheck.ci.bench.beside import compare as bench_beside
from kraftcheck.ci.bench.native import processes as bench_processes
from kraftcheck.ci.bench.native.cases import CASES, ELECTIONS_STATES, REPLICATION_STATES, Case
from kraftcheck.ci.bench.native.processes import Clocks
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.solvers.exploration.explore import explore

THREADS = (1, 2)


@frozen
class ExploreRow:
    """Medians of one case with one number of threads."""

    case: str
    threads: int
    distinct: int
    generated: int
    compile_seconds: float
    seconds: float
    generated_per_second: float
    distinct_per_second: float
    bytes_per_state: float
    backward_seconds: float
    processor_seconds: float


def measure(case: Case, threads: int, runs: int, *, quick: bool = True) -> ExploreRow:
    """The medians of several runs, nothing cached; `quick` as in `explore`.

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
    )  # fmt: skip


def line(row: ExploreRow, one_thread: ExploreRow) -> str:
    """A row of the table."""
    speed_up = f"{one_thread.seconds / row.seconds:.2f}" if row.threads > 1 else ""
    return (
        f"{row.case:23} {row.threads:7} {row.distinct:12,} {row.generated:13,} {row.compile_seconds:9.2f} "
        f"{row.seconds:8.2f} {row.generated_per_second / 1e6:12.2f} {row.distinct_per_second / 1e6:11.2f} "
        f"{row.bytes_per_state:11.1f} {row.backward_seconds:10.2f} {row.processor_seconds:8.2f} {speed_up:>8}"
    )


def compilers(cases: Sequence[Case], runs: int) -> int:
    """Print for each case, on one thread, what quick compiling saves and what it costs."""
    print(f"{'system':23} {'compile s':>9} {'quick':>9} {'ratio':>9} {'search s':>9} {'quick':>9} {'ratio':>9}")
    for case in cases:
        best, quick = measure(case, 1, runs, quick=False), measure(case, 1, runs)
        pairs = ((best.compile_seconds, quick.compile_seconds), (best.seconds, quick.seconds))
        print(f"{case.name:23} " + " ".join(f"{a:9.2f} {b:9.2f} {b / a:9.2f}" for a, b in pairs), flush=True)
    return 0


HEADER = (
    f"{'system':23} {'threads':>7} {'distinct':>12} {'generated':>13} {'compile s':>9} {'search s':>8} "
    f"{'M gener./s':>12} {'M dist./s':>11} {'bytes/state':>11} {'backward s':>10} {'CPU s':>8} {'speed-up':>8}"
)


def spark(parser: argparse.ArgumentParser, options: argparse.Namespace) -> int:
    """Measure the Spark engine; its packages are there only with the extra."""
    from kraftcheck.ci.bench import spark as bench_spark

    names = sorted(case.name for case in bench_spark.CASES)
    if unknown := [one for one in options.cases if one not in names]:
        parser.error(f"unknown case: {', '.join(unknown)}; --spark has {', '.join(names)}")
    rows = bench_spark.measure(options.cases)
    if options.json is not None:
        options.json.write_text(json.dumps([asdict(row) for row in rows], indent=2) + "\n")
    return 0


BENCHMARKS: dict[str, tuple[Sequence[str], Callable[[Sequence[str], int], Sequence[Any]], str]] = {
    "audit": (tuple(bench_audit.CASES), bench_audit.measure_cases, "the audit: its share of a run's time"),
    "liveness": (bench_liveness.NAMES, bench_liveness.measure_cases, "liveness: time and bytes beside the search"),
    "disk": (tuple(bench_disk.CASES), bench_disk.measure_cases, "levels in files beside the native search"),
    "processes": (bench_processes.NAMES, bench_processes.measure_cases, "what two processes at once leave each other"),
    "walks": (tuple(bench_walks.CASES), bench_walks.measure_cases, "random walks: steps a second"),
    "logs": (bench_logs.EVERY, bench_logs.measure_cases, "the replay of metadata logs: records a second"),
    "conform": (tuple(bench_conform.CASES), bench_conform.measure_cases, "conformance with Kafka: cases a second"),
    "start": (tuple(bench_start.CASES), bench_start.measured, "the start of commands that compute nothing"),
    "proofs": (tuple(bench_proofs.CASES), bench_proofs.measured, "proofs for any number of brokers: seconds a command"),
    "query": (tuple(bench_query.CASES), bench_query.measured, "questions about a space: seconds a command"),
    "serve": (tuple(bench_serve.CASES), bench_serve.measured, "the local page: milliseconds a step"),
    "frame": (tuple(bench_frame.CASES), bench_frame.measure_cases, "data frames: seconds for a million states"),
    "beside": (tuple(bench_beside.STATES), bench_beside.measure_cases, "two-phase commit beside SPIN, Stateright, TLC"),
}
"""Other things to measure, by option: cases, what measures them, and what is measured."""


def run_benchmark(parser: argparse.ArgumentParser, options: argparse.Namespace, name: str) -> int:
    """Measure something else than the explorer."""
    cases, measure_cases, _ = BENCHMARKS[name]
    if unknown := set(options.cases) - set(cases):
        parser.error(f"unknown case: {', '.join(sorted(unknown))}; --{name} has {', '.join(cases)}")
    try:
        rows = measure_cases(options.cases, options.runs)
    except Refusal as refusal:
        refusal.show()
        return refusal.exit_code
    if options.json is not None:
        options.json.write_text(json.dumps([asdict(row) for row in rows], indent=2) + "\n")
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure the cases and print the table."""
    parser = argparse.ArgumentParser(prog="python -m kraftcheck.ci.bench", description="Measures the native explorer.")
    parser.add_argument("cases", nargs="*", metavar="CASE", help=", ".join(case.name for case in CASES))
    parser.add_argument("--runs", type=int, default=3, help="runs of which the median counts (default 3)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows as JSON too")
    parser.add_argument("--spark", action="store_true", help="measure the Spark engine beside the native one")
    parser.add_argument("--compilers", action="store_true", help="measure quick compiling beside thorough")
    for name, (_, _, text) in BENCHMARKS.items():
        parser.add_argument(f"--{name}", action="store_true", help=f"measure {text}")
    options = parser.parse_args(arguments)
    for name in BENCHMARKS:
        if getattr(options, name):
            return run_benchmark(parser, options, name)
    if options.spark:
        return spark(parser, options)
    if (unknown := set(options.cases) - {case.name for case in CASES}) or options.runs < 1:
        parser.error(f"unknown case: {', '.join(sorted(unknown))}" if unknown else "--runs must be at least 1")
    if options.compilers:
        return compilers([case for case in CASES if not options.cases or case.name in options.cases], options.runs)
    rows = []
    print(HEADER)
    for case in CASES:
        if not options.cases or case.name in options.cases:
            rows += (of_case := [measure(case, threads, options.runs) for threads in THREADS])
            print(*(line(row, of_case[0]) for row in of_case), sep="\n", flush=True)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"\nmedians of {options.runs}; peak memory of this process {peak:,.0f} MB; {platform.machine()}, "
          f"Python {platform.python_version()}")  # fmt: skip
    print(f"elections stops once {ELECTIONS_STATES:,} states are known, replication-one-crash {REPLICATION_STATES:,}.")
    if options.json is not None:
        options.json.write_text(json.dumps([asdict(row) for row in rows], indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
