"""The order of Kafka's own hash map, `TimelineHashMap`, in which the controller keeps the partitions of a topic.

Partition growth reads the replicas of the partition that the map lists first, which need not be partition 0. A key's
slot is the top bits of its product with a constant. The map begins with two slots, and has twice as many before a put,
also of a key that it has, once one more key would make it more than four thirds full. It never has fewer again. Of the
keys in one slot it lists the last first.

Source: `BaseHashTable`, `SnapshottableHashTable.CurrentIterator`.
"""

from __future__ import annotations

import functools
from collections.abc import Collection

FEWEST_SLOTS = 2

_FACTOR = 0x9E3779B97F4A7C15
_WORD = 64


def slots_after_put(slots: int, keys: int) -> int:
    """How many slots a map has after a put.

    Args:
        slots: how many before.
        keys: how many keys before, the one that is put among them where it is replaced.
    """
    return 2 * slots if 3 * (keys + 1) > 4 * slots else slots


def slots_of(keys: int) -> int:
    """How many slots a map has into which this many keys were put, each once."""
    return functools.reduce(slots_after_put, range(keys), FEWEST_SLOTS)


def keys_in_order(keys: Collection[int], slots: int) -> tuple[int, ...]:
    """The keys as a map lists them; see `first_key`."""
    last_first = tuple(keys)[::-1]
    return tuple(sorted(last_first, key=lambda key: _slot(key, slots)))


def first_key(keys: Collection[int], slots: int) -> int:
    """The key that a map lists first.

    Args:
        keys: its keys in the order in which they were put first.
        slots: how many it has.
    """
    return min(reversed(tuple(keys)), key=lambda key: _slot(key, slots))


def _slot(key: int, slots: int) -> int:
    return (key * _FACTOR & (1 << _WORD) - 1) >> _WORD + 1 - slots.bit_length()
