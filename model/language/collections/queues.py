"""Queues of at most so many items, in order; the same item may be in one twice."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar, Self

from attrs import evolve, frozen

from kraftcheck.model.language.collections.arithmetic import equal
from kraftcheck.model.language.collections.doubts import AWAY, doubted, undoubted
from kraftcheck.model.language.collections.numbering import text_of
from kraftcheck.model.language.collections.places import put
from kraftcheck.model.language.layout import LayoutError, ints, leaves, rebuild
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import all_of, any_of, choose, negate


@frozen
class Queue:
    """Items in order, the head first: subclass it where items are records, or where 0 is no item.

    One item too many, and the tail of no item, leave the domain of `size`, and no later operation brings it back: the
    queue has lost an item. Places beyond the items hold `vacant`, so that equal queues are equal states.

    Attributes:
        vacant: the content of an empty place, a value of the items' domain; a class attribute.
        size: how many items there are.
        items: a place for each item.

    >>> inbox = Queue.of([4, 5], 3).append(4)
    >>> str(inbox), inbox.head(), str(inbox.tail())
    ('<4, 5, 4>', 4, '<5, 4>')
    """

    vacant: ClassVar[Any] = 0
    size: Word
    items: tuple[Any, ...]

    @classmethod
    def domain(cls, item: Any, capacity: int, *, cap: str = "") -> Any:
        """The layout of the queues of at most so many items of a layout; `cap` as of `ints`."""
        return cls(ints(0, capacity, cap=cap), (item,) * capacity)

    @classmethod
    def of(cls, items: Iterable[Any], capacity: int) -> Self:
        """The queue of some items; raises LayoutError for more than its capacity."""
        values = tuple(items)
        if len(values) > capacity:
            raise LayoutError(f"{len(values)} items in a queue of at most {capacity}")
        return cls(len(values), values + (cls.vacant,) * (capacity - len(values)))

    def __iter__(self) -> Iterator[Any]:
        """The items of a concrete queue."""
        return iter(self.items[: int(self.size)])

    def __str__(self) -> str:
        """As traces print it."""
        return f"<{', '.join(map(text_of, self))}>"

    def is_empty(self) -> Truth:
        """Whether there is no item."""
        return self.size == 0

    def is_full(self) -> Truth:
        """Whether there is no place for another item."""
        return self.size == len(self.items)

    def head(self) -> Any:
        """The first item; `vacant` where there is none."""
        words = [word for _, word in leaves(self.items[0])]
        feed = iter(doubted(words, negate(self._has_lost(self.size)), self._said, AWAY))
        return rebuild(self.items[0], lambda: next(feed))

    def append(self, item: Any) -> Self:
        """The queue with one more item at its end."""
        return evolve(self, size=self._sized(1), items=put(self.items, undoubted([self.size])[0], item))

    def tail(self) -> Self:
        """The queue without its first item."""
        return evolve(self, size=self._sized(-1), items=(*self.items[1:], self.vacant))

    def _sized(self, by: int) -> Word:
        """The size after an operation; one outside stays as it is."""
        (old,) = undoubted([self.size])
        size = choose(self._has_lost(old), old, old + by)
        marked: Word = doubted([size], negate(self._has_lost(size)), self._said, AWAY)[0]
        return marked

    @property
    def _said(self) -> str:
        return f"a {type(self).__name__} may have had one item too many, or none to lose"

    def _has_lost(self, size: Word) -> Truth:
        return any_of(size < 0, size > len(self.items))

    def has(self, item: Any) -> Truth:
        """Whether an item is in the queue."""
        return any_of(*(all_of(place < self.size, equal(one, item)) for place, one in enumerate(self.items)))
