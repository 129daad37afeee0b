"""Rule sets: every place where Kafka's releases, its design documents and its defects differ.

A `RuleSet` is a frozen record of groups, and a group a frozen record of named choices. The value False is
always the right rule, or the older feature level; True switches a defect, or a feature, on. A variant is one
choice changed: `kafka-4.0+fenced-leader-acceptable`.
"""

from __future__ import annotations

from collections.abc import Mapping

import attrs
from attrs import field, frozen

from kraftcheck.model.language.system import ScopeError
from kraftcheck.model.nearest import nearest
from kraftcheck.model.rules.broker_ids import OF_DOCUMENT, BrokerIdRules
from kraftcheck.model.rules.controller import HISTORICAL, OF_KIP_ALONE, OF_LATER_RELEASES, ControllerRules
from kraftcheck.model.rules.data_plane import DataPlaneRules
from kraftcheck.model.rules.directories import OF_KIP, OF_SNAPSHOT, DirectoryRules
from kraftcheck.model.rules.partition import PartitionRules
from kraftcheck.model.rules.spelling import spelt
from kraftcheck.model.rules.unclean_recovery import OF_RECOVERY_KIP, UncleanRecoveryRules
from kraftcheck.model.rules.zk_controller import OF_FIRST_CONTROLLER, ZkControllerRules
from kraftcheck.model.rules.zk_jbod import OF_ZK_JBOD, ZkJbodRules


@frozen
class RuleSet:
    """The choices in groups; a rule takes the groups that it reads, and a system declares them.

    Each choice carries its kind, source and sentence as metadata. The kinds: `defect` (found in Kafka's code at
    the snapshot), `feature` (differs between versions and documents), `seeded` (a wrong rule of the controller,
    kept to show that a property can fail), `controller` (a defect, or a difference of releases, that only the
    controller in full can show: it takes several partitions, sessions or configurations), and for each of the other
    groups its own name.

    Attributes:
        broker_ids: how a broker finds its id.
        data_plane: what leaders, followers and the controller tell each other.
        directories: log directories.
        unclean_recovery: the tool of that KIP.
        zk_controller: the first controller.
        zk_jbod: failed disks on ZooKeeper.
        partition: how the controller changes one partition.
        controller: how it errs beyond one partition.
    """

    broker_ids: BrokerIdRules = field(factory=BrokerIdRules)
    data_plane: DataPlaneRules = field(factory=DataPlaneRules)
    directories: DirectoryRules = field(factory=DirectoryRules)
    unclean_recovery: UncleanRecoveryRules = field(factory=UncleanRecoveryRules)
    zk_controller: ZkControllerRules = field(factory=ZkControllerRules)
    zk_jbod: ZkJbodRules = field(factory=ZkJbodRules)
    partition: PartitionRules = field(factory=PartitionRules)
    controller: ControllerRules = field(factory=ControllerRules)

    def value(self, choice: str) -> bool:
        """The value of a choice; raises KeyError where there is none."""
        return bool(getattr(getattr(self, GROUP_OF[choice]), choice))

    def switched(self, **choices: bool) -> RuleSet:
        """These choices set, the others as they are; raises KeyError where there is none."""
        changed: dict[str, dict[str, bool]] = {}
        for choice, value in choices.items():
            changed.setdefault(GROUP_OF[choice], {})[choice] = value
        return attrs.evolve(self, **{name: attrs.evolve(getattr(self, name), **of) for name, of in changed.items()})


RIGHT = RuleSet()
"""Every choice right: what rules use that are called without a rule set."""

GROUPS: Mapping[str, type] = {place.name: type(getattr(RIGHT, place.name)) for place in attrs.fields(RuleSet)}
"""The groups by the name of their place in a `RuleSet`."""

CHOICES: Mapping[str, attrs.Attribute[bool]] = {
    choice.name: choice for group in GROUPS.values() for choice in attrs.fields(group)
}
"""Every choice by its name."""

GROUP_OF: Mapping[str, str] = {choice.name: name for name, group in GROUPS.items() for choice in attrs.fields(group)}
"""The group of each choice."""

DEFECTS = tuple(name for name, choice in CHOICES.items() if choice.metadata["group"] == "defect")
"""Choices that are defects of the snapshot, or of the design documents."""

_OF_DOCUMENTS = (
    "unknown_directory_is_offline", "one_directory_means_all_online", "designated_may_be_leaving",
)  # fmt: skip
_OF_CONTROLLER = tuple(
    name for name in attrs.fields_dict(ControllerRules) if name not in (*OF_KIP_ALONE, *OF_LATER_RELEASES, *HISTORICAL)
)
_SNAPSHOT = {name: True for name in (*DEFECTS, *_OF_CONTROLLER, *OF_SNAPSHOT) if name not in _OF_DOCUMENTS}

_LATE_REPLIES = ("earlier_reply_applied", "append_beyond_fetch_epoch")
"""KAFKA-18723: the fetchers of 3.9.2, 4.0.1 and later have it mended, that of 4.0.0 has not."""

_MENDED_IN_4_1 = (
    "dead_last_known_leader_electable", "every_restart_is_unclean", "min_isr_change_keeps_elr", *_LATE_REPLIES,
)  # fmt: skip
"""KAFKA-19522, KAFKA-18635, KAFKA-16540, KAFKA-18723."""

_MENDED_IN_4_0_0 = ("stale_reregistration_keeps_isr", "every_restart_is_unclean", "min_isr_change_keeps_elr")
"""KAFKA-18106, KAFKA-18635, KAFKA-16540: mended between the snapshot and the release, as the tour finds."""

_CONTROLLER_OF_4_0_0 = {
    "registration_is_one_batch": False,
    "metadata_version_range_required": True,
    "sessions_by_contact": True,
    "contacts_hashed_as_lists": True,
    "takeover_hears_fenced_brokers": True,
}
"""KAFKA-17793 and KAFKA-18138 among them."""

_OF_3_9_2 = {
    **_SNAPSHOT, "elr_available": False, "created_partitions_uncounted": False, **dict.fromkeys(_LATE_REPLIES, False),
}  # fmt: skip
_OF_4_0_0 = {
    **_SNAPSHOT, **dict.fromkeys(_MENDED_IN_4_0_0, False), "elr_downgrade": True,
    "created_partitions_uncounted": False, **_CONTROLLER_OF_4_0_0,
}  # fmt: skip
_OF_4_0_1 = {**_OF_4_0_0, **dict.fromkeys(_LATE_REPLIES, False)}
_OF_4_1_0 = {
    **_OF_4_0_1, "dead_last_known_leader_electable": False, "last_known_leader_may_be_removed": True,
    "takeover_hears_fenced_brokers": False, "factor_change_can_be_forbidden": True,
}  # fmt: skip
_OF_4_1_1 = {**_OF_4_1_0, "last_known_leader_on_leader_loss": True}
_OF_4_2_0 = {**_OF_4_1_1, "contacts_hashed_as_lists": False, "policy_exception_is_fatal": False}
_OF_4_2_1 = {**_OF_4_2_0, "unsupported_configs_kept": False}
_OF_4_3_0 = {**_OF_4_2_1, "assignment_clears_elr": False, "completion_tolerates_stragglers": True}
_OF_4_4_0 = {**_OF_4_3_0, "added_partitions_uncounted": False, "cordoned_brokers_assignable": False}

_OF_RELEASES: dict[str, Mapping[str, bool]] = {
    "3.9.2": _OF_3_9_2,
    "4.0.0": _OF_4_0_0,
    **dict.fromkeys(("4.0.1", "4.0.2"), _OF_4_0_1),
    "4.1.0": _OF_4_1_0,
    **dict.fromkeys(("4.1.1", "4.1.2"), _OF_4_1_1),
    "4.2.0": _OF_4_2_0,
    "4.2.1": _OF_4_2_1,
    **dict.fromkeys(("4.3.0", "4.3.1"), _OF_4_3_0),
    "4.4.0": _OF_4_4_0,
}

RELEASES: dict[str, RuleSet] = {f"kafka-{name}": RIGHT.switched(**choices) for name, choices in _OF_RELEASES.items()}
"""Presets of releases, as conformance with their classes has found them; see docs/reference/conformance.md."""

PRESETS: dict[str, RuleSet] = {
    "kip": RIGHT.switched(
        designated_elections=True,
        default_directory_unassigned=True,
        one_directory_means_all_online=True,
        unknown_directory_is_offline=True,
        designated_may_be_leaving=True,
        **dict.fromkeys((*OF_DOCUMENT, *OF_KIP, *OF_KIP_ALONE, *OF_RECOVERY_KIP), True),
        **dict.fromkeys((*OF_FIRST_CONTROLLER, *OF_ZK_JBOD), True),
    ),
    "kafka-3.9": RIGHT.switched(**{**_SNAPSHOT, "elr_available": False}),
    "kafka-4.0": RIGHT.switched(**_SNAPSHOT),
    "kafka-4.1": RIGHT.switched(**{**_SNAPSHOT, **dict.fromkeys(_MENDED_IN_4_1, False)}),
    "fixed": RIGHT,
    **RELEASES,
}
"""The presets; `kafka-4.0` is the 4.0.0-SNAPSHOT of October 2024."""

PRESET_NOTES = {
    "kip": "the design documents as written (KIP-858, KIP-966, the unclean-recovery KIP)",
    "kafka-3.9": "as implemented, without eligible leader replicas",
    "kafka-4.0": "as implemented in the 4.0 snapshot of October 2024, defects included",
    "kafka-4.1": "as kafka-4.0, less what a replayed log of 4.1.0, or its fetcher, shows to be mended",
    "fixed": "kafka-4.0 with every defect mended that a choice of the rules stands for",
    **{name: f"the controller of {name.replace('kafka-', 'Kafka ')} as released" for name in RELEASES},
}


def variant_name(choice: str) -> str:
    """The command-line spelling of a choice."""
    return choice.replace("_", "-")


def variants() -> dict[str, attrs.Attribute[bool]]:
    """Every choice by its command-line name, with its metadata."""
    return {variant_name(name): choice for name, choice in CHOICES.items()}


def parse(text: str) -> RuleSet:
    """The rule set that `PRESET[+NAME|-NAME...]` names; of a choice named twice the last counts.

    >>> parse("kafka-4.0-every-restart-is-unclean").partition.every_restart_is_unclean
    False

    Raises:
        ScopeError: naming the unknown part and the nearest names.
    """
    found = spelt(text, PRESETS, variants())
    return PRESETS[found.preset].switched(**{name.replace("-", "_"): on for name, on in found.switches})


def preset(name: str) -> RuleSet:
    """A preset by its exact name; raises `ScopeError` for another name."""
    if name not in PRESETS:
        raise ScopeError(f"unknown rule set {name!r}; {nearest(name, PRESETS)}")
    return PRESETS[name]
