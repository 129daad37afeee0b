"""Draws: a step of a sequence is a list of small numbers, which pick a request that suits the controller's state.

Zeros pick the plainest request, so that a shortened sequence is also a plain one.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import TypeVar

from attrs import frozen

T = TypeVar("T")

WIDTH = 14
"""Numbers of one step."""

LIMIT = 10_000
"""Each number is below this."""

Step = tuple[int, ...]
"""The numbers of one step."""


@frozen
class Plan:
    """A sequence before it meets a controller: numbers for its brokers, and for each step."""

    brokers: Step
    steps: tuple[Step, ...]


class Draws:
    """The numbers of a step, taken one after the other; zeros once they are spent."""

    def __init__(self, numbers: Step) -> None:
        self._rest: Iterator[int] = iter(numbers)

    def below(self, limit: int) -> int:
        """A number from 0 to `limit` - 1."""
        return next(self._rest, 0) % limit

    def percent(self, share: int) -> bool:
        """True in so many of a hundred draws; never for 0."""
        return next(self._rest, 0) % 100 >= 100 - share

    def pick(self, options: Sequence[T]) -> T:
        """One of some options."""
        return options[self.below(len(options))]

    def some(self, options: Sequence[T], count: int) -> tuple[T, ...]:
        """So many of some options, or all, in a drawn order."""
        left, seed = list(options), next(self._rest, 0)
        chosen: list[T] = []
        while left and len(chosen) < count:
            chosen.append(left.pop(seed % len(left)))
            seed //= len(left) + 1
        return tuple(chosen)


def drawn_plan(seed: int, number: int, steps: int) -> Plan:
    """The plan of a number among those of a seed."""
    source = random.Random(f"{seed}/{number}")
    rows = [tuple(source.randrange(LIMIT) for _ in range(WIDTH)) for _ in range(steps + 1)]
    return Plan(rows[0], tuple(rows[1:]))
