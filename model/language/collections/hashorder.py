"""The order in which `java.util.HashSet` lists ids: that of its table, not that of the ids.

Kafka collects the candidates of the ELR in such a set, and writes them as the set lists them. Ids below 16 come in
ascending order; from 16 on they do not, as the smallest table has 16 slots. The order follows from these rules of the
class (Java 17):

* An id's slot is its hash, cut to the size of the table; the hash mixes the upper half of the id into the lower one.
* A set that is made of a list gets a table for four thirds of its length, at least 16 slots. A set that grows beyond
  three quarters of its slots doubles them.
* Ids in one slot come in the order in which they were added. The ninth doubles a table of fewer than 64 slots, and
  makes a tree of the slot in a larger one: then the tree's root is first, and a new id follows its parent in the tree.

From Java 19 on, a set made of exactly 12, 24, 48, .. ids begins with half as many slots.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence

from attrs import Factory, define

SMALLEST_TABLE = 16
"""The slots of the smallest table."""

FULL_SLOT = 8
"""As many ids share a slot as a list; one more makes a tree of it, or a larger table."""

_SMALLEST_WITH_TREES = 64
_LARGEST_SPLIT_LIST = 6
"""A half of a tree that is split is a list again, up to this many ids."""


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
    table = _Table(max(SMALLEST_TABLE, 1 << (4 * len(listed) // 3).bit_length()))
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
class _Table:
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
    """A red-black tree of ids, sorted by hash: what an insertion leaves as the root, and below which parent.

    Attributes:
        root: the id at the root; None of an empty tree.
        children: of each id the smaller child and the larger one.
        parents: of each id but the root.
        red: the ids that are red.
    """

    root: int | None = None
    children: dict[int, list[int | None]] = Factory(dict)
    parents: dict[int, int] = Factory(dict)
    red: set[int] = Factory(set)

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
