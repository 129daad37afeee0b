"""Tuples, and maps of any number, read and written at places that a rule computes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kraftcheck.model.language.anynumber.brokers import PerBroker
from kraftcheck.model.language.terms import Term, Word
from kraftcheck.model.language.words import choose, pick

_REFUSED = object()


def get(items: Sequence[Any] | PerBroker, *places: Word, otherwise: Any = _REFUSED) -> Any:
    """The item of a tuple at a place, or of a tuple of tuples at several.

    Args:
        items: a tuple of values of one shape, or a map of any number, of which no place is outside.
        places: a place for each level, from 0 on.
        otherwise: the value where a place is outside; without it, no place may be outside.

    Raises:
        IndexError: when a place may be outside, and `otherwise` is not given.

    >>> get(((7, 8), (9, 6)), 1, 0), get((7, 8), 2, otherwise=0)
    (9, 0)
    """
    place, *inner = places
    if isinstance(items, PerBroker):
        return get(items.at(place), *inner, otherwise=otherwise) if inner else items.at(place)
    if otherwise is _REFUSED:
        _check(items, place)
    values = [get(item, *inner, otherwise=otherwise) if inner else item for item in items]
    return pick(values, place, values[0] if otherwise is _REFUSED else otherwise)


def put(items: Any, place: Word | tuple[Word, ...], value: Any) -> Any:
    """The tuple with a value at a place, or in a tuple of tuples at several; elsewhere as it was.

    A place outside changes nothing, as with TLA+'s `EXCEPT`.

    Args:
        items: a tuple of values of one shape, or a map of any number.
        place: a place from 0 on, or a tuple of them, one for each level.
        value: what is put there.

    >>> put((1, 2, 3), 1, 9), put(((1, 2), (3, 4)), (1, 0), 9)
    ((1, 9, 3), ((1, 2), (9, 4)))
    """
    first, *inner = place if isinstance(place, tuple) else (place,)
    if isinstance(items, PerBroker):
        return items.put(first, put(items.at(first), tuple(inner), value) if inner else value)
    return tuple(
        choose(first == number, put(item, tuple(inner), value) if inner else value, item)
        for number, item in enumerate(items)
    )


def _check(items: Sequence[Any], place: Word) -> None:
    lo, hi = (place.lo, place.hi) if isinstance(place, Term) else (place, place)
    if lo < 0 or hi >= len(items):
        where = f"{lo}" if lo == hi else f"{lo}..{hi}"
        message = f"get() at the place {where} of {len(items)} items; give it the value for places outside: otherwise="
        raise place.graph.refusal(message) if isinstance(place, Term) else IndexError(message)
