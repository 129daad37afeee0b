"""Sets and maps of numbers below a bound that may be any: their domains.

With a number they are bit masks and tuples, which every engine takes; with ANY finite sets of whatever size, and maps
without end, which provers take.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kraftcheck.model.language.anynumber.brokers import AnySet, PerBroker, where
from kraftcheck.model.language.anynumber.family import numbers
from kraftcheck.model.language.anynumber.maps import for_any_number
from kraftcheck.model.language.bound import ANY
from kraftcheck.model.language.brokersets import BrokerSet
from kraftcheck.model.language.layout import counter, endless, ints, subset_of


def set_below(count: int) -> Any:
    """The domain of a set of numbers from 0 to below a count, or of a finite set of any numbers."""
    return AnySet(endless(0, 1, truths=True)) if count == ANY else BrokerSet(subset_of(count))


def map_below(count: int, value: Any) -> Any:
    """The domain of a value for each number from 0 to below a count, or for each number there is.

    Args:
        count: a number, which makes it a tuple; or ANY.
        value: the domain of each value; it may be a map again.
    """
    return for_any_number(value) if count == ANY else (value,) * count


def keys(values: Any) -> Any:
    """The numbers that a map has a value for, to be gone through by `each` and `some`.

    >>> keys((7, 8))
    range(0, 2)
    """
    return where(values.graph, lambda at: True) if isinstance(values, PerBroker) else range(len(values))


def word_below(count: int, least: int = 0) -> Any:
    """The domain of a word from a least one to below a count, or without an upper bound."""
    return counter(least) if count == ANY else ints(least, count - 1)


def numbers_below(count: int, least: int = 0) -> Sequence[int]:
    """The values of an argument: the numbers from a least one to below a count, or all from there on."""
    return numbers(least) if count == ANY else range(least, count)
