"""Sets of numbers below a bound that may be any: their domains, and claims about each member.

With a number they are bit masks, which every engine takes; with ANY finite sets of whatever size, which provers take.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kraftcheck.model.language.anynumber.brokers import AnySet
from kraftcheck.model.language.anynumber.family import numbers
from kraftcheck.model.language.bound import ANY
from kraftcheck.model.language.brokersets import Brokers, BrokerSet, mask_of
from kraftcheck.model.language.layout import counter, endless, ints, subset_of
from kraftcheck.model.language.sequences import every
from kraftcheck.model.language.terms import Term, Truth, Word
from kraftcheck.model.language.words import all_of, implies, negate

Claim = Callable[[Word], Truth]


def set_below(count: int) -> Any:
    """The domain of a set of numbers from 0 to below a count, or of a finite set of any numbers."""
    return AnySet(endless(0, 1)) if count == ANY else BrokerSet(subset_of(count))


def word_below(count: int, least: int = 0) -> Any:
    """The domain of a word from a least one to below a count, or without an upper bound."""
    return counter(least) if count == ANY else ints(least, count - 1)


def numbers_below(count: int) -> Sequence[int]:
    """The values of an argument: the numbers from 0 to below a count, or all."""
    return numbers() if count == ANY else range(count)


def each(members: Brokers, claim: Claim) -> Truth:
    """Whether a claim holds of each member of a set."""
    if isinstance(members, AnySet):
        return every(members.graph, lambda at: implies(members.has(at), claim(at)))
    mask = mask_of(members)
    places = (mask.hi if isinstance(mask, Term) else mask).bit_length()
    return all_of(*(implies(members.has(place), claim(place)) for place in range(places)))


def some_member(members: Brokers, claim: Claim) -> Truth:
    """Whether a claim holds of some member of a set."""
    return negate(each(members, lambda place: negate(claim(place))))
