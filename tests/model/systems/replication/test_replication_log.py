"""The log of a replica against plain lists, and heartbeats of `replication` against the table of the controller."""

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import pytest
from attrs import evolve, frozen
from hypothesis import given
from hypothesis import strategies as st

from kraftcheck.model.controller.brokers import HeartbeatRequest, heartbeat
from kraftcheck.model.controller.commits import commit
from kraftcheck.model.controller.heartbeat import UNKNOWN, BrokerState, Session, Sessions, Wish
from kraftcheck.model.controller.state import Controller
from kraftcheck.model.language.layout import Range
from kraftcheck.model.language.system import Action
from kraftcheck.model.language.terms import Graph
from kraftcheck.model.rules.ruleset import parse
from kraftcheck.model.systems.replication.log import VACANT, Log, larger, smaller
from kraftcheck.model.systems.replication.state import STOPPED_CLEAN, Replication
from kraftcheck.properties.catalogue import SYSTEMS
from tests.model.controller.test_controller_agreement import controller_in, seen, told
from tests.shared.explored import numbers, read, symbolic, values_of

ROOM = 3
EPOCHS = (1, 2, 3)  # entries: leader epoch plus one

SMALL = [list(some) for n in range(ROOM + 1) for some in itertools.combinations_with_replacement(EPOCHS, n)]
"""Every log of up to three records in which epochs never fall."""


def log(records: Sequence[int], room: int = ROOM) -> Log:
    """A log with room for so many records."""
    return Log((*records, *(VACANT,) * (room - len(records))))


def records(found: Log) -> list[int]:
    """The records of a log, none of which follows a vacant entry."""
    entries = [entry for entry in found.entries if isinstance(entry, int)]
    assert len(entries) == len(found.entries)
    kept = [entry for entry in entries if entry != VACANT]
    assert entries == kept + [VACANT] * (len(entries) - len(kept)), "a hole"
    return kept


@st.composite
def logs(draw: st.DrawFn, room: int = 6) -> list[int]:
    """Records of a log with epochs that never fall."""
    return sorted(draw(st.lists(st.integers(1, 9), max_size=room)))


def end_of_epoch(some: Sequence[int], entry: int) -> int:
    """Offset after the last record whose epoch is at most the given one."""
    return max((offset + 1 for offset, old in enumerate(some) if old <= entry), default=0)


def test_a_log_is_shown_by_its_epochs() -> None:
    """Entries are epochs plus one; vacant ones are not shown."""
    assert [str(log([])), str(log([1])), str(log([1, 1, 3]))] == ["[]", "[0]", "[0 0 2]"]


@pytest.mark.parametrize("some", SMALL, ids=str)
def test_ends_and_last_records(some: list[int]) -> None:
    """End, last record and fullness are those of the list."""
    assert log(some).end() == len(some)
    assert log(some).last() == (some[-1] if some else VACANT)
    assert log(some).is_full() == (len(some) == ROOM)


@pytest.mark.parametrize("some", SMALL, ids=str)
def test_appending_and_truncating(some: list[int]) -> None:
    """A record goes to the end unless the log is full; cutting keeps the first records, beyond the end all."""
    for entry in EPOCHS:
        assert records(log(some).append(entry)) == [*some, entry][:ROOM]
    for to in range(ROOM + 1):
        assert records(log(some).truncate(to)) == some[:to]


@pytest.mark.parametrize("some", SMALL, ids=str)
def test_looking_up_epochs(some: list[int]) -> None:
    """The end of the largest epoch up to a given one, and that epoch, are those of the list."""
    for entry in (VACANT, *EPOCHS):
        assert log(some).count_to(entry) == end_of_epoch(some, entry)
        assert log(some).largest_to(entry) == max((old for old in some if old <= entry), default=VACANT)


def test_copying_and_comparing_every_pair() -> None:
    """A copy adds what the other log holds beyond the end; agreement is that of the two prefixes."""
    for one, other in itertools.product(SMALL, repeat=2):
        assert records(log(one).copy_of(log(other))) == one + other[len(one) :]
        for below in range(ROOM + 1):
            assert log(one).agrees(log(other), below) == (one[:below] == other[:below])


@given(one=logs(), other=logs(), cut=st.integers(0, 6), entry=st.integers(0, 10))
def test_larger_logs(one: list[int], other: list[int], cut: int, entry: int) -> None:
    """The same facts for logs with room for six records of nine epochs."""
    a, b = log(one, 6), log(other, 6)
    assert (a.end(), a.last(), a.is_full()) == (len(one), one[-1] if one else VACANT, len(one) == 6)
    assert records(a.truncate(cut)) == one[:cut]
    assert [entry for entry in a.copy_of(b).entries if entry] == one + other[len(one) :]
    assert a.count_to(entry) == end_of_epoch(one, entry)
    assert a.largest_to(entry) == max((old for old in one if old <= entry), default=VACANT)
    assert a.agrees(b, cut) == (one[:cut] == other[:cut])


@given(a=st.integers(-5, 5), b=st.integers(-5, 5))
def test_smaller_and_larger(a: int, b: int) -> None:
    """They are minimum and maximum."""
    assert (smaller(a, b), larger(a, b)) == (min(a, b), max(a, b))


def operations(one: Log, other: Log, number: Any) -> list[Any]:
    """Every operation's result as words."""
    return [
        one.end(), one.last(), one.is_full(), one.count_to(number), one.largest_to(number), one.agrees(other, number),
        *one.append(number).entries, *one.truncate(number).entries, *one.copy_of(other).entries,
        smaller(one.last(), number), larger(one.last(), number),
    ]  # fmt: skip


@pytest.mark.parametrize("number", [VACANT, *EPOCHS, 4])
def test_terms_agree_with_ints(number: int) -> None:
    """Every operation on symbolic logs has, for every pair of small logs, the value that ints have."""
    graph = Graph()
    entry: Any = Range(0, max(EPOCHS))
    one, other = (symbolic(graph, Log((entry,) * ROOM)) for _ in range(2))
    traced = operations(one, other, graph.variable("number", 0, 4))
    for a, b in itertools.product(SMALL, repeat=2):
        found = values_of(graph, [*numbers(log(a)), *numbers(log(b)), number])
        assert read(tuple(traced), found) == tuple(operations(log(a), log(b), number))


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
