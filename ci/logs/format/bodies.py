"""The compact reading of segments, which decodes each distinct partition change once.

A change of a partition is the bytes of its index and topic, and the rest; the
rest is one of few, whichever partition it is of.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

import google_crc32c

from kraftcheck.ci.logs.format.fields import WireError, decode
from kraftcheck.solvers.logs.explain.entries import Batch, CompactBatch, LogEntry
from kraftcheck.solvers.logs.explain.state import READ_KINDS
from kraftcheck.solvers.logs.memo.compact import CHANGE

HEADER = struct.Struct(">qiibIhiqqqhii")
"""The header of a record batch of magic 2."""

CRC_FROM = 21
MAGIC = 2
MAX_OFFSET = (1 << 63) - 1
NOT_PLAIN = 0x27
"""Attributes of what is compressed or the quorum's own."""

CHANGE_FRAME = b"\1\5"
REST_FROM = 23
"""A change of a partition: frame and kind, its version, index and topic, and from here on the rest."""

_NULL_KEY, _NO_HEADERS = 1, 0
_MANY_BITS, _MOST_SHIFT = 0x80, 63

Decode = Callable[[bytes, str], Batch]


class _UnsupportedShapeError(Exception):
    """Bytes of another shape; they are left to the decoder of whole batches, which says what is wrong with them."""


class Bodies:
    """The rests of changes that are known to be well formed.

    Args:
        whole: decodes a batch from its bytes and place.
    """

    def __init__(self, decode_batch: Decode) -> None:
        self._decode_batch = decode_batch
        self._valid_bodies: set[bytes] = set()

    def compact(self, data: bytes, name: str, position: int) -> CompactBatch | None:
        """The batch with these bytes; None where it has to be decoded whole, or cannot be.

        Args:
            data: the bytes of the batch.
            name, position: the file, and where in it the batch begins.
        """
        base, _, epoch, magic, crc, attributes, last_delta, _, _, _, _, _, count = HEADER.unpack_from(data)
        if magic != MAGIC or attributes & NOT_PLAIN or count != last_delta + 1 or count < 1:
            return None
        if not 0 <= base <= MAX_OFFSET - last_delta:
            return None
        if google_crc32c.value(data[CRC_FROM:]) != crc:
            return None
        try:
            keys, bodies, other = self._records(data, base, count)
        except (_UnsupportedShapeError, WireError, IndexError):
            return None
        decode_batch = self._decode_batch
        return CompactBatch(
            base, base + last_delta, epoch, keys, bodies, other, name, position,
            lambda: decode_batch(data, f"{name}: byte {position}"),
            lambda place: change(base + place, keys[place], bodies[place]),
        )  # fmt: skip

    def _records(
        self, data: bytes, base: int, count: int
    ) -> tuple[list[bytes | None], list[bytes | str | None], LogEntry | None]:
        keys: list[bytes | None] = []
        bodies: list[bytes | str | None] = []
        other: LogEntry | None = None
        position, valid = HEADER.size, self._valid_bodies
        for number in range(count):
            start, size, position = _value(data, position, number)
            if data[start : start + 2] == CHANGE_FRAME and size > REST_FROM:
                body = data[start + 2 : start + 3] + data[start + REST_FROM : start + size]
                if body not in valid:
                    if decode(data[start : start + size])[0] != CHANGE:
                        raise _UnsupportedShapeError
                    valid.add(body)
                keys.append(data[start + 3 : start + REST_FROM])
                bodies.append(body)
                continue
            kind, version, fields = decode(data[start : start + size])
            keys.append(None)
            if fields is None or kind not in READ_KINDS:
                bodies.append(kind)
            elif other is None and number in (0, count - 1):
                bodies.append(None)
                other = LogEntry(base + number, kind, version, fields)
            else:
                raise _UnsupportedShapeError
        if position != len(data):
            raise _UnsupportedShapeError
        return keys, bodies, other


def change(offset: int, key: bytes | None, body: bytes | str | None) -> LogEntry:
    """A change, from its partition and the rest of it."""
    assert isinstance(body, bytes)
    return LogEntry(offset, *decode(CHANGE_FRAME + body[:1] + (key or b"") + body[1:]))


def _value(data: bytes, at: int, number: int) -> tuple[int, int, int]:
    """Where the value of the record at `at` begins, its size, and where the next record begins."""
    length = data[at]
    at += 1
    if length >= _MANY_BITS:
        length, at = _varint(data, at - 1)
    end = at + (length >> 1)
    at += 1
    if data[at] >= _MANY_BITS:
        _, at = _varint(data, at)
    else:
        at += 1
    delta = data[at]
    at += 1
    if delta >= _MANY_BITS:
        delta, at = _varint(data, at - 1)
    if delta != number << 1 or data[at] != _NULL_KEY or length & 1:
        raise _UnsupportedShapeError
    size = data[at + 1]
    at += 2
    if size >= _MANY_BITS:
        size, at = _varint(data, at - 1)
    size >>= 1
    if at + size + 1 != end or end > len(data) or data[at + size] != _NO_HEADERS:
        raise _UnsupportedShapeError
    return at, size, end


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """An unsigned varint of several bytes, and where it ends."""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < _MANY_BITS:
            return value, at
        shift += 7
        if shift > _MOST_SHIFT:
            raise _UnsupportedShapeError
