"""Reductions from Python: they are those of the command line, and refused with the argument that was given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import kraftcheck as kc
from tests.examples.barriers import BARRIERS
from tests.solvers.search.orders.ports import LOCK, WALKING
from tests.toys import VALVE


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


REFUSED: list[tuple[str, Callable[[], Any], str]] = [
    ("unknown", lambda: kc.explore(LOCK, reduce="all"), "reduce is 'all', none of none, orders"),
    ("symmetry", lambda: kc.explore(LOCK, symmetry="on"), "symmetry takes False, True or 'proven', not 'on'"),
    ("both", lambda: kc.explore(LOCK, symmetry="proven", reduce="orders"),
     "reduce='orders' cannot be combined with symmetry='proven'; take one of the two"),
    ("declared", lambda: kc.explore(WALKING, symmetry=True), "symmetry=True: "),
    ("told apart", lambda: kc.explore(WALKING, symmetry="proven"), "symmetry='proven': "),
    ("recovers", lambda: kc.explore(VALVE, reduce="orders"),
     "reduce='orders': property opens (recovers) is about all that may follow"),
]  # fmt: skip


@pytest.mark.parametrize(("asked", "says"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_reductions_that_cannot_be_are_refused(asked: Callable[[], Any], says: str) -> None:
    """One line names the argument."""
    with pytest.raises(kc.Refusal) as refused:
        asked()
    assert str(refused.value).startswith(says)
    assert "\n" not in str(refused.value)
