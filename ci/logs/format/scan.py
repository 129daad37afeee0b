"""Stretches of a segment: batches whose changes are all of known bytes, which compiled code finds.

What is new, a partition or the rest of a change, is decoded here, once. What
has another shape is left to the decoder of batches, which says what is wrong
with it, if anything is.
"""

from __future__ import annotations

import itertools
from typing import Any

import google_crc32c
import numpy as np

from kraftcheck.ci.logs.format.bodies import CRC_FROM, HEADER, REST_FROM, Bodies, change
from kraftcheck.ci.logs.format.fields import WireError, decode
from kraftcheck.ci.logs.format.numbering import Numbering
from kraftcheck.ci.logs.format.scan_kernel import ENDED, KEY_FROM, KEY_SIZE, NEW_KEY, WHOLE, Found, scan
from kraftcheck.solvers.logs.explain.entries import Compact, Entry
from kraftcheck.solvers.logs.explain.state import READ
from kraftcheck.solvers.logs.memo.compact import CHANGE
from kraftcheck.solvers.logs.runs.stretches import OTHER, Names, Stretch

BATCHES, RECORDS = 1 << 14, 1 << 16
"""The most that a stretch holds."""

_CRC_AT, _EPOCH = 17, 2


class Scanner:
    """Finds the stretches of one log; what it knows of one file it knows of the next."""

    def __init__(self) -> None:
        self._keys, self._bodies = Numbering(), Numbering()
        self._names = Names()
        self._readable = np.zeros(0, np.bool_)
        self._found = Found(
            np.zeros(2, np.int64), np.zeros(BATCHES + 1, np.int64), np.zeros(BATCHES + 1, np.int64),
            np.zeros(BATCHES + 1, np.int64), np.zeros(RECORDS, np.int32), np.zeros(RECORDS, np.int32),
            np.zeros(3, np.int64),
        )  # fmt: skip

    def stretch(self, data: bytes, name: str, position: int, known: Bodies) -> tuple[Stretch, int] | None:
        """The stretch that begins here, and where it ends; None where another batch begins.

        Args:
            data: the segment.
            name: of the file.
            position: where a batch begins.
            known: decodes its batches.
        """
        found, seen = self._found, np.frombuffer(data, np.uint8)
        found.used[:], found.ends[0], found.starts[0], found.other[0] = 0, position, 0, OTHER
        while True:
            how, where, size = scan(seen, self._keys.table, self._bodies.table, self._readable, found)
            if how == ENDED:
                break
            self._learn(data, seen, how, where, size)
        ends = found.ends[: found.used[0] + 1].copy()
        count = _well(data, ends.tolist())
        try:
            other = self._other(data) if count else None
        except (WireError, IndexError):
            return None  # the decoder of batches says where
        if not count or (other is not None and (other.data is None or other.type not in READ)):
            return None

        def batch(place: int) -> Compact:
            start = int(ends[place])
            decoded = known.compact(data[start : ends[place + 1]], name, start)
            assert decoded is not None
            return decoded

        def entry(record: int) -> Entry:
            at = int(np.searchsorted(starts, record, side="right")) - 1
            key, body = names.keys[keys[record]], names.bodies[bodies[record]]
            return change(int(bases[at]) + record - int(starts[at]), key, body)

        records, names = int(found.starts[count]), self._names
        bases, starts = found.bases[: count + 1].copy(), found.starts[: count + 1].copy()
        keys, bodies = found.keys[:records].copy(), found.bodies[:records].copy()
        stretch = Stretch(
            bases, starts, keys, bodies, names, HEADER.unpack_from(data, position)[_EPOCH], batch, entry,
            lambda place: f"{name}: byte {ends[place]}", other,
        )  # fmt: skip
        return stretch, int(ends[count])

    def _other(self, data: bytes) -> Entry | None:
        """The record of another kind, if there is one."""
        place, start, size = self._found.other.tolist()
        if place == OTHER:
            return None
        return Entry(int(self._found.bases[0]) + place, *decode(data[start : start + size]))

    def _learn(self, data: bytes, seen: Any, how: int, where: int, size: int) -> None:
        """Give bytes a number."""
        if how == NEW_KEY:
            self._keys.add(seen, where, KEY_SIZE, 0)
            self._names.keys.append(data[where : where + KEY_SIZE])
            return
        value = data[where : where + size]
        body = _body(value)
        is_change = size > REST_FROM
        start = REST_FROM if is_change else 0
        self._bodies.add(seen, where + start, size - start, value[KEY_FROM - 1] if is_change else WHOLE)
        self._names.bodies.append(body)
        self._readable = np.append(self._readable, body is not None)


def _body(value: bytes) -> bytes | str | None:
    """What `Compact` has of a record; None where it does not belong to a stretch."""
    try:
        kind, _, fields = decode(value)
    except (WireError, IndexError):
        return None
    if kind != CHANGE:
        return kind if fields is None or kind not in READ else None
    replaces = fields is None or fields.get("replicas") is not None
    return None if replaces else value[KEY_FROM - 1 : KEY_FROM] + value[REST_FROM:]


def _well(data: bytes, ends: list[int]) -> int:
    """How many of these batches, from the first on, have the checksum that they say."""
    checksum = google_crc32c.value
    for place, (start, end) in enumerate(itertools.pairwise(ends)):
        said = int.from_bytes(data[start + _CRC_AT : start + CRC_FROM], "big")
        if checksum(data[start + CRC_FROM : end]) != said:
            return place
    return len(ends) - 1


__all__ = ["Scanner"]
