"""Values that a set, a bag or a map does not have: the same on ints and on terms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import kraftcheck as kc
from kraftcheck.model.language.layout import LayoutError
from kraftcheck.model.language.symbolic import UntraceableRule
from tests.model.language.collections.test_collections import symbolic


class Letters(kc.SetOf):
    """Letters with a ballot."""

    members = tuple((kind, ballot) for kind in ("ask", "tell") for ballot in (1, 2))


class Coins(kc.Bag):
    """Coins of some values."""

    members = ((1,), (5,))


class Shares(kc.Map):
    """A word for each owner."""

    keys = (("a", 1), ("a", 2))


LETTERS, COINS, SHARES = Letters.of([("ask", 1)]), Coins.of([(1,)]), Shares.of(lambda key: 7)


@pytest.mark.parametrize(
    "rule",
    [
        lambda n: LETTERS.has(("ask", n)),
        lambda n: LETTERS.plus(LETTERS.just(("ask", n))).masks[0],
        lambda n: COINS.count((n,)),
        lambda n: COINS.add((n,)).counts[0],
        lambda n: SHARES.get(("a", n), otherwise=3),
        lambda n: SHARES.put(("a", n), 4).get(("a", 1)),
    ],
    ids=["has", "just", "count", "add", "get", "put"],
)
def test_a_value_that_is_no_member_is_the_same_on_ints_and_terms(rule: Callable[[Any], Any]) -> None:
    """A rule that asks for a number which no member has computes on ints what the engines compute."""
    compiled = symbolic(lambda n: n, rule, ((0, 6),))
    assert [int(rule(number)) for number in range(7)] == [int(compiled(number)) for number in range(7)]


@pytest.mark.parametrize("value", [("aks", 1), ("ask", 1, 2), (1, "ask")])
def test_a_value_with_other_parts_is_a_mistake(value: tuple[Any, ...]) -> None:
    """A misspelt text or another number of parts is refused on ints and on terms, with the members."""
    with pytest.raises(LayoutError, match=r"is not among the 4 members: \('ask', 1\)"):
        LETTERS.has(value)
    spelt = [part if isinstance(part, str) else None for part in value]
    with pytest.raises(UntraceableRule, match=r"test_no_members\.py:\d+: .* has other parts than each of the 4"):
        symbolic(lambda n: n, lambda n: LETTERS.has(tuple(n if part is None else part for part in spelt)), ((1, 2),))


def test_an_initial_set_has_members_only() -> None:
    """A set, a bag and a map are made of members only, whatever their numbers are."""
    for make in (lambda: Letters.of([("ask", 3)]), lambda: Coins.of([(3,)]), lambda: SHARES.get(("a", 3))):
        with pytest.raises(LayoutError, match=r"is not among the \d members"):
            make()
