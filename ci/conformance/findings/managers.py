"""Findings on the managers of a release: the trace of each as a test of Kafka's own classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kraftcheck.ci.conformance.findings.search import ReleaseSearch
from kraftcheck.ci.conformance.kafka.junit import class_name, test_source
from kraftcheck.ci.conformance.kafka.junit_run import PASSES, run_tests
from kraftcheck.ci.terminal.refusal import Refusal

SHOWN, OTHERWISE = "shown", "otherwise"
"""How a release answers the steps of a trace: as the trace says, or in another way."""

OLDEST = 4
"""The first major release whose managers the tests are written for."""


def test_of(search: ReleaseSearch) -> str | None:
    """The test of a finding's trace; None where its steps are not events of the managers, or there is no trace."""
    if search.trace is None:
        return None
    try:
        return test_source(search.trace, search.program, search.subject.title(), class_name(search.finding.id))
    except Refusal:
        return None  # A step of a broker or of its disks; such a finding is shown by its rules, or on a live cluster.


def ask(release: str, searches: Sequence[ReleaseSearch]) -> Mapping[str, str]:
    """What the managers of a release answer to the traces, by finding; findings without a test are left out.

    Raises:
        Refusal: where Java or the jars are missing.
        DriverError: where a test was not run.
    """
    if int(release.split(".")[0]) < OLDEST:
        return {}
    tests = {search.finding.id: text for search in searches if (text := test_of(search)) is not None}
    outcomes = run_tests(release, {class_name(name): text for name, text in tests.items()})
    return {name: SHOWN if outcomes[class_name(name)] == PASSES else OTHERWISE for name in tests}
