"""Broker lists as Kafka's records have them, and the order in which `java.util.HashSet` lists ids."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar

from attrs import Factory, define, frozen

from kraftcheck.model.language.brokersets import Brokers, Replicas
from kraftcheck.model.language.symbolic import Untold, described
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import EMPTY, NO_LEADER, all_of, any_of, apply, choose, concrete, largest

SMALLEST_TABLE = 16  # the slots of the smallest table
FULL_SLOT = 8  # as many ids share a slot as a list; one more makes a tree of it, or a larger table

_SMALLEST_WITH_TREES = 64
_LARGEST_SPLIT_LIST = 6  # a half of a tree that is split is a list again, up to this many ids


def hash_order(listed: Sequence[int], added: Iterable[int] = ()) -> tuple[int, ...]:
    """The ids of a set as it lists them.

    Args:
        listed: the list that the set is made of.
        added: the ids that are added then, in this order.

    >>> hash_order([15, 32], [31])
    (32, 15, 31)
    """
    members = tuple(dict.fromkeys((*listed, *added)))
    if len(members) <= FULL_SLOT:
        return tuple(sorted(members, key=lambda broker: slot_of(broker, SMALLEST_TABLE)))
    table = _GrowingTable(max(SMALLEST_TABLE, 1 << (4 * len(listed) // 3).bit_length()))
    for broker in members:
        table.add(broker)
    return tuple(table)


def slot_of(broker: int, size: int) -> int:
    """The slot of an id in a table of this many slots, a power of two."""
    return _hash(broker) & (size - 1)


def _hash(broker: int) -> int:
    """The hash of an id, without its sign."""
    unsigned = broker & 0xFFFFFFFF
    return unsigned ^ unsigned >> 16


def _rank(broker: int) -> int:
    """The hash of an id with its sign, by which trees are sorted; no two ids have the same."""
    value = _hash(broker)
    return value - (1 << 32) if value >> 31 else value


@define
class _GrowingTable:
    """The table of a set that only grows."""

    size: int
    slots: dict[int, _Slot] = Factory(dict)
    members: int = 0

    def __iter__(self) -> Iterator[int]:
        """The ids, slot by slot."""
        return itertools.chain.from_iterable(slot.ids for _, slot in sorted(self.slots.items()))

    def add(self, broker: int) -> None:
        """Add an id that is no member."""
        slot = self.slots.setdefault(slot_of(broker, self.size), _Slot())
        slot.add(broker)
        if slot.tree is None and len(slot.ids) > FULL_SLOT:
            if self.size < _SMALLEST_WITH_TREES:
                self._double()
            else:
                slot.make_tree()
        self.members += 1
        if 4 * self.members > 3 * self.size:
            self._double()

    def _double(self) -> None:
        self.size *= 2
        old, self.slots = self.slots, {}
        for slot in old.values():
            halves = [_Slot(), _Slot()]
            for broker in slot.ids:
                halves[slot_of(broker, self.size) >= self.size // 2].ids.append(broker)
            for half, other in (halves, halves[::-1]):
                if not half.ids:
                    continue
                self.slots[slot_of(half.ids[0], self.size)] = half
                if slot.tree is not None and len(half.ids) > _LARGEST_SPLIT_LIST:
                    half.tree = slot.tree
                    if other.ids:
                        half.make_tree()


@define
class _Slot:
    """The ids of one slot in their order, with the tree of those once there are many."""

    ids: list[int] = Factory(list)
    tree: _Tree | None = None

    def add(self, broker: int) -> None:
        """Add an id: at the end, or behind its parent in the tree."""
        if self.tree is None:
            self.ids.append(broker)
            return
        parent = self.tree.add(broker)
        self.ids.insert(len(self.ids) if parent is None else self.ids.index(parent) + 1, broker)
        self._lead_with_root()

    def make_tree(self) -> None:
        """Make a tree of the ids in their order; the root becomes the first."""
        self.tree = _Tree()
        for broker in self.ids:
            self.tree.add(broker)
        self._lead_with_root()

    def _lead_with_root(self) -> None:
        assert self.tree is not None
        assert self.tree.root is not None
        self.ids.remove(self.tree.root)
        self.ids.insert(0, self.tree.root)


@define
class _Tree:
    """A red-black tree of ids, sorted by hash: what an insertion leaves as the root, and below which parent."""

    root: int | None = None  # the id at the root; None of an empty tree
    children: dict[int, list[int | None]] = Factory(dict)  # of each id the smaller child and the larger one
    parents: dict[int, int] = Factory(dict)  # of each id but the root
    red: set[int] = Factory(set)  # the ids that are red

    def add(self, broker: int) -> int | None:
        """Add an id; its parent before the tree is balanced, None for the first."""
        parent, at = None, self.root
        while at is not None:
            parent, at = at, self.children[at][_rank(broker) > _rank(at)]
        self.children[broker] = [None, None]
        if parent is None:
            self.root = broker
            return None
        self.children[parent][_rank(broker) > _rank(parent)] = broker
        self.parents[broker] = parent
        self.red.add(broker)
        self._balance(broker)
        return parent

    def _balance(self, broker: int) -> None:
        """Leave no red id below a red one; the root is black."""
        while (parent := self.parents.get(broker)) in self.red:
            assert parent is not None
            grandparent = self.parents[parent]
            side = self._side(parent)
            uncle = self.children[grandparent][not side]
            if uncle in self.red:
                self.red -= {parent, uncle}
                self.red.add(grandparent)
                broker = grandparent
                continue
            if self._side(broker) != side:
                self._rotate(parent, bool(side))
                broker, parent = parent, broker
            self.red.discard(parent)
            self.red.add(grandparent)
            self._rotate(grandparent, not side)
        assert self.root is not None
        self.red.discard(self.root)

    def _side(self, broker: int) -> int:
        """Whether an id is the larger child of its parent."""
        return int(self.children[self.parents[broker]][1] == broker)

    def _rotate(self, broker: int, right: bool) -> None:
        """Put the child of the other side in the place of an id, which becomes its child to the right or left."""
        child = self.children[broker][not right]
        assert child is not None
        inner = self.children[child][right]
        self.children[broker][not right] = inner
        if inner is not None:
            self.parents[inner] = broker
        if broker in self.parents:
            self.children[self.parents[broker]][self._side(broker)] = child
            self.parents[child] = self.parents[broker]
        else:
            self.root = child
            del self.parents[child]
        self.children[child][right] = broker
        self.parents[broker] = child


@frozen
class IdList(Untold):
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
class AtMostOne(Untold):
    """A list of at most one id, which may be -1: the last-known leader list of one mode."""

    slot: Word = EMPTY  # the id, or EMPTY

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
