"""Byte strings by number, in a table that compiled code looks them up in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import njit

FREE = -1
"""What a slot without a number holds."""

_START, _PRIME = 0xCBF29CE484222325, 0x100000001B3
"""Of the hash FNV-1a."""

_FIRST_SLOTS = 1 << 10
_FIRST_BYTES = 1 << 14


class Table(NamedTuple):
    """What compiled code sees of a numbering.

    Attributes:
        slots: int32, numbers by hash; their length is a power of two.
        heads: int32, of each number what stands before its bytes.
        ends: int64, of each number where its bytes begin among all, and in the next where they end.
        data: uint8, the bytes of all.
    """

    slots: Any
    heads: Any
    ends: Any
    data: Any


def _slot(table: Table, data: Any, at: int, size: int, head: int) -> Any:
    """The slot of the number of these bytes, or the free one where it belongs."""
    found = np.uint64(_START) ^ np.uint64(head)
    for place in range(at, at + size):
        found = (found ^ np.uint64(data[place])) * np.uint64(_PRIME)
    mask = len(table.slots) - 1
    slot = np.int64((found ^ (found >> np.uint64(29))) & np.uint64(mask))
    while True:
        number = table.slots[slot]
        if number == FREE:
            return slot
        start = table.ends[number]
        if table.heads[number] == head and table.ends[number + 1] - start == size:
            place = 0
            while place < size and table.data[start + place] == data[at + place]:
                place += 1
            if place == size:
                return slot
        slot = (slot + 1) & mask


slot_of: Callable[[Table, Any, int, int, int], int] = njit(cache=True)(_slot)


class Numbering:
    """Numbers of byte strings, from 0 in the order in which they come.

    Each has a head, a small number: the same bytes with another head are another string.
    """

    def __init__(self) -> None:
        self._count = 0
        self.table = Table(
            np.full(_FIRST_SLOTS, FREE, np.int32), np.zeros(_FIRST_SLOTS, np.int32),
            np.zeros(_FIRST_SLOTS + 1, np.int64), np.zeros(_FIRST_BYTES, np.uint8),
        )  # fmt: skip

    def __len__(self) -> int:
        """How many have a number."""
        return self._count

    def add(self, data: Any, at: int, size: int, head: int) -> int:
        """The number of these bytes, a new one if they have none."""
        slots, heads, ends, kept = self.table
        slot = slot_of(self.table, data, at, size, head)
        if slots[slot] != FREE:
            return int(slots[slot])
        number, used = self._count, int(ends[self._count])
        if 2 * (number + 1) > len(slots) or used + size > len(kept):
            self._grow(used + size)
            return self.add(data, at, size, head)
        slots[slot], heads[number], ends[number + 1] = number, head, used + size
        kept[used : used + size] = data[at : at + size]
        self._count += 1
        return number

    def _grow(self, least: int) -> None:
        """Twice as many slots, and room for so many bytes at least."""
        _, heads, ends, kept = self.table
        size, room = 2 * len(self.table.slots), max(2 * len(kept), least)
        self.table = Table(
            np.full(size, FREE, np.int32), np.resize(heads, size), np.resize(ends, size + 1), np.resize(kept, room)
        )
        for number in range(self._count):
            start, end = int(ends[number]), int(ends[number + 1])
            self.table.slots[slot_of(self.table, kept, start, end - start, int(heads[number]))] = number


__all__ = ["FREE", "Numbering", "Table", "slot_of"]
