"""The benchmark: `python -m kraftcheck.ci.bench [--KIND] [--runs N] [--json FILE] [CASE...]`; `--help` lists kinds."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from kraftcheck.ci.bench.cases import BENCHMARKS, NATIVE
from kraftcheck.ci.terminal.refusal import Refusal


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure the cases and print the table."""
    parser = argparse.ArgumentParser(prog="python -m kraftcheck.ci.bench", description="Measures the native explorer.")
    parser.add_argument("cases", nargs="*", metavar="CASE", help=", ".join(NATIVE.cases))
    parser.add_argument("--runs", type=int, default=3, help="runs of which the median counts (default 3)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows as JSON too")
    for name, one in BENCHMARKS.items():
        parser.add_argument(f"--{name}", action="store_const", dest="kind", const=name, help=f"measure {one.about}")
    options = parser.parse_args(arguments)
    if options.runs < 1:
        parser.error("--runs must be at least 1")
    chosen = BENCHMARKS[options.kind] if options.kind else NATIVE
    if unknown := sorted(set(options.cases) - set(chosen.cases)):
        of = f"--{options.kind}" if options.kind else "the benchmark"
        parser.error(f"unknown case: {', '.join(unknown)}; {of} has {', '.join(chosen.cases)}")
    try:
        rows = chosen.run(options.cases, options.runs)
    except Refusal as refusal:
        refusal.show()
        return refusal.exit_code
    if options.json is not None:
        options.json.write_text(json.dumps(rows, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
