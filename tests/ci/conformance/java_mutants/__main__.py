"""Runs drawn mutants of Kafka's classes, and lists those that nothing notices; exit code 1 where one has no reason."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import click

from tests.ci.conformance.java_mutants.campaign import SURVIVED, drawn, plays, record, run, told


@click.command()
@click.option("--seed", default=0, show_default=True, help="Draws other mutants.")
@click.option("--count", type=int, help="How many are drawn.  [default: all]")
@click.option("--seconds", default=600.0, show_default=True, help="After which no further mutant is begun.")
@click.option("--record", "into", type=click.Path(path_type=Path), help="Writes there what became of each.")
def main(seed: int, count: int | None, seconds: float, into: Path | None) -> None:
    """Change the classes of Kafka's controller, one instruction at a time, and ask the fuzz of `kraftcheck branch`."""
    start, found = time.monotonic(), []
    for outcome in run(drawn(seed, count), plays(), seconds):
        found.append(outcome)
        print(f"{outcome.outcome:8} {outcome.steps:6} steps {outcome.seconds:6.1f} s  {outcome.mutant.key}", flush=True)
    print("\n".join(told(found)))
    print(f"{time.monotonic() - start:.0f} s")
    if into is not None:
        record(into, seed, found)
    sys.exit(int(any(one.outcome == SURVIVED for one in found)))


if __name__ == "__main__":
    main()
