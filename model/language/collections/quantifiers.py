"""Claims about each, some, or how many of the members of a range, a tuple or a set."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from kraftcheck.model.language.anynumber.brokers import AnySet
from kraftcheck.model.language.sequences import every
from kraftcheck.model.language.terms import Term, Truth, Word
from kraftcheck.model.language.words import all_of, any_of, implies, negate, word


def each(items: Any, claim: Callable[[Any], Truth]) -> Truth:
    """The truth that a claim holds of each member.

    Args:
        items: a range, a tuple, a set, or a set of any size, which only provers take.
        claim: a function of a member.

    >>> each(range(3), lambda b: b < 3), each((), lambda b: False)
    (True, True)
    """
    if isinstance(items, AnySet):
        return every(items.graph, lambda place: implies(items.has(place), claim(place)))
    return all_of(*(implies(member, claim(item)) for item, member in _members(items)))


def some(items: Any, claim: Callable[[Any], Truth]) -> Truth:
    """The truth that a claim holds of some member; arguments as of `each`.

    >>> some((1, 5), lambda x: x == 5), some((), lambda x: True)
    (True, False)
    """
    if isinstance(items, AnySet):
        return negate(each(items, lambda place: negate(claim(place))))
    return any_of(*(all_of(member, claim(item)) for item, member in _members(items)))


def count(items: Any, claim: Callable[[Any], Truth]) -> Word:
    """How many members a claim holds of; arguments as of `each`, but of a set of any size.

    >>> count((1, 5, 7), lambda x: x > 2)
    2
    """
    return sum((word(all_of(member, claim(item))) for item, member in _members(items)), start=0)


def _members(items: Any) -> Iterator[tuple[Any, Truth]]:
    """What may be a member, each with the truth that it is."""
    mask = getattr(items, "mask", None)
    if mask is not None:
        highest = mask.hi if isinstance(mask, Term) else mask
        return ((number, items.has(number)) for number in range(highest.bit_length()))
    if hasattr(items, "possible"):
        return ((item, items.has(item)) for item in items.possible())
    whole: Iterable[Any] = items
    return ((item, True) for item in whole)
