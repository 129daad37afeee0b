"""Sets of numbers below a bound that may be any: their domains.

With a number they are bit masks, which every engine takes; with ANY finite sets of whatever size, which provers take.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kraftcheck.model.language.anynumber.brokers import AnySet
from kraftcheck.model.language.anynumber.family import numbers
from kraftcheck.model.language.bound import ANY
from kraftcheck.model.language.brokersets import BrokerSet
from kraftcheck.model.language.layout import counter, endless, ints, subset_of


def set_below(count: int) -> Any:
    """The domain of a set of numbers from 0 to below a count, or of a finite set of any numbers."""
    return AnySet(endless(0, 1, truths=True)) if count == ANY else BrokerSet(subset_of(count))


def word_below(count: int, least: int = 0) -> Any:
    """The domain of a word from a least one to below a count, or without an upper bound."""
    return counter(least) if count == ANY else ints(least, count - 1)


def numbers_below(count: int) -> Sequence[int]:
    """The values of an argument: the numbers from 0 to below a count, or all."""
    return numbers() if count == ANY else range(count)
