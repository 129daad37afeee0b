"""Who may lead and be in sync, and which errors requests get; and what a heartbeat makes of a broker."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from attrs import evolve, frozen

from kraftcheck.model.language.brokersets import Brokers
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import all_of, any_of, choose, implies, negate, none_of, rule
from kraftcheck.model.partition.change import Target
from kraftcheck.model.partition.election import Election
from kraftcheck.model.partition.registration import MIGRATING, UNASSIGNED, Partition, is_online
from kraftcheck.model.rules.groups import ControllerRules, DataPlaneRules, DirectoryRules, PartitionRules

STATE, DIRECTORIES = "state", "directories"


@rule("heartbeat.directories-first", source="B8; X2; ReplicationControlManager.processBrokerHeartbeat",
      switches=("passes-share-one-base",),
      says="The failed directories of a heartbeat are decided before the broker's new state.")  # fmt: skip
def passes_in_order(rules: PartitionRules) -> tuple[str, str]:
    """Which of the two is decided first; the code looks at the directories last, mended they come first."""
    return (STATE, DIRECTORIES) if rules.passes_share_one_base else (DIRECTORIES, STATE)


@rule("event.later-pass-sees-earlier", source="B8; semantics 1.3; KAFKA-13173", switches=("passes-share-one-base",),
      says="Of two passes of one event, the second is decided on what the first has left.")  # fmt: skip
def second_sees_first(rules: PartitionRules) -> bool:
    """Whether the second pass is decided on what the first has left; the code decides both on one state."""
    return not rules.passes_share_one_base


@rule("answer.waits-for-commit", source="KIP-631; QuorumController", switches=("answered-before-commit",),
      says="A request is answered once the records of its decision are committed, and never by a controller that is "
           "deposed before.")  # fmt: skip
def answers_uncommitted(rules: DataPlaneRules) -> bool:
    """Whether a broker hears of a decision that another controller, taking over, does not have."""
    return rules.answered_before_commit


@rule("cordoning.of-each-directory-cordons-the-broker", source="KIP-1066; BrokerRegistration.hasUncordonedDirs",
      says="A broker takes no new replica once each of its directories is cordoned; one that has named none, "
           "or whose directories are unknown, takes them.")  # fmt: skip
def takes_replicas(unknown: Truth, uncordoned: Truth) -> Truth:
    """Whether new replicas may be placed on a broker, as far as its directories go."""
    return any_of(unknown, uncordoned)


@rule("assignment-by-hand.on-brokers-that-take-replicas",
      source="KIP-1066; ReplicationControlManager.validateManualPartitionAssignment",
      switches=("cordoned-brokers-assignable",),
      says="From 4.4.0 on a replica list given by hand names no broker whose directories are all cordoned, not even "
           "one that has the replica already.")  # fmt: skip
def may_be_named(takes: Truth, rules: ControllerRules) -> Truth:
    """Whether a replica list given by hand may name a broker, by whether it takes new replicas."""
    return True if rules.cordoned_brokers_assignable else takes


@rule("unfence.directories-known", source="KIP-858; semantics 9",
      switches=("unfence-ignores-assignments", "one-directory-awaits-nothing"),
      says="A broker that registers directories stays fenced while the controller does not know in which of "
           "them a replica of it is; in steady state the document asks it where several are registered.")  # fmt: skip
def directory_known(replica: Truth, directory: Word, registered: Word, rules: DirectoryRules) -> Truth:
    """Whether one partition lets the controller unfence a broker; every partition must. No release asks.

    How many directories a broker has configured, no controller can know: those that failed are not registered. Of a
    broker that registers none nothing is asked: its version, or the metadata's, does not have them.

    Args:
        replica: whether the broker has a replica of the partition.
        directory: where the replica is assigned.
        registered: how many directories the broker registers.
    """
    if rules.unfence_ignores_assignments:
        return True
    least = 2 if rules.one_directory_awaits_nothing else 1
    known = none_of(directory == UNASSIGNED, directory == MIGRATING)
    return implies(all_of(replica, registered >= least), known)


@rule("unfence.offset-of-registration", switches=("unfence-needs-log-end",),
      source="KAFKA-13959; catalogue 42; BrokerHeartbeatManager.calculateNextBrokerState",
      says="To be unfenced a broker must have applied its own registration, and not all that was written "
           "since.")  # fmt: skip
def unfencing_offset(registration: Word, end: Word, rules: ControllerRules) -> Word:
    """The offset that a fenced broker must have applied, of that of its registration and the end of the log."""
    return end if rules.unfence_needs_log_end else registration


@rule("shutdown.offset-of-first-request", switches=("shutdown-offset-moves",),
      source="KAFKA-14292; catalogue 42; semantics 5; BrokerHeartbeatManager.maybeUpdateControlledShutdownOffset",
      says="A controlled shutdown waits for the metadata offset of its first heartbeat, not of a later "
           "one.")  # fmt: skip
def shutdown_offset(begun: Truth, first: Word, end: Word, rules: ControllerRules) -> Word:
    """The offset that other brokers must have applied: where the shutdown has begun, the log's end as it began."""
    return end if rules.shutdown_offset_moves else choose(begun, first, end)


@rule("broker-epoch.of-incarnation", switches=("reregistration-bumps-epoch",),
      source="KAFKA-16952; catalogue 45; invariant 31; ClusterControlManager.registerBroker",
      says="A new incarnation gets a new broker epoch, and the same incarnation keeps its own.")  # fmt: skip
def registered_epoch(amends: Truth, current: Word, new: Word, rules: ControllerRules) -> Word:
    """The epoch of a registration; `amends`: the process is registered already."""
    return new if rules.reregistration_bumps_epoch else choose(amends, current, new)


@rule("session.begins-with-the-controller", source="KAFKA-18138; KAFKA-19130; ClusterControlManager.activate",
      switches=("takeover-hears-fenced-brokers", "takeover-hears-nobody"),
      says="A controller that takes over counts each unfenced broker as heard of just now.")  # fmt: skip
def heard_at_takeover(fenced: Truth, rules: ControllerRules) -> Truth:
    """Whether a broker counts as heard of when a controller takes over."""
    if rules.takeover_hears_nobody:
        return False
    return any_of(negate(fenced), rules.takeover_hears_fenced_brokers)


class Cluster(Protocol):
    """The brokers by their registrations; one that is not registered is in no other collection."""

    @property
    def registered(self) -> Brokers:
        """Brokers that are registered."""

    @property
    def fenced(self) -> Brokers:
        """Brokers that must not lead or be in an ISR."""

    @property
    def shutting_down(self) -> Brokers:
        """Brokers in controlled shutdown."""


@frozen
class Registered:
    """A cluster as three collections of one family; attributes as of `Cluster`."""

    registered: Brokers
    fenced: Brokers
    shutting_down: Brokers


@rule("leader.active", source="semantics 3; KIP-841; ClusterControlManager.isActive",
      says="A broker is active when it is registered, not fenced and not in controlled shutdown.")  # fmt: skip
def active(cluster: Cluster) -> Brokers:
    """Brokers that are registered, unfenced and not shutting down."""
    return cluster.registered.minus(cluster.fenced).minus(cluster.shutting_down)


@rule("leader.unfenced", source="KIP-631; semantics 3; LeaderAcceptor", switches=("fenced-leader-acceptable",),
      says="Only an active broker on an online directory is elected.")  # fmt: skip
@rule("unfence.not-active-while-shutting-down", source="B19; KIP-841",
      switches=("unfence-ignores-controlled-shutdown",),
      says="A broker in controlled shutdown does not count as active while it is being unfenced.")  # fmt: skip
def may_lead(cluster: Cluster, offline: Brokers, barred: Brokers, counted: Brokers, rules: PartitionRules) -> Brokers:
    """Brokers that pass the leader test.

    An active broker that is no replica has no directory to look up: Kafka
    throws there. Such brokers are kept, so that the election of one shows that
    the lookup was reached; see `lookup_failed`.

    Args:
        offline: replicas of the partition that are in no online directory.
        barred: brokers that may not lead, whatever their status.
        counted: brokers that count as active although still fenced.
    """
    able = active(cluster)
    if rules.fenced_leader_acceptable:
        able = cluster.registered.minus(cluster.shutting_down)
    if not rules.unfence_ignores_controlled_shutdown:
        counted = counted.minus(cluster.shutting_down)
    return able.plus(counted).minus(barred).minus(offline)


@rule("directory.unknown-is-online", source="KIP-858; semantics 6.1; DirectoryId.isOnline",
      switches=("unknown-directory-is-offline",),
      says="A replica whose directory is not known yet counts as online; by the letter of the document it is offline "
           "where its broker registers several.")  # fmt: skip
@rule("directory.last-one-hides-none", source="KIP-858; semantics 9; catalogue 30",
      switches=("one-directory-means-all-online",),
      says="A replica in an unknown directory is offline, also where its broker registers one "
           "directory only.")  # fmt: skip
def replica_online(
    directory: Word, registered: Truth, count: Word, untold: Truth, listed: Truth, rules: PartitionRules
) -> Truth:
    """Whether the controller takes a replica to be in an online directory.

    Args:
        registered: whether its broker is registered.
        count: how many directories the registration lists.
        untold: whether it lists none because the broker does not tell.
        listed: whether it lists this directory.
    """
    none_known = count <= 1 if rules.one_directory_means_all_online else untold
    online = is_online(directory, registered, none_known, listed)
    if not rules.unknown_directory_is_offline:
        return online
    return all_of(online, any_of(count <= 1, listed))


@rule("election.outsider-lookup-resigns", source="B1; B4; PartitionRegistration.directory; semantics 3",
      says="The controller resigns when an election asks for the directory of a broker that is no "
           "replica.")  # fmt: skip
def lookup_failed(election: Election, replicas: Brokers, eligible: Brokers) -> Truth:
    """Whether an election asked for the directory of a broker that is no replica; the controller resigns over it."""
    outsider = all_of(election.leader >= 0, negate(replicas.has(election.leader)))
    return all_of(outsider, any_of(negate(election.last_known), eligible.has(election.leader)))


NOT_AHEAD = "epochs are not ahead of the controller"
LEADER_EPOCH = "leader epoch is current"
SENDER = "sender leads and is registered"
PARTITION_EPOCH = "partition epoch is current"
REPLICAS = "ISR holds replicas only"
LEADER = "ISR holds the leader"
ONE_MEMBER = "a RECOVERING partition has one member"
NOT_ANEW = "RECOVERING is not requested anew"
ELIGIBLE = "members are unfenced and not shutting down"
MEMBER_EPOCHS = "members state their current epoch"

ERRORS: Mapping[str, str] = {
    NOT_AHEAD: "NOT_CONTROLLER",
    LEADER_EPOCH: "FENCED_LEADER_EPOCH",
    SENDER: "INVALID_REQUEST",
    PARTITION_EPOCH: "INVALID_UPDATE_VERSION",
    REPLICAS: "INVALID_REQUEST",
    LEADER: "INVALID_REQUEST",
    ONE_MEMBER: "INVALID_REQUEST",
    NOT_ANEW: "INVALID_REQUEST",
    ELIGIBLE: "INELIGIBLE_REPLICA",
    MEMBER_EPOCHS: "INELIGIBLE_REPLICA",
}
"""What Kafka answers where a check fails, in the order in which it asks."""


@rule("alter-partition.leader-epoch-current",
      source="semantics 4; ReplicationControlManager.validateAlterPartitionData",
      says="AlterPartition is refused when its leader epoch is not the partition's.")  # fmt: skip
@rule("alter-partition.partition-epoch-current",
      source="KAFKA-1382; semantics 4; ReplicationControlManager.validateAlterPartitionData",
      switches=("alter-partition-ignores-partition-epoch",),
      says="AlterPartition is refused when its partition epoch is not the partition's.")  # fmt: skip
def current_checks(p: Partition, leader_epoch: Word, partition_epoch: Word, rules: DataPlaneRules) -> dict[str, Truth]:
    """Whether the sender knows the newest state of the partition."""
    compared = not rules.alter_partition_ignores_partition_epoch
    behind = partition_epoch < p.partition_epoch if compared else False
    return {LEADER_EPOCH: leader_epoch >= p.leader_epoch, PARTITION_EPOCH: negate(behind)}


def epoch_checks(p: Partition, leader_epoch: Word, partition_epoch: Word, rules: DataPlaneRules) -> dict[str, Truth]:
    """Whether the sender knows the partition as it is; one from the future means that this controller is outdated."""
    ahead = False if rules.alter_partition_ignores_partition_epoch else partition_epoch > p.partition_epoch
    return {
        NOT_AHEAD: all_of(leader_epoch <= p.leader_epoch, negate(ahead)),
        **current_checks(p, leader_epoch, partition_epoch, rules),
    }


@rule("alter-partition.sender-leads", source="semantics 4; ReplicationControlManager.validateAlterPartitionData",
      says="AlterPartition is accepted from the leader only.")  # fmt: skip
def sender_check(leader: Word, sender: Word, cluster: Cluster) -> dict[str, Truth]:
    """Whether the request comes from the leader."""
    return {SENDER: all_of(sender == leader, leader >= 0, cluster.registered.has(leader))}


@rule("alter-partition.isr-of-replicas-with-leader",
      source="semantics 4; ReplicationControlManager.validateAlterPartitionData",
      says="A proposed ISR holds replicas only, the leader among them.")  # fmt: skip
@rule("alter-partition.recovering-isr-of-one",
      source="KIP-704; semantics 4; ReplicationControlManager.validateAlterPartitionData",
      switches=("recovering-isr-may-grow",), says="While RECOVERING, a proposed ISR has one member.")  # fmt: skip
def isr_checks(p: Partition, isr: Brokers, recovering: Truth, rules: PartitionRules) -> dict[str, Truth]:
    """Whether the partition may have this ISR, whoever its members are."""
    grows = False if rules.recovering_isr_may_grow else all_of(recovering, isr.size() > 1)
    return {
        REPLICAS: isr.within(p.replicas),
        LEADER: isr.has(p.leader),
        ONE_MEMBER: negate(grows),
        NOT_ANEW: implies(recovering, p.recovering),
    }


@rule("isr.join.unfenced", source="KAFKA-13916; KIP-841; ReplicationControlManager.ineligibleReplicasForIsr",
      switches=("fenced-may-join-isr",), says="A fenced broker may not be in a proposed ISR.")  # fmt: skip
@rule("isr.join.not-shutting-down", source="KAFKA-14140; KIP-841; ReplicationControlManager.ineligibleReplicasForIsr",
      switches=("shutting-down-may-join-isr",),
      says="A broker in controlled shutdown may not be in a proposed ISR.")  # fmt: skip
def may_join(cluster: Cluster, rules: DataPlaneRules) -> Brokers:
    """Brokers that may be in an ISR: registered, neither fenced nor shutting down."""
    able = cluster.registered
    if not rules.fenced_may_join_isr:
        able = able.minus(cluster.fenced)
    return able if rules.shutting_down_may_join_isr else able.minus(cluster.shutting_down)


@rule("isr.join.current-broker-epoch",
      source="KIP-903; KAFKA-14139; ReplicationControlManager.ineligibleReplicasForIsr",
      switches=("alter-partition-ignores-broker-epoch",),
      says="A member of a proposed ISR is of the broker's current incarnation.")  # fmt: skip
def member_checks(
    isr: Brokers, cluster: Cluster, outdated: Truth, refused: Brokers, rules: DataPlaneRules
) -> dict[str, Truth]:
    """Whether each member may be in an ISR.

    Args:
        outdated: whether some member's stated epoch is of an earlier incarnation.
        refused: replicas that their directory keeps out, of `kept_out`.
    """
    stale = False if rules.alter_partition_ignores_broker_epoch else outdated
    return {ELIGIBLE: isr.within(may_join(cluster, rules).minus(refused)), MEMBER_EPOCHS: negate(stale)}


@rule("isr.join.directory-online", source="X8; KIP-858", switches=("alter-partition-ignores-directories",),
      says="A broker whose replica is in an offline directory may not be in a proposed ISR.")  # fmt: skip
def kept_out(offline: Brokers, rules: DirectoryRules) -> Brokers:
    """Of the replicas in no online directory, those that may not be in a proposed ISR; the code looks at none (X8)."""
    return offline.none() if rules.alter_partition_ignores_directories else offline


def proposed(p: Partition, isr: Brokers, recovering: Truth) -> Target:
    """The change that an accepted proposal wants."""
    return evolve(Target.of(p), isr=isr, recovering=recovering)
