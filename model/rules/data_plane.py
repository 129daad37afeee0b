"""Choices of leaders and followers."""

from __future__ import annotations

from attrs import frozen

from kraftcheck.model.rules.choice import choice as _choice


@frozen
class DataPlaneRules:
    """What leaders, followers and the controller tell each other. All off: as it ought to be."""

    # Found in Kafka's code at the snapshot.
    min_isr_raise_is_silent: bool = _choice("defect", "B3", "raising min.insync.replicas keeps the partition epoch")
    equal_epoch_ends_proposal: bool = _choice("defect", "B18", "metadata of a known partition epoch ends a proposal")
    reelected_leader_keeps_ends: bool = _choice(
        "defect", "Replica.resetReplicaState", "a leader that leads again trusts log ends from before its new epoch"
    )
    earlier_reply_applied: bool = _choice(
        "defect", "KAFKA-18723; KAFKA-7786", "a follower takes a reply of an earlier epoch if its log ends alike"
    )
    append_beyond_fetch_epoch: bool = _choice(
        "defect", "KAFKA-18723", "a follower appends records of a later epoch than its fetch was made in"
    )

    # Seeded defects of the data plane; most are historical.
    hw_advances_under_min_isr: bool = _choice(
        "data-plane", "KAFKA-15583", "the high watermark rises although the ISR is below min ISR"
    )
    gate_counts_maximal_isr: bool = _choice(
        "data-plane", "KIP-966", "min ISR is compared with the ISR including what is proposed"
    )
    hw_uses_committed_isr_only: bool = _choice(
        "data-plane", "KIP-497", "the high watermark does not wait for a member being added"
    )
    hw_uses_proposed_isr: bool = _choice(
        "data-plane", "KIP-497", "the high watermark stops waiting for a member being dropped before that is confirmed"
    )
    hw_by_record_epoch_only: bool = _choice(
        "data-plane", "KIP-320, first try", "a follower counts when its records match, whatever its leader epoch"
    )
    alter_partition_ignores_broker_epoch: bool = _choice(
        "data-plane", "KIP-903, KAFKA-14139", "AlterPartition does not compare members' broker epochs"
    )
    alter_partition_ignores_partition_epoch: bool = _choice(
        "data-plane", "KAFKA-1382", "AlterPartition does not compare the partition epoch"
    )
    broker_epoch_taken_from_metadata: bool = _choice(
        "data-plane", "KAFKA-15221", "the proposal states the broker epoch of the cache, not of the fetch"
    )
    fenced_may_join_isr: bool = _choice("data-plane", "KAFKA-13916", "AlterPartition accepts fenced members")
    shutting_down_may_join_isr: bool = _choice(
        "data-plane", "KAFKA-14140", "AlterPartition accepts members in controlled shutdown"
    )
    no_leader_epoch_start_check: bool = _choice(
        "data-plane", "KAFKA-7128", "a follower may join below the start of the leader's epoch"
    )
    truncate_to_high_watermark: bool = _choice(
        "data-plane", "KIP-101", "a replica cuts its log to its high watermark when the leader epoch changes"
    )
    kip101_epoch_lookup: bool = _choice(
        "data-plane", "KIP-279, KAFKA-6361", "a follower trusts the leader's answer about another epoch"
    )
    fetch_unfenced: bool = _choice("data-plane", "KIP-320, KAFKA-7395", "fetches are served across leader epochs")
    truncation_keeps_watermark: bool = _choice(
        "data-plane", "KAFKA-14704", "a follower that cuts its log keeps its high watermark"
    )
    watermark_may_fall: bool = _choice(
        "data-plane", "KIP-101", "a leader lowers its high watermark when a member of the ISR is behind it"
    )
    refusal_taken_for_success: bool = _choice(
        "data-plane", "KAFKA-14154", "a leader commits its proposal although the controller refused it"
    )
    no_epoch_entry_on_leadership: bool = _choice(
        "data-plane", "KAFKA-7415", "a leader knows its epoch only once it has appended, and cannot place newer ones"
    )
    answered_request_survives: bool = _choice(
        "data-plane", "KAFKA-14154", "an earlier copy of an answered AlterPartition may still be processed"
    )
    hw_waits_for_ineligible: bool = _choice(
        "data-plane", "KAFKA-15021", "the high watermark waits for followers that have left the ISR and may not return"
    )
    accepted_shrink_keeps_hw: bool = _choice(
        "data-plane", "KAFKA-13091", "an accepted AlterPartition leaves the high watermark as it was"
    )
    refusal_keeps_proposal: bool = _choice(
        "data-plane", "KAFKA-12751", "a leader that is refused keeps its proposal pending and sends no other"
    )
    brokers_disagree_on_min_isr: bool = _choice(
        "data-plane", "KAFKA-16540", "a leader goes by a min.insync.replicas of 1 that only its own configuration has"
    )
    unknown_outcome_is_failure: bool = _choice(
        "data-plane", "KAFKA-14154", "a leader takes a lost answer to AlterPartition for a refusal"
    )
    stale_truncation_applied: bool = _choice(
        "data-plane", "KAFKA-7786, KAFKA-13207", "a follower cuts its log as a late reply says, whatever its epoch"
    )
    fetch_noted_before_checks: bool = _choice(
        "data-plane", "KAFKA-13837, KAFKA-14078, KAFKA-8400", "a leader notes the offset of a fetch that it refuses"
    )
    leader_keeps_every_end: bool = _choice(
        "data-plane", "KIP-966, catalogue 71", "a leader that leads again trusts what it knew of any follower"
    )
    clean_marker_written_early: bool = _choice(
        "data-plane", "KAFKA-15375, KAFKA-10471", "a process that ends while it recovers its log counts as clean"
    )
    metadata_needs_new_epoch: bool = _choice(
        "data-plane", "KAFKA-15109", "a broker ignores metadata of a partition without a new leader epoch"
    )
    noop_truncation_keeps_epochs: bool = _choice(
        "data-plane", "KAFKA-10706", "a cut at the end of the log leaves the entry of an epoch without records"
    )
