"""States of the `directories` system for tests, and what its actions do to them."""

from __future__ import annotations

from typing import Any

from attrs import evolve

from kraftcheck.model.language.brokersets import BrokerSet
from kraftcheck.model.language.system import Action, Setting
from kraftcheck.model.partition.registration import FIRST_LOCAL
from kraftcheck.model.rules.ruleset import parse
from kraftcheck.model.systems.directories.state import Host, Placement
from kraftcheck.model.systems.directories.system import DIRECTORIES

DIR0, DIR1 = FIRST_LOCAL, FIRST_LOCAL + 1  # the ids of the two directories of each broker

BOUNDS = {
    "failures": 2, "crashes": 2, "fences": 2, "moves": 2, "copies": 1, "repairs": 2, "disk-changes": 1,
    "reassignments": 1, "records": 2,
}  # fmt: skip
"""Room for every example."""


def slots(*members: int) -> BrokerSet:
    """A set of slots, or of directory ids as registrations number them."""
    return BrokerSet.of(members)


def setting(rules: str = "fixed", brokers: int = 1, **bounds: int) -> Setting:
    """The setting of the examples: brokers with two directories, every one a replica."""
    named = {name.replace("_", "-"): value for name, value in bounds.items()}
    return DIRECTORIES.setting("tiny", {**BOUNDS, "brokers": brokers, "replication": brokers, **named}, parse(rules))


class Cluster:
    """A state that actions change in place, under one rule set: examples read as a list of what happens."""

    def __init__(self, rules: str = "fixed", brokers: int = 1, **bounds: int) -> None:
        """The initial state of the examples' setting."""
        self.setting = setting(rules, brokers, **bounds)
        self.actions: dict[str, Action] = {a.name: a for a in DIRECTORIES.actions(self.setting)}
        (found,) = DIRECTORIES.initial(self.setting)
        self.state: Placement = found
        self.refused: Any = False

    def refusals(self, name: str, **arguments: Any) -> list[str]:
        """The conjuncts of an action's guard that fail."""
        return [part for part, true in self.actions[name].guards(self.state, arguments).items() if not true]

    def do(self, name: str, **arguments: Any) -> Cluster:
        """An enabled action."""
        assert self.refusals(name, **arguments) == [], f"{name} is not enabled"
        outcome = self.actions[name].outcome(self.state, arguments)
        self.state = outcome.state
        self.refused = outcome.event is not None and outcome.event.refused
        return self

    def host(self, broker: int = 0) -> Host:
        """A broker."""
        return self.state.hosts[broker]

    def change(self, broker: int = 0, **changes: Any) -> Cluster:
        """Fields of a broker replaced."""
        self.state = self.state.with_host(broker, evolve(self.host(broker), **changes))
        return self

    def assigned(self, broker: int = 0) -> Any:
        """The directory that the controller has for a replica."""
        return self.state.controller.directories.slots[broker]

    def apply(self, broker: int = 0, slot: int = 0) -> Cluster:
        """The broker applies its metadata."""
        return self.do("apply_metadata", broker=broker, slot=slot)

    def assign(self, broker: int = 0) -> Cluster:
        """The waiting assignment is sent, processed and answered."""
        return self.do("send", broker=broker).do("assign", broker=broker).do("answer", broker=broker)

    def report(self, broker: int = 0, delivered: bool = True) -> Cluster:
        """A heartbeat lists the failed directories."""
        return self.do("report", broker=broker, delivered=delivered)

    def settle(self, broker: int = 0, slot: int = 0) -> Cluster:
        """A new replica is made in a slot, assigned, and the broker knows it."""
        return self.apply(broker, slot).assign(broker).apply(broker)

    def move(self, slot: int = 1, broker: int = 0) -> Cluster:
        """A move whose future log is level and whose assignment waits."""
        self.do("move", broker=broker, slot=slot).do("copy", broker=broker)
        return self.do("request_promotion", broker=broker)
