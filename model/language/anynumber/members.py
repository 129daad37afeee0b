"""Sets and maps of numbers below a bound that may be any: their domains.

With a number they are bit masks and tuples, which every engine takes. With ANY how many there are is a number of which
nothing is known but the least that the bound takes; sets and maps of that number are what provers take.
"""

from __future__ import annotations

from collections import abc
from typing import Any

from kraftcheck.model.language.anynumber.brokers import AnySet, PerBroker, is_one_of, where
from kraftcheck.model.language.anynumber.family import numbers
from kraftcheck.model.language.anynumber.maps import for_any_number
from kraftcheck.model.language.bound import ANY, bound_of
from kraftcheck.model.language.brokersets import BrokerSet
from kraftcheck.model.language.layout import Counter, Endless, ints, subset_of


def set_below(count: int) -> Any:
    """The domain of a set of numbers from 0 to below a count, which may be ANY."""
    if count == ANY:
        domain: Any = Endless(0, 1, truths=True, numbers=(bound_of(count),))
        return AnySet(domain)
    return BrokerSet(subset_of(count))


def map_below(count: int, value: Any) -> Any:
    """The domain of a value for each number from 0 to below a count.

    Args:
        count: a number, which makes it a tuple; or ANY, whatever that is.
        value: the domain of each value; it may be a map again.
    """
    return for_any_number(value, bound_of(count)) if count == ANY else (value,) * count


def keys(values: Any) -> Any:
    """The numbers that a map has a value for, to be gone through by `each` and `some`.

    >>> keys((7, 8))
    range(0, 2)
    """
    if isinstance(values, PerBroker):
        return where(values.graph, lambda at: is_one_of(at, values.number))
    return range(len(values))


def word_below(count: int, least: int = 0) -> Any:
    """The domain of a word from a least one to below a count."""
    return Counter(least, below=bound_of(count)) if count == ANY else ints(least, count - 1)


def numbers_below(count: int, least: int = 0) -> abc.Sequence[int]:
    """The values of an argument: the numbers from a least one to below a count."""
    return numbers(least, bound_of(count)) if count == ANY else range(least, count)
