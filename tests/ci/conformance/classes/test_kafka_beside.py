"""What no rule is of: answers of a build beside those of its release."""

import os
from pathlib import Path

import pytest

from kraftcheck.ci.conformance.kafka.build import Build
from kraftcheck.ci.conformance.kafka.fuzz.beside import WIDTH, _cut, beside_release, differences
from kraftcheck.ci.conformance.kafka.fuzz.requests import drawn_plan
from kraftcheck.ci.conformance.kafka.fuzz.run import LENGTH, FuzzCounts, Played, fuzzed
from kraftcheck.ci.conformance.kafka.jars import jars, known_versions
from kraftcheck.model.rules.ruleset import parse
from tests.ci.conformance.released import NEWEST, changed
from tests.shared.samples import is_nightly, one_in

pytestmark = pytest.mark.xdist_group("kafka")


def as_folder(version: str) -> Build:
    """The jars of a release as a build of one's own."""
    return Build.of(str(Path(jars(version).split(os.pathsep)[0]).parent), version)


LATE = {"lowestActiveOffset": 5, "written": 13}  # sequences after which a question differs that few of them come by


@pytest.mark.parametrize("version", one_in(6, known_versions()))
def test_a_release_answers_as_itself(version: str) -> None:
    """Two processes with one release's classes give the same answers, hundreds after each sequence."""
    sequences = 30 if is_nightly() and version == NEWEST else 5
    row = beside_release(as_folder(version), parse(f"kafka-{version}"), 1, sequences)
    assert row.causes == ()
    assert row.sequences == sequences
    assert row.answers > 400 * sequences


@pytest.mark.parametrize(("number", "question"), [("99", "describeConfigs"), ("69", "legacyAlterConfigs")])
def test_a_change_that_no_rule_is_of_is_noticed(number: str, question: str, tmp_path: Path) -> None:
    """A condition that only descriptions, or only old requests, come by is negated: their answers differ."""
    build = Build.of(str(changed(tmp_path, number, "ConfigurationControlManager")), NEWEST)
    row = beside_release(build, parse(f"kafka-{NEWEST}"), 0, 3)
    assert question in {name for name, *_ in row.causes}
    assert row.differing >= row.sequences
    assert "; the first:" in row.lines(NEWEST)[1]


@pytest.mark.parametrize(
    ("change", "name", "package", "question"),
    [
        ("emptied-revertToSnapshot", "SnapshotRegistry", "timeline", "reverted"),
        ("torn", "ReplicationControlManager", "controller", "createTopics"),
        ("oldest", "PartitionChangeBuilder", "controller", "written"),
        ("emptied-processExpiredBrokerHeartbeat", "ReplicationControlManager", "controller", "lowestActiveOffset"),
        ("emptied-write", "PartitionChangeRecord", "common/metadata", "written"),
        ("emptied-replay", "ClusterDelta", "image", "image"),
        ("first-incrementalAlterConfigs", "ConfigurationControlManager", "controller", "incrementalAlterConfigs"),
        ("without-setEndPoints", "ClusterControlManager", "controller", "listeners"),
        ("37", "FeatureControlManager", "controller", "updateFeatures"),
        ("taken-3", "FeatureControlManager", "controller", "set"),
        ("29", "KafkaConfigSchema", "metadata", "set"),
        ("emptied-executeRevert", "TimelineObject", "timeline", "reverted"),
        ("emptied-finishSnapshot", "ConfigurationsDelta", "image", "image"),
        ("emptied-write", "ConfigurationsImage", "image", "image"),
        ("emptied-write", "AclsImage", "image", "image"),
        ("later-isDirectoryAssignmentSupported", "MetadataVersion", "server/common", "isDirectoryAssignmentSupported"),
        ("later-isElrSupported", "MetadataVersion", "server/common", "toRecord"),
        ("emptied-write", "ZkMigrationStateRecord", "common/metadata", "bytes"),
        ("first-describeConfigs", "ConfigurationControlManager", "controller", "describeConfigs"),
    ],
)
def test_what_a_log_would_show_later_is_noticed(
    change: str, name: str, package: str, question: str, tmp_path: Path
) -> None:
    """A write that is not undone or is torn, a record of a wrong version, one resource of several: all differ."""
    build = Build.of(str(changed(tmp_path, change, name, package)), NEWEST)
    row = beside_release(build, parse(f"kafka-{NEWEST}"), 1, LATE.get(question, 2))
    assert question in {name for name, *_ in row.causes}


def test_an_unclean_cancel_is_noticed(tmp_path: Path) -> None:
    """A cancel that leaves an ISR of added replicas, with unclean elections off, is not refused: it differs."""
    rules = parse(f"kafka-{NEWEST}")
    plan = next(
        plan for plan in (drawn_plan(1, number, LENGTH) for number in range(120, 334))
        if any(one.request.line.endswith("/cancel -") and one.model == "ok INVALID_REPLICA_ASSIGNMENT"
               for one in Played.of(NEWEST, rules, plan).exchanges)
    )  # fmt: skip
    build = Build.of(str(changed(tmp_path, "taken-314", "ReplicationControlManager")), NEWEST)
    (difference,) = fuzzed(build, rules, iter([plan]), FuzzCounts(), lambda: False)
    assert difference.exchanges[-1].model == "ok INVALID_REPLICA_ASSIGNMENT"
    assert difference.exchanges[-1].kafka.startswith("ok NONE|change ")


@pytest.mark.parametrize("version", one_in(6, known_versions()))
def test_changed_bytes_of_a_release_are_noticed(version: str, tmp_path: Path) -> None:
    """Classes of any release that do nothing once a broker is unfenced write fewer records than it."""
    folder = changed(tmp_path, "emptied-handleBrokerUnfenced", "ReplicationControlManager", version=version)
    plans = (drawn_plan(1, number, LENGTH) for number in range(40))
    found = fuzzed(Build.of(str(folder), version), parse(f"kafka-{version}"), plans, FuzzCounts(), lambda: False)
    last = next(found).exchanges[-1]
    assert last.request.line.startswith("heartbeat ")
    assert last.model.count("|") > last.kafka.count("|")


def test_a_member_that_has_restarted_is_noticed(tmp_path: Path) -> None:
    """Classes that let into an ISR whoever has restarted since the leader saw it, whatever it lost, differ."""
    build = Build.of(str(changed(tmp_path, "taken-189", "ReplicationControlManager")), NEWEST)
    plans = (drawn_plan(1, number, LENGTH) for number in range(40))
    found = fuzzed(build, parse(f"kafka-{NEWEST}"), plans, FuzzCounts(), lambda: False)
    assert "INELIGIBLE_REPLICA" in next(found).exchanges[-1].model


def test_answers_are_shown_where_they_differ() -> None:
    """Of two long answers that begin alike the part is shown in which they are not."""
    shown = _cut("a" * 900 + "b", "a" * 900 + "c" * 300)
    assert [text.strip(".").lstrip("a") for text in shown] == ["b", "c" * (WIDTH // 2)]
    assert _cut("a", "b") == ("a", "b")


def test_sequences_that_differ_before_are_left_out() -> None:
    """Where a request is answered otherwise the questions after it are of another state, and are not compared."""
    assert differences(["ok a", "ok x = 1|y = 2"], ["ok b", "ok x = 3|y = 2"]) is None
    assert differences(["ok a", "ok x = 1|y = 2"], ["ok a", "ok x = 3|y = 2"]) == [("x", "1", "3")]
    assert differences(["ok a", "ok own x = 1"], ["ok a", "ok own x = 2|own y = 2"]) == [("own x", "1", "2")]
    died = differences(["ok a", "ok x = 1"], ["ok a", "the process died: no memory"])
    assert died == [("x", "1", "not asked"), ("the process died: no memory", "not asked", "")]
