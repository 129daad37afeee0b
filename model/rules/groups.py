"""The choices of rule sets in groups. What each says, and where it comes from, is in the TOML file of its group.

A choice is False for the right rule, or for the older feature level.
"""

from __future__ import annotations

from attrs import frozen

from kraftcheck.model.rules.choice import described


@frozen(field_transformer=described("broker-ids"))
class BrokerIdRules:
    """How a broker finds its id. All off: ids are static, as in KRaft."""

    fresh_ids_drawn: bool = False
    identity_by_hostname: bool = False
    identity_by_elimination: bool = False
    search_reads_every_topic: bool = False
    sweep_trusts_first_read: bool = False
    missing_ids_noted_late: bool = False
    garbage_deleted_unseen: bool = False
    zookeeper_before_disk: bool = False
    failed_start_is_final: bool = False
    registration_overwrites: bool = False
    ambiguous_takes_first: bool = False
    fresh_unless_ambiguous: bool = False
    configured_id_wins: bool = False


@frozen(field_transformer=described("data-plane"))
class DataPlaneRules:
    """What leaders, followers and the controller tell each other. All off: as it ought to be."""

    answered_before_commit: bool = False
    min_isr_raise_is_silent: bool = False
    equal_epoch_ends_proposal: bool = False
    reelected_leader_keeps_ends: bool = False
    earlier_reply_applied: bool = False
    append_beyond_fetch_epoch: bool = False
    hw_advances_under_min_isr: bool = False
    gate_counts_maximal_isr: bool = False
    hw_uses_committed_isr_only: bool = False
    hw_uses_proposed_isr: bool = False
    hw_by_record_epoch_only: bool = False
    alter_partition_ignores_broker_epoch: bool = False
    alter_partition_ignores_partition_epoch: bool = False
    broker_epoch_taken_from_metadata: bool = False
    fenced_may_join_isr: bool = False
    shutting_down_may_join_isr: bool = False
    no_leader_epoch_start_check: bool = False
    truncate_to_high_watermark: bool = False
    kip101_epoch_lookup: bool = False
    fetch_unfenced: bool = False
    truncation_keeps_watermark: bool = False
    watermark_may_fall: bool = False
    refusal_taken_for_success: bool = False
    no_epoch_entry_on_leadership: bool = False
    answered_request_survives: bool = False
    hw_waits_for_ineligible: bool = False
    accepted_shrink_keeps_hw: bool = False
    refusal_keeps_proposal: bool = False
    brokers_disagree_on_min_isr: bool = False
    unknown_outcome_is_failure: bool = False
    stale_truncation_applied: bool = False
    fetch_noted_before_checks: bool = False
    leader_keeps_every_end: bool = False
    clean_marker_written_early: bool = False
    metadata_needs_new_epoch: bool = False
    noop_truncation_keeps_epochs: bool = False


@frozen(field_transformer=described("directories"))
class DirectoryRules:
    """How brokers with several disks place, move and lose replicas. All off: as it ought to be."""

    catch_up_as_coded: bool = False
    lost_source_reverts: bool = False
    unfence_ignores_assignments: bool = False
    added_replica_unreported: bool = False
    correction_ignores_future_log: bool = False
    epoch_change_forgets_promotion: bool = False
    startup_swap_ignores_offsets: bool = False
    promoted_log_stays_closed: bool = False
    duplicate_log_stops_start: bool = False
    replaced_log_unmarked: bool = False
    reported_while_in_flight: bool = False
    second_reported_while_in_flight: bool = False
    alter_partition_ignores_directories: bool = False
    unknown_directory_hides_log: bool = False
    unassigned_fills_while_offline: bool = False
    assigned_fills_while_offline: bool = False
    abandoned_assignments_accepted: bool = False
    offline_replica_unreported: bool = False
    timeout_only_if_leading: bool = False
    assignments_never_time_out: bool = False
    one_directory_awaits_nothing: bool = False
    single_directory_silent: bool = False
    reported_until_acknowledged: bool = False
    reports_wait_for_assignments: bool = False
    metadata_failure_survived: bool = False
    clean_with_any_directory: bool = False
    failure_reported_once: bool = False
    lost_source_unreported: bool = False
    offline_assignment_ignored: bool = False
    revert_only_while_queued: bool = False
    failure_recreates_log: bool = False
    offline_directory_stops_new_logs: bool = False
    unassigned_log_unreported: bool = False
    misplaced_log_unreported: bool = False
    unknown_directory_stays_empty: bool = False
    promotion_unacknowledged: bool = False
    promotion_ignores_offsets: bool = False
    duplicate_ids_start: bool = False
    assignment_ignores_broker_epoch: bool = False
    assignment_unauthorized: bool = False
    registration_without_directories: bool = False
    reregistration_fences: bool = False
    unfence_unasked: bool = False
    directory_failure_not_replayed: bool = False
    unfence_awaits_one_partition: bool = False
    failure_moves_one_partition: bool = False
    reserved_ids_drawn: bool = False
    cordoned_directory_as_last_resort: bool = False
    cordoned_source_keeps_move: bool = False
    cordoned_target_accepted: bool = False
    cordoning_closes_replicas: bool = False


@frozen(field_transformer=described("unclean-recovery"))
class UncleanRecoveryRules:
    """How the tool of the unclean-recovery KIP chooses, elects and reports. All off: the document, mended."""

    recovery_trusts_current_epoch: bool = False
    recovery_ignores_new_epochs: bool = False
    designated_election_without_broker_epoch: bool = False
    recovery_online_is_failure: bool = False
    recovery_prefers_length: bool = False
    recovery_takes_first_answer: bool = False
    recovery_ties_to_last: bool = False
    recovery_ignores_more_data: bool = False
    recovery_counts_errors: bool = False
    recovery_waits_for_every_broker: bool = False
    recovery_ignores_request_limit: bool = False
    partial_recovery_succeeds: bool = False
    interrupted_recovery_succeeds: bool = False
    designated_may_be_fenced: bool = False
    recovery_run_blocks_elections: bool = False
    designated_over_leader: bool = False


@frozen(field_transformer=described("zk-controller"))
class ZkControllerRules:
    """How the first controller tells brokers what it decides. All off: one conditional multi, told to everybody."""

    decisions_one_by_one: bool = False
    decision_write_unconditional: bool = False
    outsiders_by_old_list: bool = False
    replica_failure_unnoticed: bool = False
    reassignment_waits_for_all: bool = False
    reassignment_keeps_leader: bool = False
    leavers_rejoin: bool = False
    backlog_revives_replica: bool = False
    deletion_forgets_topic: bool = False
    controller_writes_unfenced: bool = False
    outsiders_wait: bool = False
    hopeless_isr_emptied: bool = False
    down_brokers_not_told: bool = False
    isr_update_unconditional: bool = False
    failover_skips_republishing: bool = False
    zombie_refreshes_epoch: bool = False
    watch_set_after_read: bool = False
    subscription_ignores_backlog: bool = False
    older_decisions_followed: bool = False
    leads_before_fetcher_stops: bool = False
    outsider_preferred: bool = False
    reassignment_ignores_isr: bool = False
    reassignment_skips_leader: bool = False
    outsider_keeps_isr: bool = False


@frozen(field_transformer=described("zk-jbod"))
class ZkJbodRules:
    """How a broker outlives a failed disk, and how it says so. All off: the document, mended."""

    jobs_without_lock: bool = False
    restart_node_shared: bool = False
    failed_operation_not_retried: bool = False
    read_errors_unattributed: bool = False
    last_member_stays_in_isr: bool = False
    selector_seats_dead_head: bool = False
    filtered_requests_removed: bool = False
    restart_order_outlives_return: bool = False
    disk_errors_halt: bool = False
    check_misses_failure: bool = False
    cleaner_not_aborted: bool = False
    checkpoints_kept: bool = False
    recreated_before_restart: bool = False
    repaired_disk_filled: bool = False
    dead_log_counts: bool = False
    controller_works_without_lock: bool = False
    requests_removed_first: bool = False
    restart_drops_replica: bool = False


@frozen(field_transformer=described("partition"))
class PartitionRules:
    """How the controller changes a partition, and keeps track of brokers. All off but the ELR: as it ought to be."""

    elr_available: bool = True
    designated_elections: bool = False
    bump_on_isr_shrink: bool = False
    unclean_election_unconfigurable: bool = False
    unwritten_shrink_raises_epoch: bool = False
    default_directory_unassigned: bool = False
    last_known_leader_may_be_removed: bool = False
    last_known_leader_on_leader_loss: bool = False
    elr_downgrade: bool = False
    completion_tolerates_stragglers: bool = False
    dead_last_known_leader_electable: bool = False
    removed_replica_stays_last_known: bool = False
    assignment_clears_elr: bool = False
    min_isr_change_keeps_elr: bool = False
    min_isr_change_clears_every_elr: bool = False
    elr_winner_keeps_elr: bool = False
    removed_replicas_stay_in_elr: bool = False
    last_known_leader_may_be_none: bool = False
    switched_off_elr_is_neglected: bool = False
    stale_reregistration_keeps_isr: bool = False
    passes_share_one_base: bool = False
    unregister_keeps_elr: bool = False
    retarget_keeps_old_reassignment: bool = False
    unclean_cancel_is_silent: bool = False
    alter_partition_erases_recovering: bool = False
    unfence_ignores_controlled_shutdown: bool = False
    every_restart_is_unclean: bool = False
    empty_directory_list_means_no_change: bool = False
    unknown_directory_is_offline: bool = False
    one_directory_means_all_online: bool = False
    designated_may_be_leaving: bool = False
    no_bump_on_replica_removal: bool = False
    elr_keeps_unclean_replicas: bool = False
    elr_kept_at_min_isr: bool = False
    elr_keeps_isr_members: bool = False
    unclean_election_keeps_elr: bool = False
    elr_elected_over_isr: bool = False
    fenced_leader_acceptable: bool = False
    default_directory_migrating: bool = False
    unclean_election_unasked: bool = False
    last_known_elected_beside_elr: bool = False
    completion_ignores_isr: bool = False
    unclean_without_recovering: bool = False
    election_clears_recovering: bool = False
    offline_directory_leader_kept: bool = False
    reassignment_repeats_replicas: bool = False
    isr_may_empty_without_elr: bool = False
    completion_keeps_removing: bool = False
    completion_needs_adding_only: bool = False
    fences_share_one_base: bool = False
    completion_needs_every_replica: bool = False
    recovering_isr_may_grow: bool = False
    leader_epoch_rises_twice: bool = False
    leader_change_keeps_epoch: bool = False
    partition_epoch_follows_leader: bool = False
    unfence_clears_controlled_shutdown: bool = False
    retarget_drops_added_replicas: bool = False
    retarget_forgets_additions: bool = False
    cancel_ignores_permission: bool = False
    completion_sorts_replicas: bool = False
    created_isr_holds_fenced: bool = False
    unfence_rejoins_isr: bool = False
    unfence_retries_isr_only: bool = False
    unclean_request_obeys_topic: bool = False


@frozen(field_transformer=described("controller"))
class ControllerRules:
    """Where the controller errs, or releases of it differ, beyond one partition. All off: as it ought to be."""

    deleted_partition_stays_indexed: bool = False
    cleared_elr_stays_indexed: bool = False
    min_isr_from_first_partition: bool = False
    preferred_waits_for_other_partitions: bool = False
    refused_growth_keeps_partitions: bool = False
    padded_configs_stored: bool = False
    node_configs_unchecked: bool = False
    amendment_keeps_leaders: bool = False
    registration_is_one_batch: bool = False
    created_partitions_uncounted: bool = False
    added_partitions_uncounted: bool = False
    policy_exception_is_fatal: bool = False
    unsupported_configs_kept: bool = False
    cordoned_brokers_assignable: bool = False
    no_directories_is_invalid_request: bool = False
    shutdown_offset_moves: bool = False
    unfence_needs_log_end: bool = False
    reregistration_bumps_epoch: bool = False
    topic_configs_written_first: bool = False
    epoch_passes_over_quorum: bool = False
    acks_all_needs_configured_min_isr: bool = False
    stopping_broker_ignores_metadata: bool = False
    takeover_hears_nobody: bool = False
    sessions_by_contact: bool = False
    contacts_hashed_as_lists: bool = False
    takeover_hears_fenced_brokers: bool = False
    unchanged_answered_at_once: bool = False
    uncommitted_is_read: bool = False
    uncommitted_outlives_takeover: bool = False
    metadata_version_range_required: bool = False
    factor_change_can_be_forbidden: bool = False


@frozen(field_transformer=described("features"))
class FeatureRules:
    """Who is asked before a feature level is finalised, and what a log begins with. All off: as it ought to be."""

    departed_controllers_asked: bool = False
    unregistered_voters_unasked: bool = False
    voters_may_be_unregistered: bool = False
    controllers_stay_registered: bool = False
    activation_writes_no_version: bool = False
    activation_bootstraps_old_log: bool = False
    bootstrap_read_at_every_start: bool = False
    features_read_early: bool = False
    upgrade_asks_no_broker: bool = False
    registration_unchecked: bool = False
    dependency_unchecked: bool = False
    downgrade_unchecked: bool = False
    aborted_level_counts: bool = False


@frozen(field_transformer=described("images"))
class ImageRules:
    """How a broker joins records to its image, and which logs it keeps. All off: as it ought to be."""

    clear_elr_reads_old_image: bool = False
    deleted_topic_stays_created: bool = False
    clear_elr_unhandled: bool = False
    snapshot_forgets_replicas: bool = False
    snapshot_drops_elr: bool = False
    merge_fills_unassigned: bool = False
    stray_found_by_name: bool = False
    offline_without_topic_id: bool = False
    snapshot_keeps_deleted: bool = False
    removed_replica_keeps_log: bool = False
    unnamed_log_stops_start: bool = False


@frozen(field_transformer=described("heartbeats"))
class HeartbeatRules:
    """How long heartbeats are waited for, and when they count. All off: as it ought to be."""

    wait_and_delay_fill_session: bool = False
    wait_exceeds_session: bool = False
    queued_heartbeat_is_no_contact: bool = False
    contact_waits_for_the_queue: bool = False


@frozen(field_transformer=described("future-logs"))
class FutureLogRules:
    """How a replica is copied into another directory. All off: as it ought to be."""

    move_keeps_leader_epoch: bool = False
    fetcher_outlives_future_log: bool = False
    watermark_of_replaced_log: bool = False
    move_resumes_at_watermark: bool = False
    stale_future_log_resumed: bool = False
    second_move_pauses_again: bool = False
    cancelled_move_stays_paused: bool = False
    epoch_pauses_again: bool = False
    future_log_uncut: bool = False


CONTROLLER_GROUPS = (PartitionRules, DataPlaneRules, DirectoryRules, ControllerRules)
"""The groups that a system asks whose controller is whole."""
