"""Log segments and snapshots read directly: record batches (magic 2) and the records in them.

Source: `DefaultRecordBatch`, `DefaultRecord`, `ControlRecordType`.
"""

from __future__ import annotations

import gzip
import struct
from collections.abc import Callable, Iterator

import google_crc32c

from kraftcheck.ci.logs.format.bodies import CRC_FROM, HEADER, MAGIC, Bodies
from kraftcheck.ci.logs.format.fields import Bytes, WireError, decode
from kraftcheck.solvers.logs.explain.entries import Batch, CompactBatch, LogEntry

_UNCOUNTED_BYTES = 12
"""Bytes before what the length of a batch counts."""

_LENGTH = struct.Struct(">i")
_CONTROL, _COMPRESSION = 0x20, 0x07

_CONTROLS = {2: "LEADER_CHANGE", 3: "SNAPSHOT_HEADER", 4: "SNAPSHOT_FOOTER", 5: "KRAFT_VERSION", 6: "KRAFT_VOTERS"}

_LEADER_CHANGE = 2

_EXPANDED: dict[int, Callable[[bytes], bytes]] = {0: bytes, 1: gzip.decompress}

Problem = Callable[[str, str], None]
"""Called with a place and what is wrong there; returns only where skipping is allowed."""


def batches(data: bytes, name: str, problem: Problem, compact: bool = False) -> Iterator[Batch | CompactBatch]:
    """Every batch of a segment or snapshot.

    Args:
        data: the file's bytes; zeros at its end, where it was preallocated, do not count.
        name: of the file.
        problem: called for each batch that cannot be decoded.
        compact: whether to leave changes of partitions undecoded that were decoded before, where a batch
            has no more than one record of another kind that is read.
    """
    position, bodies = 0, Bodies(_batch)
    while position < len(data):
        size = _size(data, position, name, problem)
        if not size:
            return
        try:
            batch_bytes = data[position : position + size]
            compact_batch = bodies.compact(batch_bytes, name, position) if compact else None
            yield compact_batch or _batch(batch_bytes, f"{name}: byte {position}")
        except (WireError, OSError, EOFError) as reason:
            problem(f"{name}: byte {position}", str(reason))
        position += size


def _size(data: bytes, position: int, name: str, problem: Problem) -> int:
    """The bytes of the batch that begins here; 0 where there is none."""
    remaining = len(data) - position
    size: int = _LENGTH.unpack_from(data, position + 8)[0] + _UNCOUNTED_BYTES if remaining >= HEADER.size else 0
    if HEADER.size <= size <= remaining:
        return size
    place = f"{name}: byte {position}"
    if not any(data[position : position + HEADER.size]):
        if any(data[position:]):
            problem(place, "zeros where a batch starts, but more after them")
    elif remaining < HEADER.size:
        problem(place, f"{remaining} bytes are no batch: the file is cut off")
    else:
        problem(place, f"a batch of {size} bytes, but {remaining} are left")
    return 0


def _batch(data: bytes, place: str) -> Batch:
    head = HEADER.unpack_from(data)
    base, epoch, magic, crc, attributes, last_delta, count = *head[0:1], *head[2:7], head[12]
    if magic != MAGIC:
        raise WireError(f"magic {magic}, not {MAGIC}")
    if google_crc32c.value(data[CRC_FROM:]) != crc:
        raise WireError(f"batch at offset {base}: the checksum does not match")
    compression = attributes & _COMPRESSION
    if compression not in _EXPANDED:
        raise WireError(f"batch at offset {base}: compression {compression} is not supported")
    rest = Bytes(_EXPANDED[compression](data[HEADER.size :]))
    control = bool(attributes & _CONTROL)
    entries = tuple(_entry(rest, base, control) for _ in range(count))
    return Batch(base, base + last_delta, epoch, entries, place, control)


def _entry(rest: Bytes, base: int, control: bool) -> LogEntry:
    end = rest.signed() + rest.position
    rest.take(1)
    rest.signed()
    offset = base + rest.signed()
    key, value = _sized_bytes(rest), _sized_bytes(rest)
    rest.position = end  # headers carry nothing here
    try:
        if control:
            number = struct.unpack(">hh", (key or b"")[:4])[1]
            return LogEntry(offset, _CONTROLS.get(number, f"CONTROL_{number}"), 0, _leader(number, value or b""))
        name, version, fields = decode(value or b"")
    except (WireError, struct.error) as reason:
        raise WireError(f"offset {offset}: {reason}") from None
    return LogEntry(offset, name, version, fields)


def _leader(number: int, value: bytes) -> dict[str, int]:
    """Who was elected, of a change of leader; it follows the message's own version."""
    return {"leaderId": struct.unpack_from(">i", value, 2)[0]} if number == _LEADER_CHANGE else {}


def _sized_bytes(rest: Bytes) -> bytes | None:
    size = rest.signed()
    return None if size < 0 else rest.take(size)
