"""Assignments, moves and failures of the `directories` system, by hand: what each step does and what it refuses."""

from __future__ import annotations

import pytest

from kraftcheck.model.partition.registration import LOST, UNASSIGNED
from kraftcheck.model.systems.directories.state import ABSENT, ACCEPTED, IDLE, NOTHING, OFFLINE, QUEUED, SERVING
from tests.shared.directories import DIR0, DIR1, Cluster, slots


def test_a_new_replica_reports_its_directory() -> None:
    """The broker makes the log where it likes, queues the assignment, and the controller learns it."""
    c = Cluster().apply(slot=1)
    assert (c.host().logs, c.host().replica, c.host().ready, c.assigned()) == (slots(1), SERVING, DIR1, UNASSIGNED)
    assert c.assign().assigned() == DIR1
    assert c.apply().host().ready == NOTHING


def test_the_metric_counts_what_waits_and_what_is_in_flight() -> None:
    """QueuedReplicaToDirAssignments is not zero until the answer is there."""
    c = Cluster().apply()
    counts = [c.host().queued()]
    for name in ("send", "assign", "answer"):
        counts.append(c.do(name, broker=0).host().queued())
    assert counts == [True, True, True, False]


def test_a_lost_reply_is_asked_for_again() -> None:
    """The same assignment is sent again, and processing it twice changes nothing more."""
    c = Cluster().apply().do("send", broker=0).do("assign", broker=0).do("lose", broker=0, copy=False)
    assert (c.host().ready, c.host().sent) == (DIR0, NOTHING)
    before = c.state.controller
    assert c.do("send", broker=0).do("assign", broker=0).state.controller == before


def test_a_newer_assignment_replaces_one_that_was_lost() -> None:
    """What is lost is not sent again where something newer waits."""
    c = Cluster().apply().do("send", broker=0).change(ready=DIR1).do("lose", broker=0, copy=False)
    assert c.host().ready == DIR1


def test_a_restart_makes_copies_stale() -> None:
    """A copy of an earlier incarnation's request is refused; the defect accepts it."""
    defect = "fixed+assignment-ignores-broker-epoch"
    for rules, refused, assigned in (("fixed", True, UNASSIGNED), (defect, False, DIR0)):
        c = Cluster(rules).apply().do("send", broker=0).do("lose", broker=0, copy=True)
        c.do("crash", broker=0).do("start", broker=0)
        assert c.host().late_stale
        c.do("assign_late", broker=0)
        assert (c.refused, c.assigned(), c.host().late) == (refused, assigned, NOTHING)


def test_a_request_without_the_permission_is_refused() -> None:
    """Without CLUSTER_ACTION nothing changes; the defect lets anybody place replicas."""
    c = Cluster().do("intrude", broker=0, directory=DIR1)
    assert (c.refused, c.assigned()) == (True, UNASSIGNED)
    c = Cluster("fixed+assignment-unauthorized").do("intrude", broker=0, directory=DIR1)
    assert (c.refused, c.assigned()) == (False, DIR1)


def test_a_move_is_promoted_only_after_the_answer() -> None:
    """Level, asked, sent, processed: only the answer allows the promotion, which deletes the old log."""
    c = Cluster().settle().move()
    for name in ("send", "assign"):
        assert "assignment is accepted" in c.refusals("promote", broker=0)
        c.do(name, broker=0)
    assert c.host().promotion == QUEUED
    c.do("answer", broker=0)
    assert (c.host().promotion, c.host().logs) == (ACCEPTED, slots(0))
    c.do("promote", broker=0)
    assert (c.host().logs, c.host().whole, c.host().future, c.assigned()) == (slots(1), slots(1), NOTHING, DIR1)


def test_records_written_during_a_move_are_copied_before_it_ends() -> None:
    """A write makes the future log fall behind; promotion waits until it is level again."""
    c = Cluster().settle().move().assign().apply().do("write")
    assert c.refusals("promote", broker=0) == ["future log is level"]
    c.do("copy", broker=0).do("promote", broker=0)
    assert c.host().whole == slots(1)


def test_a_target_that_fails_is_taken_back() -> None:
    """Queued or accepted, the assignment of a lost target is replaced by that of the source."""
    for steps in range(4):
        c = Cluster().settle().move()
        for name in ("send", "assign", "answer")[:steps]:
            c.do(name, broker=0)
        c.do("fail_directory", broker=0, slot=1)
        assert (c.host().ready, c.host().promotion, c.host().replica) == (DIR0, IDLE, SERVING)


def test_the_historical_defect_takes_back_only_what_is_queued() -> None:
    """KAFKA-16297: after the answer, the lost target stays assigned."""
    c = Cluster("fixed+revert-only-while-queued").settle().move().assign()
    assert c.do("fail_directory", broker=0, slot=1).host().ready == NOTHING
    assert c.assigned() == DIR1


@pytest.mark.parametrize(("rules", "told"), [("fixed", LOST), ("fixed+lost-source-reverts", DIR0), ("kip", LOST)])
def test_a_source_that_fails_during_a_move(rules: str, told: int) -> None:
    """The KIP reports the replica LOST; the code goes back to the directory that failed. Both end the leadership."""
    c = Cluster(rules).settle().move().assign().do("fail_directory", broker=0, slot=0)
    assert (c.host().replica, c.host().ready) == (OFFLINE, told)
    assert c.report().state.controller.leader == 0, "the controller maps the failure to the target"
    if rules != "kip":
        assert c.assign().state.controller.leader == -1


def test_a_move_is_refused_while_a_directory_is_offline() -> None:
    """AlterReplicaLogDirs answers KAFKA_STORAGE_ERROR."""
    c = Cluster(directories=3).settle().do("fail_directory", broker=0, slot=2)
    assert c.refusals("move", broker=0, slot=1) == ["every directory works"]


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


@pytest.mark.parametrize(("rules", "stops"), [("fixed", True), ("kip", True), ("kafka-4.0", False)])
def test_the_timeout_stops_a_broker_that_cannot_assign_what_failed(rules: str, stops: bool) -> None:
    """The failure is acknowledged, the assignment of the replica that was there is not: the snapshot goes on."""
    c = Cluster(rules).apply(slot=1).do("fail_directory", broker=0, slot=1).report()
    assert c.host().failed == c.host().told
    assert (c.refusals("log_dir_timeout", broker=0) == []) == stops
    assert (c.assign().state.controller.leader == -1) == (rules != "kip")
    assert c.refusals("log_dir_timeout", broker=0) == ["a failure is not acknowledged"]


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


@pytest.mark.parametrize(("failed", "rules", "eligible"), [
    (None, "fixed", True), (0, "fixed", False), (1, "fixed", False),
    (0, "fixed+clean-with-any-directory", True), (None, "fixed+every-restart-is-unclean", False),
])  # fmt: skip
def test_a_start_is_clean_with_every_directory(failed: int | None, rules: str, eligible: bool) -> None:
    """After a controlled shutdown the broker stays in the ELR if all that it closed works; a mark counts once."""
    c = Cluster(rules, clean_stops=2, elr=1, repairs=1).settle().do("shut_down", broker=0)
    assert list(c.state.controller.elr) == [0]
    assert c.refusals("shut_down", broker=0) == ["broker is not shutting down"]
    if failed is not None:
        c.do("stop", broker=0).do("fail_directory", broker=0, slot=failed).do("start", broker=0)
    else:
        c.do("stop", broker=0).do("start", broker=0)
    assert (list(c.state.controller.elr) == [0], c.host().clean) == (eligible, slots())


def test_a_directory_that_had_failed_is_not_closed() -> None:
    """Its repair after the stop does not make the start clean, and neither does another disk."""
    c = Cluster(clean_stops=1, elr=1).settle().do("fail_directory", broker=0, slot=1).do("shut_down", broker=0)
    c.do("stop", broker=0).do("repair", broker=0, slot=1)
    assert (c.host().clean, c.host().disks) == (slots(0), slots(0, 1))
    assert list(c.do("start", broker=0).state.controller.elr) == []
    c = Cluster(clean_stops=1, elr=1).settle().do("shut_down", broker=0).do("stop", broker=0)
    assert c.do("replace_disk", broker=0, slot=1).host().clean == slots(0)


def test_a_shutdown_waits_for_another_leader() -> None:
    """The process ends in order only where a shutdown has begun, and never while it leads."""
    c = Cluster(clean_stops=1, elr=1).settle()
    assert c.refusals("stop", broker=0) == ["broker is in controlled shutdown", "broker leads nothing"]
    assert c.do("crash", broker=0).refusals("shut_down", broker=0) == ["broker runs"]


def test_equal_ids_stop_the_broker() -> None:
    """A copied meta.properties file keeps the broker down."""
    c = Cluster().settle().do("crash", broker=0).do("copy_meta_properties", broker=0, slot=1)
    assert c.refusals("start", broker=0) == ["directory ids differ"]
    assert Cluster("fixed+duplicate-ids-start").do("crash", broker=0).refusals("start", broker=0) == []


def test_a_new_disk_gets_a_new_id() -> None:
    """A replaced directory has no id; the start draws one that the broker never had."""
    c = Cluster().settle().do("crash", broker=0).do("replace_disk", broker=0, slot=1)
    assert c.host().names == (0, NOTHING)
    assert c.do("start", broker=0).host().names == (0, 2)
    assert c.state.controller.online_dirs[0] == slots(0, 2)


def test_a_broker_stays_fenced_until_it_is_settled() -> None:
    """Fenced while its assignment is queued, and while the controller does not know it; the snapshot does not wait."""
    for rules, waits in (("fixed", ["the controller knows its directories", "broker asks for it"]), ("kafka-4.0", [])):
        c = Cluster(rules).do("crash", broker=0).do("start", broker=0).apply()
        assert c.refusals("unfence", broker=0, delivered=True) == waits
    c = Cluster().do("crash", broker=0).do("start", broker=0).apply().assign()
    assert c.refusals("unfence", broker=0, delivered=True) == ["broker asks for it"], "metadata has yet to show it"
    assert c.apply().refusals("unfence", broker=0, delivered=True) == []
