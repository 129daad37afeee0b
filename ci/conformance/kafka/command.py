"""`kraftcheck conform --kafka`: versions and presets, progress, report, exit code."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from attrs import asdict, frozen

from kraftcheck.ci.conformance.kafka.change.checks import CheckRow, CheckSize, conform_with_kafka, lines
from kraftcheck.ci.conformance.kafka.fuzz.report import FuzzRow, fuzz_lines, fuzz_with_kafka
from kraftcheck.ci.conformance.kafka.jars import known_versions
from kraftcheck.ci.conformance.kafka.java import DriverError
from kraftcheck.ci.conformance.kafka.tour.report import TourRow
from kraftcheck.ci.conformance.kafka.tour.report import lines as tour_lines
from kraftcheck.ci.conformance.kafka.tour.requests import TourError
from kraftcheck.ci.conformance.kafka.tour.run import SYSTEMS, tour_with_kafka
from kraftcheck.ci.terminal.console import console
from kraftcheck.ci.terminal.files import check_writable, write_json
from kraftcheck.ci.terminal.progress import progress_meter
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.language.system import ScopeError
from kraftcheck.model.rules.ruleset import RELEASES, parse

NON_CONFORMANT = 23
DOCUMENT_VERSION = 1
EVERY = "all"
"""Stands for every known version."""


def run(version: str, rules: str | None, size: CheckSize, target: str | None, quiet: bool) -> int:
    """Compare, report, and say with which exit code the command ends: 0 or 23."""
    check_writable(target)
    versions = _versions(version)
    screen = console(to_stderr=target == "-")
    check_rows: list[CheckRow] = []
    for release in versions:
        name = _rule_set(release, rules)
        rows = _rows(release, name, size, quiet)
        screen.plain("\n".join(lines(rows, name)))
        check_rows += rows
    if target is not None:
        write_json(target, _document(check_rows))
    code = NON_CONFORMANT if any(row.differences for row in check_rows) else 0
    screen.plain(f"{len(versions)} versions, {sum(row.cases for row in check_rows):,} cases (exit {code})")
    return code


@frozen
class TourSize:
    """What a tour covers: a system, its scope, how many transitions are drawn (0: all), the seed of the draw."""

    system: str
    scope: str
    sample: int
    seed: int


def run_tour(version: str, rules: str | None, size: TourSize, target: str | None, quiet: bool) -> int:
    """Tour, report, and say with which exit code the command ends: 0 or 23."""
    check_writable(target)
    screen = console(to_stderr=target == "-")
    tour_rows: list[TourRow] = []
    for release in _versions(version):
        name = _rule_set(release, rules)
        tour_rows.append(_tour(release, name, size, quiet))
        screen.plain("\n".join(tour_lines(tour_rows[-1], name)))
    if target is not None:
        rows = [{**asdict(row), "share": row.share} for row in tour_rows]
        write_json(target, {"version": DOCUMENT_VERSION, "command": "conform --kafka --tour", "rows": rows})
    code = NON_CONFORMANT if any(row.differing for row in tour_rows) else 0
    screen.plain(
        f"{len(tour_rows)} versions, {sum(row.covered for row in tour_rows):,} transitions executed (exit {code})"
    )
    return code


def run_fuzz(version: str, rules: str | None, steps: int, seed: int, target: str | None, quiet: bool) -> int:
    """Fuzz, report, and say with which exit code the command ends: 0 or 23."""
    check_writable(target)
    screen = console(to_stderr=target == "-")
    fuzz_rows: list[FuzzRow] = []
    for release in _versions(version):
        name = _rule_set(release, rules)
        try:
            with _progress(quiet) as report:
                fuzz_rows.append(fuzz_with_kafka(release, parse(name), steps, seed, report))
        except (ScopeError, DriverError) as reason:
            raise Refusal(str(reason)) from None
        screen.plain("\n".join(fuzz_lines(fuzz_rows[-1], name)))
    if target is not None:
        rows = [asdict(row) for row in fuzz_rows]
        write_json(target, {"version": DOCUMENT_VERSION, "command": "conform --kafka --fuzz", "rows": rows})
    code = NON_CONFORMANT if any(row.differing for row in fuzz_rows) else 0
    screen.plain(f"{len(fuzz_rows)} versions, {sum(row.steps for row in fuzz_rows):,} steps executed (exit {code})")
    return code


def _tour(version: str, rules: str, size: TourSize, quiet: bool) -> TourRow:
    try:
        system = SYSTEMS[size.system]
        setting = system.setting(size.scope, rules=parse(rules))
        with _progress(quiet) as report:
            return tour_with_kafka(version, system, setting, size.sample, size.seed, report)
    except (ScopeError, DriverError, TourError) as reason:
        raise Refusal(str(reason)) from None


def _versions(version: str) -> tuple[str, ...]:
    versions = known_versions() if version == EVERY else (version,)
    if not set(versions) <= set(known_versions()):
        raise Refusal(f"no digests of Kafka {version}; known: {', '.join(known_versions())}")
    return versions


def _rule_set(version: str, rules: str | None) -> str:
    name = rules or f"kafka-{version}"
    if rules is None and name not in RELEASES:
        raise Refusal(f"there is no preset {name}; name a rule set with --rules")
    return name


def _rows(version: str, rules: str, size: CheckSize, quiet: bool) -> list[CheckRow]:
    try:
        chosen = parse(rules)
        with _progress(quiet) as report:
            return list(conform_with_kafka(version, chosen, size, report))
    except (ScopeError, DriverError) as reason:
        raise Refusal(str(reason)) from None


@contextmanager
def _progress(quiet: bool) -> Iterator[Callable[[str, int, int], None]]:
    """What takes the check, its cases so far, and how many differ, and writes a line now and then."""
    with progress_meter(quiet) as meter:

        def report(check: str, cases: int, differences: int) -> None:
            if meter is not None:
                meter.write_when_due(f"{check}: {cases:,} cases, {differences:,} differences")

        yield report


def _document(rows: list[CheckRow]) -> dict[str, Any]:
    return {"version": DOCUMENT_VERSION, "command": "conform --kafka", "rows": [asdict(row) for row in rows]}
