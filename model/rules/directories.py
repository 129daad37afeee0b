"""Choices about log directories: what brokers with several disks need."""

from __future__ import annotations

from attrs import frozen

from kraftcheck.model.rules.choice import choice


@frozen
class DirectoryRules:
    """Choices that the system `directories` goes by; the group of each is `directories`.

    Those of the snapshot, of the KIP and seeded ones stand apart below.
    """

    # How the code differs from the KIP by design.
    catch_up_as_coded: bool = choice(
        "directories", "Partition.createLogInAssignedDirectoryId",
        "brokers read their assignments as the code does, not by the table of the KIP",
    )  # fmt: skip
    lost_source_reverts: bool = choice(
        "directories", "ReplicaAlterLogDirsThread.removePartitions",
        "a move whose source fails takes its assignment back, instead of reporting the replica LOST",
    )  # fmt: skip

    # Defects of the snapshot.
    unfence_ignores_assignments: bool = choice(
        "directories", "KIP-858, not implemented", "a broker is unfenced before its directory assignments are settled"
    )
    added_replica_unreported: bool = choice(
        "directories", "B12, TopicDelta.localChanges", "a broker that becomes a replica never reports its directory"
    )
    correction_ignores_future_log: bool = choice(
        "directories", "X5, B13", "an assignment is corrected back although a future log waits in that directory"
    )
    epoch_change_forgets_promotion: bool = choice(
        "directories", "X4, B13", "metadata of the partition resets the state of a move that was already assigned"
    )
    startup_swap_ignores_offsets: bool = choice(
        "directories", "B14", "at start a future log in the assigned directory replaces the current one, however short"
    )
    reported_while_in_flight: bool = choice(
        "directories", "B16", "a directory that fails while a heartbeat is in flight counts as reported by it"
    )
    alter_partition_ignores_directories: bool = choice(
        "directories", "X8", "AlterPartition accepts members whose directory is known to be offline"
    )

    # Defects of the snapshot and of the KIP alike.
    unknown_directory_hides_log: bool = choice(
        "directories", "B15, KIP-858",
        "while a directory is offline, a log is not opened where metadata names a directory that is not online",
    )  # fmt: skip
    unassigned_fills_while_offline: bool = choice(
        "directories", "KIP-858", "at start an UNASSIGNED replica is created anew although a directory is offline"
    )
    assigned_fills_while_offline: bool = choice(
        "directories", "KIP-858",
        "at start a replica is created anew in its assigned directory although another directory is offline",
    )  # fmt: skip

    # Choices of the KIP, and what it leaves open.
    abandoned_assignments_accepted: bool = choice(
        "directories", "KIP-858",
        "a copy of an assignment request that its broker has given up is accepted: requests carry no order",
    )  # fmt: skip
    offline_replica_unreported: bool = choice(
        "directories", "KIP-858",
        "a broker that keeps a replica closed because a directory is offline does not report it LOST",
    )  # fmt: skip
    timeout_only_if_leading: bool = choice(
        "directories", "KIP-858", "a broker that cannot report a failure stops only if it leads something there"
    )
    assignments_never_time_out: bool = choice(
        "directories", "KIP-858", "a broker goes on that cannot tell which replica was in a failed directory"
    )
    one_directory_awaits_nothing: bool = choice(
        "directories", "KIP-858",
        "a broker that registers one directory is unfenced although the controller does not know where its replicas "
        "are",
    )  # fmt: skip
    single_directory_silent: bool = choice(
        "directories", "KIP-858", "a broker with one directory corrects assignments to LOST only"
    )
    reported_until_acknowledged: bool = choice(
        "directories", "KIP-858, first draft", "a failed directory is reported until a heartbeat is acknowledged"
    )
    reports_wait_for_assignments: bool = choice(
        "directories", "KIP-858, first draft", "queued assignments are sent before a directory failure is reported"
    )

    # Seeded and historical defects.
    metadata_failure_survived: bool = choice(
        "directories", "KIP-858", "a broker goes on after the directory of its metadata log has failed"
    )
    clean_with_any_directory: bool = choice(
        "directories", "KIP-966", "a broker counts as stopped cleanly although a directory is missing or was not closed"
    )
    failure_reported_once: bool = choice(
        "directories", "catalogue 46", "a failed directory is reported in one heartbeat, which may be lost"
    )
    lost_source_unreported: bool = choice(
        "directories", "catalogue 46", "a move whose source fails is neither reported LOST nor taken back"
    )
    offline_assignment_ignored: bool = choice(
        "directories", "catalogue 46", "an assignment to an offline directory moves neither leadership nor ISR"
    )
    revert_only_while_queued: bool = choice(
        "directories", "KAFKA-16297", "a move whose target fails is taken back only if its assignment was not accepted"
    )
    failure_recreates_log: bool = choice(
        "directories", "KAFKA-16234", "a log that is not found is made anew in another directory while one is offline"
    )
    offline_directory_stops_new_logs: bool = choice(
        "directories", "KIP-858",
        "a broker with an offline directory makes no log at all, not even of a partition that is new to it",
    )  # fmt: skip
    unassigned_log_unreported: bool = choice(
        "directories", "KIP-858", "a replica that is UNASSIGNED is not reported where its log was found"
    )
    misplaced_log_unreported: bool = choice(
        "directories", "KIP-858",
        "a replica that is assigned to a working directory is not reported where its log is, in another",
    )  # fmt: skip
    unknown_directory_stays_empty: bool = choice(
        "directories", "KIP-858", "no log is made for a directory that is LOST or unknown, though every one is online"
    )
    promotion_unacknowledged: bool = choice(
        "directories", "KIP-858", "a future log is promoted before the controller has accepted its directory"
    )
    promotion_ignores_offsets: bool = choice(
        "directories", "KIP-113", "a future log is promoted before it has caught up"
    )
    duplicate_ids_start: bool = choice(
        "directories", "KIP-858", "a broker with two directories of one id starts nevertheless"
    )
    assignment_ignores_broker_epoch: bool = choice(
        "directories", "KIP-858", "an assignment of an earlier incarnation is accepted"
    )
    assignment_unauthorized: bool = choice(
        "directories", "KIP-858", "AssignReplicasToDirs is accepted without CLUSTER_ACTION on CLUSTER"
    )
    registration_without_directories: bool = choice(
        "directories", "KAFKA-16162", "a broker does not register again when its registration lists no directory"
    )
    reregistration_fences: bool = choice(
        "directories", "KAFKA-16757", "registering again in the same incarnation fences the broker"
    )
    unfence_unasked: bool = choice(
        "directories", "KIP-631", "a broker is unfenced before it has applied the metadata up to its registration"
    )
    directory_failure_not_replayed: bool = choice(
        "directories", "KAFKA-15364, catalogue 32",
        "after a failover the controller takes a failed directory for online: its registration change is not replayed",
    )  # fmt: skip
    unfence_awaits_one_partition: bool = choice(
        "directories", "KIP-858", "a broker is unfenced as soon as one of its partitions is settled"
    )
    failure_moves_one_partition: bool = choice(
        "directories", "KIP-858", "of the partitions in a failed directory only the first is led away"
    )
    reserved_ids_drawn: bool = choice("directories", "KIP-858", "the first hundred ids may be drawn for a directory")


OF_SNAPSHOT = (
    "catch_up_as_coded", "lost_source_reverts", "unfence_ignores_assignments", "added_replica_unreported",
    "correction_ignores_future_log", "epoch_change_forgets_promotion", "startup_swap_ignores_offsets",
    "reported_while_in_flight", "alter_partition_ignores_directories", "unknown_directory_hides_log",
    "unassigned_fills_while_offline", "assigned_fills_while_offline", "offline_replica_unreported",
    "abandoned_assignments_accepted", "assignments_never_time_out",
)  # fmt: skip
"""Choices that hold in the snapshot."""

OF_KIP = (
    "alter_partition_ignores_directories", "unknown_directory_hides_log", "unassigned_fills_while_offline",
    "assigned_fills_while_offline", "timeout_only_if_leading", "one_directory_awaits_nothing",
    "single_directory_silent", "abandoned_assignments_accepted", "offline_replica_unreported",
)  # fmt: skip
"""Choices that hold in KIP-858 as written, last draft."""
