"""`kraftcheck conform`: conformance of the model with the expectations of Kafka's own tests, or with its classes."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import click
from attrs import asdict, frozen

from kraftcheck.ci.conformance.kafka.change.checks import MOST_EXHAUSTIVE, CheckSize
from kraftcheck.ci.conformance.kafka.command import TourSize, run, run_fuzz, run_tour
from kraftcheck.ci.conformance.kafka.tour.run import SYSTEMS
from kraftcheck.ci.conformance.vectors import run_vector
from kraftcheck.ci.conformance.vectors.core import (
    FAILED,
    PASSED,
    UNSUPPORTED,
    Vector,
    VectorError,
    VectorOutcome,
    find,
    read,
)
from kraftcheck.ci.terminal import options
from kraftcheck.ci.terminal.commands import check_idle
from kraftcheck.ci.terminal.console import console
from kraftcheck.ci.terminal.files import check_writable, write_json
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.language.system import ScopeError
from kraftcheck.model.records.fields import FormError
from kraftcheck.model.rules.ruleset import RuleSet, parse
from kraftcheck.model.visible import visible

NON_CONFORMANT = 23
"""Exit code when a vector failed, or was not run and nobody allowed that."""

MOST_DRAWN = 10**12
"""The most cases that can be drawn: months of them."""

DOCUMENT_VERSION = 1
"""Version of the JSON document."""


@frozen
class VectorRow:
    """One vector and its judgement."""

    path: Path
    vector: Vector
    outcome: VectorOutcome


@frozen
class VectorReport:
    """The judgement of every vector read, in the order of the files.

    Attributes:
        rules: name of the rule set.
        files: the files read, empty ones included.
        rows: one a vector.
    """

    rules: str
    files: tuple[Path, ...]
    rows: tuple[VectorRow, ...]

    def counts(self, path: Path | None = None) -> Counter[str]:
        """How many passed, failed and were unsupported, of one file or of all."""
        return Counter(row.outcome.status for row in self.rows if path in (None, row.path))

    def exit_code(self, allow_unsupported: bool) -> int:
        """0 when every vector passed, or was unsupported and that is allowed."""
        counts = self.counts()
        return NON_CONFORMANT if counts[FAILED] or (counts[UNSUPPORTED] and not allow_unsupported) else 0

    def document(self) -> dict[str, Any]:
        """The report as plain values."""
        return {
            "version": DOCUMENT_VERSION,
            "command": "conform",
            "rules": self.rules,
            "totals": {status: self.counts()[status] for status in (PASSED, FAILED, UNSUPPORTED)},
            "rows": [
                {
                    "file": str(row.path),
                    "id": row.vector.id,
                    "function": row.vector.function,
                    "status": row.outcome.status,
                    "reason": row.outcome.reason,
                    "differences": [asdict(difference) for difference in row.outcome.differences],
                }
                for row in self.rows
            ],
        }


def conform(paths: tuple[Path, ...], rules: str = "kafka-4.0") -> VectorReport:
    """Run every vector of files and folders.

    Args:
        paths: JSON files, or folders of them.
        rules: rule set, `PRESET[+VARIANT...]`.

    Raises:
        VectorError: when nothing was read, or naming file, vector and key of what is malformed.
        ScopeError: for an unknown rule set.
    """
    chosen = parse(rules)
    files = tuple(find(paths))
    rows = tuple(row for path in files for row in _run_file(path, chosen))
    if not rows:
        raise VectorError(f"no vectors in {', '.join(map(str, paths)) or 'no path at all'}")
    return VectorReport(rules, files, rows)


def _run_file(path: Path, rules: RuleSet) -> list[VectorRow]:
    vectors = {vector.id: vector for vector in read(path).vectors}
    rows = []
    for vector in vectors.values():
        try:
            outcome = run_vector(vector, rules, vectors.get(vector.given_continues or ""))
        except FormError as reason:
            raise VectorError(f"{path}: {vector.id}: {reason}") from None
        rows.append(VectorRow(path, vector, outcome))
    return rows


def lines(report: VectorReport) -> list[str]:
    """The report for a reader: counts per file, then what went wrong field by field."""
    text = []
    for path in report.files:
        counts = report.counts(path)
        text.append(f"{path}: {counts[PASSED]} passed, {counts[FAILED]} failed, {counts[UNSUPPORTED]} unsupported")
    for row in report.rows:
        if row.outcome.status == FAILED:
            text.append(f"FAILED {row.vector.id} ({row.vector.function}, {row.path})")
            for difference in row.outcome.differences:
                expected, actual = _json_text(difference.expected), _json_text(difference.actual)
                text.append(f"  {difference.field}: expected {expected}, actual {actual}")
    unsupported = Counter(row.outcome.reason for row in report.rows if row.outcome.status == UNSUPPORTED)
    text += [f"UNSUPPORTED {number} x {reason}" for reason, number in sorted(unsupported.items())]
    counts = report.counts()
    text.append(f"{report.rules}: {counts[PASSED]} passed, {counts[FAILED]} failed, {counts[UNSUPPORTED]} unsupported")
    return list(map(visible, text))


def _json_text(value: Any) -> str:
    return json.dumps(value, default=str)


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
    screen.plain("\n".join(lines(report)) + f" (exit {code})")
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
