"""Choices of the controller in full: what only several partitions, or configurations, can show."""

from __future__ import annotations

from attrs import frozen

from kraftcheck.model.rules.choice import choice as _choice


@frozen
class ControllerRules:
    """Where the controller errs beyond one partition. All off: as it ought to be."""

    # Defects of the snapshot that no explored system is large enough for.
    deleted_partition_stays_indexed: bool = _choice(
        "controller", "B7", "a partition deleted with an empty ISR stays indexed, and its directory's failure is fatal"
    )
    cleared_elr_stays_indexed: bool = _choice(
        "controller",
        "ReplicationControlManager.removeTopicElrs",
        "ClearElrRecord leaves brokers in the index of ELR members",
    )
    min_isr_from_first_partition: bool = _choice(
        "controller", "X7", "the effective min ISR is at most the replicas of the topic's partition 0"
    )
    refused_growth_keeps_partitions: bool = _choice(
        "controller", "createPartitions", "partitions placed before the one that refuses a growth are written"
    )
    padded_configs_stored: bool = _choice(
        "controller", "KAFKA-20532", "min.insync.replicas with spaces around it is stored, and fatal when read"
    )
    node_configs_unchecked: bool = _choice(
        "controller", "ControllerConfigurationValidator", "values of a node, or of the cluster, are stored unchecked"
    )
    amendment_keeps_leaders: bool = _choice(
        "controller", "registerBroker", "a process that registers again without a directory keeps what it leads there"
    )
