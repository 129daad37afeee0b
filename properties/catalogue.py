"""The catalogue: every shipped system with its properties, loaded when it is asked for.

Expected verdicts are data in `kraftcheck.properties.register.verdicts`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import Any

from attrs import evolve, frozen

from kraftcheck.model.language.system import Property, ScopeError, Setting, System
from kraftcheck.model.nearest import nearest
from kraftcheck.model.rules.ruleset import variants
from kraftcheck.properties.kinds import validate


@frozen
class SystemEntry:
    """The places of one system's parts."""

    behaviour: str  # the `System`, as `module:attribute`
    # modules of `kraftcheck.properties`, each with a function `properties`, or another one that is named as in
    # `module:function`; none: the system has them
    claims: tuple[str, ...] = ()
    lemmas: str = ""  # the module of its lemmas, with a function `lemmas`; empty: no proof needs any


class Catalogue(Mapping[str, System]):
    """Systems by name; one is imported when it is first looked up."""

    def __init__(self, entries: Mapping[str, SystemEntry]) -> None:
        """A catalogue of these entries."""
        self._entries = entries

    def __getitem__(self, name: str) -> System:
        """The system with its properties, which are validated whenever they are asked for."""
        return _loaded(self._entries[name])

    def __contains__(self, name: object) -> bool:
        """Whether there is such a system; loads nothing."""
        return name in self._entries

    def __iter__(self) -> Iterator[str]:
        """The names, in the order of the catalogue."""
        return iter(self._entries)

    def __len__(self) -> int:
        """The number of systems."""
        return len(self._entries)


@cache
def _loaded(entry: SystemEntry) -> System:
    module, _, attribute = entry.behaviour.partition(":")
    system: System = getattr(import_module(f"kraftcheck.{module}"), attribute)
    named = [(name.partition(":")[0], name.partition(":")[2] or "properties") for name in entry.claims]
    makers = [getattr(_module(name), function) for name, function in named] or [system.properties]

    def properties(setting: Setting) -> tuple[Property, ...]:
        return validate([claim for maker in makers for claim in maker(setting)], variants())

    if not entry.lemmas:
        return evolve(system, properties=properties)
    lemmas = _module(entry.lemmas)
    return evolve(system, properties=properties, lemmas=lemmas.lemmas, decided=getattr(lemmas, "DECIDED", ()))


def _module(name: str) -> Any:
    return import_module(f"kraftcheck.properties.{name}")


SYSTEMS: Mapping[str, System] = Catalogue({
    "elections": SystemEntry(
        "model.systems.elections.system:ELECTIONS",
        ("elections.registration", "elections.leadership", "elections.elr", "elections.outsiders",
         "elections.healing", "elections.healing:goals"),
        "elections.lemmas",
    ),
    "replication": SystemEntry(
        "model.systems.replication.system:REPLICATION",
        ("replication.durability", "replication.loss", "replication.healing"), "replication.lemmas",
    ),
    "broker-ids": SystemEntry(
        "model.systems.broker_ids.system:BROKER_IDS", ("broker_ids.promises",), "broker_ids.promises"
    ),
    "directories": SystemEntry(
        "model.systems.directories.system:DIRECTORIES",
        ("directories.assignment", "directories.disks", "directories.loss", "directories.healing",
         "directories.healing:goals"),
        "directories.lemmas",
    ),
    "kraft": SystemEntry("model.systems.kraft.system:KRAFT", ("kraft.both",)),
    "zk-controller": SystemEntry(
        "model.systems.zk_controller.system:ZK_CONTROLLER", ("zk_controller.promises",), "zk_controller.lemmas"
    ),
    "unclean-recovery": SystemEntry(
        "model.systems.unclean_recovery.system:UNCLEAN_RECOVERY", ("unclean_recovery.promises",),
        "unclean_recovery.promises",
    ),
    "zk-jbod": SystemEntry("model.systems.zk_jbod.system:ZK_JBOD", ("zk_jbod.promises",), "zk_jbod.promises"),
    "elr-index": SystemEntry("model.systems.elr_index.system:ELR_INDEX", ("elr_index.promises",)),
    "sessions": SystemEntry("model.systems.sessions.system:SESSIONS", ("sessions.promises",)),
    "takeovers": SystemEntry(
        "model.systems.elections.takeovers:TAKEOVERS", ("elections.takeovers",), "elections.takeovers"
    ),
    "features": SystemEntry("model.systems.features.system:FEATURES", ("features.promises",), "features.promises"),
    "images": SystemEntry("model.systems.images.system:IMAGES", ("images.promises",), "images.promises"),
    "heartbeats": SystemEntry(
        "model.systems.heartbeats.system:HEARTBEATS", ("heartbeats.promises",), "heartbeats.promises"
    ),
    "future-logs": SystemEntry(
        "model.systems.future_logs.system:FUTURE_LOGS", ("future_logs.promises",), "future_logs.promises"
    ),
})  # fmt: skip
"""Shipped systems by name."""

FAIR_SYSTEMS: Mapping[str, System] = Catalogue({
    "fair-elections": SystemEntry("properties.elections.fairness:FAIR_ELECTIONS"),
    "healing-elections": SystemEntry("properties.elections.fairness:HEALING_ELECTIONS"),
    "healing-sessions": SystemEntry("properties.sessions.promises:HEALING_SESSIONS"),
    "healing-features": SystemEntry("properties.features.promises:HEALING_FEATURES"),
    "fair-replication": SystemEntry("properties.replication.healing:FAIR_REPLICATION"),
    "fair-directories": SystemEntry("properties.directories.healing:FAIR_DIRECTORIES"),
    "fair-future-logs": SystemEntry("properties.future_logs.promises:FAIR_FUTURE_LOGS"),
    "fair-broker-ids": SystemEntry("properties.broker_ids.promises:FAIR_BROKER_IDS"),
    "fair-zk-controller": SystemEntry("properties.zk_controller.lemmas:FAIR_ZK_CONTROLLER"),
    "fair-zk-jbod": SystemEntry("properties.zk_jbod.promises:FAIR_ZK_JBOD"),
    "fair-unclean-recovery": SystemEntry("properties.unclean_recovery.promises:FAIR_UNCLEAN_RECOVERY"),
})  # fmt: skip
"""Systems with fairness, and with liveness properties alone, by name: only `explore` and `check` judge them."""


def find(name: str) -> System:
    """A shipped system, with fairness or without; raises `ScopeError` with the nearest names for another."""
    for catalogue in (SYSTEMS, FAIR_SYSTEMS):
        if name in catalogue:
            return catalogue[name]
    raise ScopeError(f"unknown system {name!r}; {nearest(name, [*SYSTEMS, *FAIR_SYSTEMS], 'kraftcheck list')}")
