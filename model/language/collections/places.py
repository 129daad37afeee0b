"""Tuples, and maps of any number, read and written at places that a rule computes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kraftcheck.model.language.anynumber.brokers import PerBroker, is_one_of
from kraftcheck.model.language.bound import spelled
from kraftcheck.model.language.layout import UNBOUNDED
from kraftcheck.model.language.terms import Term, Word
from kraftcheck.model.language.words import all_of, choose, pick

_REFUSED = object()
_MEND = "give it the value for places outside: otherwise="


def get(items: Sequence[Any] | PerBroker, *places: Word, otherwise: Any = _REFUSED) -> Any:
    """The item of a tuple at a place, or of a tuple of tuples at several.

    Args:
        items: a tuple of values of one shape, or a map of any number.
        places: a place for each level, from 0 on.
        otherwise: the value where a place is outside; without it, no place may be outside.

    Raises:
        IndexError: when a place may be outside, and `otherwise` is not given.
        UntraceableRule: when it may be, of a map of any number, and `otherwise` is not given.

    >>> get(((7, 8), (9, 6)), 1, 0), get((7, 8), 2, otherwise=0)
    (9, 0)
    """
    place, *inner = places
    if isinstance(items, PerBroker):
        return _get_of_any_number(items, place, inner, otherwise)
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


def _get_of_any_number(items: PerBroker, place: Word, inner: Sequence[Word], otherwise: Any) -> Any:
    """The item of a map of any number: `otherwise` at places that are none of its numbers."""
    lo, hi = _ends(place)
    if otherwise is _REFUSED and not (lo >= 0 and _is_a_number(place, items)):
        raise items.graph.refusal(
            f"get() at the place {spelled(lo)}..{spelled(hi)} of a map of any number, which may have fewer; {_MEND}"
        )
    if hi < 0:
        return otherwise
    item = items.at(place)
    found = get(item, *inner, otherwise=otherwise) if inner else item
    if otherwise is _REFUSED:
        return found
    return choose(all_of(place >= 0, is_one_of(place, items.number)), found, otherwise)


def _is_a_number(place: Any, items: PerBroker) -> bool:
    """Whether a place that is not negative is one of a map's numbers, whatever number there is.

    An argument, a field, a value, a bound place and a first member are, and what is not larger than one of these.
    """
    if items.number is None or _ends(place)[1] < items.number.lo:
        return True
    match getattr(place, "op", "const"):
        case "var" | "bound" | "read" | "least_by":
            return bool(place.hi >= UNBOUNDED)
        case "ite":
            return all(_is_a_number(one, items) for one in place.args[1:])
        case "narrow":
            return _is_a_number(place.args[0], items)
        case "sub":
            return bool(place.args[1].lo >= 0) and _is_a_number(place.args[0], items)
    return False


def _ends(place: Word) -> tuple[int, int]:
    return (place.lo, place.hi) if isinstance(place, Term) else (place, place)


def _check(items: Sequence[Any], place: Word) -> None:
    lo, hi = _ends(place)
    if lo < 0 or hi >= len(items):
        where = f"{lo}" if lo == hi else f"{lo}..{hi}"
        message = f"get() at the place {where} of {len(items)} items; {_MEND}"
        raise place.graph.refusal(message) if isinstance(place, Term) else IndexError(message)
