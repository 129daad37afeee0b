"""`kraftcheck conform --kafka`: versions and presets, progress, report, exit code."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from attrs import asdict, frozen

from kraftcheck.ci.conformance.kafka.change.checks import (
    CheckFault,
    CheckProgress,
    CheckRow,
    CheckSize,
    conform_with_kafka,
    row_lines,
    total_line,
)
from kraftcheck.ci.conformance.kafka.fuzz.run import FuzzRow, fuzz_lines, fuzz_with_kafka
from kraftcheck.ci.conformance.kafka.jars import DriverError, known_versions
from kraftcheck.ci.conformance.kafka.tour.report import TourRow
from kraftcheck.ci.conformance.kafka.tour.report import lines as tour_lines
from kraftcheck.ci.conformance.kafka.tour.requests import TourError
from kraftcheck.ci.conformance.kafka.tour.run import SYSTEMS, tour_with_kafka
from kraftcheck.ci.terminal.commands import EXIT_FAULT, EXIT_USAGE, fault_text, show_fault
from kraftcheck.ci.terminal.console import console
from kraftcheck.ci.terminal.files import check_writable, write_json
from kraftcheck.ci.terminal.progress import Meter, progress_meter
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.language.system import ScopeError
from kraftcheck.model.rules.ruleset import RELEASES, parse

NON_CONFORMANT = 23
DOCUMENT_VERSION = 1
EVERY = "all"
"""Stands for every known version."""


def run(version: str, rules: str | None, size: CheckSize, target: str | None, quiet: bool) -> int:
    """Compare, report, and say with which exit code the command ends: 0, 23, or that of checks without a verdict."""
    check_writable(target)
    versions = _versions(version)
    screen = console(to_stderr=target == "-")
    check_rows: list[CheckRow] = []
    faults: list[CheckFault] = []
    for release in versions:
        name, before = _rule_set(release, rules), len(check_rows)
        for row in _rows(release, name, size, quiet):
            if isinstance(row, CheckRow):
                screen.plain("\n".join(row_lines(row)))
                check_rows.append(row)
                continue
            if isinstance(row.error, Refusal) and not check_rows:
                raise row.error
            show_fault(row.error)
            screen.plain(f"Kafka {row.version} {row.check:<12} {row.factor}: {_fault_text(row.error)}")
            faults.append(row)
            if isinstance(row.error, Refusal):
                break
        screen.plain(total_line(check_rows[before:], name))
    if target is not None:
        write_json(target, _document(check_rows, faults))
    code = _exit_code(check_rows, faults)
    without = f", {len(faults)} checks without a verdict" if faults else ""
    screen.plain(f"{len(versions)} versions, {sum(row.cases for row in check_rows):,} cases{without} (exit {code})")
    return code


def _exit_code(rows: Sequence[CheckRow], faults: Sequence[CheckFault]) -> int:
    """What differs comes before what could not be asked."""
    if any(row.differences for row in rows):
        return NON_CONFORMANT
    if any(not isinstance(fault.error, _UNASKED) for fault in faults):
        return EXIT_FAULT
    return EXIT_USAGE if faults else 0


_UNASKED = (Refusal, DriverError)


def _fault_text(error: Exception) -> str:
    return f"no verdict: {error}" if isinstance(error, _UNASKED) else fault_text(error)


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
    code = NON_CONFORMANT if any(row.differs for row in tour_rows) else 0
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


def _rows(version: str, rules: str, size: CheckSize, quiet: bool) -> Iterator[CheckRow | CheckFault]:
    try:
        chosen = parse(rules)
    except ScopeError as reason:
        raise Refusal(str(reason)) from None
    with progress_meter(quiet) as meter:
        for row in conform_with_kafka(version, chosen, size, _report_to(meter)):
            if meter is not None:
                meter.close()
            yield row


@contextmanager
def _progress(quiet: bool) -> Iterator[CheckProgress]:
    with progress_meter(quiet) as meter:
        yield _report_to(meter)


def _report_to(meter: Meter | None) -> CheckProgress:
    """What takes the check, its cases so far, and how many differ, and writes a line now and then."""

    def report(check: str, cases: int, differences: int) -> None:
        if meter is not None:
            meter.write_when_due(f"{check}: {cases:,} cases, {differences:,} differences")

    return report


def _document(rows: list[CheckRow], faults: list[CheckFault]) -> dict[str, Any]:
    return {
        "version": DOCUMENT_VERSION,
        "command": "conform --kafka",
        "rows": [asdict(row) for row in rows],
        "faults": [
            {"version": fault.version, "check": fault.check, "factor": fault.factor, "fault": _fault_text(fault.error)}
            for fault in faults
        ],
    }
