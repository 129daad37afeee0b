"""Rule sets: every place where Kafka's releases, its design documents and its defects differ.

A `RuleSet` is a frozen record of groups, and a group a frozen record of named choices. The value False is
always the right rule, or the older feature level; True switches a defect, or a feature, on. A variant is one
choice changed: `kafka-4.0+fenced-leader-acceptable`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import attrs
from attrs import field, frozen

from kraftcheck.model.language.system import ScopeError
from kraftcheck.model.nearest import nearest
from kraftcheck.model.register import RegisterError
from kraftcheck.model.rules.groups import (
    BrokerIdRules,
    ControllerRules,
    DataPlaneRules,
    DirectoryRules,
    FeatureRules,
    FutureLogRules,
    HeartbeatRules,
    ImageRules,
    PartitionRules,
    UncleanRecoveryRules,
    ZkControllerRules,
    ZkJbodRules,
)
from kraftcheck.model.rules.spelling import Spelling, spelt


@frozen
class RuleSet:
    """The choices in groups; a rule takes the groups that it reads, and a system declares them.

    Each choice carries its kind, source and sentence as metadata, from the TOML file of its group. The kinds: `defect`
    (found in Kafka's code at the snapshot), `feature` (differs between versions and documents), `seeded` (a wrong rule
    of the controller, kept to show that a property can fail), `controller` (a defect, or a difference of releases, that
    only the controller in full can show: it takes several partitions, sessions or configurations), and for each of the
    other groups its own name.
    """

    broker_ids: BrokerIdRules = field(factory=BrokerIdRules)  # how a broker finds its id
    # what leaders, followers and the controller tell each other
    data_plane: DataPlaneRules = field(factory=DataPlaneRules)
    directories: DirectoryRules = field(factory=DirectoryRules)  # log directories
    unclean_recovery: UncleanRecoveryRules = field(factory=UncleanRecoveryRules)  # the tool of that KIP
    zk_controller: ZkControllerRules = field(factory=ZkControllerRules)  # the first controller
    zk_jbod: ZkJbodRules = field(factory=ZkJbodRules)  # failed disks on ZooKeeper
    partition: PartitionRules = field(factory=PartitionRules)  # how the controller changes one partition
    controller: ControllerRules = field(factory=ControllerRules)  # how it errs beyond one partition
    features: FeatureRules = field(factory=FeatureRules)  # who is asked before a feature level is finalised
    images: ImageRules = field(factory=ImageRules)  # how a broker joins records to its image
    heartbeats: HeartbeatRules = field(factory=HeartbeatRules)  # how long heartbeats are waited for
    future_logs: FutureLogRules = field(factory=FutureLogRules)  # how a replica is copied into another directory
    own: Any = None  # the choices of a system besides, a frozen record of truths; None: it has none

    def outcome(self, before: Any, ruled: Any) -> Any:
        """The outcome of an event of the controller: what the rules decide, unless a controller is asked for them."""
        return ruled

    def granted(self, ruled: Any) -> Any:
        """The truth that the controller grants a request: what the rules say, unless a controller is asked for them."""
        return ruled

    def value(self, choice: str) -> bool:
        """The value of a choice; raises KeyError where there is none."""
        return bool(getattr(getattr(self, self._group(choice)), choice))

    def switched(self, **choices: bool) -> RuleSet:
        """These choices set, the others as they are; raises KeyError where there is none."""
        changed: dict[str, dict[str, bool]] = {}
        for choice, value in choices.items():
            changed.setdefault(self._group(choice), {})[choice] = value
        return attrs.evolve(self, **{name: attrs.evolve(getattr(self, name), **of) for name, of in changed.items()})

    def _group(self, choice: str) -> str:
        return "own" if hasattr(self.own, choice) else GROUP_OF[choice]


RIGHT = RuleSet()  # every choice right: what rules use that are called without a rule set

GROUPS: Mapping[str, type] = {
    place.name: type(getattr(RIGHT, place.name)) for place in attrs.fields(RuleSet) if place.name != "own"
}
"""The groups by the name of their place in a `RuleSet`."""

CHOICES: Mapping[str, attrs.Attribute[bool]] = {
    choice.name: choice for group in GROUPS.values() for choice in attrs.fields(group)
}
"""Every choice by its name."""

GROUP_OF: Mapping[str, str] = {choice.name: name for name, group in GROUPS.items() for choice in attrs.fields(group)}
"""The group of each choice."""

_RELEASED = (
    "3.9.2", "4.0.0", "4.0.1", "4.0.2", "4.1.0", "4.1.1", "4.1.2", "4.2.0", "4.2.1", "4.2.2", "4.3.0", "4.3.1", "4.4.0",
)  # fmt: skip
_IN_ORDER = ("3.9", "4.0", "4.1", *_RELEASED)
NEWEST = f"kafka-{_RELEASED[-1]}"  # the newest release that is known
MENDED = f"{NEWEST}-mended"  # the newest release with every finding mended, and what others have reported
KNOWN = "it is known"  # what the reason of a choice says that is a defect which others have reported

_NAMES = (
    "kip", *(f"kafka-{name}" for name in _IN_ORDER[:3]), "fixed", *(f"kafka-{name}" for name in _RELEASED), MENDED
)  # fmt: skip


def _having(choice: attrs.Attribute[bool]) -> frozenset[str]:
    """The presets that have a choice on, of names and spans such as `4.0.0 to 4.1.2`.

    Raises:
        RegisterError: for another name.
    """
    found: set[str] = set()
    for span in choice.metadata["has"]:
        first, _, last = span.partition(" to ")
        if first in ("kip", "fixed") and not last:
            found.add(first)
        elif first in _IN_ORDER and (last or first) in _IN_ORDER:
            at = _IN_ORDER.index(first), _IN_ORDER.index(last or first)
            found |= {f"kafka-{name}" for name in _IN_ORDER[at[0] : at[1] + 1]}
        else:
            raise RegisterError(
                f"{variant_name(choice.name)}: has names {span!r}; write kip, fixed, FIRST to LAST, or one of "
                f"{', '.join(_IN_ORDER)}"
            )
    reason: str = choice.metadata["reason"]
    if NEWEST in found and ("fixed" in found or (reason and KNOWN not in reason)):
        found.add(MENDED)
    return frozenset(found)


def _presets() -> dict[str, RuleSet]:
    having = {name: _having(choice) for name, choice in CHOICES.items()}
    return {preset: RIGHT.switched(**{name: preset in having[name] for name in CHOICES}) for preset in _NAMES}


def variant_name(choice: str) -> str:
    """The command-line spelling of a choice."""
    return choice.replace("_", "-")


PRESETS: dict[str, RuleSet] = _presets()  # the presets; `kafka-4.0` is the 4.0.0-SNAPSHOT of October 2024

RELEASES: dict[str, RuleSet] = {f"kafka-{name}": PRESETS[f"kafka-{name}"] for name in _RELEASED}
"""Presets of releases, as conformance with their classes has found them; see docs/reference/conformance.md."""

PRESET_NOTES = {
    "kip": "the design documents as written (KIP-858, KIP-966, the unclean-recovery KIP)",
    "kafka-3.9": "as implemented, without eligible leader replicas",
    "kafka-4.0": "as implemented in the 4.0 snapshot of October 2024, defects included",
    "kafka-4.1": "as kafka-4.0, less what a replayed log of 4.1.0, or its fetcher, shows to be mended",
    "fixed": "kafka-4.0 with every defect mended that a choice of the rules stands for",
    **{name: f"the controller of {name.replace('kafka-', 'Kafka ')} as released" for name in RELEASES},
    MENDED: f"{NEWEST} with every finding and known defect mended: it keeps what has a reason",
}


def variants() -> dict[str, attrs.Attribute[bool]]:
    """Every choice by its command-line name, with its metadata."""
    return {variant_name(name): choice for name, choice in CHOICES.items()}


def parse(text: str) -> RuleSet:
    """The rule set that `PRESET[+NAME|-NAME...]` names; of a choice named twice the last counts.

    >>> parse("kafka-4.0-every-restart-is-unclean").partition.every_restart_is_unclean
    False

    Raises:
        ScopeError: naming the unknown part and the nearest names, or two variants of which each says otherwise.
    """
    found = spelt(text, PRESETS, variants())
    return consistent(
        PRESETS[found.preset].switched(**{variants()[name].name: on for name, on in found.switches}), found
    )


def contradicting(variant: str) -> list[str]:
    """The variants of which one says otherwise than another, or it than they, in order."""
    known = variants()
    own = known[variant].metadata["against"]
    return sorted({*own, *(name for name, one in known.items() if variant in one.metadata["against"])})


def otherwise(rules: RuleSet, variant: str) -> str:
    """The end of a spelling under which a variant is not as in a rule set, and none that contradicts it is on.

    >>> otherwise(parse("kafka-4.0.0"), "takeover-hears-nobody")
    '+takeover-hears-nobody-takeover-hears-fenced-brokers'
    """
    known = variants()
    if rules.value(known[variant].name):
        return f"-{variant}"
    return f"+{variant}" + "".join(f"-{one}" for one in contradicting(variant) if rules.value(known[one].name))


def consistent(rules: RuleSet, spelling: Spelling) -> RuleSet:
    """The rule set that is so spelt; raises `ScopeError` where it has two variants of which each says otherwise."""
    for name, choice in variants().items():
        for other in choice.metadata["against"]:
            if rules.value(choice.name) and rules.value(variants()[other].name):
                raise ScopeError(f"{spelling.text()}: {name} and {other} contradict each other; switch one off, as by "
                                 f"-{other}, or leave it out")  # fmt: skip
    return rules


def without(spelling: str, names: Iterable[str]) -> str:
    """The spelling of a rule set with those of some choices off that it has; as it is where it has none.

    >>> without("kafka-4.4.0", ("removed-replicas-stay-in-elr", "dead-last-known-leader-electable"))
    'kafka-4.4.0-removed-replicas-stay-in-elr'
    """
    rules, known = parse(spelling), variants()
    return spelling + "".join(f"-{name}" for name in names if rules.value(known[name].name))


def preset(name: str) -> RuleSet:
    """A preset by its exact name; raises `ScopeError` for another name."""
    if name not in PRESETS:
        raise ScopeError(f"unknown rule set {name!r}; {nearest(name, PRESETS, 'kraftcheck list')}")
    return PRESETS[name]
