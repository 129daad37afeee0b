"""`kraftcheck conform`: conformance of the model with the expectations of Kafka's own tests, or with its classes."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn

import click
from attrs import asdict, frozen

from kraftcheck.ci.conformance.kafka.build import Build
from kraftcheck.ci.conformance.kafka.change import checks
from kraftcheck.ci.conformance.kafka.drivers import DriverError
from kraftcheck.ci.conformance.kafka.fuzz.run import FuzzRow, fuzz_lines, fuzz_with_kafka
from kraftcheck.ci.conformance.kafka.jars import known_versions
from kraftcheck.ci.conformance.kafka.tour.images import tour_of_images
from kraftcheck.ci.conformance.kafka.tour.report import TourRow, tour_lines
from kraftcheck.ci.conformance.kafka.tour.requests import TourError
from kraftcheck.ci.conformance.kafka.tour.run import SYSTEMS, tour_with_kafka
from kraftcheck.ci.conformance.vectors.core import VectorError
from kraftcheck.ci.conformance.vectors.run import NON_CONFORMANT, conform, vector_lines
from kraftcheck.ci.terminal import options
from kraftcheck.ci.terminal.commands import EXIT_FAULT, EXIT_USAGE, check_idle, fault_text, show_fault
from kraftcheck.ci.terminal.console import Screen, console
from kraftcheck.ci.terminal.files import check_writable, write_json
from kraftcheck.ci.terminal.progress import Meter, progress_meter
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.language.system import ScopeError
from kraftcheck.model.rules.ruleset import RELEASES, RuleSet, parse
from kraftcheck.model.systems.images.system import IMAGES

MOST_DRAWN = 10**12  # the most cases that can be drawn: months of them
DOCUMENT_VERSION = 1  # version of the JSON document of a comparison with Kafka's classes

TOURS = {**SYSTEMS, IMAGES.name: IMAGES}
"""Systems whose steps the classes can take: the controller's managers, or those of a broker's image."""

EVERY = "all"  # stands for every known version


def _number(
    name: str, low: int, high: int, default: int | None, says: str, metavar: str | None = None, *, is_shown: bool = True
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    shown = is_shown and default is not None
    return click.option(name, type=click.IntRange(low, high), default=default, show_default=shown, metavar=metavar,
                        help=says)  # fmt: skip


@click.command("conform")
@click.option("--vectors", "first", multiple=True, metavar="PATH...", help="Files or folders of vectors; repeatable.")
@click.argument("more", nargs=-1, metavar="")
@click.option("--kafka", metavar="BUILD|all", help="Ask the classes of this build: a version as in 4.1.0, or a path.")
@options.like
@_number("--exhaustive", 0, checks.MOST_EXHAUSTIVE, 2, "--kafka: all cases to this many replicas.")
@_number("--samples", 0, MOST_DRAWN, 100_000, "--kafka: cases drawn of others, to 5.")
@_number("--seed", 0, 2**63 - 1, 0, "--kafka: seed of the drawn cases.")
@click.option("--tour", type=click.Choice(sorted(TOURS)), help="--kafka: take a system's steps on its classes.")
@click.option("--scope", default="tiny", show_default=True, help="--tour: scope of the system.")
@_number("--sample", 0, MOST_DRAWN, 0, "--tour: how many states are drawn; 0: every one.", is_shown=False)
@_number("--fuzz", 1, MOST_DRAWN, None, "--kafka: put drawn sequences of requests to its managers.", "STEPS")
@click.option("--rules", help="Rule set, PRESET[+VARIANT|-VARIANT...]; kafka-4.0, or with --kafka that of the version.")
@click.option("--json", "target", metavar="FILE|-", help="Write one row per vector, or per check, as JSON.")
@click.option("--allow-unsupported", is_flag=True, help="Exit 0 although some vectors could not be run.")
@options.quiet
def conform_command(first: tuple[str, ...], more: tuple[str, ...], **flags: Any) -> None:
    """Run conformance vectors, or ask Kafka's own classes, and report what differs, field by field.

    With --tour, each step of every state of a system is put to Kafka's control managers, which are walked there too;
    of images, to the classes by which a broker joins records to its image of the metadata.

    With --fuzz, drawn sequences of requests run on Kafka's control managers and on the controller model.

    With --kafka, Java runs the classes of a release, whose jars Maven fetches into the cache folder,
    or of a path: a folder of jars, a checkout that Gradle has built, one jar or several with commas
    between them, a folder of classes. What a path does not have is that of the release --like.

    Exit code 0: no difference; 23: there is one, or a vector could not be run; 2: bad input.

    \b
    Examples:
      kraftcheck conform --vectors tests/vectors/partition_change.json
      kraftcheck conform --vectors tests/vectors --allow-unsupported --json rows.json
      kraftcheck conform --kafka 4.1.0
      kraftcheck conform --kafka 4.1.2 --tour directories
      kraftcheck conform --kafka 4.4.0 --tour images
      kraftcheck conform --kafka 4.4.0 --fuzz 20000 --seed 7
      kraftcheck conform --kafka ~/kafka --like 4.4.0 --fuzz 20000
      kraftcheck conform --kafka all --exhaustive 3 --samples 5000000
    """
    _check_mode(flags["kafka"], flags["tour"], flags["fuzz"])
    kafka, rules, seed = flags["kafka"], flags["rules"], flags["seed"]
    if kafka is None:
        paths = tuple(Path(path) for path in (*first, *more)) if first else ()
        _run_vectors(paths, rules, flags["target"], flags["allow_unsupported"])
    if first or more:
        raise Refusal("give --vectors or --kafka, not both")
    asked = _Asked(kafka, flags["like"], rules, flags["target"], flags["quiet"])
    if flags["tour"] is not None:
        system = TOURS[flags["tour"]]
        toured_by = tour_of_images if system is IMAGES else tour_with_kafka

        def toured(build: Build, rules: RuleSet, report: checks.CheckProgress) -> TourRow:
            return toured_by(build, system, system.setting(flags["scope"], rules=rules), flags["sample"], seed, report)

        sys.exit(_run_sequences(asked, "--tour", toured, tour_lines))
    if flags["fuzz"] is not None:

        def fuzzed(build: Build, rules: RuleSet, report: checks.CheckProgress) -> FuzzRow:
            return fuzz_with_kafka(build, rules, flags["fuzz"], seed, report)

        sys.exit(_run_sequences(asked, "--fuzz", fuzzed, fuzz_lines))
    sys.exit(_run_checks(asked, checks.CheckSize(flags["exhaustive"], flags["samples"], seed)))


def _run_vectors(paths: tuple[Path, ...], rules: str | None, target: str | None, allow_unsupported: bool) -> NoReturn:
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
        check_idle("is an option of --kafka", "like", "exhaustive", "samples", "seed", "scope", "sample", "quiet")
    else:
        check_idle("is an option of --vectors", "allow_unsupported")
    if tour is None:
        check_idle("is an option of --tour", "scope", "sample")
    else:
        check_idle("is not an option of --tour", "exhaustive", "samples")
    if fuzz is not None:
        check_idle("is not an option of --fuzz", "exhaustive", "samples")


@frozen
class _Asked:
    """What is asked of Kafka's classes: of which build, or EVERY; the rule set; where the document goes."""

    kafka: str
    like: str | None
    rules: str | None
    target: str | None
    quiet: bool

    def builds(self, screen: Screen) -> Iterator[tuple[Build, str]]:
        """The builds, each with its rule set, one's own shown; raises Refusal for no build, or one without a preset."""
        check_writable(self.target)
        if self.kafka == EVERY and self.like is not None:
            raise Refusal(f"--like completes one build, not {EVERY}; leave it out")
        for text in known_versions() if self.kafka == EVERY else (self.kafka,):
            build = Build.of(text, self.like)
            name = self.rules or f"kafka-{build.like}"
            if self.rules is None and name not in RELEASES:
                raise Refusal(f"there is no preset {name}; name a rule set with --rules")
            if build.first:
                screen.plain("\n".join(build.lines()))
            yield build, name

    def show_end(self, screen: Screen, line: str, code: int) -> None:
        """Print the last line, and where a build of one's own differs the command that finds out what it is."""
        if code == NON_CONFORMANT and self.kafka not in (EVERY, *known_versions()):
            like = "" if self.like is None else f" --like {self.like}"
            screen.plain(f"what it is, and what that breaks: kraftcheck branch {shlex.quote(self.kafka)}{like}")
        screen.plain(f"{line} (exit {code})")

    def write(self, mode: str, **parts: Any) -> None:
        """Write the document, where one is wanted."""
        if self.target is not None:
            write_json(self.target, {"version": DOCUMENT_VERSION, "command": f"conform --kafka{mode}", **parts})


def _run_checks(asked: _Asked, size: checks.CheckSize) -> int:
    """Compare, report, and say with which exit code the command ends: 0, 23, or that of checks without a verdict."""
    screen, versions = console(to_stderr=asked.target == "-"), 0
    check_rows: list[checks.CheckRow] = []
    faults: list[checks.CheckFault] = []
    for build, name in asked.builds(screen):
        before, versions = len(check_rows), versions + 1
        for row in _rows(build, name, size, asked.quiet):
            if isinstance(row, checks.CheckRow):
                screen.plain("\n".join(checks.row_lines(row)))
                check_rows.append(row)
                continue
            if isinstance(row.error, Refusal) and not check_rows:
                raise row.error
            show_fault(row.error)
            screen.plain(f"Kafka {row.version} {row.check:<12} {row.factor}: {_fault_text(row.error)}")
            faults.append(row)
            if isinstance(row.error, Refusal):
                break
        screen.plain(checks.total_line(check_rows[before:], name))
    names = ("version", "check", "factor")
    fault_rows = [{**{name: getattr(one, name) for name in names}, "fault": _fault_text(one.error)} for one in faults]
    asked.write("", rows=[asdict(row) for row in check_rows], faults=fault_rows)
    code = _exit_code(check_rows, faults)
    without = f", {len(faults)} checks without a verdict" if faults else ""
    asked.show_end(screen, f"{versions} versions, {sum(row.cases for row in check_rows):,} cases{without}", code)
    return code


def _exit_code(rows: Sequence[checks.CheckRow], faults: Sequence[checks.CheckFault]) -> int:
    """What differs comes before what could not be asked."""
    if any(row.differences for row in rows):
        return NON_CONFORMANT
    if any(not isinstance(fault.error, _UNASKED) for fault in faults):
        return EXIT_FAULT
    return EXIT_USAGE if faults else 0


_UNASKED = (Refusal, DriverError)


def _fault_text(error: Exception) -> str:
    return f"no verdict: {error}" if isinstance(error, _UNASKED) else fault_text(error)


def _run_sequences(
    asked: _Asked, mode: str, run: Callable[[Build, RuleSet, checks.CheckProgress], TourRow | FuzzRow],
    lines: Callable[[Any, str], list[str]],
) -> int:  # fmt: skip
    """Put sequences of steps to the managers of builds, report, and say the exit code: 0 or 23."""
    screen = console(to_stderr=asked.target == "-")
    rows: list[TourRow | FuzzRow] = []
    for build, name in asked.builds(screen):
        try:
            with progress_meter(asked.quiet) as meter:
                rows.append(run(build, parse(name), _report_to(meter)))
        except (ScopeError, DriverError, TourError) as reason:
            raise Refusal(str(reason)) from None
        screen.plain("\n".join(lines(rows[-1], name)))
    asked.write(f" {mode}", rows=[row.document() for row in rows])
    code = NON_CONFORMANT if any(row.differs for row in rows) else 0
    counted = "transitions" if mode == "--tour" else "steps"
    asked.show_end(screen, f"{len(rows)} versions, {sum(row.executed for row in rows):,} {counted} executed", code)
    return code


def _rows(
    build: Build, rules: str, size: checks.CheckSize, quiet: bool
) -> Iterator[checks.CheckRow | checks.CheckFault]:
    try:
        chosen = parse(rules)
    except ScopeError as reason:
        raise Refusal(str(reason)) from None
    with progress_meter(quiet) as meter:
        for row in checks.conform_with_kafka(build, chosen, size, _report_to(meter)):
            if meter is not None:
                meter.close()
            yield row


def _report_to(meter: Meter | None) -> checks.CheckProgress:
    """What takes the check, its cases so far, and how many differ, and writes a line now and then."""

    def report(check: str, cases: int, differences: int) -> None:
        if meter is not None:
            meter.write_when_due(f"{check}: {cases:,} cases, {differences:,} differences")

    return report
