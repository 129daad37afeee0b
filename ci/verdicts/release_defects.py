"""`kraftcheck bugs --kafka`: each finding searched with the rules of a release, and with its mend."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from kraftcheck.ci.conformance.findings.evidence import Evidence, recorded
from kraftcheck.ci.conformance.findings.search import ReleaseSearch, UndecidedFinding, search, wanted
from kraftcheck.ci.conformance.kafka.jars import known_versions
from kraftcheck.ci.run.search import SearchBudget
from kraftcheck.ci.systems import report
from kraftcheck.ci.terminal.console import console
from kraftcheck.ci.terminal.files import check_writable, write_json
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.nearest import nearest
from kraftcheck.properties.register.findings import FINDINGS, Finding
from kraftcheck.solvers.program.verdict import EXIT_INCOMPLETE, EXIT_SAFETY


def release_defects(names: Sequence[str], release: str, budget: SearchBudget, target: str | None, quiet: bool) -> int:
    """Search each finding (or those named) with the rules of a release; the exit code.

    A finding must be refuted in as many steps as recorded, or hold as recorded, and its mend alone must make the
    property hold.

    Raises:
        Refusal: for a release or a finding that is not known.
    """
    chosen = _findings(names)
    if release not in known_versions():
        raise Refusal(f"--kafka: no evidence of Kafka {release}; known: {', '.join(known_versions())}")
    if target is not None:
        check_writable(target)
    screen, evidence, rows = console(to_stderr=target == "-"), recorded(), list[dict[str, Any]]()
    for finding in chosen:
        try:
            one = search(finding, release, budget, quiet)
        except UndecidedFinding as reason:
            screen.plain(f"undecided: {reason}")
            return EXIT_INCOMPLETE
        faults = list(_faults(one, evidence[finding.id, release]))
        shown = "holds" if one.steps is None else f"refuted in {one.steps}"
        shown += "; without the defect it holds" if one.mend_suffices else ""
        screen.plain(f"{finding.id:28} {one.subject.rules}")
        screen.plain(f"    {one.subject.name} {wanted(finding).scope}, native: {wanted(finding).property} {shown}")
        for fault in faults:
            screen.plain(f"    UNEXPECTED {fault}")
        rows.append(_row(one, faults))
    faulty = sum(bool(row["faults"]) for row in rows)
    code = EXIT_SAFETY if faulty else 0
    if target is not None:
        write_json(target, {
            "version": report.DOCUMENT_VERSION, "command": "bugs", "exit_code": code, "findings": rows,
            "versions": report.versions(),
        })  # fmt: skip
    screen.plain(f"{len(rows)} findings with the rules of {release}, {faulty} not as expected (exit {code})")
    return code


def _findings(names: Sequence[str]) -> list[Finding]:
    by_id = {finding.id: finding for finding in FINDINGS if finding.search is not None}
    for name in names:
        if name not in by_id:
            raise Refusal(f"no finding {name!r} that an explored system shows; {nearest(name, by_id)}")
    return [by_id[name] for name in names] or list(by_id.values())


def _faults(one: ReleaseSearch, expected: Evidence) -> Iterator[str]:
    if one.steps != expected.steps:
        yield f"{wanted(one.finding).property}: expected {expected.steps or 'holds'}, got {one.steps or 'holds'}"
    if one.mend_suffices is False:
        yield f"{wanted(one.finding).property} is refuted without the defect too"


def _row(one: ReleaseSearch, faults: Sequence[str]) -> dict[str, Any]:
    place = wanted(one.finding)
    return {
        "finding": one.finding.id,
        "release": one.release,
        "system": place.system,
        "scope": place.scope,
        "bounds": dict(place.bounds),
        "rules": one.subject.rules,
        "property": place.property,
        "steps": one.steps,
        "mend_suffices": one.mend_suffices,
        "faults": list(faults),
    }
