"""Elections, reassignments and directory assignments that are asked for, and the timers that elect."""

from __future__ import annotations

import pytest
from attrs import evolve

from kraftcheck.model.controller.brokers import unclean_shutdown
from kraftcheck.model.controller.elections import PREFERRED, balance_leaders, elect_leaders, elect_unclean
from kraftcheck.model.controller.errors import CODES
from kraftcheck.model.controller.partitions import Assignment, Reassignment, assign_replicas_to_dirs, ongoing, reassign
from kraftcheck.model.controller.state import Settings
from kraftcheck.model.rules.ruleset import parse
from tests.model.controller.controllers import (
    FIXED,
    KAFKA,
    changed,
    cluster,
    directory,
    lists,
    partition,
    play,
    with_topic,
)

ALLOWED = {"unclean_leader_election_enable": "true"}


def test_all_partitions_report_only_what_was_needed() -> None:
    """Asked of every partition, those that need no election are left out."""
    controller = with_topic(cluster(3), "foo", (0, 1), (1, 0), (2, 0))
    controller = changed(changed(controller, leader=1), "foo", 2, leader=-1, isr=())
    outcome = elect_leaders(controller, PREFERRED, None, KAFKA)
    assert [(row.partition, row.error) for row in outcome.response] == [
        (0, "NONE"),
        (2, "PREFERRED_LEADER_NOT_AVAILABLE"),
    ]


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
