"""Bags of declared values: how many there are of each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar, Self

from attrs import evolve, frozen

from kraftcheck.model.language.collections.doubts import AWAY, doubted, undoubted
from kraftcheck.model.language.collections.numbering import check_member, outside, places, text_of
from kraftcheck.model.language.layout import ints
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import all_of, choose, word


@frozen
class Bag:
    """How many there are of each declared value: subclass it and name `members`.

    Attributes:
        counts: how many of each, in the order of `members`.

    >>> class Coins(Bag):
    ...     members = (1, 5)
    >>> Coins.of([5, 5]).remove(5).count(5)
    1
    """

    members: ClassVar[tuple[Any, ...]] = ()
    counts: tuple[Word, ...]

    @classmethod
    def domain(cls, most: int, *, cap: str = "") -> Any:
        """The layout of the bags with at most so many of each; `cap` as of `ints`."""
        return cls(tuple(ints(0, most, cap=cap) for _ in cls.members))

    @classmethod
    def of(cls, values: Iterable[Any]) -> Self:
        """The bag of some values; raises LayoutError for one that is no member."""
        result = cls(tuple(0 for _ in cls.members))
        for value in values:
            check_member(cls.members, value)
            result = result.add(value)
        return result

    def __iter__(self) -> Iterator[Any]:
        """The values of a concrete bag, each as often as it is in it."""
        return (value for value in self.members for _ in range(int(self.count(value))))

    def __str__(self) -> str:
        """As traces print it."""
        return f"[{', '.join(map(text_of, self))}]"

    def possible(self) -> tuple[Any, ...]:
        """What may be in the bag."""
        return self.members

    def count(self, value: Any) -> Word:
        """How many there are of a value."""
        return sum((choose(there, self.counts[place], 0) for place, there in places(self.members, value)), start=0)

    def has(self, value: Any) -> Truth:
        """Whether there is one."""
        return self.count(value) > 0

    def add(self, value: Any) -> Self:
        """One more; one too many, or a value that is no member, leaves the domain, the latter for good."""
        return self._changed(value, 1)

    def remove(self, value: Any) -> Self:
        """One less; one that was not there leaves the domain for good."""
        return self._changed(value, -1)

    def _changed(self, value: Any, by: int) -> Self:
        counts = list(undoubted(self.counts))
        for place, there in places(self.members, value):
            old = counts[place]
            counts[place] = choose(old < 0, old, old + by * word(there))
        counts[0] = choose(outside(self.members, value), -1, counts[0])
        what = f"a {type(self).__name__} may have lost a value that was not declared, or was not in it"
        return evolve(self, counts=doubted(counts, all_of(*(count >= 0 for count in counts)), what, AWAY))

    def size(self) -> Word:
        """How many there are of all values."""
        return sum(self.counts, start=0)

    def is_empty(self) -> Truth:
        """Whether there is none."""
        return all_of(*(count == 0 for count in self.counts))
