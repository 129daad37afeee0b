"""Elections, reassignments and directory assignments that are asked for, and the timers that elect."""

from __future__ import annotations

import pytest
from attrs import evolve

from kraftcheck.model.controller.brokers import expire_session, heartbeat, unclean_shutdown
from kraftcheck.model.controller.elections import PREFERRED, UNCLEAN, balance_leaders, elect_leaders, elect_unclean
from kraftcheck.model.controller.errors import CODES, NoReplica, RequestError
from kraftcheck.model.controller.partitions import Assignment, Reassignment, assign_replicas_to_dirs, ongoing, reassign
from kraftcheck.model.controller.state import Settings
from kraftcheck.model.partition.registration import LOST
from kraftcheck.model.rules.ruleset import parse
from tests.model.controller.controllers import (
    FIXED,
    KAFKA,
    beat,
    changed,
    cluster,
    directory,
    lists,
    partition,
    play,
    with_topic,
)

ALLOWED = {"unclean_leader_election_enable": "true"}


@pytest.mark.parametrize(
    ("kind", "leader", "isr", "fenced", "error"),
    [
        (PREFERRED, 0, (0, 1), (), "ELECTION_NOT_NEEDED"),
        (PREFERRED, 1, (0, 1), (), "NONE"),
        (PREFERRED, 1, (1,), (), "PREFERRED_LEADER_NOT_AVAILABLE"),
        (PREFERRED, 1, (0, 1), (0,), "PREFERRED_LEADER_NOT_AVAILABLE"),
        (PREFERRED, -1, (0, 1), (0,), "NONE"),
        (UNCLEAN, 1, (1,), (), "ELECTION_NOT_NEEDED"),
        (UNCLEAN, -1, (0,), (0,), "NONE"),
        (UNCLEAN, -1, (0,), (0, 1), "ELIGIBLE_LEADERS_NOT_AVAILABLE"),
    ],
)
def test_answers_of_an_election(kind: int, leader: int, isr: tuple, fenced: tuple, error: str) -> None:
    """An election that changes something succeeds, even where another replica won; else it says why not."""
    controller = changed(with_topic(cluster(2), "foo", (0, 1)), leader=leader, isr=isr)
    down = cluster(2, fenced=fenced)
    controller = evolve(controller, image=evolve(controller.image, registrations=down.image.registrations))
    outcome = elect_leaders(controller, kind, (("foo", 0),), KAFKA)
    assert [row.error for row in outcome.response] == [error]
    assert bool(outcome.records) == (error == "NONE")
    assert error in CODES


def test_elections_of_what_is_not_there() -> None:
    """Unknown types fail the request, unknown topics and partitions their row."""
    controller = with_topic(cluster(2), "foo", (0, 1))
    with pytest.raises(RequestError, match="INVALID_REQUEST"):
        elect_leaders(controller, 2, None, KAFKA)
    outcome = elect_leaders(controller, PREFERRED, (("foo", 1), ("bar", 0)), KAFKA)
    assert [row.error for row in outcome.response] == ["UNKNOWN_TOPIC_OR_PARTITION"] * 2


def test_all_partitions_report_only_what_was_needed() -> None:
    """Asked of every partition, those that need no election are left out."""
    controller = with_topic(cluster(3), "foo", (0, 1), (1, 0), (2, 0))
    controller = changed(changed(controller, leader=1), "foo", 2, leader=-1, isr=())
    outcome = elect_leaders(controller, PREFERRED, None, KAFKA)
    assert [(row.partition, row.error) for row in outcome.response] == [
        (0, "NONE"),
        (2, "PREFERRED_LEADER_NOT_AVAILABLE"),
    ]


def test_asked_unclean_elections_ignore_the_topic() -> None:
    """An unclean election that is asked for takes place whatever the topic says; it marks the recovery."""
    controller = changed(with_topic(cluster(2), "foo", (0, 1)), leader=-1, isr=(0,))
    fenced = play(controller, expire_session(controller, 0, KAFKA))
    after = partition(play(fenced, elect_leaders(fenced, UNCLEAN, None, KAFKA)))
    assert (lists(after), after.recovering) == (([1], [], 1), True)


def test_the_timers_have_a_limit() -> None:
    """Balancing and unclean elections stop at the limit and say that there may be more."""
    controller = with_topic(cluster(2), "foo", *[(0, 1)] * 5)
    for index in range(5):
        controller = changed(controller, "foo", index, leader=1)
    assert balance_leaders(controller, KAFKA).response is False
    assert len(balance_leaders(controller, KAFKA).records) == 5
    limited = evolve(controller, settings=Settings(max_elections=3))
    assert balance_leaders(limited, KAFKA).response is True
    assert len(balance_leaders(limited, KAFKA).records) == 3


def test_the_unclean_timer_asks_the_topic() -> None:
    """Leaderless partitions get an unclean leader only where their topic allows it."""
    controller = with_topic(with_topic(cluster(2), "no", (0, 1)), "yes", (0, 1), **ALLOWED)
    for topic in ("no", "yes"):
        controller = changed(controller, topic, leader=-1, isr=())
    after = play(controller, elect_unclean(controller, KAFKA))
    assert [partition(after, topic).leader for topic in ("no", "yes")] == [-1, 0]


def asked(controller, replicas, rules=KAFKA):
    """The error of one reassignment, and the controller after it."""
    outcome = reassign(controller, (Reassignment("foo", 0, replicas),), rules)
    return outcome.response[0].error, play(controller, outcome)


@pytest.mark.parametrize(
    ("replicas", "error"),
    [
        ((), "INVALID_REPLICA_ASSIGNMENT"),
        ((0, 9), "INVALID_REPLICA_ASSIGNMENT"),
        ((0, 0), "INVALID_REPLICA_ASSIGNMENT"),
        (None, "NO_REASSIGNMENT_IN_PROGRESS"),
        ((0, 1), "NONE"),
        ((3,), "NONE"),
    ],
)
def test_answers_of_a_reassignment(replicas, error: str) -> None:
    """Targets must be registered and distinct; fenced ones are accepted; nothing to do is no error."""
    controller = with_topic(cluster(4, fenced=(3,)), "foo", (0, 1))
    found, after = asked(controller, replicas)
    assert found == error
    assert (after == controller) == (replicas != (3,))
    assert error in CODES


def test_reassignments_of_what_is_not_there() -> None:
    """Unknown topics and partitions fail their row only."""
    controller = with_topic(cluster(3), "foo", (0, 1))
    rows = (Reassignment("bar", 0, (0,)), Reassignment("foo", 7, None), Reassignment("foo", 0, (2, 1)))
    outcome = reassign(controller, rows, KAFKA)
    assert [row.error for row in outcome.response] == ["UNKNOWN_TOPIC_OR_PARTITION"] * 2 + ["NONE"]
    after = play(controller, outcome)
    assert [(row.removing, row.adding, row.replicas) for row in ongoing(after)] == [((0,), (2,), (2, 1, 0))]
    assert ongoing(after, {"foo": (1,)}) == ongoing(after, {"bar": (0,)}) == ()
    assert ongoing(after, {"foo": (0,)}) == ongoing(after)


def test_a_permutation_completes_at_once() -> None:
    """A target that only reorders needs nobody to catch up."""
    _, after = asked(with_topic(cluster(3), "foo", (0, 1, 2)), (2, 1, 0))
    assert list(partition(after).replicas) == [2, 1, 0]
    assert ongoing(after) == ()


@pytest.mark.parametrize(("rules", "removing"), [(KAFKA, [0]), (FIXED, [])])
def test_another_target_and_the_old_removals(rules, removing: list[int]) -> None:
    """A superset as second target keeps the first one's removals in the code; mended, it replaces them."""
    _, first = asked(with_topic(cluster(4), "foo", (0, 1)), (1, 2))
    _, second = asked(first, (0, 1, 2, 3), rules)
    assert list(partition(second).removing) == removing


def test_a_cancellation_goes_back() -> None:
    """Cancelling removes the added replicas and raises the leader epoch."""
    _, moving = asked(with_topic(cluster(4), "foo", (0, 1)), (1, 2))
    error, after = asked(moving, None)
    p = partition(after)
    assert error == "NONE"
    assert (sorted(p.replicas), lists(p), p.leader_epoch) == ([0, 1], ([0, 1], [], 0), 1)


@pytest.mark.parametrize(("rules", "recovering"), [(KAFKA, False), (FIXED, True)])
def test_an_unclean_cancellation_needs_permission(rules, recovering: bool) -> None:
    """With no original replica in sync the topic must allow it; the code then forgets to mark the recovery."""
    state = {"replicas": (0, 1, 2), "isr": (2,), "adding": (2,), "leader": 2}
    forbidden = changed(with_topic(cluster(3), "foo", (0, 1)), **state)
    assert asked(forbidden, None)[0] == "INVALID_REPLICA_ASSIGNMENT"
    allowed = changed(with_topic(cluster(3), "foo", (0, 1), **ALLOWED), **state)
    error, after = asked(allowed, None, rules)
    assert error == "NONE"
    p = partition(after)
    assert (lists(p), list(p.replicas), p.recovering) == (([0], [], 0), [0, 1], recovering)


@pytest.mark.parametrize(("rules", "error"), [(KAFKA, "NONE"), (FIXED, "INVALID_REPLICA_ASSIGNMENT")])
def test_an_unclean_cancellation_needs_a_live_replica(rules, error: str) -> None:
    """As implemented a fenced replica becomes the ISR; mended, one that can lead must be left."""
    dead = changed(with_topic(cluster(3), "foo", (0,), **ALLOWED), replicas=(1, 0), isr=(1,), adding=(1,), leader=1)
    dead = play(dead, expire_session(dead, 0, KAFKA))
    assert asked(dead, None, rules)[0] == error


def test_without_original_replicas_there_is_no_way_back() -> None:
    """A partition whose replicas are all being added cannot be cancelled."""
    controller = changed(with_topic(cluster(2), "foo", (0, 1)), adding=(0, 1))
    assert asked(controller, None)[0] == "INVALID_REPLICA_ASSIGNMENT"


def test_a_lookup_that_fails_is_no_answer() -> None:
    """Where Kafka looks up the directory of a broker that is no replica, the controller resigns."""
    controller = changed(with_topic(cluster(3), "foo", (0, 1)), isr=(2,), leader=2)
    with pytest.raises(NoReplica):
        elect_leaders(controller, PREFERRED, None, KAFKA)
    assert NoReplica.error in CODES


def test_a_lookup_that_fails_fails_its_row_of_a_reassignment() -> None:
    """A ghost in the ELR that a reassignment brings back fails its row, not the request."""
    controller = with_topic(cluster(3, elr_enabled=True), "foo", (0, 2), min_insync_replicas="2")
    controller = changed(controller, replicas=(0, 1), isr=(), elr=(2,), leader=-1, adding=(1,))
    grown = reassign(controller, (Reassignment("foo", 0, (0, 1, 2)),), KAFKA)
    assert [row.error for row in grown.response] == ["UNKNOWN_SERVER_ERROR"]
    assert grown.records == ()


def test_assignments_answer_for_each_replica() -> None:
    """Unknown topics, unknown partitions and foreign replicas have errors; no-ops write nothing."""
    controller = with_topic(cluster(3), "foo", (0, 1), (1, 2))
    foo = controller.topic_id("foo")
    wanted = (
        Assignment(directory(0), "none", 0),
        Assignment(directory(0), foo, 9),
        Assignment(directory(0), foo, 1),
        Assignment(directory(0), foo, 0),
    )
    outcome = assign_replicas_to_dirs(controller, 0, 100, wanted, KAFKA)
    errors = ["UNKNOWN_TOPIC_ID", "UNKNOWN_TOPIC_OR_PARTITION", "NOT_LEADER_OR_FOLLOWER", "NONE"]
    assert [row.error for row in outcome.response] == errors
    assert set(errors) <= CODES.keys()
    assert outcome.records == ()


def test_assignments_need_directories_then_an_epoch() -> None:
    """Metadata versions without directories refuse everybody, others only strangers."""
    with pytest.raises(RequestError, match="UNSUPPORTED_VERSION"):
        assign_replicas_to_dirs(cluster(2, directories=False), 9, 0, (), KAFKA)
    with pytest.raises(RequestError, match="STALE_BROKER_EPOCH"):
        assign_replicas_to_dirs(cluster(2), 0, 99, (), KAFKA)


@pytest.mark.parametrize("target", [LOST, 4711])
@pytest.mark.parametrize(("rules", "records"), [(KAFKA, 2), (FIXED, 1)])
def test_an_assignment_to_an_offline_directory(target: int, rules, records: int) -> None:
    """The replica's directory is recorded and the replica withdrawn; the code needs two records."""
    controller = with_topic(cluster(2), "foo", (0, 1))
    assignment = Assignment(target, controller.topic_id("foo"), 0)
    outcome = assign_replicas_to_dirs(controller, 0, 100, (assignment,), rules)
    p = partition(play(controller, outcome))
    assert (len(outcome.records), lists(p), p.directories.of(0)) == (records, ([1], [], 1), target)


@pytest.mark.parametrize(("rules", "elr"), [(KAFKA, []), (FIXED, [1])])
def test_an_assignment_and_the_elr(rules, elr: list[int]) -> None:
    """In the code every change of a directory clears the ELR; mended, it does not."""
    controller = with_topic(cluster(2, elr_enabled=True), "foo", (0, 1), min_insync_replicas="2")
    controller = changed(controller, isr=(0,), elr=(1,), directories=(1, directory(1)))
    assignment = Assignment(directory(0), controller.topic_id("foo"), 0)
    after = play(controller, assign_replicas_to_dirs(controller, 0, 100, (assignment,), rules))
    assert lists(partition(after)) == ([0], elr, 0)


@pytest.mark.parametrize(("rules", "leader"), [(KAFKA, 0), (FIXED, -1)])
def test_a_dead_last_known_leader(rules, leader: int) -> None:
    """The code elects the last known leader although it is fenced; mended, it waits for it."""
    controller = with_topic(cluster(3, elr_enabled=True), "foo", (0, 1))
    controller = changed(controller, isr=(), leader=-1, last_known_elr=(0,))
    for broker in (0, 2):
        controller = play(controller, expire_session(controller, broker, FIXED))
    after = play(controller, heartbeat(controller, beat(2), rules))
    assert partition(after).leader == leader


def test_directories_unknown_to_the_documents() -> None:
    """A broker with one directory is online wherever its replica is said to be, by KIP-858 only."""
    controller = changed(with_topic(cluster(2), "foo", (0, 1)), directories=(4711, directory(1)), leader=1)
    outcome = elect_leaders(controller, PREFERRED, None, KAFKA)
    assert [row.error for row in outcome.response] == ["PREFERRED_LEADER_NOT_AVAILABLE"]
    by_document = elect_leaders(controller, PREFERRED, None, parse("kip"))
    assert [row.error for row in by_document.response] == ["NONE"]


@pytest.mark.parametrize(("rules", "isr"), [(KAFKA, [-1]), (FIXED, [])])
def test_nobody_can_be_the_isr(rules, isr: list[int]) -> None:
    """As implemented "broker" -1 is elected where it is the last known leader; mended, nobody is."""
    controller = with_topic(cluster(3, elr_enabled=True), "foo", (1, 2), min_insync_replicas="2")
    controller = changed(controller, isr=(), elr=(1,), last_known_elr=(-1,), leader=1)
    after = play(controller, unclean_shutdown(controller, 1, rules), rules)
    assert lists(partition(after)) == (isr, [], -1)
