"""A new partition: who is in sync from the start. Source: `ReplicationControlManager.buildPartitionRegistration`."""

from __future__ import annotations

from kraftcheck.model.language.brokersets import Brokers
from kraftcheck.model.language.rule import rule
from kraftcheck.model.rules.groups import PartitionRules


@rule("topic.creation.active-replicas-in-sync", switches=("created-isr-holds-fenced",),
      source="KAFKA-13083; catalogue 65; semantics 8; ReplicationControlManager.buildPartitionRegistration",
      says="The active replicas of a new partition are its ISR, and the first of them leads.")  # fmt: skip
def first_isr(replicas: Brokers, active: Brokers, rules: PartitionRules) -> Brokers:
    """The ISR of a new partition, in the order of its replicas; none where no replica is active."""
    return replicas if rules.created_isr_holds_fenced else replicas.keep(active)
