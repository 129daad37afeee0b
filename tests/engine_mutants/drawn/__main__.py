"""Runs drawn mutants of a folder, and lists those that survive; exit code 1 where one does."""

import sys
from pathlib import Path

import click

from tests.engine_mutants.drawn.campaign import ALIVE, Request, record, run, told
from tests.shared.places import ROOT


@click.command()
@click.option("--folder", default="solvers/smt", show_default=True, help="Whose files are changed; or one file.")
@click.option("--seed", default=0, show_default=True, help="Draws other mutants.")
@click.option("--seconds", default=600.0, show_default=True, help="After which no further mutant is begun.")
@click.option("--count", type=int, help="How many are drawn.  [default: all]")
@click.option("--longest", default=10.0, show_default=True, help="A test that takes longer is not asked.")
@click.option("--each", default=60.0, show_default=True, help="Seconds of tests that are asked of one mutant.")
@click.option("--reach", type=click.Path(path_type=Path), help="Keeps which lines each test reaches.")
@click.option("--only", multiple=True, metavar="FILE:FUNCTION", help="Only those whose names begin so; repeatable.")
@click.option("--record", "into", type=click.Path(path_type=Path), help="Counts there what became of each file's.")
@click.argument("tests", nargs=-1)
def main(folder: str, tests: tuple[str, ...], into: Path | None, **choices: object) -> None:
    """Change FOLDER at random, and run those of TESTS that reach the change."""
    place = ROOT / folder
    found = run(Request(place, tests or (f"tests/{folder}",), **choices))  # type: ignore[arg-type]
    if into is not None:
        record(found, into)
    for line in told(found):
        print(line)
    sys.exit(int(any(outcome in ALIVE for _, outcome, _ in found.outcomes)))


if __name__ == "__main__":
    main()
