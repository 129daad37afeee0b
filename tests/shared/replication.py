"""States of the `replication` system for tests, and what its actions do to them."""

from collections.abc import Sequence
from typing import Any

from attrs import evolve

from kraftcheck.model.language.brokersets import BrokerSet
from kraftcheck.model.language.system import Action, Outcome, Setting
from kraftcheck.model.rules.ruleset import parse
from kraftcheck.model.systems.elections import triggers
from kraftcheck.model.systems.replication.log import VACANT, Log
from kraftcheck.model.systems.replication.state import Broker, Replication, decided
from kraftcheck.model.systems.replication.system import REPLICATION

BROKERS, ROOM = 3, 4

BOUNDS = {
    "records": ROOM, "loss": 2, "unclean-stops": 2, "clean-stops": 2, "fences": 4, "shrinks": 4, "reassignments": 4,
    "unclean-elections": 1, "config-changes": 2, "epochs": 8,
}  # fmt: skip
"""Room for every example: three brokers that are replicas, min ISR 2."""


def ids(*members: int) -> BrokerSet:
    """A set of brokers."""
    return BrokerSet.of(members)


def log(*epochs: int) -> Log:
    """A log by the leader epochs of its records."""
    return Log((*(e + 1 for e in epochs), *(VACANT,) * (ROOM - len(epochs))))


def setting(rules: str = "fixed") -> Setting:
    """The setting of the examples."""
    return REPLICATION.setting("small", BOUNDS, parse(rules))


def start() -> Replication:
    """The initial state: broker 0 leads, everybody is in sync, nothing is written."""
    (found,) = REPLICATION.initial(setting())
    state: Replication = found
    return state


def action(name: str, rules: str = "fixed") -> Action:
    """An action by its name."""
    (found,) = [a for a in REPLICATION.actions(setting(rules)) if a.name == name]
    return found


def refused(state: Replication, name: str, rules: str = "fixed", **arguments: Any) -> list[str]:
    """The conjuncts of an action's guard that fail."""
    return [part for part, true in action(name, rules).guards(state, arguments).items() if not true]


def do(state: Replication, name: str, rules: str = "fixed", **arguments: Any) -> Replication:
    """The state after an enabled action."""
    assert refused(state, name, rules, **arguments) == [], f"{name} is not enabled"
    after: Replication = action(name, rules).outcome(state, arguments).state
    return after


def fetch(
    state: Replication, follower: int, leader: int = 0, received: int = ROOM, rules: str = "fixed"
) -> Replication:
    """A fetch, of everything unless told otherwise."""
    return do(state, "fetch", rules, follower=follower, leader=leader, received=received)


def learn(state: Replication, *brokers: int, rules: str = "fixed") -> Replication:
    """Brokers apply all metadata there is, where it says something new to them."""
    for broker in brokers:
        if not refused(state, "apply_metadata", rules, broker=broker, epoch=state.leader_epoch):
            state = do(state, "apply_metadata", rules, broker=broker, epoch=state.leader_epoch)
    return state


def with_broker(state: Replication, number: int, **changes: Any) -> Replication:
    """The state with fields of a broker replaced."""
    return state.with_broker(number, evolve(state.brokers[number], **changes))


def with_logs(state: Replication, *logs: Log) -> Replication:
    """The state with other logs."""
    return evolve(state, brokers=tuple(evolve(b, log=some) for b, some in zip(state.brokers, logs, strict=True)))


def with_controller(state: Replication, **changes: Any) -> Replication:
    """The state with fields of the controller's registration replaced."""
    return evolve(state, controller=evolve(state.controller, **changes))


def elect(state: Replication, leader: int, isr: Sequence[int]) -> Replication:
    """The state after an election that the controller is taken to have made; no broker has heard of it."""
    after = evolve(state.controller, leader=leader, isr=ids(*isr))
    event = evolve(triggers.start(state.controller).event, records=1, leader_epoch_bumps=1, partition_epoch_bumps=1)
    return decided(state, Outcome(after, event), parse("fixed").data_plane)


def ends(state: Replication, leader: int) -> tuple[Any, ...]:
    """What a leader knows of everybody's log end."""
    broker: Broker = state.brokers[leader]
    return broker.ends
