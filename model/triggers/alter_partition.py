"""AlterPartition: the controller's checks of an ISR that a leader proposes.

Each check is a named truth; `ERRORS` has the names in the order in which Kafka asks, with its answer. A reader whose
states cannot fail a check, because it has no epochs, leaves that check out.

Source: `ReplicationControlManager.validateAlterPartitionData`; semantics 4.
"""

from __future__ import annotations

from collections.abc import Mapping

from attrs import evolve

from kraftcheck.model.language.brokersets import Brokers
from kraftcheck.model.language.rule import rule
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import all_of, implies, negate
from kraftcheck.model.partition.change import Target
from kraftcheck.model.partition.registration import Partition
from kraftcheck.model.rules.groups import DataPlaneRules, DirectoryRules, PartitionRules
from kraftcheck.model.triggers.leadership import Cluster

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
        isr: the proposed ISR.
        cluster: the brokers.
        outdated: whether some member's stated epoch is of an earlier incarnation.
        refused: replicas that their directory keeps out, of `kept_out`.
        rules: the rule set.
    """
    stale = False if rules.alter_partition_ignores_broker_epoch else outdated
    return {ELIGIBLE: isr.within(may_join(cluster, rules).minus(refused)), MEMBER_EPOCHS: negate(stale)}


@rule("isr.join.directory-online", source="X8; KIP-858", switches=("alter-partition-ignores-directories",),
      says="A broker whose replica is in an offline directory may not be in a proposed ISR.")  # fmt: skip
def kept_out(offline: Brokers, rules: DirectoryRules) -> Brokers:
    """Of the replicas in no online directory, those that may not be in a proposed ISR; the code looks at none (X8)."""
    return offline.none() if rules.alter_partition_ignores_directories else offline


def proposed(p: Partition, isr: Brokers, recovering: Truth) -> Target:
    """What an accepted proposal wants."""
    return evolve(Target.of(p), isr=isr, recovering=recovering)
