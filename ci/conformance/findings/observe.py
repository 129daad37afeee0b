"""Observing findings in a release: by its rules, and on its own classes."""

from __future__ import annotations

from collections.abc import Sequence

from kraftcheck.ci.conformance.findings.evidence import Evidence
from kraftcheck.ci.conformance.findings.managers import ask
from kraftcheck.ci.conformance.findings.search import ReleaseSearch, search
from kraftcheck.ci.conformance.kafka.junit import description
from kraftcheck.ci.run.questions import SearchBudget
from kraftcheck.properties.register.findings import Finding


def observe(
    findings: Sequence[Finding], release: str, budget: SearchBudget, quiet: bool
) -> tuple[list[Evidence], list[ReleaseSearch]]:
    """The evidence of findings in a release, and the searches.

    Args:
        findings: which.
        release: in which.
        budget, quiet: of the searches.

    Raises:
        Refusal: where Java or the jars are missing.
        UndecidedFinding, DriverError, Interrupted: where something was not decided.
    """
    searches = [search(finding, release, budget, quiet) for finding in findings]
    return evidence_of(searches, searches), searches


def evidence_of(searches: Sequence[ReleaseSearch], asked: Sequence[ReleaseSearch]) -> list[Evidence]:
    """The evidence of the searches of one release.

    Args:
        searches: of each finding.
        asked: the searches whose traces are put to the classes; of a finding that the release does not have, that of
            another release.
    """
    answers = ask(searches[0].release, asked) if searches else {}
    return [_evidence(one, answers.get(one.finding.id)) for one in searches]


def _evidence(one: ReleaseSearch, answer: str | None) -> Evidence:
    events = () if one.trace is None else tuple(description(step) for step in one.trace.steps)
    return Evidence(one.finding.id, one.release, one.steps, one.mend_suffices, answer, events, one.for_ever)
