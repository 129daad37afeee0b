"""Log segments and snapshots read directly: record batches (magic 2) and the records in them.

Source: `DefaultRecordBatch`, `DefaultRecord`, `ControlRecordType`.
"""

from __future__ import annotations

import gzip
import struct
from collections.abc import Callable, Iterator

import google_crc32c

from ci.logs.wire import Bytes, WireError, decode
from solvers.logs.entries import Batch, Entry

_OVERHEAD = 12
"""Bytes before what the length of a batch counts."""

_HEADER = struct.Struct(">qiibIhiqqqhii")
_CRC_FROM = 21
_MAGIC = 2
_CONTROL, _COMPRESSION = 0x20, 0x07

_CONTROLS = {2: "LEADER_CHANGE", 3: "SNAPSHOT_HEADER", 4: "SNAPSHOT_FOOTER", 5: "KRAFT_VERSION", 6: "KRAFT_VOTERS"}

_LEADER_CHANGE = 2

_EXPANDED: dict[int, Callable[[bytes], bytes]] = {0: bytes, 1: gzip.decompress}

Problem = Callable[[str, str], None]
"""Called with a place and what is wrong there; returns only where skipping is allowed."""


def batches(data: bytes, name: str, problem: Problem) -> Iterator[Batch]:
    """Every batch of a segment or snapshot.

    Args:
        data: the file's bytes; zeros at its end, where it was preallocated, do not count.
        name: of the file.
        problem: told of what cannot be decoded.
    """
    position = 0
    while position < len(data):
        place = f"{name}: byte {position}"
        if not any(data[position : position + _HEADER.size]):
            if any(data[position:]):
                problem(place, "zeros where a batch starts, but more after them")
            return
        if len(data) - position < _HEADER.size:
            problem(place, f"{len(data) - position} bytes are no batch: the file is cut off")
            return
        size = struct.unpack_from(">i", data, position + 8)[0] + _OVERHEAD
        if size < _HEADER.size or position + size > len(data):
            problem(place, f"a batch of {size} bytes, but {len(data) - position} are left")
            return
        try:
            yield _batch(data[position : position + size], place)
        except (WireError, OSError, EOFError) as reason:
            problem(place, str(reason))
        position += size


def _batch(data: bytes, place: str) -> Batch:
    head = _HEADER.unpack_from(data)
    base, epoch, magic, crc, attributes, last_delta, count = *head[0:1], *head[2:7], head[12]
    if magic != _MAGIC:
        raise WireError(f"magic {magic}, not {_MAGIC}")
    if google_crc32c.value(data[_CRC_FROM:]) != crc:
        raise WireError(f"batch at offset {base}: the checksum does not match")
    compression = attributes & _COMPRESSION
    if compression not in _EXPANDED:
        raise WireError(f"batch at offset {base}: compression {compression} is not supported")
    rest = Bytes(_EXPANDED[compression](data[_HEADER.size :]))
    control = bool(attributes & _CONTROL)
    entries = tuple(_entry(rest, base, control) for _ in range(count))
    return Batch(base, base + last_delta, epoch, entries, place, control)


def _entry(rest: Bytes, base: int, control: bool) -> Entry:
    end = rest.signed() + rest.position
    rest.take(1)
    rest.signed()
    offset = base + rest.signed()
    key, value = _sized(rest), _sized(rest)
    rest.position = end  # headers carry nothing here
    try:
        if control:
            number = struct.unpack(">hh", (key or b"")[:4])[1]
            return Entry(offset, _CONTROLS.get(number, f"CONTROL_{number}"), 0, _leader(number, value or b""))
        name, version, fields = decode(value or b"")
    except (WireError, struct.error) as reason:
        raise WireError(f"offset {offset}: {reason}") from None
    return Entry(offset, name, version, fields)


def _leader(number: int, value: bytes) -> dict[str, int]:
    """Who was elected, of a change of leader; it follows the message's own version."""
    return {"leaderId": struct.unpack_from(">i", value, 2)[0]} if number == _LEADER_CHANGE else {}


def _sized(rest: Bytes) -> bytes | None:
    size = rest.signed()
    return None if size < 0 else rest.take(size)
