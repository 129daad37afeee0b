"""`kraftcheck conform`: conformance of the model with the expectations of Kafka's own tests, or with its classes."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from kraftcheck.ci.conformance.kafka.change.checks import MOST_EXHAUSTIVE, CheckSize
from kraftcheck.ci.conformance.kafka.command import TourSize, run, run_fuzz, run_tour
from kraftcheck.ci.conformance.kafka.tour.run import SYSTEMS
from kraftcheck.ci.conformance.vectors.core import VectorError
from kraftcheck.ci.conformance.vectors.run import conform, vector_lines
from kraftcheck.ci.terminal import options
from kraftcheck.ci.terminal.commands import check_idle
from kraftcheck.ci.terminal.console import console
from kraftcheck.ci.terminal.files import check_writable, write_json
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.language.system import ScopeError

MOST_DRAWN = 10**12
"""The most cases that can be drawn: months of them."""

@click.command("conform")
@click.option("--vectors", "first", multiple=True, metavar="PATH...", help="Files or folders of vectors; repeatable.")
@click.argument("more", nargs=-1, metavar="")
@click.option("--kafka", metavar="VERSION|all", help="Ask the classes of this release, as in 4.1.0.")
@click.option("--exhaustive", type=click.IntRange(0, MOST_EXHAUSTIVE), default=2, show_default=True,
              help="--kafka: all cases to this many replicas.")
@click.option("--samples", type=click.IntRange(0, MOST_DRAWN), default=100_000, show_default=True,
              help="--kafka: cases drawn of others, to 5.")
@click.option("--seed", type=click.IntRange(0, 2**63 - 1), default=0, show_default=True,
              help="--kafka: seed of the drawn cases.")
@click.option("--tour", type=click.Choice(sorted(SYSTEMS)), help="--kafka: take a system's steps on its managers.")
@click.option("--scope", default="tiny", show_default=True, help="--tour: scope of the system.")
@click.option("--sample", type=click.IntRange(0, MOST_DRAWN), default=0,
              help="--tour: how many transitions are drawn; 0: every one.")
@click.option("--fuzz", type=click.IntRange(1, MOST_DRAWN), metavar="STEPS",
              help="--kafka: put drawn sequences of requests to its managers.")
@click.option("--rules", help="Rule set, PRESET[+VARIANT|-VARIANT...]; kafka-4.0, or with --kafka that of the version.")
@click.option("--json", "target", metavar="FILE|-", help="Write one row per vector, or per check, as JSON.")
@click.option("--allow-unsupported", is_flag=True, help="Exit 0 although some vectors could not be run.")
@options.quiet
def conform_command(
    first: tuple[str, ...],
    more: tuple[str, ...],
    kafka: str | None,
    exhaustive: int,
    samples: int,
    seed: int,
    tour: str | None,
    scope: str,
    sample: int,
    fuzz: int | None,
    rules: str | None,
    target: str | None,
    allow_unsupported: bool,
    quiet: bool,
) -> None:
    """Run conformance vectors, or ask Kafka's own classes, and report what differs, field by field.

    With --tour, action sequences that take every reachable transition of a system run on Kafka's control managers.

    With --fuzz, drawn sequences of requests run on Kafka's control managers and on the controller model.

    With --kafka, jars are fetched with Maven into the cache folder, and Java runs the driver.

    Exit code 0: no difference; 23: there is one, or a vector could not be run; 2: bad input.

    \b
    Examples:
      kraftcheck conform --vectors tests/vectors/partition_change.json
      kraftcheck conform --vectors tests/vectors --allow-unsupported --json rows.json
      kraftcheck conform --kafka 4.1.0
      kraftcheck conform --kafka 4.1.2 --tour directories
      kraftcheck conform --kafka 4.4.0 --fuzz 20000 --seed 7
      kraftcheck conform --kafka all --exhaustive 3 --samples 5000000
    """
    _check_mode(kafka, tour, fuzz)
    if kafka is not None and (first or more):
        raise Refusal("give --vectors or --kafka, not both")
    if kafka is not None and tour is not None:
        sys.exit(run_tour(kafka, rules, TourSize(tour, scope, sample, seed), target, quiet))
    if kafka is not None and fuzz is not None:
        sys.exit(run_fuzz(kafka, rules, fuzz, seed, target, quiet))
    if kafka is not None:
        sys.exit(run(kafka, rules, CheckSize(exhaustive, samples, seed), target, quiet))
    paths = tuple(Path(path) for path in (*first, *more)) if first else ()
    _run_vectors(paths, rules, target, allow_unsupported)


def _run_vectors(paths: tuple[Path, ...], rules: str | None, target: str | None, allow_unsupported: bool) -> None:
    """Run vectors, report, and end with the exit code."""
    if not paths:
        raise Refusal("name files or folders of vectors: --vectors PATH..., or a release: --kafka VERSION")
    check_writable(target)
    try:
        report = conform(paths, rules or "kafka-4.0")
        if target is not None:
            write_json(target, report.document())
    except (VectorError, ScopeError) as reason:
        raise Refusal(str(reason)) from None
    screen, code = console(to_stderr=target == "-"), report.exit_code(allow_unsupported)
    screen.plain("\n".join(vector_lines(report)) + f" (exit {code})")
    sys.exit(code)


def _check_mode(kafka: str | None, tour: str | None, fuzz: int | None) -> None:
    """Refuse options of another mode than the chosen one (vectors, classes, tour, fuzz)."""
    for name, value in (("--tour", tour), ("--fuzz", fuzz)):
        if value is not None and kafka is None:
            raise Refusal(f"{name} needs a release: --kafka VERSION")
    if tour is not None and fuzz is not None:
        raise Refusal("give --tour or --fuzz, not both")
    if kafka is None:
        check_idle("is an option of --kafka", "exhaustive", "samples", "seed", "scope", "sample", "quiet")
    else:
        check_idle("is an option of --vectors", "allow_unsupported")
    if tour is None:
        check_idle("is an option of --tour", "scope", "sample")
    else:
        check_idle("is not an option of --tour", "exhaustive", "samples")
    if fuzz is not None:
        check_idle("is not an option of --fuzz", "exhaustive", "samples")
