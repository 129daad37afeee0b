"""Reductions from Python: they are those of the command line."""

from __future__ import annotations

import pytest

import kraftcheck as kc
from tests.examples.barriers import BARRIERS
from tests.solvers.search.orders.ports import LOCK


def test_orders_are_left_out() -> None:
    """The verdicts of the lock are those of the full search, in fewer states; no trace is called shortest."""
    whole, some = kc.explore(LOCK), kc.explore(LOCK, reduce="orders")
    assert some.exploration is not None
    assert whole.exploration is not None
    assert some.exploration.distinct < whole.exploration.distinct / 2
    assert {one: type(verdict) for one, verdict in some.verdicts.items()} == {
        one: type(verdict) for one, verdict in whole.verdicts.items()
    }
    assert not some.exploration.shortest
    assert some.document["orders"]["reduced"] > 0


@pytest.mark.slow
def test_symmetries_are_proven() -> None:
    """Barriers has no declared symmetry; what its layout suggests is proven, and 368 of 29,279 states are left."""
    assert len(kc.explore(BARRIERS, symmetry="proven").states()) == 368
