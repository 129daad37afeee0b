"""Choices of the rules that change one partition: elections, the ELR, reassignments, replay."""

from __future__ import annotations

from attrs import frozen

from kraftcheck.model.rules.choice import choice as _choice


@frozen
class PartitionRules:
    """How the controller changes a partition, and keeps track of brokers. All off but the ELR: as it ought to be."""

    # Features: what a version or a document has.
    elr_available: bool = _choice(
        "feature", "KIP-966", "eligible leader replicas exist and can be switched on", default=True
    )
    designated_elections: bool = _choice(
        "feature", "unclean-recovery KIP, KIP-966", "an operator may designate the leader of a leaderless partition"
    )
    bump_on_isr_shrink: bool = _choice(
        "feature", "KAFKA-15021, before 3.6-IV0", "every ISR shrink raises the leader epoch"
    )
    default_directory_unassigned: bool = _choice(
        "feature", "KIP-858", "a new replica starts UNASSIGNED even where its broker has one directory"
    )

    last_known_leader_may_be_removed: bool = _choice(
        "feature", "KAFKA-19522, 4.1.0", "the last known leader has to be alive, but need not be a replica any more"
    )
    last_known_leader_on_leader_loss: bool = _choice(
        "feature", "PR 20629, 4.1.1", "the last known leader is noted when leadership is lost, forgotten with the next"
    )
    elr_downgrade: bool = _choice("feature", "KIP-966, 4.0.0", "ELR can be switched off again, by a downgrade")
    completion_tolerates_stragglers: bool = _choice(
        "feature", "KAFKA-19975, 4.3.0", "a reassignment that adds as many as it removes waits for the added ones only"
    )

    # Defects of the snapshot (numbers B of the semantics reference, X of the bug catalogue).
    dead_last_known_leader_electable: bool = _choice(
        "defect", "B1, KAFKA-19522", "the last known leader is elected without asking whether it is alive"
    )
    removed_replica_stays_last_known: bool = _choice(
        "defect", "B1", "a replica that a reassignment removes stays the last known leader"
    )
    assignment_clears_elr: bool = _choice(
        "defect", "B2, PR 20716", "AssignReplicasToDirs is built with ELR off and so clears the ELR"
    )
    min_isr_change_keeps_elr: bool = _choice(
        "defect", "B3, KAFKA-16540", "changing min.insync.replicas leaves the ELR as it was"
    )
    min_isr_change_clears_every_elr: bool = _choice(
        "defect", "KAFKA-16540, 4.0.0", "a change of min.insync.replicas empties every ELR, of offline partitions too"
    )
    elr_winner_keeps_elr: bool = _choice(
        "defect", "KIP-966, B3", "an ELR member that is elected leaves others eligible though it alone is min ISR"
    )
    removed_replicas_stay_in_elr: bool = _choice(
        "defect", "B4, X1", "the ELR is not limited to the replicas after the change"
    )
    last_known_leader_may_be_none: bool = _choice(
        "defect", "B5, PR 20629", "a leaderless partition whose ISR empties records -1 as its last known leader"
    )
    switched_off_elr_is_neglected: bool = _choice(
        "defect", "KIP-966, 4.0.0", "with ELR off, the first build empties the ELR, and until then nothing else does"
    )
    stale_reregistration_keeps_isr: bool = _choice(
        "defect", "B6, KAFKA-18106", "below ELR metadata versions a new incarnation stays in ISR and leadership"
    )
    passes_share_one_base: bool = _choice(
        "defect", "B8, X2", "two passes of one event are both computed from the state before the event"
    )
    unregister_keeps_elr: bool = _choice("defect", "B9, X8", "an unregistered broker stays in, or even enters, the ELR")
    retarget_keeps_old_reassignment: bool = _choice(
        "defect", "B10", "a new reassignment with nothing to remove (add) keeps the old removing (adding) set"
    )
    unclean_cancel_is_silent: bool = _choice(
        "defect", "B11, X3", "cancelling a reassignment may seat a replica from outside the ISR without RECOVERING"
    )
    alter_partition_erases_recovering: bool = _choice(
        "defect", "B17", "an AlterPartition that ends in an unclean election clears RECOVERING again"
    )
    unfence_ignores_controlled_shutdown: bool = _choice(
        "defect", "B19", "a broker in controlled shutdown counts as active while it is being unfenced"
    )
    every_restart_is_unclean: bool = _choice(
        "defect", "KAFKA-18635", "every new incarnation counts as an unclean shutdown"
    )
    empty_directory_list_means_no_change: bool = _choice(
        "defect", "X6, KAFKA-16162", "a report that every directory failed leaves all of them online"
    )
    unknown_directory_is_offline: bool = _choice(
        "defect", "KIP-858",
        "a replica whose directory is not known counts as offline where its broker registers several directories",
    )  # fmt: skip
    one_directory_means_all_online: bool = _choice(
        "defect", "KIP-858", "a replica in an unknown directory is online when its broker registers one directory"
    )
    designated_may_be_leaving: bool = _choice(
        "defect", "unclean-recovery KIP", "a replica may be designated that the same change removes"
    )

    # Seeded defects: each refutes a property that no release is known to break.
    no_bump_on_replica_removal: bool = _choice(
        "seeded", "KIP-966 discussion, PR 14170", "removing a replica does not raise the leader epoch"
    )
    elr_keeps_unclean_replicas: bool = _choice(
        "seeded", "KAFKA-15586", "a replica that stopped uncleanly stays in the ELR"
    )
    elr_kept_at_min_isr: bool = _choice("seeded", "KIP-966", "the ELR is kept when the ISR reaches min ISR again")
    elr_keeps_isr_members: bool = _choice(
        "seeded", "KIP-966 TLA+ UpdateElr", "a member that rejoins the ISR stays in the ELR"
    )
    unclean_election_keeps_elr: bool = _choice("seeded", "KIP-966", "an unclean election leaves the ELR as it was")
    elr_elected_over_isr: bool = _choice("seeded", "KIP-966", "ELR members may lead while the ISR has members")
    fenced_leader_acceptable: bool = _choice("seeded", "KIP-631", "a fenced broker may be elected")
    default_directory_migrating: bool = _choice(
        "seeded", "KIP-858", "a new replica starts as MIGRATING, as before brokers had several directories"
    )
    unclean_election_unasked: bool = _choice("seeded", "KIP-106", "an outsider is elected although nobody allowed it")
    last_known_elected_beside_elr: bool = _choice(
        "seeded", "KIP-966", "the last known leader is elected although the ELR has a member"
    )
    completion_ignores_isr: bool = _choice("seeded", "KIP-455", "a reassignment completes before it is in sync")
    unclean_without_recovering: bool = _choice(
        "seeded", "KIP-704", "an unclean election does not mark the partition RECOVERING"
    )
    election_clears_recovering: bool = _choice("seeded", "KIP-704", "a clean election ends the recovery")
    offline_directory_leader_kept: bool = _choice(
        "seeded", "KIP-858", "a failed directory does not move leaders and ISR members away"
    )
    reassignment_repeats_replicas: bool = _choice(
        "seeded", "KIP-455", "the replicas to remove are appended even where the target lists them"
    )
    isr_may_empty_without_elr: bool = _choice(
        "seeded", "KIP-966, last replica standing", "without ELR the last ISR member may leave"
    )
    completion_keeps_removing: bool = _choice(
        "seeded", "KIP-455", "a completed reassignment leaves its removing set behind"
    )
    completion_needs_adding_only: bool = _choice(
        "seeded", "KAFKA-15665", "a reassignment completes once the added replicas are in sync, whatever the others are"
    )
    fences_share_one_base: bool = _choice(
        "seeded", "KAFKA-13173", "sessions that expire together are each decided on the state before all of them"
    )
    completion_needs_every_replica: bool = _choice(
        "seeded", "early controller design", "a reassignment completes only when old and new replicas are all in sync"
    )
    recovering_isr_may_grow: bool = _choice(
        "seeded", "KIP-704", "AlterPartition accepts more than one member while RECOVERING"
    )
    leader_epoch_rises_twice: bool = _choice("seeded", "KIP-101", "replaying a leader raises the leader epoch by two")
    leader_change_keeps_epoch: bool = _choice("seeded", "KIP-101", "replaying a leader keeps the leader epoch")
    partition_epoch_follows_leader: bool = _choice(
        "seeded", "KIP-497", "replaying a change without a leader keeps the partition epoch"
    )
    unfence_clears_controlled_shutdown: bool = _choice(
        "seeded", "KIP-841", "unfencing a broker takes it out of controlled shutdown"
    )
    retarget_drops_added_replicas: bool = _choice(
        "seeded", "KAFKA-14808", "a new target drops at once what the earlier one was adding, also a leader"
    )
    cancel_ignores_permission: bool = _choice(
        "seeded", "KAFKA-14424, PR 20003", "a cancellation is accepted that takes a forbidden unclean election"
    )
    completion_sorts_replicas: bool = _choice(
        "seeded", "KIP-455", "a completed reassignment lists its replicas by id, and not as they were requested"
    )
    created_isr_holds_fenced: bool = _choice(
        "seeded", "KAFKA-13083", "a partition is created with all of its replicas in the ISR, fenced ones too"
    )
    unfence_rejoins_isr: bool = _choice("seeded", "KIP-497", "an unfenced replica rejoins the ISR by itself")
    unfence_retries_isr_only: bool = _choice(
        "seeded", "KIP-966", "an unfenced ELR member is not elected by a partition without a leader"
    )
    unclean_request_obeys_topic: bool = _choice(
        "seeded", "unclean-recovery KIP", "an unclean election on request is held only where the topic allows one"
    )
