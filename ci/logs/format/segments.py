"""Log segments and snapshots read directly: record batches (magic 2) and the records in them.

What Kafka's own reader of the metadata log refuses is refused. Source: `DefaultRecordBatch`, `DefaultRecord`,
`ControlRecordType`, `RecordsIterator`.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterator

import google_crc32c

from kraftcheck.ci.logs.format.bodies import CRC_FROM, HEADER, MAGIC, MAX_OFFSET, Bodies
from kraftcheck.ci.logs.format.fields import Bytes, WireError, decode
from kraftcheck.solvers.logs.explain.entries import Batch, CompactBatch, LogEntry

_UNCOUNTED_BYTES = 12
"""Bytes before what the length of a batch counts."""

_LENGTH = struct.Struct(">i")
_CONTROL, _COMPRESSION, _GZIP = 0x20, 0x07, 1
_GZIP_MEMBER = 31
"""What zlib calls a stream of gzip with its header and checksum."""

_CONTROLS = {2: "LEADER_CHANGE", 3: "SNAPSHOT_HEADER", 4: "SNAPSHOT_FOOTER", 5: "KRAFT_VERSION", 6: "KRAFT_VOTERS"}

_LEADER_CHANGE = 2

MAX_EXPANDED = 16 << 20
"""The most bytes that a compressed batch may expand to; KRaft begins a new batch after 8 MB."""

MAX_ALL_EXPANDED = 64 << 20
"""The most bytes that the compressed batches of a file may expand to; KRaft itself compresses none."""

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
    position, bodies, budget = 0, Bodies(_batch), MAX_ALL_EXPANDED
    while position < len(data):
        size = _size(data, position, name, problem)
        if not size:
            return
        try:
            raw = data[position : position + size]
            batch_bytes = _plain(raw, budget)
            budget -= 0 if batch_bytes is raw else len(batch_bytes) - HEADER.size
            compact_batch = bodies.compact(batch_bytes, name, position) if compact else None
            yield compact_batch or _batch(batch_bytes, f"{name}: byte {position}")
        except WireError as reason:
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
    _check_sum(data, base, crc)
    if count < 1 or count != last_delta + 1:
        raise WireError(f"batch at offset {base}: it counts {count} records, and its offsets are of {last_delta + 1}")
    if not 0 <= base <= MAX_OFFSET - last_delta:
        raise WireError(f"batch at offset {base}: no log has such an offset")
    rest = Bytes(data[HEADER.size :])
    control = bool(attributes & _CONTROL)
    entries = tuple(_entry(rest, base, number, control) for number in range(count))
    if over := rest.left():
        raise WireError(f"batch at offset {base}: {over} bytes after the last of its {count} records")
    return Batch(base, base + last_delta, epoch, entries, place, control)


def _check_sum(data: bytes, base: int, crc: int) -> None:
    if google_crc32c.value(data[CRC_FROM:]) != crc:
        raise WireError(f"batch at offset {base}: the checksum does not match")


def _plain(data: bytes, budget: int) -> bytes:
    """The batch as it would be without compression: one in gzip gets another length, attributes and checksum."""
    base, _, epoch, magic, crc, attributes, *rest = HEADER.unpack_from(data)
    compression = attributes & _COMPRESSION
    if magic != MAGIC or not compression:
        return data
    _check_sum(data, base, crc)
    if compression != _GZIP:
        raise WireError(f"batch at offset {base}: compression {compression} is not supported")
    records = _expanded(data[HEADER.size :], base)
    if len(records) > budget:
        raise WireError(
            f"batch at offset {base}: with it the file's compressed batches expand to more than "
            f"{MAX_ALL_EXPANDED >> 20} MB"
        )
    size = HEADER.size + len(records) - _UNCOUNTED_BYTES
    head = (base, size, epoch, magic)
    unsealed = HEADER.pack(*head, 0, attributes & ~_COMPRESSION, *rest) + records
    return HEADER.pack(*head, google_crc32c.value(unsealed[CRC_FROM:]), attributes & ~_COMPRESSION, *rest) + records


def _expanded(data: bytes, base: int) -> bytes:
    """The records of a batch of one member of gzip."""
    stream = zlib.decompressobj(wbits=_GZIP_MEMBER)
    try:
        expanded = stream.decompress(data, MAX_EXPANDED)
    except zlib.error as reason:
        raise WireError(f"batch at offset {base}: not gzip: {reason}") from None
    if stream.unconsumed_tail:
        raise WireError(f"batch at offset {base}: it expands to more than {MAX_EXPANDED >> 20} MB")
    if not stream.eof or stream.unused_data:
        raise WireError(f"batch at offset {base}: not one whole member of gzip")
    return expanded


def _entry(batch: Bytes, base: int, number: int, control: bool) -> LogEntry:
    offset = base + number
    rest = Bytes(batch.take(batch.signed()))
    rest.take(1)
    rest.signed()
    if (delta := rest.signed()) != number:
        raise WireError(f"offset {offset}: the record says {base + delta}")
    key, value = _sized_bytes(rest), _sized_bytes(rest)
    if headers := rest.signed():
        raise WireError(f"offset {offset}: {headers} headers")
    if over := rest.left():
        raise WireError(f"offset {offset}: {over} bytes after the record")
    try:
        if control:
            kind = struct.unpack(">hh", (key or b"")[:4])[1]
            if kind not in _CONTROLS:
                raise WireError(f"a control record of an unknown kind, {kind}")
            if not value:
                raise WireError("a control record without a value")
            return LogEntry(offset, _CONTROLS[kind], 0, _leader(kind, value))
        if key is not None:
            raise WireError("a record with a key")
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
