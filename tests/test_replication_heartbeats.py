"""The `replication` system: what heartbeats may do there is what the controller's table says."""

from __future__ import annotations

import itertools

import pytest

from model.controller.heartbeat import BrokerState, Sessions, Wish
from tests.replication import ids, refused, start, with_controller

FENCED, UNFENCED = BrokerState.FENCED, BrokerState.UNFENCED
LEAVING, GONE = BrokerState.CONTROLLED_SHUTDOWN, BrokerState.SHUTDOWN_NOW
REGISTERED, APPLIED = 5, 9
"""Offset of the broker's registration, and what everybody has applied."""


def sessions(fenced: bool, leaving: bool) -> Sessions:
    """Broker 1 in this state, broker 0 live; both have applied everything."""
    known = Sessions(10).register(0, True, 0).register(1, True, 0).touch(0, False, APPLIED, 0)
    known = known.touch(1, fenced, APPLIED, 0)
    return known.begin_shutdown(1, APPLIED) if leaving and not fenced else known


@pytest.mark.parametrize(
    ("fenced", "leaving", "leads"),
    [some for some in itertools.product((False, True), repeat=3) if not (some[2] and (some[0] or some[1]))],
)
def test_guards_are_the_rows_of_the_table(fenced: bool, leaving: bool, leads: bool) -> None:
    """Unfencing, the begin of a shutdown and its end are enabled just where the next state of the table differs."""
    known = sessions(fenced, leaving)
    current = known.state(1)
    plain, asked = (known.next_state(1, Wish(False, wish, APPLIED), REGISTERED, leads) for wish in (False, True))
    state = with_controller(
        start(), leader=1 if leads else 0, fenced=ids(*[1] * fenced), shutting_down=ids(*[1] * leaving)
    )
    allowed = {name for name in ("unfence", "shut_down", "stop") if not refused(state, name, broker=1)}
    assert ("unfence" in allowed) == ((current, plain) == (FENCED, UNFENCED))
    # The table lets a broker that leads nothing stop at once; here it begins a shutdown, and then stops.
    assert ("shut_down" in allowed) == (current is UNFENCED and asked in (LEAVING, GONE))
    assert ("stop" in allowed) == (leaving and current is not UNFENCED and asked is GONE)


def test_one_more_wait_is_left_out() -> None:
    """Where others lag the table makes a leaving broker wait; here it may stop, which only adds behaviour."""
    known = sessions(False, True).touch(0, False, APPLIED - 1, 0)
    assert known.next_state(1, Wish(False, True, APPLIED), REGISTERED, False) is LEAVING
    assert refused(with_controller(start(), shutting_down=ids(1)), "stop", broker=1) == []
