"""Broker lists as Kafka's records have them: the ordered list, and the list of at most one."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Iterator
from typing import ClassVar

from attrs import frozen

from kraftcheck.model.language.brokersets import Brokers, Replicas
from kraftcheck.model.language.collections.hashorder import SMALLEST_TABLE, hash_order
from kraftcheck.model.language.symbolic import described
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import EMPTY, NO_LEADER, all_of, any_of, apply, choose, concrete, largest


@frozen
class IdList:
    """An ordered list of distinct broker ids, as Kafka keeps it; concrete only."""

    concrete_only: ClassVar[bool] = True
    ids: tuple[int, ...] = ()

    @classmethod
    def of(cls, ids: Iterable[int]) -> IdList:
        """The list with these ids in this order."""
        return cls(tuple(ids))

    def __iter__(self) -> Iterator[int]:
        """The ids in order."""
        return iter(self.ids)

    def __str__(self) -> str:
        """As traces print it: `[0,2]`."""
        return f"[{','.join(map(str, self.ids))}]"

    def has(self, broker: Word) -> bool:
        """See `Brokers.has`; a list may hold -1 (defect B5)."""
        return broker in self.ids

    def minus(self, other: Brokers) -> IdList:
        """See `Brokers.minus`."""
        drop = _ids(other)
        return IdList(tuple(b for b in self.ids if b not in drop))

    def keep(self, other: Brokers) -> IdList:
        """See `Brokers.keep`."""
        stay = _ids(other)
        return IdList(tuple(b for b in self.ids if b in stay))

    def plus(self, other: Brokers) -> IdList:
        """See `Brokers.plus`."""
        return IdList(self.ids + tuple(b for b in _ids(other) if b not in self.ids))

    def just(self, broker: Word) -> IdList:
        """See `Brokers.just`."""
        return IdList((concrete(broker),))

    def none(self) -> IdList:
        """See `Brokers.none`."""
        return IdList()

    def ascending(self) -> IdList:
        """See `Brokers.ascending`."""
        return IdList(tuple(sorted(self.ids)))

    def is_empty(self) -> bool:
        """See `Brokers.is_empty`."""
        return not self.ids

    def size(self) -> int:
        """See `Brokers.size`."""
        return len(self.ids)

    def within(self, other: Brokers) -> bool:
        """See `Brokers.within`."""
        return set(self.ids) <= set(_ids(other))

    def same(self, other: Brokers) -> bool:
        """Equality as lists: order counts."""
        return self.ids == _ids(other)

    def first(self) -> int:
        """See `Brokers.first`."""
        return self.ids[0] if self.ids else NO_LEADER

    def first_in(self, wanted: Brokers) -> int:
        """See `Brokers.first_in`."""
        return self.keep(wanted).first()


def hash_union(listed: Brokers, *added: Brokers) -> Brokers:
    """The members of a collection and those of others, as Kafka's hash set of them lists them (see `hashorder`).

    A mask forgets that order. Slots are ascending, as the set is where every id is a slot of the smallest table.

    Raises:
        ValueError: where slots have larger ids, which may come in another order.
    """
    if isinstance(listed, IdList):
        return IdList(hash_order(listed.ids, itertools.chain.from_iterable(map(_ids, added))))
    union = functools.reduce(lambda members, other: members.plus(other), added, listed).ascending()
    if isinstance(union, Replicas) and largest(union.mask).bit_length() > SMALLEST_TABLE:
        raise ValueError(f"a hash set of slots has ids 0..{SMALLEST_TABLE - 1}; larger ones need ordered lists")
    return union


def _ids(other: Brokers) -> tuple[int, ...]:
    if isinstance(other, IdList):
        return other.ids
    raise TypeError(f"an ordered list meets {type(other).__name__}; convert one of them")


@frozen
class AtMostOne:
    """A list of at most one id, which may be -1: the last-known leader list of one mode.

    Attributes:
        slot: the id, or EMPTY.
    """

    slot: Word = EMPTY

    @property
    def mask(self) -> Word:
        """The member as a bit mask; -1 gives no bit."""
        return apply("single", self.slot)

    def __iter__(self) -> Iterator[int]:
        """The member, if any; concrete only."""
        return iter(() if concrete(self.slot) == EMPTY else (concrete(self.slot),))

    def __str__(self) -> str:
        """As traces print it: `[]` or `[0]`."""
        return f"[{','.join(map(str, self))}]"

    def has(self, broker: Word) -> Truth:
        """Whether this is the member."""
        return all_of(self.slot == broker, self.slot != EMPTY)

    def minus(self, other: Brokers) -> AtMostOne:
        """See `Brokers.minus`."""
        return AtMostOne(choose(other.has(self.slot), EMPTY, self.slot))

    def keep(self, other: Brokers) -> AtMostOne:
        """See `Brokers.keep`."""
        return AtMostOne(choose(other.has(self.slot), self.slot, EMPTY))

    def plus(self, other: Brokers) -> AtMostOne:
        """Not defined: two lists of at most one id may make two."""
        raise TypeError("a list of at most one id cannot be extended")

    def just(self, broker: Word) -> AtMostOne:
        """See `Brokers.just`."""
        return AtMostOne(broker)

    def none(self) -> AtMostOne:
        """See `Brokers.none`."""
        return AtMostOne(EMPTY)

    def ascending(self) -> AtMostOne:
        """See `Brokers.ascending`."""
        return self

    def is_empty(self) -> Truth:
        """See `Brokers.is_empty`."""
        return self.slot == EMPTY

    def size(self) -> Word:
        """See `Brokers.size`."""
        return choose(self.is_empty(), 0, 1)

    def within(self, other: Brokers) -> Truth:
        """See `Brokers.within`."""
        return any_of(self.is_empty(), other.has(self.slot))

    def same(self, other: Brokers) -> Truth:
        """Equality."""
        if not isinstance(other, AtMostOne):
            raise TypeError(f"a list of at most one id is compared with {described(other)}")
        return self.slot == other.slot

    def first(self) -> Word:
        """See `Brokers.first`."""
        return choose(self.is_empty(), NO_LEADER, self.slot)

    def first_in(self, wanted: Brokers) -> Word:
        """See `Brokers.first_in`."""
        return self.keep(wanted).first()
