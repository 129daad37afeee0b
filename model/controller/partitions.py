"""Partitions: one change build with the whole controller's state, and what brokers and users ask of one.

AlterPartition, AssignReplicasToDirs, AlterPartitionReassignments, and replica lists that are given by hand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import cast

from attrs import evolve, field, frozen

from kraftcheck.model.controller.errors import NONE, NoReplica, RequestError, Resignation
from kraftcheck.model.controller.state import Controller, Outcome, Place
from kraftcheck.model.language.brokersets import Brokers
from kraftcheck.model.language.idlists import IdList
from kraftcheck.model.language.words import rule
from kraftcheck.model.partition.change import build
from kraftcheck.model.partition.registration import UNASSIGNED, DirectoryList, DirectoryMismatch, Partition, merge
from kraftcheck.model.records.records import Ids, PartitionChangeRecord, PartitionRecord, ids
from kraftcheck.model.rules.groups import ControllerRules, PartitionRules
from kraftcheck.model.rules.ruleset import RuleSet
from kraftcheck.model.triggers import table as reassigning
from kraftcheck.model.triggers.leadership import (
    ELIGIBLE,
    ERRORS,
    MEMBER_EPOCHS,
    REPLICAS,
    epoch_checks,
    isr_checks,
    kept_out,
    lookup_failed,
    may_be_named,
    may_lead,
    member_checks,
    proposed,
    sender_check,
)
from kraftcheck.model.triggers.table import (
    Pass,
    Permits,
    Trigger,
    alter,
    assign,
    context,
    default_directory,
    first_isr,
    needs_leader,
    needs_preferred,
    ordinary,
    targets_registered,
)


def permits(controller: Controller, place: Place, rules: PartitionRules) -> Permits:
    """The permissions that topic and cluster give."""
    return Permits(controller.unclean_election(place.topic_id, rules), controller.features.elr(rules))


def acceptable(controller: Controller, p: Partition, trigger: Trigger, rules: PartitionRules) -> Brokers:
    """Brokers that pass the leader test for a trigger."""
    return may_lead(controller.cluster(), offline(controller, p, rules), trigger.barred, trigger.counted, rules)


def offline(controller: Controller, p: Partition, rules: PartitionRules) -> IdList:
    """Replicas on registered brokers that are in no online directory."""
    known = controller.image.registrations
    replicas = (broker for broker in ids(p.replicas) if broker in known)
    return IdList.of(b for b in replicas if not known[b].has_online_dir(int(p.directories.of(b)), rules))


def eligible(controller: Controller, place: Place, rules: PartitionRules) -> Brokers:
    """Brokers that may lead as the partition is."""
    p = place.partition
    return acceptable(controller, p, ordinary(p, permits(controller, place, rules)), rules)


def directory_of_new_replica(controller: Controller, broker: int, rules: PartitionRules) -> int:
    """The directory of a new replica on a broker; source: `ClusterControlManager.defaultDir`."""
    known, supported = controller.registration(broker), controller.features.directories
    dirs = () if known is None else known.dirs
    only = dirs[0] if dirs else UNASSIGNED
    return int(default_directory(known is not None, len(dirs), only, supported, rules))


def decide(controller: Controller, place: Place, wanted: Pass, rules: RuleSet) -> PartitionChangeRecord | None:
    """The change of one partition by a pass; None where nothing changes, or the partition is not concerned.

    Args:
        controller: the state before the event.
        wanted: what the event wants of it.

    Raises:
        NoReplica: when Kafka would look up the directory of a broker that is no replica.
    """
    if not wanted.when:
        return None
    p, trigger = place.partition, wanted.trigger
    directories = cast(DirectoryList, p.directories)
    moved = directories if wanted.placed is None else directories.moved(*wanted.placed)
    able = acceptable(controller, evolve(p, directories=moved), trigger, rules.partition)
    given = context(
        trigger,
        able,
        controller.min_isr(place.topic_id, place.index, rules.controller),
        lambda broker: directory_of_new_replica(controller, int(broker), rules.partition),
        directory_assignment=controller.features.directories,
        leader_recovery=controller.features.leader_recovery,
        bump_on_isr_shrink=controller.features.bump_on_isr_shrink or rules.partition.bump_on_isr_shrink,
    )
    built = build(p, wanted.target, given, rules.partition)
    if lookup_failed(built.election, p.replicas, able):
        raise NoReplica(f"broker {built.election.leader} has no directory: it is no replica")
    return None if built.change.is_noop() else PartitionChangeRecord(place.topic_id, place.index, built.change)


Wanted = Callable[[Partition, Permits], Pass]
"""What a trigger wants of a partition, given what its topic and the cluster allow."""


def always(wanted: Wanted) -> Wanted:
    """The same of every partition that is visited: a broker that an index lists need not be in the set any more."""
    return lambda p, allowed: evolve(wanted(p, allowed), when=True)


def decide_each(
    controller: Controller, places: Iterable[Place], wanted: Wanted, rules: RuleSet
) -> tuple[PartitionChangeRecord, ...]:
    """The changes of a trigger to these partitions, each decided on the state before the event."""
    changes = (
        decide(controller, place, wanted(place.partition, permits(controller, place, rules.partition)), rules)
        for place in places
    )
    return tuple(change for change in changes if change is not None)


def in_isr(controller: Controller, broker: int) -> tuple[Place, ...]:
    """Partitions with the broker in the ISR."""
    return tuple(place for place in controller.places() if place.partition.isr.has(broker))


@rule("elr-index.lists-existing-topics",
      source="ReplicationControlManager.generateLeaderAndIsrUpdates; ReplicationControlManager.removeTopicElrs",
      switches=("cleared-elr-stays-indexed",),
      says="The index of ELR members lists partitions that exist; one of a deleted topic makes the controller "
           "resign.")  # fmt: skip
def in_elr(controller: Controller, broker: int) -> tuple[Place, ...]:
    """Partitions that the index of ELR members lists for a broker: those with the broker in the ELR.

    As found some are listed that have it no more, and some twice.

    Raises:
        Resignation: where a topic is listed that does not exist.
    """
    index = controller.elr_index
    differing = index.topics_of(broker)
    places = [
        place for place in controller.places() if place.topic_id not in differing and place.partition.elr.has(broker)
    ]
    for topic_id in differing:
        topic = controller.image.topics.get(topic_id)
        if topic is None:
            raise Resignation(f"topic {topic_id} existed in the index of ELR members, but not in the topics map")
        listed = index.partitions(broker, topic_id, topic)
        places += [Place(topic_id, number, topic.partitions[number]) for number in listed]
    return tuple(places)


def led_by(controller: Controller, broker: int) -> tuple[Place, ...]:
    """Partitions that the broker leads.

    The index that Kafka asks lists brokers by ISR, so a leader outside the
    ISR (defect B8) is not found.
    """
    return tuple(place for place in in_isr(controller, broker) if place.partition.leader == broker)


def leaderless(controller: Controller) -> tuple[Place, ...]:
    """Partitions without a leader."""
    return tuple(place for place in controller.places() if needs_leader(place.partition))


@rule("timer.balance", source="semantics 3; ReplicationControlManager.maybeBalancePartitionLeaders",
      says="The balance timer holds preferred elections where the first replica does not lead.")  # fmt: skip
def imbalanced(controller: Controller) -> tuple[Place, ...]:
    """Partitions that their first replica does not lead, leaderless ones included."""
    return tuple(place for place in controller.places() if needs_preferred(place.partition))


UNCHECKED = -1  # the epoch of a member whose epoch the leader does not state


@frozen
class Proposal:
    """The ISR that a leader wants, and the state that it believes in."""

    topic: str  # the topic's name up to version 1, its id from version 2 on
    partition: int  # index of the partition
    # leader_epoch, partition_epoch: as the leader knows them
    leader_epoch: int
    partition_epoch: int
    new_isr: tuple[tuple[int, int], ...]  # members with their broker epochs, UNCHECKED where not stated
    recovering: bool = False  # whether the leader still recovers from an unclean election


@frozen
class AlterPartitionRequest:
    """A leader's proposals; versions differ in names, epochs and error codes."""

    broker: int
    broker_epoch: int
    proposals: tuple[Proposal, ...]
    version: int = 3


@frozen
class Altered:
    """The answer to one proposal."""

    # proposal, error: which, and what it is answered
    proposal: Proposal
    error: str
    state: Partition | None = None  # the partition as merged, where it was accepted
    reason: str = field(default="", eq=False)  # the check that refused it, in words; not part of the answer


@rule("alter-partition.sender-of-current-incarnation",
      source="semantics 4; ClusterControlManager.checkBrokerEpoch; ReplicationControlManager.alterPartition",
      says="AlterPartition of an earlier incarnation of the sender is refused as a whole.")  # fmt: skip
def alter_partition(
    controller: Controller, request: AlterPartitionRequest, rules: RuleSet
) -> Outcome[tuple[Altered, ...]]:
    """Every proposal is judged and built on the state before the event; raises RequestError with STALE_BROKER_EPOCH."""
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
    failed = first_failed(controller, request, proposal, p, rules)
    if failed is not None:
        late = failed in (ELIGIBLE, MEMBER_EPOCHS) and request.version <= 1
        return Altered(proposal, "OPERATION_NOT_ATTEMPTED" if late else ERRORS[failed], reason=failed), None
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


def first_failed(
    controller: Controller, request: AlterPartitionRequest, proposal: Proposal, p: Partition, rules: RuleSet
) -> str | None:
    """The first check that refuses a proposal for a partition that exists; None where none does."""
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
    return next((name for name in ERRORS if not checks[name]), None)


def _outdated(controller: Controller, proposal: Proposal) -> bool:
    """Whether a member's stated epoch is of another incarnation than the one registered."""
    known = controller.image.registrations
    stated = ((broker, epoch) for broker, epoch in proposal.new_isr if epoch != UNCHECKED)
    return any(broker in known and known[broker].epoch != epoch for broker, epoch in stated)


@frozen
class Assignment:
    """One replica of the sender and its directory."""

    directory: int
    topic_id: str
    partition: int


@frozen
class AssignmentResult:
    """The answer for one assignment."""

    assignment: Assignment
    error: str


def assign_replicas_to_dirs(
    controller: Controller, broker: int, broker_epoch: int, assignments: tuple[Assignment, ...], rules: RuleSet
) -> Outcome[tuple[AssignmentResult, ...]]:
    """A broker's assignments; a directory that is offline also ends leadership and ISR membership there.

    Raises:
        RequestError: UNSUPPORTED_VERSION, STALE_BROKER_EPOCH.
    """
    if not controller.features.directories:
        raise RequestError("UNSUPPORTED_VERSION", "no_directory_assignment")
    known = controller.check_epoch(broker, broker_epoch)
    results, placed, withdrawn = [], [], {}
    for assignment in assignments:
        error = _error(controller, broker, assignment)
        results.append(AssignmentResult(assignment, error))
        if error != NONE:
            continue
        place, offline = _place(controller, assignment), not known.has_online_dir(assignment.directory, rules.partition)
        allowed = permits(controller, place, rules.partition)
        first, *further = assign(place.partition, allowed, broker, assignment.directory, offline, rules.partition)
        placed.append(decide(controller, place, first, rules))
        for wanted in further:
            if wanted.when:
                withdrawn[place.topic_id, place.index] = place, wanted
    placed += [decide(controller, place, wanted, rules) for place, wanted in withdrawn.values()]
    return Outcome(tuple(change for change in placed if change is not None), tuple(results), controller.soft)


@rule("assignment.own-replicas-only", source="KIP-858; semantics 6.2",
      says="A broker assigns directories of its own replicas only.")  # fmt: skip
def _error(controller: Controller, broker: int, assignment: Assignment) -> str:
    if assignment.topic_id not in controller.image.topics:
        return "UNKNOWN_TOPIC_ID"
    p = controller.image.partition(assignment.topic_id, assignment.partition)
    if p is None:
        return "UNKNOWN_TOPIC_OR_PARTITION"
    return NONE if p.replicas.has(broker) else "NOT_LEADER_OR_FOLLOWER"


def _place(controller: Controller, assignment: Assignment) -> Place:
    topic = controller.topic(assignment.topic_id)
    return Place(assignment.topic_id, assignment.partition, topic.partitions[assignment.partition])


@rule("assignment-by-hand.registered-and-distinct",
      source="semantics 8; ReplicationControlManager.validateManualPartitionAssignment",
      says="A replica list given by hand names registered brokers, each once.")  # fmt: skip
def check_assignment(controller: Controller, replicas: Ids, rules: ControllerRules, factor: int | None = None) -> None:
    """Refuse a replica list that cannot be.

    Args:
        rules: the rule set's part for the controller.
        factor: how many replicas are wanted; None takes any number.

    Raises:
        RequestError: INVALID_REPLICA_ASSIGNMENT.
    """
    if not replicas:
        raise RequestError("INVALID_REPLICA_ASSIGNMENT", "empty")
    previous, registered = None, IdList(tuple(b for b in replicas if controller.registration(b) is not None))
    for broker in sorted(replicas):
        if not targets_registered(IdList((broker,)), registered):
            raise RequestError("INVALID_REPLICA_ASSIGNMENT", "broker_not_registered")
        known = controller.registration(broker)
        if not may_be_named(known is None or known.takes_replicas(), rules):
            raise RequestError("INVALID_REPLICA_ASSIGNMENT", "all_directories_cordoned")
        if broker == previous:
            raise RequestError("INVALID_REPLICA_ASSIGNMENT", "duplicate_broker")
        previous = broker
    if factor is not None and len(replicas) != factor:
        raise RequestError("INVALID_REPLICA_ASSIGNMENT", "replication_factor_differs")


def new_partition(
    controller: Controller, topic_id: str, index: int, replicas: Ids, rules: PartitionRules
) -> PartitionRecord | None:
    """The record of a new partition; None when no replica is active.

    The active replicas are the ISR and the first of them leads; whether their
    directories are online is not asked.
    """
    able = IdList.of(broker for broker in replicas if controller.is_active(broker))
    if able.is_empty():
        return None
    isr = ids(first_isr(IdList(replicas), able, rules))
    placed = tuple(directory_of_new_replica(controller, broker, rules) for broker in replicas)
    return PartitionRecord(
        topic_id,
        index,
        replicas=replicas,
        isr=isr,
        leader=isr[0],
        leader_epoch=0,
        partition_epoch=0,
        directories=placed if controller.features.directories else None,
    )


@frozen
class Reassignment:
    """The replicas wanted for a partition, named by its topic; None cancels."""

    topic: str
    partition: int
    replicas: Ids | None


@frozen
class Reassigned:
    """The answer for one partition; the reason of an error is not part of it."""

    reassignment: Reassignment
    error: str
    reason: str = field(default="", eq=False)


@frozen
class Ongoing:
    """A reassignment that runs."""

    topic: str
    partition: int
    removing: Ids
    adding: Ids
    replicas: Ids


@rule("reassignment.rows-are-independent",
      source="semantics 3; ReplicationControlManager.alterPartitionReassignments",
      says="Each row of a reassignment request succeeds or fails for itself.")  # fmt: skip
def reassign(
    controller: Controller, reassignments: tuple[Reassignment, ...], rules: RuleSet, factor_may_change: bool = True
) -> Outcome[tuple[Reassigned, ...]]:
    """Every row is judged for itself; an exception, or one record too many, only fails its row.

    Args:
        factor_may_change: False refuses a row with another number of replicas, where the rules know that request.
    """
    fixed_factor = rules.controller.factor_change_can_be_forbidden and not factor_may_change
    results: list[Reassigned] = []
    records: list[PartitionChangeRecord] = []
    for wanted in reassignments:
        try:
            record = _row(controller, wanted, rules, fixed_factor)
            if record is not None and len(records) >= controller.settings.max_records:
                raise Resignation("too many records for one request")
        except RequestError as refusal:
            results.append(Reassigned(wanted, refusal.error, refusal.reason))
            continue
        except (Resignation, DirectoryMismatch) as fault:
            results.append(Reassigned(wanted, Resignation.error, str(fault)))
            continue
        results.append(Reassigned(wanted, NONE))
        records += [] if record is None else [record]
    return Outcome(tuple(records), tuple(results), controller.soft, atomic=True)


def _row(
    controller: Controller, wanted: Reassignment, rules: RuleSet, fixed_factor: bool
) -> PartitionChangeRecord | None:
    topic_id = controller.topic_id(wanted.topic)
    p = None if topic_id is None else controller.image.partition(topic_id, wanted.partition)
    if topic_id is None or p is None:
        raise RequestError("UNKNOWN_TOPIC_OR_PARTITION")
    place = Place(topic_id, wanted.partition, p)
    if wanted.replicas is None:
        return _cancel(controller, place, rules)
    check_assignment(controller, wanted.replicas, rules.controller)
    if fixed_factor:
        _check_factor(p, wanted.replicas)
    permitted = permits(controller, place, rules.partition)
    started = reassigning.reassign(p, permitted, IdList(wanted.replicas), rules.partition)
    return decide(controller, place, started, rules)


@rule("reassignment.factor-kept-on-request",
      source="KIP-860; ReplicationControlManager.validatePartitionReplicationFactorUnchanged",
      switches=("factor-change-can-be-forbidden",),
      says="From 4.1.0 on a request may forbid another number of replicas than the partition has, or is to have once "
           "its reassignment completes.")  # fmt: skip
def _check_factor(p: Partition, replicas: Ids) -> None:
    """Refuse another number of replicas; cancelling is never refused for it.

    Raises:
        RequestError: INVALID_REPLICATION_FACTOR.
    """
    if len({*ids(p.replicas), *ids(p.adding)} - {*ids(p.removing)}) != len(replicas):
        raise RequestError("INVALID_REPLICATION_FACTOR", "changed")


def _cancel(controller: Controller, place: Place, rules: RuleSet) -> PartitionChangeRecord | None:
    """Back to the original replicas, if nothing forbids it."""
    p, allowed = place.partition, permits(controller, place, rules.partition)
    checks = reassigning.may_cancel(p, eligible(controller, place, rules.partition), allowed.unclean, rules.partition)
    for name, (error, reason) in reassigning.CANCEL_ERRORS.items():
        if not checks[name]:
            raise RequestError(error, reason)
    return decide(controller, place, reassigning.cancel(p, allowed, rules.partition), rules)


def ongoing(controller: Controller, topics: Mapping[str, Ids] | None = None) -> tuple[Ongoing, ...]:
    """The reassignments that run, of all partitions or of those listed by topic."""
    found = []
    for place in controller.places():
        name, p = controller.topic(place.topic_id).name, place.partition
        if p.reassigning() and (topics is None or place.index in topics.get(name, ())):
            found.append(Ongoing(name, place.index, ids(p.removing), ids(p.adding), ids(p.replicas)))
    return tuple(found)
