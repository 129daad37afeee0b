"""The words rules are written in: `choose`, truths, sets of brokers, ordered replicas.

Every function works alike on Python ints and on `Term`s. Two families of
collections answer to the interface `Brokers`:

* `IdList` keeps order, as Kafka's lists do; it is concrete. Records,
  conformance and replay use it.
* `BrokerSet` (a bit mask), `Replicas` (ordered fixed slots) and `AtMostOne`
  have a fixed shape and may be symbolic. Explored systems use them.

What the mask forgets is the order inside ISR and ELR: a permuted ISR is a
change to a list and no change to a mask, and printed order is ascending.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Generic, Protocol, TypeVar, overload

import attrs
from attrs import frozen

from model.terms import Graph, Term, Truth, TruthOperator, UntraceableRule, Word, WordOperator, evaluate

T = TypeVar("T")

NO_LEADER = -1
"""The leader of a leaderless partition, and the content of a vacant replica slot."""

EMPTY = -2
"""Content of an `AtMostOne` that holds nothing; -1 is a member there (defect B5)."""


def choose(condition: Truth, then: T, otherwise: T) -> T:
    """`then` where the condition holds, else `otherwise`.

    Args:
        condition: a truth.
        then, otherwise: words, truths, tuples or attrs records of one shape;
            records are chosen field by field.

    Raises:
        UntraceableRule: when a symbolic condition chooses between two shapes.

    >>> choose(True, 1, 2)
    1
    """
    if isinstance(condition, Term):
        merged: T = _merge(condition, then, otherwise)
        return merged
    return then if condition else otherwise


def _merge(condition: Term, a: Any, b: Any) -> Any:
    if isinstance(a, int | Term) and isinstance(b, int | Term):
        return condition.graph.ite(condition, a, b)
    if a is b:
        return a
    if type(a) is type(b):
        if isinstance(a, tuple) and len(a) == len(b):
            return tuple(_merge(condition, x, y) for x, y in zip(a, b, strict=True))
        if attrs.has(type(a)) and not isinstance(a, IdList):
            fields = [f.name for f in attrs.fields(type(a))]
            return type(a)(**{n: _merge(condition, getattr(a, n), getattr(b, n)) for n in fields})
        if not isinstance(a, IdList) and a == b:
            return a
    raise UntraceableRule(f"choose() on a symbolic condition between {a!r} and {b!r}, which differ in shape")


def negate(value: Truth) -> Truth:
    """The negation of a truth."""
    return value.graph.negate(value) if isinstance(value, Term) else not value


def all_of(*truths: Truth) -> Truth:
    """The truth that every argument holds; true for none.

    >>> all_of(True, 1 < 2), all_of()
    (True, True)
    """
    result: Truth = True
    for truth in truths:
        result = truth if result is True else result & truth
        if result is False:
            return False
    return result


def any_of(*truths: Truth) -> Truth:
    """The truth that some argument holds; false for none."""
    result: Truth = False
    for truth in truths:
        result = truth if result is False else result | truth
        if result is True:
            return True
    return result


def none_of(*truths: Truth) -> Truth:
    """The truth that no argument holds."""
    return negate(any_of(*truths))


def implies(premise: Truth, conclusion: Truth) -> Truth:
    """The truth that the conclusion holds wherever the premise does."""
    return any_of(negate(premise), conclusion)


def word(value: Truth) -> Word:
    """A truth as the word 1 or 0."""
    return choose(value, 1, 0)


@overload
def _apply(op: TruthOperator, *operands: Word) -> Truth: ...


@overload
def _apply(op: WordOperator, *operands: Word) -> Word: ...


def _apply(op: str, *operands: Word) -> Any:
    graph: Graph | None = next((o.graph for o in operands if isinstance(o, Term)), None)
    if graph is None:
        return evaluate(op, [int(o) for o in operands])
    return graph.apply(op, *(graph.lift(o) for o in operands))


class Brokers(Protocol):
    """What rules may ask of a collection of distinct broker ids."""

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


@frozen
class IdList:
    """An ordered list of distinct broker ids, as Kafka keeps it; concrete only."""

    ids: tuple[int, ...] = ()

    @classmethod
    def of(cls, ids: Iterable[int]) -> IdList:
        """The list with these ids in this order."""
        return cls(tuple(ids))

    def __iter__(self) -> Iterator[int]:
        """The ids in order."""
        return iter(self.ids)

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
        return IdList((_concrete(broker),))

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


def _ids(other: Brokers) -> tuple[int, ...]:
    if isinstance(other, IdList):
        return other.ids
    raise TypeError(f"an ordered list meets {type(other).__name__}; convert one of them")


def _concrete(value: Word) -> int:
    if isinstance(value, Term):
        raise UntraceableRule("an IdList cannot hold a symbolic broker; use BrokerSet or Replicas")
    return value


def _mask(other: Brokers) -> Word:
    if isinstance(other, BrokerSet | Replicas | AtMostOne):
        return other.mask
    raise TypeError(f"a set of brokers meets {type(other).__name__}; convert one of them")


@frozen
class BrokerSet:
    """A set of brokers 0..61 as a bit mask.

    >>> BrokerSet.of([0, 2]).has(2), BrokerSet.of([0, 2]).size()
    (True, 2)
    """

    mask: Word = 0

    @classmethod
    def of(cls, ids: Iterable[int]) -> BrokerSet:
        """The set of these ids."""
        mask = 0
        for b in ids:
            mask |= 1 << b
        return cls(mask)

    def __iter__(self) -> Iterator[int]:
        """The members in ascending order; concrete masks only."""
        mask = _concrete(self.mask)
        return (b for b in range(mask.bit_length()) if mask >> b & 1)

    def has(self, broker: Word) -> Truth:
        """See `Brokers.has`."""
        return _apply("member", self.mask, broker)

    def minus(self, other: Brokers) -> BrokerSet:
        """See `Brokers.minus`."""
        return BrokerSet(_apply("bclear", self.mask, _mask(other)))

    def keep(self, other: Brokers) -> BrokerSet:
        """See `Brokers.keep`."""
        return BrokerSet(self.mask & _mask(other))

    def plus(self, other: Brokers) -> BrokerSet:
        """See `Brokers.plus`."""
        return BrokerSet(self.mask | _mask(other))

    def just(self, broker: Word) -> BrokerSet:
        """See `Brokers.just`; NO_LEADER gives the empty set."""
        return BrokerSet(_apply("single", broker))

    def none(self) -> BrokerSet:
        """See `Brokers.none`."""
        return BrokerSet(0)

    def ascending(self) -> BrokerSet:
        """See `Brokers.ascending`: a set has no other order."""
        return self

    def is_empty(self) -> Truth:
        """See `Brokers.is_empty`."""
        return self.mask == 0

    def size(self) -> Word:
        """See `Brokers.size`."""
        return _apply("count", self.mask)

    def within(self, other: Brokers) -> Truth:
        """See `Brokers.within`."""
        return self.minus(other).is_empty()

    def same(self, other: Brokers) -> Truth:
        """Equality as sets: order is forgotten."""
        return self.mask == _mask(other)

    def first(self) -> Word:
        """See `Brokers.first`."""
        return _apply("lowest", self.mask)

    def first_in(self, wanted: Brokers) -> Word:
        """See `Brokers.first_in`."""
        return self.keep(wanted).first()


@frozen
class Replicas:
    """An ordered list of distinct brokers in a fixed number of slots.

    Vacant slots hold NO_LEADER and come last, so equal lists have equal slots.
    """

    slots: tuple[Word, ...]

    @classmethod
    def of(cls, ids: Iterable[int], capacity: int) -> Replicas:
        """The list with these ids in order, padded to `capacity` slots."""
        filled = tuple(ids)
        return cls(filled + (NO_LEADER,) * (capacity - len(filled)))

    @property
    def mask(self) -> Word:
        """The members as a bit mask."""
        mask: Word = 0
        for slot in self.slots:
            mask = mask | _apply("single", slot)
        return mask

    def __iter__(self) -> Iterator[int]:
        """The members in order; concrete slots only."""
        return (_concrete(slot) for slot in self.slots if _concrete(slot) != NO_LEADER)

    def has(self, broker: Word) -> Truth:
        """See `Brokers.has`."""
        return BrokerSet(self.mask).has(broker)

    def minus(self, other: Brokers) -> Replicas:
        """See `Brokers.minus`."""
        drop = BrokerSet(_mask(other))
        return self._compact([(slot, none_of(slot == NO_LEADER, drop.has(slot))) for slot in self.slots])

    def keep(self, other: Brokers) -> Replicas:
        """See `Brokers.keep`."""
        stay = BrokerSet(_mask(other))
        return self._compact([(slot, stay.has(slot)) for slot in self.slots])

    def plus(self, other: Brokers) -> Replicas:
        """See `Brokers.plus`; a set's new members are appended in ascending order."""
        new = BrokerSet(_mask(other)).minus(self)
        order: Iterable[Word] = other.slots if isinstance(other, Replicas) else range(len(self.slots))
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
        return self.none().plus(BrokerSet(self.mask))

    def is_empty(self) -> Truth:
        """See `Brokers.is_empty`."""
        return self.slots[0] == NO_LEADER

    def size(self) -> Word:
        """See `Brokers.size`."""
        return _apply("count", self.mask)

    def within(self, other: Brokers) -> Truth:
        """See `Brokers.within`."""
        return BrokerSet(self.mask).within(other)

    def same(self, other: Brokers) -> Truth:
        """Equality as lists: order counts."""
        if not isinstance(other, Replicas) or len(other.slots) != len(self.slots):
            raise TypeError(f"ordered replicas are compared with {other!r}")
        return all_of(*(a == b for a, b in zip(self.slots, other.slots, strict=True)))

    def first(self) -> Word:
        """See `Brokers.first`."""
        return self.slots[0]

    def first_in(self, wanted: Brokers) -> Word:
        """See `Brokers.first_in`."""
        chosen = BrokerSet(_mask(wanted))
        result: Word = NO_LEADER
        for slot in reversed(self.slots):
            result = choose(chosen.has(slot), slot, result)
        return result

    def _compact(self, candidates: list[tuple[Word, Truth]]) -> Replicas:
        """The wanted candidates in order, moved to the front of the slots."""
        slots: list[Word] = [NO_LEADER] * len(self.slots)
        taken: Word = 0
        for value, wanted in candidates:
            slots = [
                choose(all_of(wanted, taken == position), value, old) for position, old in enumerate(slots)
            ]
            taken = taken + word(wanted)
        return Replicas(tuple(slots))


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
        return _apply("single", self.slot)

    def __iter__(self) -> Iterator[int]:
        """The member, if any; concrete only."""
        return iter(() if _concrete(self.slot) == EMPTY else (_concrete(self.slot),))

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
            raise TypeError(f"a list of at most one id is compared with {other!r}")
        return self.slot == other.slot

    def first(self) -> Word:
        """See `Brokers.first`."""
        return choose(self.is_empty(), NO_LEADER, self.slot)

    def first_in(self, wanted: Brokers) -> Word:
        """See `Brokers.first_in`."""
        return self.keep(wanted).first()


@frozen
class Maybe(Generic[T]):
    """An optional field of a record: absent, or present with a value.

    Absent, empty and "the same value again" are three different things in
    Kafka's records. The value of an absent field has the right shape and no
    meaning.
    """

    present: Truth
    value: T

    def or_else(self, default: T) -> T:
        """The value where present, else the default."""
        return choose(self.present, self.value, default)

    def set_when(self, condition: Truth, value: T) -> Maybe[T]:
        """The field with `value` where the condition holds, else as it was."""
        return Maybe(any_of(self.present, condition), choose(condition, value, self.value))

    def clear_when(self, condition: Truth) -> Maybe[T]:
        """The field made absent where the condition holds."""
        return Maybe(all_of(self.present, negate(condition)), self.value)


def absent(shape: T) -> Maybe[T]:
    """An absent field; `shape` is any value of the field's type."""
    return Maybe(False, shape)


def present(value: T) -> Maybe[T]:
    """A present field."""
    return Maybe(True, value)
