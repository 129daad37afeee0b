"""AlterPartition: a leader proposes another ISR.

Source: `ReplicationControlManager.alterPartition`, `validateAlterPartitionData`.
"""

from __future__ import annotations

from attrs import evolve, frozen

from model.change import Target
from model.controller.errors import NONE
from model.controller.passes import Trigger, decide
from model.controller.state import Controller, Outcome, Place
from model.idlists import IdList
from model.partition import Partition, merge
from model.records import PartitionChangeRecord
from model.rules import RuleSet

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
    target = evolve(Target.of(p), isr=members, recovering=proposal.recovering)
    record = decide(controller, Place(topic_id, proposal.partition, p), target, Trigger(), rules)
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
    """The first check that refuses a proposal for a partition that exists, or NONE.

    A proposal from the future means that this controller is out of date.
    """
    ahead = proposal.partition_epoch > p.partition_epoch and not rules.alter_partition_ignores_partition_epoch
    if proposal.leader_epoch > p.leader_epoch or ahead:
        return "NOT_CONTROLLER"
    if proposal.leader_epoch < p.leader_epoch:
        return "FENCED_LEADER_EPOCH"
    if request.broker != p.leader:
        return "INVALID_REQUEST"
    if proposal.partition_epoch < p.partition_epoch and not rules.alter_partition_ignores_partition_epoch:
        return "INVALID_UPDATE_VERSION"
    members = [broker for broker, _ in proposal.new_isr]
    distinct = len(set(members)) == len(members)
    if not distinct or not all(b >= 0 and p.replicas.has(b) for b in members) or p.leader not in members:
        return "INVALID_REQUEST"
    grows = len(members) > 1 and not rules.recovering_isr_may_grow
    if proposal.recovering and (grows or not p.recovering):
        return "INVALID_REQUEST"
    if not all(is_eligible(controller, broker, epoch, rules) for broker, epoch in proposal.new_isr):
        return "INELIGIBLE_REPLICA" if request.version > 1 else "OPERATION_NOT_ATTEMPTED"
    return NONE


def is_eligible(controller: Controller, broker: int, epoch: int, rules: RuleSet) -> bool:
    """Whether a broker may be in an ISR: registered, neither leaving nor fenced, of the stated epoch."""
    known = controller.registration(broker)
    if known is None or (known.in_controlled_shutdown and not rules.shutting_down_may_join_isr):
        return False
    if known.fenced and not rules.fenced_may_join_isr:
        return False
    return rules.alter_partition_ignores_broker_epoch or epoch in (UNCHECKED, known.epoch)
