"""The JUnit tests of findings in the repository: as recorded, and run on the newest release by night."""

import re
from pathlib import Path

import attrs
import pytest

from kraftcheck.ci.conformance.findings import junit_tests
from kraftcheck.ci.conformance.findings.junit_tests import PLACE, retraced, run, source, ways, with_tests
from kraftcheck.ci.conformance.findings.search import recorded, rules_of, subject_of
from kraftcheck.ci.conformance.kafka.build import Build
from kraftcheck.ci.conformance.kafka.drivers import BROKER, BROKERS_PACKAGE, PACKAGE, PASSES, TOUR, run_tests, sources
from kraftcheck.ci.conformance.kafka.jars import known_versions
from kraftcheck.ci.conformance.kafka.junit import class_name
from kraftcheck.ci.conformance.kafka.junit import test_source as managers_test
from kraftcheck.ci.systems.subject import program
from kraftcheck.properties.register.findings import FINDINGS
from kraftcheck.solvers.reference.interpreter import BrokenProperty, Integers, trace_of
from tests.shared.places import ROOT

NEWEST = known_versions()[-1]
TESTED = {one.id: one for one in with_tests()}
QUICK = (
    "heartbeat-of-two-passes",
    "min-isr-change-drops-candidates",
    "removed-last-known-leader",
    "ended-proposal",
    "all-directories-failed",
)
"""Findings whose tests are derived again at each change."""


def test_every_finding_that_classes_show_has_a_test() -> None:
    """The repository has one file for each finding that the newest release's own classes show, and no other.

    Each other finding says why it has none, or the newest release does not have it.
    """
    assert {path.name for path in (ROOT / PLACE).glob("*.java")} == {f"{class_name(name)}.java" for name in TESTED}
    without = {one.id for one in FINDINGS if one.untested}
    absent = {name for (name, release), row in recorded().items() if release == NEWEST and row.steps is None}
    assert {one.id for one in FINDINGS} == TESTED.keys() | without | absent
    assert not TESTED.keys() & (without | absent)


@pytest.mark.parametrize(
    "name",
    [pytest.param(one.id, marks=[pytest.mark.slow] * (one.id not in QUICK))
     for one in TESTED.values() if not one.broker_cases],
)  # fmt: skip
def test_a_test_fails_where_its_defect_is_mended(name: str) -> None:
    """By the mended rules the managers answer otherwise, or refuse, somewhere in every run of the recorded steps."""
    finding = TESTED[name]
    row, shown = recorded()[name, NEWEST], subject_of(finding, rules_of(finding, NEWEST))
    mended = subject_of(finding, rules_of(finding, NEWEST, *finding.switches))
    engine = Integers(mended.system, mended.setting)
    runs = [trace_of(first, steps, BrokenProperty("none", "always", ())) for first in engine.initial
            for steps in ways(engine, first, row.events)]  # fmt: skip
    texts = [managers_test(run, program(mended), shown.title(), class_name(name)) for run in runs]
    assert source(finding).partition("\nclass ")[2] not in [text.partition("\nclass ")[2] for text in texts]


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name not in QUICK)) for name in TESTED]
)
def test_a_file_is_what_is_recorded(name: str) -> None:
    """A test in the repository takes the recorded steps."""
    assert (ROOT / PLACE / f"{class_name(name)}.java").read_text("utf-8") == source(TESTED[name])


def test_a_run_that_breaks_nothing_is_no_test() -> None:
    """Where another run takes the recorded steps too, that is taken which breaks the property: nobody leads there."""
    finding = TESTED["min-isr-change-drops-candidates"]
    row, chosen = recorded()[finding.id, NEWEST], subject_of(finding, rules_of(finding, NEWEST))
    engine = Integers(chosen.system, chosen.setting)
    runs = [steps for first in engine.initial for steps in ways(engine, first, row.events)]
    assert {steps[-1].step.after.leader for steps in runs} == {-1, 1}
    assert retraced(finding, row, chosen).states[-1].leader == -1


def test_a_resignation_is_an_answer_of_the_managers() -> None:
    """The test of a finding whose last step makes the controller resign asks for that, once."""
    assert source(TESTED["removed-last-known-leader"]).count("TourDriver.RESIGNED") == 1


def test_steps_that_the_rules_do_not_take_are_refused() -> None:
    """Of steps that are not the release's own no test is made."""
    finding = TESTED["heartbeat-of-two-passes"]
    row = recorded()[finding.id, NEWEST]
    other = attrs.evolve(row, events=row.events[:1])
    with pytest.raises(LookupError, match="do not take the recorded steps"):
        retraced(finding, other, subject_of(finding, rules_of(finding, NEWEST)))


@pytest.mark.slow
@pytest.mark.xdist_group("kafka")
@pytest.mark.parametrize("driver", [TOUR, BROKER])
def test_tests_pass_on_the_newest_release(driver: str) -> None:
    """Compiled and run as they stand in the repository, the tests pass on the newest release."""
    outcomes = run(Build(NEWEST), driver, ROOT / PLACE)
    assert outcomes
    assert {*outcomes.values()} == {PASSES}


def test_the_folder_says_what_its_tests_need() -> None:
    """The page beside the tests names the drivers with their packages, and the command that compiles and runs all."""
    text = (ROOT / PLACE / "README.md").read_text("utf-8")
    drivers = [Path(name) for name in re.findall(r"`(ci/\S+\.java)`", text)]
    assert [one.stem for one in drivers] == [TOUR, BROKER]
    needed = {path.parent.name for driver in (TOUR, BROKER) for path in sources(Build(NEWEST), driver)}
    assert {one.parent.name for one in drivers if (ROOT / one).is_file()} == needed
    assert re.findall(r"`(org[.\w]+)`", text) == [PACKAGE, BROKERS_PACKAGE]
    assert f"python -m {junit_tests.__name__} {NEWEST}\n" in text


@pytest.mark.slow
@pytest.mark.xdist_group("kafka")
def test_a_test_fails_where_its_steps_are_otherwise() -> None:
    """A test of 4.4.0 whose defect an earlier release does not have, or has otherwise, fails there."""
    name = class_name("reassignment-never-completes")
    (outcome,) = run_tests(Build("4.2.1"), {name: (ROOT / PLACE / f"{name}.java").read_text("utf-8")}).values()
    assert outcome != PASSES
