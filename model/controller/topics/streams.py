"""A stream of random numbers as a value: drawing returns the number and the rest of the stream."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from attrs import frozen

T = TypeVar("T")

_MULTIPLIER, _INCREMENT, _MASK = 2862933555777941757, 3037000493, (1 << 64) - 1


@frozen
class RandomStream:
    """A linear congruential stream; seed 17 is the one that the tests of Kafka place replicas with.

    >>> RandomStream().below(4)[0]
    2
    """

    state: int = 17

    def bits(self, number: int) -> tuple[int, RandomStream]:
        """A draw of some bits (at most 64)."""
        after = (self.state * _MULTIPLIER + _INCREMENT) & _MASK
        return after >> (64 - number), RandomStream(after)

    def below(self, bound: int) -> tuple[int, RandomStream]:
        """A number from 0 to `bound` - 1, drawn as `java.util.Random.nextInt` draws."""
        drawn, rest = self.bits(31)
        if bound & (bound - 1) == 0:
            return (bound * drawn) >> 31, rest
        while drawn - drawn % bound + bound - 1 >= 1 << 31:
            drawn, rest = rest.bits(31)
        return drawn % bound, rest

    def shuffled(self, items: Sequence[T]) -> tuple[tuple[T, ...], RandomStream]:
        """The items in another order, as `java.util.Collections.shuffle` orders them."""
        order, stream = list(items), self
        for size in range(len(order), 1, -1):
            other, stream = stream.below(size)
            order[size - 1], order[other] = order[other], order[size - 1]
        return tuple(order), stream
