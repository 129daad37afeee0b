"""Rule sets: every place where Kafka's releases, its design documents and its defects differ.

A `RuleSet` is a frozen record of named choices. The value False is always the
right rule, or the older feature level; True switches a defect, or a feature,
on. A variant is one choice changed: `kafka-4.0+fenced-leader-acceptable`.
"""

from __future__ import annotations

import attrs
from attrs import frozen

from kraftcheck.model.language.nearest import nearest
from kraftcheck.model.language.system import ScopeError
from kraftcheck.model.rules.broker_ids import OF_DOCUMENT
from kraftcheck.model.rules.choice import choice as _choice
from kraftcheck.model.rules.directories import OF_KIP, OF_SNAPSHOT
from kraftcheck.model.rules.unclean_recovery import OF_RECOVERY_KIP
from kraftcheck.model.rules.zk_controller import OF_FIRST_CONTROLLER
from kraftcheck.model.rules.zk_jbod import OF_ZK_JBOD, ZkJbodRules


@frozen
class RuleSet(ZkJbodRules):
    """The choices; each carries its group, source and sentence as metadata.

    Groups: `defect` (found in Kafka's code at the snapshot), `feature` (differs
    between versions and documents), `seeded` (a wrong rule of the controller,
    kept to show that a property can fail), `data-plane` (the same for leaders
    and followers, in `kraftcheck.model.rules.data_plane`), `controller` (a defect of the snapshot that only the
    controller in full can show: it takes several partitions), `broker-ids`
    (how a broker finds its id, in `kraftcheck.model.rules.broker_ids`), `directories`
    (log directories, in `kraftcheck.model.rules.directories`), `unclean-recovery`
    (the tool of that KIP, in `kraftcheck.model.rules.unclean_recovery`), `zk-controller` (the first
    controller, in `kraftcheck.model.rules.zk_controller`), `zk-jbod` (failed disks on
    ZooKeeper, in `kraftcheck.model.rules.zk_jbod`).
    """

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
        "feature", "PR 20629, 4.1.2", "the last known leader is noted when leadership is lost, forgotten with the next"
    )
    completion_tolerates_stragglers: bool = _choice(
        "feature", "KAFKA-19975, 4.4.0", "a reassignment that adds as many as it removes waits for the added ones only"
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
    removed_replicas_stay_in_elr: bool = _choice(
        "defect", "B4, X1", "the ELR is not limited to the replicas after the change"
    )
    last_known_leader_may_be_none: bool = _choice(
        "defect", "B5, PR 20629", "a leaderless partition whose ISR empties records -1 as its last known leader"
    )
    stale_reregistration_keeps_isr: bool = _choice(
        "defect", "B6, KAFKA-18106", "below ELR metadata versions a new incarnation stays in ISR and leadership"
    )
    passes_share_one_base: bool = _choice(
        "defect", "B8, X2", "two passes of one event are both computed from the state before the event"
    )
    unregister_keeps_elr: bool = _choice(
        "defect", "B9, X8", "an unregistered broker stays in, or even enters, the ELR"
    )
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
    unclean_election_unasked: bool = _choice("seeded", "KIP-106", "an outsider is elected although nobody allowed it")
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
    unfence_rejoins_isr: bool = _choice("seeded", "KIP-497", "an unfenced replica rejoins the ISR by itself")

    # Defects of the snapshot that no explored system is large enough for.
    deleted_partition_stays_indexed: bool = _choice(
        "controller", "B7", "a partition deleted with an empty ISR stays indexed, and its directory's failure is fatal"
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


RIGHT = RuleSet()
"""Every choice right: what rules use that are called without a rule set."""

DEFECTS = tuple(f.name for f in attrs.fields(RuleSet) if f.metadata["group"] == "defect")
"""Choices that are defects of the snapshot, or of the design documents."""

_OF_DOCUMENTS = ("one_directory_means_all_online", "designated_may_be_leaving")
_OF_CONTROLLER = tuple(f.name for f in attrs.fields(RuleSet) if f.metadata["group"] == "controller")
_SNAPSHOT = {name: True for name in (*DEFECTS, *_OF_CONTROLLER, *OF_SNAPSHOT) if name not in _OF_DOCUMENTS}

_MENDED_IN_4_1 = ("dead_last_known_leader_electable", "every_restart_is_unclean", "min_isr_change_keeps_elr")
"""KAFKA-19522, KAFKA-18635, KAFKA-16540."""

_MENDED_IN_4_0_0 = ("stale_reregistration_keeps_isr", "every_restart_is_unclean", "min_isr_change_keeps_elr")
"""KAFKA-18106, KAFKA-18635, KAFKA-16540: mended between the snapshot and the release, as the tour finds."""

_OF_4_0_0 = {**_SNAPSHOT, **dict.fromkeys(_MENDED_IN_4_0_0, False)}
_OF_4_1_0 = {**_OF_4_0_0, "dead_last_known_leader_electable": False, "last_known_leader_may_be_removed": True}
_OF_4_1_2 = {**_OF_4_1_0, "last_known_leader_on_leader_loss": True}

RELEASES: dict[str, RuleSet] = {
    "kafka-3.9.2": RuleSet(**{**_SNAPSHOT, "elr_available": False}),
    "kafka-4.0.0": RuleSet(**_OF_4_0_0),
    "kafka-4.0.2": RuleSet(**_OF_4_0_0),
    "kafka-4.1.0": RuleSet(**_OF_4_1_0),
    "kafka-4.1.2": RuleSet(**_OF_4_1_2),
    "kafka-4.4.0": RuleSet(
        **{**_OF_4_1_2, "assignment_clears_elr": False, "completion_tolerates_stragglers": True}
    ),
}
"""Presets of releases, as conformance with their classes has found them; see docs/reference/conformance.md."""

PRESETS: dict[str, RuleSet] = {
    "kip": RuleSet(
        designated_elections=True,
        default_directory_unassigned=True,
        one_directory_means_all_online=True,
        designated_may_be_leaving=True,
        **dict.fromkeys((*OF_DOCUMENT, *OF_KIP, *OF_RECOVERY_KIP, *OF_FIRST_CONTROLLER, *OF_ZK_JBOD), True),
    ),
    "kafka-3.9": RuleSet(**{**_SNAPSHOT, "elr_available": False}),
    "kafka-4.0": RuleSet(**_SNAPSHOT),
    "kafka-4.1": RuleSet(**{**_SNAPSHOT, **dict.fromkeys(_MENDED_IN_4_1, False)}),
    "fixed": RIGHT,
    **RELEASES,
}
"""The presets; `kafka-4.0` is the 4.0.0-SNAPSHOT of October 2024."""

PRESET_NOTES = {
    "kip": "the design documents as written (KIP-858, KIP-966, the unclean-recovery KIP)",
    "kafka-3.9": "as implemented, without eligible leader replicas",
    "kafka-4.0": "as implemented in the 4.0 snapshot of October 2024, defects included",
    "kafka-4.1": "as kafka-4.0, less what a replayed log of 4.1.0 shows to be mended",
    "fixed": "kafka-4.0 with each known defect mended",
    **{name: f"how {name.replace('kafka-', 'Kafka ')} changes one partition" for name in RELEASES},
}


def variant_name(choice: str) -> str:
    """The command-line spelling of a choice."""
    return choice.replace("_", "-")


def variants() -> dict[str, attrs.Attribute[bool]]:
    """Every choice by its command-line name, with its metadata."""
    return {variant_name(f.name): f for f in attrs.fields(RuleSet)}


def parse(text: str) -> RuleSet:
    """The rule set that `PRESET[+NAME|-NAME...]` names.

    Hyphens belong to names, so a switch starts at a `+`, or at a `-` that
    follows a known name and precedes another.

    >>> parse("kafka-4.0-every-restart-is-unclean").every_restart_is_unclean
    False

    Raises:
        ScopeError: naming the unknown part and the nearest names.
    """
    names = sorted([*PRESETS, *variants()], key=len, reverse=True)
    preset = next((n for n in names if n in PRESETS and _starts(text, n)), None)
    if preset is None:
        head = text.split("+")[0]
        raise ScopeError(f"unknown rule set {head!r}; {nearest(head, PRESETS)}")
    rules, rest = PRESETS[preset], text[len(preset) :]
    while rest:
        sign, rest = rest[0], rest[1:]
        name = next((n for n in names if n not in PRESETS and _starts(rest, n)), None)
        if name is None:
            odd = rest.split("+")[0]
            raise ScopeError(f"unknown variant {odd!r} in {text!r}; {nearest(odd, variants())}")
        rules = attrs.evolve(rules, **{name.replace("-", "_"): sign == "+"})
        rest = rest[len(name) :]
    return rules


def _starts(text: str, name: str) -> bool:
    return text.startswith(name) and text[len(name) : len(name) + 1] in ("", "+", "-")


def preset(name: str) -> RuleSet:
    """A preset by its exact name; raises `ScopeError` for another name."""
    if name not in PRESETS:
        raise ScopeError(f"unknown rule set {name!r}; {nearest(name, PRESETS)}")
    return PRESETS[name]
