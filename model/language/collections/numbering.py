"""The places of values in a declared list, concrete or symbolic."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from kraftcheck.model.language.collections.arithmetic import equal, same_classes
from kraftcheck.model.language.layout import LayoutError, leaves, rebuild
from kraftcheck.model.language.symbolic import described
from kraftcheck.model.language.terms import Term, Truth
from kraftcheck.model.language.words import any_of, negate


@functools.cache
def _numbers(members: tuple[Any, ...]) -> Mapping[Any, int]:
    numbers = {member: number for number, member in enumerate(members)}
    if not numbers or len(numbers) < len(members):
        raise LayoutError(f"a list of {len(members)} members has {len(numbers)} different ones; name each once")
    return numbers


def places(members: tuple[Any, ...], value: Any) -> Iterator[tuple[int, Truth]]:
    """The places where a value may be in a list, each with the truth that it is there.

    Args:
        members: different values.
        value: a value, whose words may be symbolic. With other numbers than all members it has no place.

    Raises:
        LayoutError: for a concrete value of which no member has the fields and texts.
        UntraceableRule: for a symbolic one.
    """
    among, numbers = symbolic(value), _numbers(members)
    if among is None and value in numbers:
        return iter([(numbers[value], True)])
    alike = [number for number, member in enumerate(members) if _may_equal(value, member)]
    if not alike and among is not None:
        raise among.graph.refusal(f"{described(value)} has other parts than each of the {len(members)} members: "
                                  f"{_some(members)}")  # fmt: skip
    if not alike:
        check_member(members, value)
    return iter([] if among is None else [(number, equal(value, members[number])) for number in alike])


def check_member(members: tuple[Any, ...], value: Any) -> None:
    """Raise LayoutError for a concrete value that is not in a list."""
    if value not in _numbers(members):
        raise LayoutError(f"{value!r} is not among the {len(members)} members: {_some(members)}")


def _may_equal(value: Any, member: Any) -> bool:
    """Whether a value has the parts of a member; its words may have other numbers."""
    one, other = dict(leaves(value)), dict(leaves(member))
    return one.keys() == other.keys() and same_classes(value, member) and all(
        isinstance(other[path], int) if isinstance(leaf, int) else leaf == other[path] for path, leaf in one.items()
    )


def _some(members: tuple[Any, ...]) -> str:
    return ", ".join(map(repr, members[:4])) + (", ..." if len(members) > 4 else "")


def has_text(value: Any) -> bool:
    """Whether the class of a value says how it is written, as sets and queues do."""
    return any("__str__" in vars(base) for base in type(value).__mro__[:-1])


def text_of(value: Any) -> str:
    """A value as traces print it: by its own text, where its class has one."""
    return str(value) if has_text(value) else repr(value)


def symbolic(value: Any) -> Term | None:
    """A symbolic word of a value; None where all are concrete."""
    return next((leaf for _, leaf in leaves(value) if isinstance(leaf, Term)), None)


def outside(members: tuple[Any, ...], value: Any, found: Iterable[tuple[int, Truth]] | None = None) -> Truth:
    """The truth that a value is not in the list: False where the intervals of its words say so.

    Args:
        members, value: as `places` takes them.
        found: what that gave, where it was asked already.
    """
    if symbolic(value) is None:
        return value not in _numbers(members)
    choices = [range(leaf.lo, leaf.hi + 1) if isinstance(leaf, Term) else (leaf,) for _, leaf in leaves(value)]
    if math.prod(map(len, choices)) <= len(members):
        values = itertools.product(*choices)
        if all(_rebuilt(value, one) in _numbers(members) for one in values):
            return False
    return negate(any_of(*(there for _, there in (places(members, value) if found is None else found))))


def _rebuilt(shape: Any, words: tuple[Any, ...]) -> Any:
    taken = iter(words)
    return rebuild(shape, lambda: next(taken))
