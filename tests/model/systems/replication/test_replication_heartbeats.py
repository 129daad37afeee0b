"""The `replication` system: what heartbeats do there is what the controller's table says, for all its inputs."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from functools import cache

import pytest
from attrs import evolve, frozen

from kraftcheck.model.controller.brokers import HeartbeatRequest, heartbeat
from kraftcheck.model.controller.commits import commit
from kraftcheck.model.controller.heartbeat import UNKNOWN, BrokerState, Session, Sessions, Wish
from kraftcheck.model.controller.state import Controller
from kraftcheck.model.language.system import Action
from kraftcheck.model.rules.ruleset import parse
from kraftcheck.model.systems.replication.state import STOPPED_CLEAN, Replication
from kraftcheck.properties.catalogue import SYSTEMS
from tests.model.controller.test_controller_agreement import controller_in, seen, told

REPLICATION = SYSTEMS["replication"]

FENCED, UNFENCED = BrokerState.FENCED, BrokerState.UNFENCED
LEAVING, GONE = BrokerState.CONTROLLED_SHUTDOWN, BrokerState.SHUTDOWN_NOW
REGISTERED, SHUTDOWN, APPLIED = 5, 7, 9
"""Offsets: of the broker's registration, of the end of its shutdown event, and what everybody has applied."""

RULES = parse("fixed")
SETTING = REPLICATION.setting("tiny", {"clean-stops": 2, "fences": 2, "unclean-stops": 0, "epochs": 9}, RULES)
BROKERS = range(SETTING["brokers"])
LIFE = ("fence", "unfence", "shut_down", "stop", "register", "elect_preferred")
"""What moves a broker through its life; the data plane stands still."""

CHANGES = {
    (FENCED, UNFENCED): ("unfence",),
    (FENCED, GONE): ("stop",),
    (UNFENCED, FENCED): ("fence",),
    (UNFENCED, LEAVING): ("shut_down",),
    (UNFENCED, GONE): ("shut_down", "stop", "fence"),
    (LEAVING, GONE): ("stop", "fence"),
}
"""What the `replication` system does where the table changes the state; elsewhere it does nothing."""


@frozen
class Row:
    """One input of the table: what the broker asks for, whether it is caught up, and whether another broker lags."""

    fence: bool
    shutdown: bool
    caught_up: bool
    lags: bool

    def wish(self) -> Wish:
        """The heartbeat's part."""
        return Wish(self.fence, self.shutdown, APPLIED if self.caught_up else REGISTERED - 1)


ROWS = [Row(*row) for row in itertools.product((False, True), repeat=4)]


@cache
def actions() -> dict[str, Action]:
    """The actions of a broker's life."""
    return {action.name: action for action in REPLICATION.actions(SETTING) if action.name in LIFE}


def steps(state: Replication) -> Iterator[Replication]:
    """The states after each action of a broker's life, an unclean return excepted."""
    for action in actions().values():
        for values in itertools.product(*action.parameters.values()):
            arguments = dict(zip(action.parameters, values, strict=True))
            if all(action.guards(state, arguments).values()):
                yield action.outcome(state, arguments).state


@cache
def reachable() -> tuple[Replication, ...]:
    """Every state that brokers' lives lead to, with nothing in the logs."""
    found = set(REPLICATION.initial(SETTING))
    waiting = list(found)
    while waiting:
        new = set(steps(waiting.pop())) - found
        found |= new
        waiting += new
    return tuple({repr(s.controller) + repr([b.status for b in s.brokers]): s for s in found}.values())


def sessions(state: Replication, broker: int, forgotten: bool, lags: bool) -> Sessions:
    """The sessions in a state: all caught up, or another broker behind; after a failover shutdowns are forgotten."""
    live = tuple(b for b in BROKERS if not state.controller.fenced.has(b))
    leaving = () if forgotten else tuple(b for b in live if state.controller.shutting_down.has(b))
    applied = {b: SHUTDOWN - 1 if lags and b != broker else APPLIED for b in BROKERS}
    tracked = {b: Session(0, applied[b], SHUTDOWN if b in leaving else UNKNOWN) for b in BROKERS}
    return Sessions(10**9, tracked, live)


def beaten(state: Replication, broker: int, row: Row, known: Sessions) -> Controller:
    """The controller after a heartbeat."""
    controller = controller_in(state.controller, RULES)
    controller = evolve(controller, soft=evolve(controller.soft, sessions=known))
    request = HeartbeatRequest(broker, 100 + broker, row.wish())
    outcome = heartbeat(controller, request, RULES, REGISTERED)
    return commit(controller, evolve(outcome, shutting_down=None), RULES)


def planned(state: Replication, broker: int, change: tuple[BrokerState, BrokerState]) -> tuple[str, ...]:
    """The actions for a change.

    That a broker fenced before its shutdown began stops cleanly is left out there; and
    where a failover forgot a shutdown, the registration did not.
    """
    on_record = state.controller.shutting_down.has(broker)
    names = CHANGES.get(change, ())
    if change == (FENCED, GONE) and not on_record:
        return ()
    return tuple(name for name in names if not (name == "shut_down" and on_record))


def taken(state: Replication, broker: int, names: tuple[str, ...]) -> Replication:
    """The state after actions that must be enabled."""
    for name in names:
        guards = actions()[name].guards(state, {"broker": broker})
        assert all(guards.values()), (name, guards)
        state = actions()[name].outcome(state, {"broker": broker}).state
    return state


def inputs() -> Iterator[tuple[Replication, int, Row, Sessions]]:
    """Every input of the table in every reachable state, for a broker that runs."""
    for state in reachable():
        state = evolve(state, left=evolve(state.left, clean_stops=2, fences=2))
        for broker, forgotten, row in itertools.product(BROKERS, (False, True), ROWS):
            if state.brokers[broker].running():
                yield state, broker, row, sessions(state, broker, forgotten, row.lags)


@pytest.mark.slow
def test_each_row_of_the_table_is_what_the_system_does() -> None:
    """Where the table changes a state the system can do the same; partition, fencing and shutdown are then alike."""
    done = Counter()
    for state, broker, row, known in inputs():
        leads = bool(state.controller.leader == broker)
        change = known.state(broker), known.next_state(broker, row.wish(), REGISTERED, leads)
        after = told(beaten(state, broker, row, known))
        names = planned(state, broker, change)
        mine = taken(state, broker, names)
        wanted = seen(mine.controller)
        if change == (UNFENCED, GONE) and not state.controller.shutting_down.has(broker):
            # Who stops at once never has a shutdown on record; only a new incarnation would clear it.
            wanted["shutting_down"] -= {broker}
        assert after == wanted, (change, row, state)
        assert (mine.brokers[broker].status == STOPPED_CLEAN) == ("stop" in names)
        done[change] += 1
    assert {change for change in done if change[0] is not change[1]} == set(CHANGES)


def test_nothing_else_is_possible() -> None:
    """An action of a heartbeat is enabled just where some row of the table begins with it, whoever lags."""
    first = {}
    for state, broker, row, known in inputs():
        leads = bool(state.controller.leader == broker)
        change = known.state(broker), known.next_state(broker, row.wish(), REGISTERED, leads)
        offered = [n for n in planned(state, broker, change) if n != "fence"][:1]
        first.setdefault((state, broker), set()).update(offered)
    for (state, broker), offered in first.items():
        names = ("unfence", "shut_down", "stop")
        allowed = {n for n in names if all(actions()[n].guards(state, {"broker": broker}).values())}
        assert allowed == offered, (state.controller, broker)
    assert len(first) > 50
