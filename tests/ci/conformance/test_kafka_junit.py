"""`kraftcheck trace --export junit`: counterexamples as tests of Kafka's own managers, compiled and run."""

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

from kraftcheck.ci.conformance.kafka import junit as exporting
from kraftcheck.ci.conformance.kafka.build import Build
from kraftcheck.ci.conformance.kafka.drivers import PACKAGE, PASSES, compile_java, run_tests
from kraftcheck.ci.conformance.kafka.jars import JUNIT, jars
from kraftcheck.ci.conformance.kafka.junit import junit
from kraftcheck.ci.run.questions import SearchQuestion, search, search_budget
from kraftcheck.ci.systems.subject import program, subject
from kraftcheck.ci.terminal.refusal import Refusal
from tests.shared.commands import kraftcheck
from tests.shared.places import ROOT
from tests.shared.samples import one_in

pytestmark = pytest.mark.xdist_group("kafka")

TRACES = ROOT / "tests" / "traces"

AT_EACH_CHANGE: Mapping[str, Mapping[str, str]] = {
    "4.0.2": {"B1": PASSES, "B5-4.0.2": PASSES},
    "4.1.2": {"B1": "leader", "B2": PASSES, "B4": PASSES, "B5": PASSES, "B7": PASSES, "B10": PASSES},
}
"""Of a release, by the name of a trace: that its test passes, as the release has the defect, or what is otherwise."""

OF_4_1_1: Mapping[str, str] = {**AT_EACH_CHANGE["4.1.2"], "B10-4.4.0": "replicas"}
OF_4_3: Mapping[str, str] = {
    "B1": "leader", "B2": "elr", "B4": PASSES, "B5": PASSES, "B7-4.4.0": PASSES, "B10": PASSES, "B10-4.4.0": PASSES,
}  # fmt: skip

BY_NIGHT: Mapping[str, Mapping[str, str]] = {
    **dict.fromkeys(("4.0.0", "4.0.1"), AT_EACH_CHANGE["4.0.2"]),
    "4.0.2": {"B2": PASSES, "B4": PASSES, "B7": PASSES, "B10": "leader", "B10-4.4.0": "replicas"},
    "4.1.0": {"B1": "leader", "B2": PASSES, "B4": PASSES, "B5-4.0.2": PASSES, "B7": PASSES, "B10-4.4.0": "replicas"},
    "4.1.2": {"B5-4.0.2": "last_known_elr", "B10-4.4.0": "replicas"},
    **dict.fromkeys(("4.1.1", "4.2.0", "4.2.1", "4.2.2"), OF_4_1_1),
    **dict.fromkeys(("4.3.0", "4.3.1", "4.4.0"), OF_4_3),
}


def exported(trace: str, folder: Path) -> Path:
    """The test of a trace, written to a folder."""
    ran = kraftcheck("trace", TRACES / f"{trace}.itf.json", "--export", "junit", "--out", folder)
    assert ran.code == 0, ran.err
    (found,) = folder.glob("*Test.java")
    return found


def ran_on(version: str, traces: Iterable[str], folder: Path) -> dict[str, str]:
    """By trace, what its test says on the classes of a release: nothing where it passes, else the first failure."""
    tests = {trace: exported(trace, folder / trace) for trace in traces}
    assert len({test.stem for test in tests.values()}) == len(tests), "two tests of one name hide each other"
    outcomes = run_tests(Build(version), {test.stem: test.read_text(encoding="utf-8") for test in tests.values()})
    return {trace: outcomes[test.stem] for trace, test in tests.items()}


def agree(found: Mapping[str, str], wanted: Mapping[str, str]) -> None:
    """Tests pass that have to; the others fail at the field that tells."""
    assert found.keys() == wanted.keys()
    for trace, field in wanted.items():
        assert found[trace].startswith(f"{field} ==> expected:" if field else PASSES), (trace, found[trace])
        assert (found[trace] == PASSES) == (field == PASSES), (trace, found[trace])


def test_a_test_says_what_the_trace_says(tmp_path: Path) -> None:
    """Each step is an event, each state is asserted, and an exception is asserted where the controller resigns."""
    test = exported("B7", tmp_path / "b7")
    text = test.read_text(encoding="utf-8")
    assert test.name == "ControllerStaysTest.java"
    assert [line.split('"')[1] for line in text.splitlines() if "managers.act(" in line] == [
        "assign", "fence", "delete_topic", "heartbeat",
    ]  # fmt: skip
    assert text.count("TourDriver.RESIGNED") == 1
    assert 'assertEquals(List.of(), sorted(after2.isr), "isr")' in text
    assert (tmp_path / "b7" / "TourDriver.java").exists()


def test_what_cannot_be_exported_is_refused(tmp_path: Path) -> None:
    """A folder is needed, and one that can be written."""
    trace = TRACES / "B4.itf.json"
    assert kraftcheck("trace", trace, "--export", "junit").refusal() == (
        "--export needs the folder to write to: --out FOLDER"
    )
    file = tmp_path / "taken"
    file.write_text("", encoding="utf-8")
    assert "it is a file" in kraftcheck("trace", trace, "--export", "junit", "--out", file).refusal()


def test_a_trace_of_replication_keeps_the_controllers_events() -> None:
    """What brokers do to their logs is left out of a test; a request that is refused is asserted as such."""
    bounds = {"unclean-stops": 0, "shrinks": 0, "reassignments": 2, "fences": 2, "epochs": 10}
    chosen = subject("replication", "tiny", bounds, "kafka-4.4.0", only=("leader-complete",))
    traced = program(chosen)
    (trace,) = SearchQuestion(chosen, search_budget(1, 2**31)).result(traced, search).traces()
    acts = re.findall(r'managers\.act\("(\w+)"', junit(trace, traced, chosen.title())["LeaderCompleteTest.java"])
    assert acts == [step.action for step in trace.steps if step.action not in ("produce", "apply_metadata")]
    assert "reassign" in acts
    assert "unfence" in acts


def test_a_min_isr_of_another_partition_is_refused() -> None:
    """A trace whose min ISR depends on the topic's first partition is no test: that has one partition."""
    bounds = {"replication": 1, "second": 2, "min-isr": 2, "elr": 1, "fences": 1, "failures": 0}
    chosen = subject("kraft", "pair", bounds, "kafka-4.4.0", only=("second-stays-eligible",))
    traced = program(chosen)
    (trace,) = SearchQuestion(chosen, search_budget(1, 2**31)).result(traced, search).traces()
    with pytest.raises(Refusal, match="step 0: the first partition's 1 replicas cap the min ISR of the second, with 2"):
        junit(trace, traced, chosen.title())


def test_a_run_that_elects_nobody_is_no_test() -> None:
    """Classes of 4.0.2 elect broker -1 and list it in the ISR, which no state has: the step is named."""
    only = ("recovering-after-unclean-election",)
    chosen = subject("elections", "tiny", {}, "kafka-4.0.2", only=only)
    traced = program(chosen)
    (trace,) = SearchQuestion(chosen, search_budget(1, 2**31)).result(traced, search).traces()
    with pytest.raises(Refusal, match=r"^new_incarnation\(broker=0, clean=False, dirs=\{0\}\) elects broker -1, which"):
        junit(trace, traced, chosen.title())


def test_traces_with_disks_are_tests() -> None:
    """A run of `directories` passes on the release whose rules made it; one of other rules fails, and says where."""
    tests = {}
    for rules, name in (("kafka-4.4.0", "LedTest"), ("kip", "OtherwiseTest")):
        chosen = subject("directories", "tiny", {}, rules, only=("leader-directory-online",))
        traced = program(chosen)
        (trace,) = SearchQuestion(chosen, search_budget(1, 2**31)).result(traced, search).traces()
        tests[name] = exporting.test_source(trace, traced, chosen.title(), name)
    said = run_tests(Build("4.4.0"), tests)
    assert said["LedTest"] == PASSES
    assert said["OtherwiseTest"].startswith("leader ==> expected:")


def test_an_exported_test_is_run_on_a_build(tmp_path: Path) -> None:
    """With --kafka the test is run: exit code 0 where it passes, 23 with what it says where it does not."""
    words = ("trace", TRACES / "B4.itf.json", "--export", "junit", "--out", tmp_path / "test", "--kafka")
    passed, failed = kraftcheck(*words, "4.1.2"), kraftcheck(*words, "3.9.2")
    assert (passed.code, passed.out.splitlines()[-1].endswith(" passes on Kafka 4.1.2 (exit 0)")) == (0, True)
    assert failed.code == 23
    assert " fails on Kafka 3.9.2: " in failed.out
    refusal = kraftcheck("trace", TRACES / "B4.itf.json", "--kafka", "4.1.2").refusal()
    assert refusal == "--kafka runs what --export writes; leave it out"


@pytest.mark.parametrize("version", one_in(2, AT_EACH_CHANGE))
def test_defects_are_shown_on_releases(version: str, tmp_path: Path) -> None:
    """The exported test passes on a release that has the defect, and fails on one without it, at the field that tells.

    One compiler and one virtual machine for all tests of a release.
    """
    agree(ran_on(version, AT_EACH_CHANGE[version], tmp_path), AT_EACH_CHANGE[version])


@pytest.mark.slow
@pytest.mark.parametrize("version", BY_NIGHT)
def test_more_releases_show_their_defects(version: str, tmp_path: Path) -> None:
    """What was mended when: the tests of the other releases."""
    agree(ran_on(version, BY_NIGHT[version], tmp_path), BY_NIGHT[version])


@pytest.mark.slow
def test_a_folder_compiles_as_it_is(tmp_path: Path) -> None:
    """A written folder needs nothing but the jars: the driver in it is the one the test stands on."""
    test = exported("B4", tmp_path / "b4")
    path = os.pathsep.join((jars("4.1.2"), jars("4.1.2", JUNIT)))
    compile_java(sorted(test.parent.glob("*.java")), path, tmp_path / "classes", "a written folder")
    assert (tmp_path / "classes" / PACKAGE.replace(".", "/") / f"{test.stem}.class").exists()
