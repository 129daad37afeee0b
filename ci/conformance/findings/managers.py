"""Findings on the classes of a release: the trace of each as a test of the controller's, or the cases of a broker's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kraftcheck.ci.conformance.findings.search import ReleaseSearch
from kraftcheck.ci.conformance.kafka.broker.answers import RELEASES as BROKER_RELEASES
from kraftcheck.ci.conformance.kafka.broker.answers import broker_answers
from kraftcheck.ci.conformance.kafka.jars import PASSES, run_tests
from kraftcheck.ci.conformance.kafka.junit import class_name, test_source
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
    """What the classes of a release answer to the traces, by finding; findings without a test are left out.

    Raises:
        Refusal: where Java or the jars are missing.
        DriverError: where a test was not run.
    """
    if int(release.split(".")[0]) < OLDEST:
        return {}
    tests = {search.finding.id: text for search in searches if (text := test_of(search)) is not None}
    outcomes = run_tests(release, {class_name(name): text for name, text in tests.items()})
    taken = {name: outcomes[class_name(name)] == PASSES for name in tests}
    return {name: SHOWN if shown else OTHERWISE for name, shown in (taken | _of_brokers(release, searches)).items()}


def _of_brokers(release: str, searches: Sequence[ReleaseSearch]) -> dict[str, bool]:
    """Whether a broker's classes do what every case of a finding says, by finding; of releases that the driver fits."""
    cases = {search.finding.id: search.finding.broker_cases for search in searches if search.finding.broker_cases}
    if not cases or release not in BROKER_RELEASES:
        return {}
    answers = broker_answers(release)
    return {name: all(answers[case] for case in named) for name, named in cases.items()}
