"""Sets of fixed shape: the bit mask and the ordered slots.

Two families of collections answer to the interface `Brokers`:

* `IntSet` (a bit mask), `Replicas` (ordered fixed slots) and `AtMostOne`
  (see `kraftcheck.model.language.idlists`) have a fixed shape and may be symbolic. Explored
  systems use them.
* `IdList` (see `kraftcheck.model.language.idlists`) keeps order, as Kafka's lists do; it is
  concrete. Records, conformance and replay use it.

What the mask forgets is the order inside ISR and ELR: a permuted ISR or ELR is
a change to a list and no change to a mask, and printed order is ascending.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol, runtime_checkable

from attrs import frozen

from kraftcheck.model.language.symbolic import Untold, check_place, described
from kraftcheck.model.language.terms import Term, Truth, Word
from kraftcheck.model.language.words import NO_LEADER, all_of, apply, bit_of, choose, concrete, largest, none_of, word


@runtime_checkable
class Brokers(Protocol):
    """The interface of collections of distinct broker ids, as rules use it."""

    def has(self, broker: Word) -> Truth:
        """Whether the broker is a member; NO_LEADER never is."""

    def minus(self, other: Brokers) -> Brokers:
        """The members that are not in `other`, order kept."""

    def keep(self, other: Brokers) -> Brokers:
        """The members that are in `other`, order kept."""

    def plus(self, other: Brokers) -> Brokers:
        """The members, then those of `other` that are new."""

    def just(self, broker: Word) -> Brokers:
        """The collection of the same kind with this member only."""

    def none(self) -> Brokers:
        """The empty collection of the same kind."""

    def ascending(self) -> Brokers:
        """The same members in ascending order."""

    def is_empty(self) -> Truth:
        """Whether there is no member."""

    def size(self) -> Word:
        """Number of members."""

    def within(self, other: Brokers) -> Truth:
        """Whether every member is in `other`."""

    def same(self, other: Brokers) -> Truth:
        """Equality, of lists as lists and of sets as sets."""

    def first(self) -> Word:
        """The first member (sets: the lowest), or NO_LEADER."""

    def first_in(self, wanted: Brokers) -> Word:
        """The first member that is in `wanted`, or NO_LEADER."""


def mask_of(other: Brokers) -> Word:
    """The members of a collection of fixed shape, or the numbers of a range such as a map's keys, as a bit mask."""
    if isinstance(other, range):
        return IntSet.of(other).mask
    mask: Word | None = getattr(other, "mask", None)
    if mask is None:
        if isinstance(other, int | Term):
            raise TypeError(f"a set of numbers meets {described(other)}; write just(it)")
        raise TypeError(f"a set meets a value of type {type(other).__name__}; make it a set: IntSet.of()")
    return mask


@frozen
class IntSet(Untold):
    """A set of numbers 0..61 as a bit mask; of brokers where Kafka is modelled.

    >>> IntSet.of([0, 2]).has(2), IntSet.of([0, 2]).size()
    (True, 2)
    """

    mask: Word = 0

    @classmethod
    def of(cls, ids: Iterable[int] = ()) -> IntSet:
        """The set of these ids, none by default; raises ValueError for one that no mask holds."""
        mask = 0
        for b in ids:
            mask |= 1 << bit_of(b)
        return cls(mask)

    def __eq__(self, other: object) -> Truth:  # type: ignore[override]
        """Whether another set has the same members; what is no set of this class is another thing."""
        return self.mask == other.mask if isinstance(other, IntSet) else NotImplemented

    def __ne__(self, other: object) -> Truth:  # type: ignore[override]
        """Whether another set has other members."""
        return self.mask != other.mask if isinstance(other, IntSet) else NotImplemented

    def __hash__(self) -> int:
        return hash((IntSet, self.mask))

    def __iter__(self) -> Iterator[int]:
        """The members in ascending order; concrete masks only."""
        mask = concrete(self.mask)
        return (b for b in range(mask.bit_length()) if mask >> b & 1)

    def __str__(self) -> str:
        """As traces print it: `{0,2}`."""
        return f"{{{','.join(map(str, self))}}}"

    def has(self, broker: Word) -> Truth:
        """See `Brokers.has`."""
        check_place(broker)
        return apply("member", self.mask, broker)

    def minus(self, other: Brokers) -> IntSet:
        """See `Brokers.minus`."""
        return IntSet(apply("bclear", self.mask, mask_of(other)))

    def keep(self, other: Brokers) -> IntSet:
        """See `Brokers.keep`."""
        return IntSet(self.mask & mask_of(other))

    def plus(self, other: Brokers) -> IntSet:
        """See `Brokers.plus`."""
        return IntSet(self.mask | mask_of(other))

    def just(self, broker: Word) -> IntSet:
        """See `Brokers.just`; NO_LEADER gives the empty set; raises ValueError for one that no mask holds."""
        return IntSet(apply("single", bit_of(broker)))

    def none(self) -> IntSet:
        """See `Brokers.none`."""
        return IntSet(0)

    def ascending(self) -> IntSet:
        """See `Brokers.ascending`: a set has no other order."""
        return self

    def is_empty(self) -> Truth:
        """See `Brokers.is_empty`."""
        return self.mask == 0

    def size(self) -> Word:
        """See `Brokers.size`."""
        return apply("count", self.mask)

    def within(self, other: Brokers) -> Truth:
        """See `Brokers.within`."""
        return self.minus(other).is_empty()

    def same(self, other: Brokers) -> Truth:
        """Equality as sets: order is forgotten."""
        return self.mask == mask_of(other)

    def first(self) -> Word:
        """See `Brokers.first`."""
        return apply("lowest", self.mask)

    def first_in(self, wanted: Brokers) -> Word:
        """See `Brokers.first_in`."""
        return self.keep(wanted).first()


BrokerSet = IntSet  # where the numbers are brokers


@frozen
class Replicas(Untold):
    """An ordered list of distinct brokers in a fixed number of slots.

    Vacant slots hold NO_LEADER and come last, so equal lists have equal slots.
    """

    slots: tuple[Word, ...]

    @classmethod
    def of(cls, ids: Iterable[int], capacity: int) -> Replicas:
        """The list with these ids in order, padded to `capacity` slots; raises ValueError when they do not fit."""
        filled = tuple(ids)
        if len(filled) > capacity:
            raise ValueError(f"{len(filled)} numbers in {capacity} slots")
        return cls(filled + (NO_LEADER,) * (capacity - len(filled)))

    @property
    def mask(self) -> Word:
        """The members as a bit mask."""
        mask: Word = 0
        for slot in self.slots:
            mask = mask | apply("single", bit_of(slot))
        return mask

    def __iter__(self) -> Iterator[int]:
        """The members in order; concrete slots only."""
        return (concrete(slot) for slot in self.slots if concrete(slot) != NO_LEADER)

    def __str__(self) -> str:
        """As traces print it: `[0,2]`."""
        return f"[{','.join(map(str, self))}]"

    def has(self, broker: Word) -> Truth:
        """See `Brokers.has`."""
        return BrokerSet(self.mask).has(broker)

    def minus(self, other: Brokers) -> Replicas:
        """See `Brokers.minus`."""
        drop = BrokerSet(mask_of(other))
        return self._compact([(slot, none_of(slot == NO_LEADER, drop.has(slot))) for slot in self.slots])

    def keep(self, other: Brokers) -> Replicas:
        """See `Brokers.keep`."""
        stay = BrokerSet(mask_of(other))
        return self._compact([(slot, stay.has(slot)) for slot in self.slots])

    def plus(self, other: Brokers) -> Replicas:
        """See `Brokers.plus`; a set's new members are appended in ascending order.

        Raises:
            ValueError: on ints, when there are more members than slots.
            UntraceableRule: when there may be, as far as the intervals of the words tell.
        """
        mask = mask_of(other)
        new = BrokerSet(mask).minus(self)
        order: Iterable[Word] = other.slots if isinstance(other, Replicas) else range(largest(mask).bit_length())
        self._check_room((*self.slots, *order), mask)
        members = [(slot, slot != NO_LEADER) for slot in self.slots]
        return self._compact(members + [(b, new.has(b)) for b in order])

    def just(self, broker: Word) -> Replicas:
        """See `Brokers.just`."""
        return Replicas((broker,) + (NO_LEADER,) * (len(self.slots) - 1))

    def none(self) -> Replicas:
        """See `Brokers.none`."""
        return Replicas((NO_LEADER,) * len(self.slots))

    def ascending(self) -> Replicas:
        """See `Brokers.ascending`."""
        members = BrokerSet(self.mask)
        return self._compact([(b, members.has(b)) for b in range(largest(members.mask).bit_length())])

    def is_empty(self) -> Truth:
        """See `Brokers.is_empty`."""
        return self.slots[0] == NO_LEADER

    def size(self) -> Word:
        """See `Brokers.size`."""
        return apply("count", self.mask)

    def within(self, other: Brokers) -> Truth:
        """See `Brokers.within`."""
        return BrokerSet(self.mask).within(other)

    def same(self, other: Brokers) -> Truth:
        """Equality as lists: order counts, vacant slots do not."""
        if not isinstance(other, Replicas):
            raise TypeError(f"ordered lists are compared with {described(other)}")
        slots = itertools.zip_longest(self.slots, other.slots, fillvalue=NO_LEADER)
        return all_of(*(a == b for a, b in slots))

    def first(self) -> Word:
        """See `Brokers.first`."""
        return self.slots[0]

    def first_in(self, wanted: Brokers) -> Word:
        """See `Brokers.first_in`."""
        chosen = BrokerSet(mask_of(wanted))
        result: Word = NO_LEADER
        for slot in reversed(self.slots):
            result = choose(chosen.has(slot), slot, result)
        return result

    def _check_room(self, words: Sequence[Word], mask: Word) -> None:
        """Refuse words, or members of a mask, of which more may be distinct brokers than there are slots."""
        graph = next((word.graph for word in (*words, mask) if isinstance(word, Term)), None)
        brokers = [word for word in words if largest(word) >= 0]
        most = min(len(brokers), max(map(largest, brokers), default=-1) + 1)
        if graph is not None and most > len(self.slots):
            raise graph.refusal(f"{most} numbers may be members of a list of {len(self.slots)} slots; give it {most}")

    def _compact(self, candidates: list[tuple[Word, Truth]]) -> Replicas:
        """The wanted candidates in order, moved to the front of the slots."""
        slots: list[Word] = [NO_LEADER] * len(self.slots)
        slots_taken: Word = 0
        for value, chosen_ in candidates:
            slots = [choose(all_of(chosen_, slots_taken == position), value, old) for position, old in enumerate(slots)]
            slots_taken = slots_taken + word(chosen_)
        if not isinstance(slots_taken, Term) and slots_taken > len(slots):
            raise ValueError(f"{slots_taken} numbers in {len(slots)} slots")
        return Replicas(tuple(slots))
