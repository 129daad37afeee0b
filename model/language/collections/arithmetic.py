"""The smallest and the largest of words, and equality of values of any shape."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from kraftcheck.model.language.collections.names import class_of, no_number
from kraftcheck.model.language.layout import leaves
from kraftcheck.model.language.symbolic import described, record_fields
from kraftcheck.model.language.terms import Term, Truth, Word
from kraftcheck.model.language.words import all_of, choose


def minimum(*words: Word) -> Word:
    """The smallest of some words; Python's `min` would have to know them.

    >>> minimum(3, 1, 2)
    1
    """
    return _extreme(words, min, lambda a, b: a < b)


def maximum(*words: Word) -> Word:
    """The largest of some words; Python's `max` would have to know them.

    >>> maximum(3, 1, 2)
    3
    """
    return _extreme(words, max, lambda a, b: a > b)


def _extreme(words: Sequence[Word], end: Callable[[Iterable[int]], int], before: Callable[[Word, Word], Truth]) -> Word:
    """The first of some words by an order; `end` is the same on the ends of their intervals."""
    for one in words:
        if (kind := class_of(one)) is not None:
            raise TypeError(no_number(kind))
    first, *others = words
    for other in others:
        ends = zip(_ends(first), _ends(other), strict=True)
        first = _narrowed(choose(before(other, first), other, first), *map(end, ends))
    return first


def same_classes(a: Any, b: Any) -> bool:
    """Whether the records of two values of one shape are of the same classes; a record has a class of its own."""
    if isinstance(a, int):
        return True
    if isinstance(a, tuple):
        return all(map(same_classes, a, b))
    names = record_fields(type(a))
    if names is None:
        return True
    return type(a) is type(b) and all(same_classes(getattr(a, name), getattr(b, name)) for name in names)


def _ends(value: Word) -> tuple[int, int]:
    return (value.lo, value.hi) if isinstance(value, Term) else (value, value)


def _narrowed(value: Word, lo: int, hi: int) -> Word:
    """The word, which is known to be in an interval."""
    if not isinstance(value, Term):
        return value
    graph = value.graph
    return graph.apply("narrow", value, graph.constant(lo), graph.constant(hi))


def equal(a: Any, b: Any) -> Truth:
    """Whether two values of one shape are equal, in every word and truth; `==` on records would have to know them.

    Raises:
        TypeError: when they differ in shape, or in the classes of their records.

    >>> equal((1, (True, 2)), (1, (True, 2)))
    True
    """
    one, other = dict(leaves(a)), dict(leaves(b))
    if one.keys() != other.keys():
        raise TypeError(f"equal() of {described(a)} and {described(b)}, which differ in shape")
    if not same_classes(a, b):
        raise TypeError(f"equal() of {described(a)} and {described(b)}, which are of different classes")
    return all_of(*(one[path] == other[path] for path in one))
