"""Compiled code that goes through the batches of a segment as long as they hold nothing but known changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from kraftcheck.ci.logs.format.bodies import CHANGE_FRAME, HEADER, MAGIC, NOT_PLAIN, REST_FROM
from kraftcheck.ci.logs.format.numbering import FREE, Table, slot_of
from kraftcheck.solvers.logs.runs.stretches import OTHER, UNREAD

SHORT = 8
"""Bytes up to which a record of another kind is known by all of them."""

KEY_FROM, KEY_SIZE = 3, 20
"""Where in a change index and topic are."""

WHOLE = 256
"""The head of a record of another kind; that of a change is its version, that of a partition 0."""

ENDED, NEW_KEY, NEW_BODY = 0, 1, 2
"""How a scan ends: at a batch for another decoder, or at bytes that have no number yet."""

_FITS = 3
_FRAME, _KIND = CHANGE_FRAME
_HEAD, _MAGIC, _NOT_PLAIN, _REST = HEADER.size, MAGIC, NOT_PLAIN, REST_FROM
_SIZE_AT, _EPOCH_AT, _MAGIC_AT, _ATTRIBUTES_AT, _LAST_AT, _COUNT_AT = 8, 12, 16, 21, 23, 57
_OVERHEAD = 12
_NULL_KEY = 1
_MANY_BITS, _BITS, _MOST_BITS = 0x80, 7, 35


class Found(NamedTuple):
    """What a scan has found so far.

    Attributes:
        used: int64, how many batches, and how many records.
        ends: int64, where each batch begins, and where the last ends.
        bases, starts, keys, bodies: as of `Stretch`.
        other: int64, which record of the last batch is of another kind, or OTHER; where its value is, and its size.
    """

    used: Any
    ends: Any
    bases: Any
    starts: Any
    keys: Any
    bodies: Any
    other: Any


def _number(data: Any, at: int, size: int) -> Any:
    """A number with sign, its first byte the highest."""
    value = np.int64(np.int8(data[at]))
    for place in range(at + 1, at + size):
        value = (value << 8) | np.int64(data[place])
    return value


def _varint(data: Any, at: int, end: int) -> tuple[Any, int]:
    """An unsigned varint, and where it ends; -1 where it does not."""
    value = np.int64(0)
    shift = 0
    while at < end and shift < _MOST_BITS:
        byte = np.int64(data[at])
        at += 1
        value |= (byte & (_MANY_BITS - 1)) << shift
        if byte < _MANY_BITS:
            return value, at
        shift += _BITS
    return 0, -1


number_at: Callable[..., int] = njit(cache=True)(_number)
varint: Callable[..., tuple[Any, int]] = njit(cache=True)(_varint)


def _value(data: Any, at: int, limit: int, number: int) -> tuple[int, int, int]:
    """Where the value of the record at `at` begins, its size, and where the next record begins; -1 for another shape.

    See `kraftcheck.ci.logs.format.bodies`: no key, no headers that are read, the offset that is due.
    """
    length, at = varint(data, at, limit)
    end = at + (length >> 1)
    if at < 0 or length & 1 or end > limit:
        return 0, 0, -1
    at += 1
    while at < end and data[at] >= _MANY_BITS:
        at += 1
    delta, at = varint(data, at + 1, end)
    if at < 0 or delta != number << 1 or at >= end or data[at] != _NULL_KEY:
        return 0, 0, -1
    size, at = varint(data, at + 1, end)
    if at < 0 or size & 1 or at + (size >> 1) > end:
        return 0, 0, -1
    return at, size >> 1, end


value_at: Callable[..., tuple[int, int, int]] = njit(cache=True)(_value)


def _records(
    data: Any, position: int, end: int, count: int, keys: Table, bodies: Table, readable: Any, found: Found
) -> tuple[int, int, int]:
    """The records of one batch: whether all fit; or where bytes without a number are, and how many."""
    at, used = position + _HEAD, found.used[1]
    unread = False
    found.other[0] = OTHER
    for number in range(count):
        start, size, at = value_at(data, at, end, number)
        if at < 0:
            return ENDED, 0, 0
        key = UNREAD
        if size > _REST and data[start] == _FRAME and data[start + 1] == _KIND:
            key = keys.slots[slot_of(keys, data, start + KEY_FROM, KEY_SIZE, 0)]
            if key == FREE:
                return NEW_KEY, start + KEY_FROM, KEY_SIZE
            slot = slot_of(bodies, data, start + _REST, size - _REST, data[start + KEY_FROM - 1])
        elif size <= SHORT:
            slot = slot_of(bodies, data, start, size, WHOLE)
            unread = True
        elif found.other[0] == OTHER and number in (0, count - 1):
            found.other[0], found.other[1], found.other[2] = number, start, size
            found.keys[used + number], found.bodies[used + number] = OTHER, OTHER
            continue
        else:
            return ENDED, 0, 0
        body = bodies.slots[slot]
        if body == FREE:
            return NEW_BODY, start, size
        if not readable[body]:
            return ENDED, 0, 0
        found.keys[used + number], found.bodies[used + number] = key, body
    return ENDED if unread and found.other[0] != OTHER else _FITS, 0, 0


records_in: Callable[..., tuple[int, int, int]] = njit(cache=True)(_records)


def _scan(data: Any, keys: Table, bodies: Table, readable: Any, found: Found) -> tuple[int, int, int]:
    """Go on until a batch does not belong to the stretch.

    Args:
        data: the segment.
        keys, bodies: the numbers of partitions and of the rests of changes.
        readable: by number of a body whether a stretch may hold it.
        found: to be filled; its first batch begins at `ends[0]`.

    Returns:
        How it ended; where bytes without a number begin, and how many they are.
    """
    while True:
        batches, used = found.used[0], found.used[1]
        position = found.ends[batches]
        if batches + 1 >= len(found.ends) or len(data) - position < _HEAD:
            return ENDED, 0, 0
        base = number_at(data, position, 8)
        end = position + number_at(data, position + _SIZE_AT, 4) + _OVERHEAD
        count = number_at(data, position + _COUNT_AT, 4)
        if end > len(data) or end < position + _HEAD or count < 1 or used + count > len(found.keys):
            return ENDED, 0, 0
        if data[position + _MAGIC_AT] != _MAGIC or number_at(data, position + _ATTRIBUTES_AT, 2) & _NOT_PLAIN:
            return ENDED, 0, 0
        if count != number_at(data, position + _LAST_AT, 4) + 1:
            return ENDED, 0, 0
        epoch = number_at(data, position + _EPOCH_AT, 4)
        if batches and (base != found.bases[batches] or epoch != number_at(data, found.ends[0] + _EPOCH_AT, 4)):
            return ENDED, 0, 0
        how, where, size = records_in(data, position, end, count, keys, bodies, readable, found)
        by_itself = found.other[0] != OTHER
        if how != _FITS or (by_itself and batches):
            found.other[0] = OTHER
            return ENDED if how == _FITS else how, where, size
        found.bases[batches], found.bases[batches + 1] = base, base + count
        found.starts[batches + 1], found.ends[batches + 1] = used + count, end
        found.used[0], found.used[1] = batches + 1, used + count
        if by_itself:
            return ENDED, 0, 0


scan: Callable[..., tuple[int, int, int]] = njit(cache=True)(_scan)

__all__ = ["ENDED", "KEY_FROM", "KEY_SIZE", "NEW_BODY", "NEW_KEY", "SHORT", "WHOLE", "Found", "scan"]
