"""Choices of the controller in full: what only several partitions, or configurations, can show."""

from __future__ import annotations

from attrs import frozen

from kraftcheck.model.rules.choice import choice as _choice


@frozen
class ControllerRules:
    """Where the controller errs, or releases of it differ, beyond one partition. All off: as it ought to be."""

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
    registration_is_one_batch: bool = _choice(
        "controller", "registerBroker", "a registration of more records than one batch holds is fatal to the controller"
    )
    created_partitions_uncounted: bool = _choice(
        "controller",
        "ReplicationControlManager.validateTotalNumberOfPartitions",
        "a creation is not refused for the partitions it asks for",
    )
    added_partitions_uncounted: bool = _choice(
        "controller",
        "ReplicationControlManager.validateTotalNumberOfPartitions",
        "a growth is not refused for the partitions it asks for",
    )
    policy_exception_is_fatal: bool = _choice(
        "controller",
        "ReplicationControlManager.createTopics",
        "an exception of the policy for topics that is no answer ends the controller",
    )
    unsupported_configs_kept: bool = _choice(
        "controller", "KAFKA-19851", "a topic keeps configurations that its release knows no more"
    )
    cordoned_brokers_assignable: bool = _choice(
        "controller", "KIP-1066", "a replica list given by hand may name a broker whose directories are all cordoned"
    )

    # Of the documents alone.
    no_directories_is_invalid_request: bool = _choice(
        "controller", "KIP-858", "a registration without an online directory is answered INVALID_REQUEST"
    )

    # Mended before the snapshot, or never in a release.
    shutdown_offset_moves: bool = _choice(
        "controller", "KAFKA-14292", "each heartbeat of a broker that shuts down moves the offset that others must pass"
    )
    unfence_needs_log_end: bool = _choice(
        "controller", "KAFKA-13959", "a broker is unfenced only once it has applied the log of metadata to its end"
    )
    reregistration_bumps_epoch: bool = _choice(
        "controller", "KAFKA-16952", "a process that registers again gets a new broker epoch"
    )
    stopping_broker_ignores_metadata: bool = _choice(
        "controller", "KAFKA-13858, KAFKA-14296", "a broker that shuts down applies no metadata, and goes on leading"
    )
    takeover_hears_nobody: bool = _choice(
        "controller", "KAFKA-18138", "a controller that takes over knows no session, so that nobody's ends"
    )

    # Of later releases than the snapshot.
    sessions_by_contact: bool = _choice(
        "controller", "KAFKA-17793", "a broker and epoch heard of has a session, fenced or not; any ended one is next"
    )
    contacts_hashed_as_lists: bool = _choice(
        "controller", "BrokerIdAndEpoch", "sessions are kept by the hash of a list of broker and epoch, not of a record"
    )
    takeover_hears_fenced_brokers: bool = _choice(
        "controller", "KAFKA-19130", "for a controller that takes over, fenced brokers too were heard of just now"
    )
    metadata_version_range_required: bool = _choice(
        "controller", "registerBroker", "a broker that names no range of metadata.version is not registered"
    )
    factor_change_can_be_forbidden: bool = _choice(
        "controller", "KIP-860", "a reassignment can ask for the replication factor to stay"
    )


OF_KIP_ALONE = ("no_directories_is_invalid_request",)
"""Choices of the documents that no release has."""

OF_LATER_RELEASES = (
    "sessions_by_contact", "contacts_hashed_as_lists", "takeover_hears_fenced_brokers",
    "metadata_version_range_required", "factor_change_can_be_forbidden",
)  # fmt: skip
"""Choices that the snapshot has off: it is older than what they are about."""

HISTORICAL = (
    "shutdown_offset_moves", "unfence_needs_log_end", "reregistration_bumps_epoch", "stopping_broker_ignores_metadata",
    "takeover_hears_nobody",
)  # fmt: skip
"""Defects that neither the snapshot nor a release that is modelled has."""
