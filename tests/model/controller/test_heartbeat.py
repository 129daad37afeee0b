"""Sessions and the state machine of brokers: each row of the table, and what keeps the orders."""

from __future__ import annotations

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from kraftcheck.model.controller.errors import NotTracked, Resignation
from kraftcheck.model.controller.heartbeat import BrokerState, Sessions, Wish

FENCED, UNFENCED = BrokerState.FENCED, BrokerState.UNFENCED
LEAVING, GONE = BrokerState.CONTROLLED_SHUTDOWN, BrokerState.SHUTDOWN_NOW
REGISTERED = 50


def sessions(state: BrokerState, others: int = 100) -> Sessions:
    """Broker 0 in this state, broker 1 live at an offset."""
    known = Sessions(10).register(0, True, 0).register(1, True, 0).touch(1, False, others, 0)
    if state is not FENCED:
        known = known.touch(0, False, 90, 0)
    return known.begin_shutdown(0, 95) if state is LEAVING else known


@pytest.mark.parametrize(
    ("current", "fence", "shutdown", "offset", "leads", "after"),
    [
        (FENCED, False, True, 0, False, GONE),
        (FENCED, True, True, 99, True, GONE),
        (FENCED, False, False, REGISTERED, False, UNFENCED),
        (FENCED, False, False, REGISTERED - 1, False, FENCED),
        (FENCED, True, False, 99, False, FENCED),
        (UNFENCED, True, True, 0, True, GONE),
        (UNFENCED, True, False, 99, True, FENCED),
        (UNFENCED, False, True, 99, True, LEAVING),
        (UNFENCED, False, True, 99, False, GONE),
        (UNFENCED, False, False, 0, True, UNFENCED),
        (LEAVING, False, True, 99, True, LEAVING),
        (LEAVING, True, False, 99, False, GONE),
        (LEAVING, False, False, 0, False, GONE),
    ],
)
def test_each_row_of_the_table(
    current: BrokerState, fence: bool, shutdown: bool, offset: int, leads: bool, after: BrokerState
) -> None:
    """The state after a heartbeat is the one that the table names, first condition first."""
    known = sessions(current)
    assert known.state(0) is current
    assert known.next_state(0, Wish(fence, shutdown, offset), REGISTERED, leads) is after


@pytest.mark.parametrize(("others", "after"), [(94, LEAVING), (95, GONE), (96, GONE)])
def test_shutdown_waits_for_the_others(others: int, after: BrokerState) -> None:
    """A broker may go once every active broker has applied the end of its shutdown event."""
    assert sessions(LEAVING, others).next_state(0, Wish(False, True, 0), REGISTERED, False) is after


def test_shutdown_without_others_is_immediate() -> None:
    """With no active broker left there is nobody to wait for."""
    known = sessions(LEAVING, 0).fence(1)
    assert known.lowest_active_offset() is None
    assert known.next_state(0, Wish(False, True, 0), REGISTERED, False) is GONE


def test_only_the_first_shutdown_offset_counts() -> None:
    """A second end of shutdown is ignored; being fenced forgets the first."""
    known = sessions(LEAVING).begin_shutdown(0, 120)
    assert known.shutdown_offset(0) == 95
    assert known.touch(0, True, 90, 1).shutdown_offset(0) is None
    assert known.touch(0, False, 90, 1).shutdown_offset(0) == 95


def test_unknown_and_fenced_brokers_are_refused() -> None:
    """The soft state knows nothing of brokers that are not tracked; a fenced one cannot begin to leave."""
    for ask in (
        lambda: Sessions(10).touch(0, False, 0, 0),
        lambda: Sessions(10).begin_shutdown(0, 0),
        lambda: Sessions(10).next_state(0, Wish(False, False, 0), 0, False),
    ):
        with pytest.raises(NotTracked):
            ask()
    with pytest.raises(Resignation):
        sessions(FENCED).begin_shutdown(0, 95)


def test_a_registration_change_forgets_the_offset() -> None:
    """Replaying a registration keeps the reported offset only where the fencing state changes."""
    live = sessions(UNFENCED)
    assert live.register(0, False, 5).tracked[0].metadata_offset == -1
    assert live.register(0, True, 5).tracked[0].metadata_offset == 90
    assert live.register(0, True, 5).tracked[0].last_contact == 5


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["register", "touch", "fence", "remove", "shutdown"]),
        st.integers(0, 3),
        st.booleans(),
        st.integers(0, 9),
    ),
    max_size=25,
)


@given(STEPS)
def test_live_brokers_are_tracked_and_in_order(steps: list[tuple[str, int, bool, int]]) -> None:
    """Whatever happens, the live list holds tracked brokers once each, longest silent first."""
    known, now = Sessions(10), 0
    for op, broker, fenced, number in steps:
        now += number % 3
        try:
            if op == "register":
                known = known.register(broker, fenced, now)
            elif op == "touch":
                known = known.touch(broker, fenced, number, now)
            elif op == "shutdown":
                known = known.begin_shutdown(broker, number)
            else:
                known = known.fence(broker) if op == "fence" else known.remove(broker)
        except Resignation:
            assert broker not in known.live
        assert set(known.live) <= set(known.tracked)
        assert len(set(known.live)) == len(known.live)
        contacts = [known.tracked[b].last_contact for b in known.live]
        assert contacts == sorted(contacts)
        assert known == evolve(known)
        stale = known.stale(now)
        assert stale is None or stale == known.live[0]
