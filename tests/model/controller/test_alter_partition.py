"""AlterPartition: each check in its order, codes by version, and what an accepted proposal answers."""

from __future__ import annotations

import pytest
from attrs import evolve

from kraftcheck.model.controller.partitions import (
    AlterPartitionRequest,
    Proposal,
    alter_partition,
)
from kraftcheck.model.controller.state import Controller
from kraftcheck.model.rules.ruleset import parse
from tests.model.controller.controllers import KAFKA, changed, cluster, partition, play, with_topic

BASE = changed(
    with_topic(cluster(7, fenced=(4,), leaving=(5,)), "foo", (0, 1, 2, 4, 5)), leader_epoch=3, partition_epoch=7
)
TOPIC = BASE.topic_id("foo")
GOOD = Proposal(TOPIC, 0, 3, 7, ((0, 100), (1, 101)))


def ask(
    proposal: Proposal, controller: Controller = BASE, sender: int = 0, version: int = 3, rules=KAFKA
) -> tuple[str, list, object]:
    """The error, the records and the answered state of one proposal."""
    if version <= 1:
        proposal = evolve(proposal, topic="foo" if proposal.topic == TOPIC else proposal.topic)
    request = AlterPartitionRequest(sender, 100 + sender, (proposal,), version)
    outcome = alter_partition(controller, request, rules)
    (row,) = outcome.response
    return row.error, list(outcome.records), row.state


CHECKS = [
    ({"leader_epoch": 4}, "NOT_CONTROLLER"),
    ({"partition_epoch": 8}, "NOT_CONTROLLER"),
    ({"leader_epoch": 2}, "FENCED_LEADER_EPOCH"),
    ({"sender": 1}, "INVALID_REQUEST"),
    ({"partition_epoch": 6}, "INVALID_UPDATE_VERSION"),
    ({"new_isr": ((0, 100), (1, 101), (1, 101), (4, 104))}, "INVALID_REQUEST"),
    ({"new_isr": ((0, 100), (6, 106), (4, 104))}, "INVALID_REQUEST"),
    ({"new_isr": ((0, 100), (-1, -1), (4, 104))}, "INVALID_REQUEST"),
    ({"new_isr": ((1, 101), (4, 104))}, "INVALID_REQUEST"),
    ({"new_isr": ()}, "INVALID_REQUEST"),
    ({"new_isr": ((0, 100), (4, 104)), "recovering": True}, "INVALID_REQUEST"),
    ({"new_isr": ((0, 100),), "recovering": True}, "INVALID_REQUEST"),
    ({"new_isr": ((0, 100), (4, 104))}, "INELIGIBLE_REPLICA"),
]
"""What breaks each check, in the order of the checks."""


@pytest.mark.parametrize("number", range(len(CHECKS)))
def test_the_first_check_that_fails_answers(number: int) -> None:
    """With a check and every later one broken, the answer is that check's; nothing is written."""
    broken: dict[str, object] = {}
    for breaks, _ in CHECKS[number:]:
        broken = {**breaks, **broken}
    sender = broken.pop("sender", 0)
    error, records, state = ask(evolve(GOOD, **broken), sender=sender)
    assert error == CHECKS[number][1]
    assert (records, state) == ([], None)


@pytest.mark.parametrize(
    ("member", "reason"),
    [((4, -1), "fenced"), ((5, -1), "leaving"), ((1, 999), "other epoch"), ((3, -1), "not registered")],
)
@pytest.mark.parametrize(("version", "error"), [(3, "INELIGIBLE_REPLICA"), (1, "OPERATION_NOT_ATTEMPTED")])
def test_ineligible_members(member: tuple[int, int], reason: str, version: int, error: str) -> None:
    """A member must be registered, neither fenced nor leaving, and of the epoch stated; old versions state none."""
    controller = BASE
    if reason == "not registered":
        gone = {broker: known for broker, known in BASE.image.registrations.items() if broker != 3}
        controller = changed(BASE, replicas=(0, 1, 3))
        controller = evolve(controller, image=evolve(controller.image, registrations=gone))
    expected = "NONE" if reason == "other epoch" and version < 3 else error
    assert ask(evolve(GOOD, new_isr=((0, 100), member)), controller, version=version)[0] == expected


def test_an_accepted_proposal_answers_the_merged_state() -> None:
    """The reply holds the state after the record, which is the state after the replay."""
    error, records, state = ask(GOOD)
    assert error == "NONE"
    assert len(records) == 1
    outcome = alter_partition(BASE, AlterPartitionRequest(0, 100, (GOOD,)), KAFKA)
    assert partition(play(BASE, outcome)) == state
    assert (list(state.isr), state.leader_epoch, state.partition_epoch) == ([0, 1], 3, 8)


def test_recovery_ends_with_a_proposal() -> None:
    """A recovering leader may stay alone and recovering, or end the recovery; it may not start one."""
    recovering = changed(BASE, isr=(0,), recovering=True)
    assert ask(evolve(GOOD, new_isr=((0, 100),), recovering=True), recovering)[0] == "NONE"
    assert ask(evolve(GOOD, recovering=True), recovering)[0] == "INVALID_REQUEST"
    error, _, state = ask(GOOD, recovering)
    assert (error, state.recovering) == ("NONE", False)
    grows = parse("kafka-4.0+recovering-isr-may-grow")
    assert ask(evolve(GOOD, recovering=True), recovering, rules=grows)[0] == "NONE"


@pytest.mark.parametrize(
    ("variant", "changes"),
    [
        ("alter-partition-ignores-broker-epoch", {"new_isr": ((0, 100), (1, 999))}),
        ("alter-partition-ignores-partition-epoch", {"partition_epoch": 6}),
        ("alter-partition-ignores-partition-epoch", {"partition_epoch": 8}),
        ("fenced-may-join-isr", {"new_isr": ((0, 100), (4, 104))}),
        ("shutting-down-may-join-isr", {"new_isr": ((0, 100), (5, 105))}),
    ],
)
def test_seeded_defects_of_the_validation(variant: str, changes: dict[str, object]) -> None:
    """Each variant accepts what the right rules refuse."""
    assert ask(evolve(GOOD, **changes))[0] != "NONE"
    assert ask(evolve(GOOD, **changes), rules=parse(f"kafka-4.0+{variant}"))[0] == "NONE"


def test_proposals_of_one_request_share_one_base() -> None:
    """Two proposals for one partition are both judged on the state before the event."""
    other = evolve(GOOD, new_isr=((0, 100),))
    outcome = alter_partition(BASE, AlterPartitionRequest(0, 100, (GOOD, other)), KAFKA)
    assert [row.error for row in outcome.response] == ["NONE", "NONE"]
    assert partition(play(BASE, outcome)).partition_epoch == 9


@pytest.mark.parametrize(
    ("rules", "error"), [("fixed", "INELIGIBLE_REPLICA"), ("kafka-4.0", "NONE"), ("kafka-4.4.0", "NONE")]
)
def test_a_member_on_an_unregistered_directory(rules: str, error: str) -> None:
    """By the right rules it is refused like a fenced one; the releases do not look at directories (X8)."""
    placed = changed(BASE, directories=(1000, 9999, 1020, 1040, 1050))
    joining = changed(placed, isr=(0, 2))
    assert ask(GOOD, joining, rules=parse(rules))[0] == error
    assert ask(GOOD, changed(BASE, isr=(0, 2)), rules=parse(rules))[0] == "NONE"
