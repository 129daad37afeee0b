"""AlterPartition: a leader proposes another ISR.

Source: `ReplicationControlManager.alterPartition`, `validateAlterPartitionData`.
"""

from __future__ import annotations

from attrs import evolve, frozen

from kraftcheck.model.controller.errors import NONE
from kraftcheck.model.controller.passes import decide, offline, permits
from kraftcheck.model.controller.state import Controller, Outcome, Place
from kraftcheck.model.language.idlists import IdList
from kraftcheck.model.language.rule import rule
from kraftcheck.model.partition.registration import Partition, merge
from kraftcheck.model.records.records import PartitionChangeRecord
from kraftcheck.model.rules.ruleset import RuleSet
from kraftcheck.model.triggers.alter_partition import (
    ELIGIBLE,
    ERRORS,
    MEMBER_EPOCHS,
    REPLICAS,
    epoch_checks,
    isr_checks,
    kept_out,
    member_checks,
    proposed,
    sender_check,
)
from kraftcheck.model.triggers.table import alter

UNCHECKED = -1
"""The epoch of a member whose epoch the leader does not state."""


@frozen
class Proposal:
    """The ISR that a leader wants, and the state that it believes in.

    Attributes:
        topic: the topic's name up to version 1, its id from version 2 on.
        partition: index of the partition.
        leader_epoch, partition_epoch: as the leader knows them.
        new_isr: members with their broker epochs, UNCHECKED where not stated.
        recovering: whether the leader still recovers from an unclean election.
    """

    topic: str
    partition: int
    leader_epoch: int
    partition_epoch: int
    new_isr: tuple[tuple[int, int], ...]
    recovering: bool = False


@frozen
class AlterPartitionRequest:
    """A leader's proposals; versions differ in names, epochs and error codes."""

    broker: int
    broker_epoch: int
    proposals: tuple[Proposal, ...]
    version: int = 3


@frozen
class Altered:
    """The answer to one proposal; `state` is the partition as merged, where it was accepted."""

    proposal: Proposal
    error: str
    state: Partition | None = None


@rule("alter-partition.sender-of-current-incarnation",
      source="semantics 4; ClusterControlManager.checkBrokerEpoch; ReplicationControlManager.alterPartition",
      says="AlterPartition of an earlier incarnation of the sender is refused as a whole.")  # fmt: skip
def alter_partition(
    controller: Controller, request: AlterPartitionRequest, rules: RuleSet
) -> Outcome[tuple[Altered, ...]]:
    """Every proposal is judged and built on the state before the event.

    Raises:
        RequestError: STALE_BROKER_EPOCH.
    """
    controller.check_epoch(request.broker, request.broker_epoch)
    results, records = [], []
    for proposal in request.proposals:
        if request.version < 3:
            proposal = evolve(proposal, new_isr=tuple((broker, UNCHECKED) for broker, _ in proposal.new_isr))
        result, record = _answer(controller, request, proposal, rules)
        results.append(result)
        records += [] if record is None else [record]
    return Outcome(tuple(records), tuple(results), controller.soft)


@rule("alter-partition.moved-leadership-is-answered", source="semantics 4; ReplicationControlManager.alterPartition",
      says="A proposal that completes a reassignment and moves leadership is written and answered "
           "NEW_LEADER_ELECTED.")  # fmt: skip
def _answer(
    controller: Controller, request: AlterPartitionRequest, proposal: Proposal, rules: RuleSet
) -> tuple[Altered, PartitionChangeRecord | None]:
    """The answer to one proposal and its record.

    A record that moves the leadership away, because it completes a
    reassignment, is written although the answer is an error.
    """
    topic_id = controller.topic_id(proposal.topic) if request.version <= 1 else proposal.topic
    if topic_id is None or topic_id not in controller.image.topics:
        unknown = "UNKNOWN_TOPIC_ID" if request.version > 1 else "UNKNOWN_TOPIC_OR_PARTITION"
        return Altered(proposal, unknown), None
    p = controller.image.partition(topic_id, proposal.partition)
    if p is None:
        return Altered(proposal, "UNKNOWN_TOPIC_OR_PARTITION"), None
    error = refusal(controller, request, proposal, p, rules)
    if error != NONE:
        return Altered(proposal, error), None
    members = IdList.of(broker for broker, _ in proposal.new_isr)
    place = Place(topic_id, proposal.partition, p)
    wanted = alter(p, permits(controller, place, rules.partition), proposed(p, members, proposal.recovering))
    record = decide(controller, place, wanted, rules)
    if record is None:
        return Altered(proposal, NONE, p), None
    leader = record.change.leader
    if leader.present and leader.value != request.broker:
        moved = "NEW_LEADER_ELECTED" if request.version > 1 else "FENCED_LEADER_EPOCH"
        return Altered(proposal, moved), record
    return Altered(proposal, NONE, merge(p, record.change)), record


def refusal(
    controller: Controller, request: AlterPartitionRequest, proposal: Proposal, p: Partition, rules: RuleSet
) -> str:
    """The first check that refuses a proposal for a partition that exists, or NONE."""
    members, cluster = IdList.of(broker for broker, _ in proposal.new_isr), controller.cluster()
    refused = kept_out(offline(controller, p, rules.partition), rules.directories)
    checks = {
        **epoch_checks(p, proposal.leader_epoch, proposal.partition_epoch, rules.data_plane),
        **sender_check(p.leader, request.broker, cluster),
        **isr_checks(p, members, proposal.recovering, rules.partition),
        **member_checks(members, cluster, _outdated(controller, proposal), refused, rules.data_plane),
    }
    if len(set(members)) != len(proposal.new_isr):
        checks[REPLICAS] = False  # a list may repeat a member, which no set can
    failed = next((name for name in ERRORS if not checks[name]), None)
    if failed in (ELIGIBLE, MEMBER_EPOCHS):
        return ERRORS[failed] if request.version > 1 else "OPERATION_NOT_ATTEMPTED"
    return NONE if failed is None else ERRORS[failed]


def _outdated(controller: Controller, proposal: Proposal) -> bool:
    """Whether a member's stated epoch is of another incarnation than the one registered."""
    known = controller.image.registrations
    stated = ((broker, epoch) for broker, epoch in proposal.new_isr if epoch != UNCHECKED)
    return any(broker in known and known[broker].epoch != epoch for broker, epoch in stated)
