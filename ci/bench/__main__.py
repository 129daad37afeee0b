"""The benchmark: `python -m kraftcheck.ci.bench [--KIND] [--runs N] [--json FILE] [CASE...]`; `--help` lists kinds."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from attrs import asdict

from kraftcheck.ci.bench.benchmark import Benchmark
from kraftcheck.ci.terminal.refusal import Refusal

NATIVE = "native.search:BENCHMARK"
BENCHMARKS = {
    "audit": ("audit:BENCHMARK", "the audit: its share of a run's time"),
    "beside": ("beside.compare:BENCHMARK", "two-phase commit beside SPIN, Stateright, TLC"),
    "compilers": ("native.search:COMPILERS", "quick compiling beside thorough"),
    "conform": ("conformance:BENCHMARK", "conformance with Kafka: cases a second"),
    "disk": ("disk:BENCHMARK", "levels in files beside the native search"),
    "frame": ("frame:BENCHMARK", "data frames: seconds for a million states"),
    "liveness": ("liveness:BENCHMARK", "liveness: time and bytes beside the search"),
    "logs": ("logs:BENCHMARK", "the replay of metadata logs: records a second"),
    "processes": ("native.processes:BENCHMARK", "what two processes at once leave each other"),
    "proofs": ("proofs:BENCHMARK", "proofs for any number of brokers: seconds a command"),
    "query": ("query:BENCHMARK", "questions about a space: seconds a command"),
    "serve": ("serve:BENCHMARK", "the local page: milliseconds a step"),
    "spark": ("spark:BENCHMARK", "the Spark engine beside the native one"),
    "start": ("start:BENCHMARK", "the start of commands that compute nothing"),
    "walks": ("walks:BENCHMARK", "random walks: steps a second"),
}
"""Other things to measure, by option: where the benchmark is, loaded when it is asked for, and what it measures."""


def benchmark(place: str) -> Benchmark:
    """The benchmark at a place."""
    module, _, name = place.partition(":")
    found: Benchmark = getattr(import_module(f"kraftcheck.ci.bench.{module}"), name)
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure the cases and print the table."""
    parser = argparse.ArgumentParser(prog="python -m kraftcheck.ci.bench", description="Measures the native explorer.")
    parser.add_argument("cases", nargs="*", metavar="CASE", help=", ".join(benchmark(NATIVE).cases))
    parser.add_argument("--runs", type=int, default=3, help="runs of which the median counts (default 3)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows as JSON too")
    for name, (_, text) in BENCHMARKS.items():
        parser.add_argument(f"--{name}", action="store_const", dest="kind", const=name, help=f"measure {text}")
    options = parser.parse_args(arguments)
    if options.runs < 1:
        parser.error("--runs must be at least 1")
    chosen = benchmark(BENCHMARKS[options.kind][0] if options.kind else NATIVE)
    if unknown := sorted(set(options.cases) - set(chosen.cases)):
        of = f"--{options.kind}" if options.kind else "the benchmark"
        parser.error(f"unknown case: {', '.join(unknown)}; {of} has {', '.join(chosen.cases)}")
    try:
        rows = chosen.run(options.cases, options.runs)
    except Refusal as refusal:
        refusal.show()
        return refusal.exit_code
    if options.json is not None:
        options.json.write_text(json.dumps([asdict(row) for row in rows], indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
