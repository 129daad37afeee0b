"""Assignments, moves and failures of the `directories` system, by hand: what each step does and what it refuses."""

from __future__ import annotations

import pytest

from kraftcheck.model.systems.directories.state import ABSENT, NOTHING
from tests.shared.directories import Cluster, slots


def test_a_failure_is_reported_until_the_restart() -> None:
    """Every heartbeat lists every failed directory; the draft stops once one is acknowledged."""
    c = Cluster().settle().do("fail_directory", broker=0, slot=1).report()
    assert (c.host().told, c.host().reports(c.setting.rules.directories)) == (slots(1), slots(1))
    draft = Cluster("fixed+reported-until-acknowledged").settle().do("fail_directory", broker=0, slot=1)
    assert draft.report(delivered=False).host().reports(draft.setting.rules.directories) == slots(1)
    assert draft.report().host().reports(draft.setting.rules.directories) == slots()


@pytest.mark.parametrize(
    ("rules", "refused"), [("fixed", []), ("fixed+reports-wait-for-assignments", ["assignments are sent first"])]
)
def test_a_report_waits_for_no_assignment(rules: str, refused: list[str]) -> None:
    """A failure is reported though an assignment waits; in the variant the assignment goes first."""
    c = Cluster(rules).apply(slot=0).do("fail_directory", broker=0, slot=1)
    assert c.host().queued()
    assert c.refusals("report", broker=0, delivered=True) == refused


def test_the_timeout_stops_a_broker_that_cannot_report() -> None:
    """Unconditionally in the code; in the KIP only a broker that leads in the failed directory."""
    c = Cluster().settle().do("fail_directory", broker=0, slot=0)
    assert c.refusals("log_dir_timeout", broker=0) == []
    assert c.report().refusals("log_dir_timeout", broker=0) == ["a failure is not acknowledged"]
    for slot, leads, stops in ((0, True, True), (0, False, False), (1, True, False)):
        c = Cluster("fixed+timeout-only-if-leading").settle().do("fail_directory", broker=0, slot=slot)
        assert (c.change(leads=leads).refusals("log_dir_timeout", broker=0) == []) == stops


def test_the_last_directory_halts_the_broker() -> None:
    """A broker without a working directory stops, and cannot start."""
    c = Cluster(directories=1).apply().do("fail_directory", broker=0, slot=0)
    assert (c.host().up, c.host().replica) == (False, ABSENT)
    assert c.refusals("start", broker=0) == ["a directory works"]


def test_the_directory_of_the_metadata_log_halts_the_broker() -> None:
    """Where the first directory has that log its failure stops the broker, until it is repaired; another's does not."""
    c = Cluster(metadata_slot=1).apply(slot=1).do("fail_directory", broker=0, slot=0)
    assert (c.host().up, list(c.host().disks)) == (False, [1])
    assert c.refusals("start", broker=0) == ["the metadata log can be read"]
    assert c.do("repair", broker=0, slot=0).do("start", broker=0).host().up
    assert c.do("fail_directory", broker=0, slot=1).host().up
    assert Cluster().apply(slot=1).do("fail_directory", broker=0, slot=0).host().up
    survived = Cluster("fixed+metadata-failure-survived", metadata_slot=1)
    assert survived.do("fail_directory", broker=0, slot=0).host().up


def test_a_new_disk_gets_a_new_id() -> None:
    """A replaced directory has no id; the start draws one that the broker never had."""
    c = Cluster().settle().do("crash", broker=0).do("replace_disk", broker=0, slot=1)
    assert c.host().names == (0, NOTHING)
    assert c.do("start", broker=0).host().names == (0, 2)
    assert c.state.controller.online_dirs[0] == slots(0, 2)
