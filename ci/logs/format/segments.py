"""Log segments and snapshots read directly: record batches (magic 2) and the records in them.

What Kafka's own reader of the metadata log refuses is refused. Source: `DefaultRecordBatch`, `DefaultRecord`,
`ControlRecordType`, `RecordsIterator`.
"""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import google_crc32c

from kraftcheck.ci.logs.format.fields import (
    FIXED,
    FRAME_VERSION,
    QUORUM,
    RECORDS,
    STRUCTS,
    Bytes,
    FieldForm,
    WireError,
    decode,
    struct_of,
)
from kraftcheck.solvers.logs.explain.state import READ_KINDS, Batch, CompactBatch, LogEntry
from kraftcheck.solvers.logs.memo.ledger import CHANGE

HEADER = struct.Struct(">qiibIhiqqqhii")  # the header of a record batch of magic 2

CRC_FROM, MAGIC_AT = 21, 16
MAGIC = 2
MAX_OFFSET = (1 << 63) - 1
LAST_TIME = 253_402_300_799_999
"""The last millisecond of the year 9999; what is later, or before 1970, is no time of a batch."""

NOT_PLAIN = 0x27  # attributes of what is compressed or the quorum's own

CHANGE_FRAME = b"\1\5"
REST_FROM = 23  # a change of a partition: frame and kind, its version, index and topic, and from here on the rest

_NULL_KEY, _NO_HEADERS = 1, 0
_MANY_BITS, _MOST_SHIFT = 0x80, 63

Decode = Callable[[bytes, str], Batch]


class _UnsupportedShapeError(Exception):
    """Bytes of another shape; they are left to the decoder of whole batches, which says what is wrong with them."""


class Bodies:
    """The rests of changes that are known to be well formed; `decode_batch` decodes a batch whole."""

    def __init__(self, decode_batch: Decode) -> None:
        self._decode_batch = decode_batch
        self._valid_bodies: set[bytes] = set()

    def compact(self, data: bytes, name: str, position: int) -> CompactBatch | None:
        """The batch of a file with these bytes; None where it has to be decoded whole, or cannot be."""
        base, _, epoch, magic, crc, attributes, last_delta, _, newest, _, _, _, count = HEADER.unpack_from(data)
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
            base, base + last_delta, epoch, time_of(newest), keys, bodies, other, name, position,
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


_UNCOUNTED_BYTES = 12  # bytes before what the length of a batch counts

_LENGTH = struct.Struct(">i")
_CONTROL, _COMPRESSION, _GZIP = 0x20, 0x07, 1
GZIP_MEMBER = 31  # what zlib calls a stream of gzip with its header and checksum

_CONTROLS = {2: "LEADER_CHANGE", 3: "SNAPSHOT_HEADER", 4: "SNAPSHOT_FOOTER", 5: "KRAFT_VERSION", 6: "KRAFT_VOTERS"}

_LEADER_CHANGE, _KNOWN = 2, 1

MAX_EXPANDED = 16 << 20  # the most bytes that a compressed batch may expand to; KRaft begins a new batch after 8 MB

MAX_ALL_EXPANDED = 64 << 20
"""The most bytes that the compressed batches of a file may expand to; KRaft itself compresses none."""

Problem = Callable[[str, str], None]
"""Called with a place and what is wrong there; returns only where skipping is allowed."""


def batches(data: bytes, name: str, problem: Problem, compact: bool = False) -> Iterator[Batch | CompactBatch]:
    """Every batch of a segment or snapshot, if so compact; `problem` is told of each that cannot be decoded."""
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


DAMAGED = ": damaged; copy the file anew, or status --allow-skipped 1 tells of what is whole"
"""What is said of bytes that no controller wrote so, with the mend."""


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
    elif position == 0 and data[MAGIC_AT] != MAGIC:
        problem(place, "no metadata log: no record batch begins here")
    else:
        problem(place, f"a batch of {size} bytes, but {remaining} are left{DAMAGED}")
    return 0


def whole_size(data: bytes) -> int:
    """Where the last whole batch of a segment ends that is being written."""
    position = 0
    while size := _size(data, position, "", lambda place, what: None):
        position += size
    return position


def end_offset(data: bytes) -> int:
    """The offset behind the last whole batch of a segment; 0 where there is none."""
    position, last = 0, -1
    while size := _size(data, position, "", lambda place, what: None):
        head = HEADER.unpack_from(data, position)
        position, last = position + size, head[0] + head[6]
    return last + 1


def is_cut(data: bytes, end: int) -> bool:
    """Whether what follows whole batches begins one more, and no whole one, as behind a damaged length."""
    left = len(data) - end
    if not any(data[end : end + HEADER.size]):
        return False
    if left < HEADER.size:
        return end > 0
    base, length, _, magic, *_ = HEADER.unpack_from(data, end)
    if magic != MAGIC or length + _UNCOUNTED_BYTES <= left or end == 0:
        return False
    return not any(_is_batch(data, at, base) for at in _magics(data, end + HEADER.size))


def _magics(data: bytes, start: int) -> Iterator[int]:
    """Where batches may begin, by the byte of their magic."""
    at = data.find(MAGIC, start + MAGIC_AT)
    while at >= 0:
        yield at - MAGIC_AT
        at = data.find(MAGIC, at + 1)


def _is_batch(data: bytes, at: int, after: int) -> bool:
    """Whether a whole batch begins here, of an offset after another."""
    if len(data) - at < HEADER.size:
        return False
    base, length, _, _, crc, *_ = HEADER.unpack_from(data, at)
    end = at + length + _UNCOUNTED_BYTES
    fits = base > after and at + HEADER.size <= end <= len(data)
    return fits and int(google_crc32c.value(data[at + CRC_FROM : end])) == int(crc)


def _batch(data: bytes, place: str) -> Batch:
    head = HEADER.unpack_from(data)
    base, epoch, magic, crc, attributes, last_delta, count, newest = *head[0:1], *head[2:7], head[12], head[8]
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
    return Batch(base, base + last_delta, epoch, entries, place, control, time_of(newest))


def time_of(milliseconds: int) -> int | None:
    """The time of a batch; None for a number that is none, such as -1."""
    return milliseconds if 0 <= milliseconds <= LAST_TIME else None


def _check_sum(data: bytes, base: int, crc: int) -> None:
    if google_crc32c.value(data[CRC_FROM:]) != crc:
        raise WireError(f"batch at offset {base}: the checksum does not match{DAMAGED}")


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
    stream = zlib.decompressobj(wbits=GZIP_MEMBER)
    try:
        expanded = stream.decompress(data, MAX_EXPANDED)
    except zlib.error as reason:
        raise WireError(f"batch at offset {base}: not gzip: {reason}") from None
    if stream.unconsumed_tail:
        raise WireError(f"batch at offset {base}: it expands to more than {MAX_EXPANDED >> 20} MB")
    if not stream.eof or stream.unused_data:
        raise WireError(f"batch at offset {base}: not one whole member of gzip")
    return expanded


def unpacked(data: bytes, most: int) -> tuple[bytes, bool]:
    """The bytes that gzip compressed, and whether they are all; raises WireError for damage, and for over `most`."""
    found = bytearray()
    while data:
        stream = zlib.decompressobj(wbits=GZIP_MEMBER)
        try:
            found += stream.decompress(data, most + 1 - len(found))
        except zlib.error as error:
            raise WireError(f"damaged, as gzip says: {error}") from None
        if len(found) > most:
            raise WireError(f"unpacked more than {most >> 30} GB")
        if not stream.eof:
            return bytes(found), False
        data = stream.unused_data.lstrip(b"\0")
    return bytes(found), True


_ARCHIVES = {
    b"PK\3\4": "a zip archive", b"\xfd7zXZ\0": "packed by xz", b"BZh": "packed by bzip2", b"7z\xbc\xaf": "a 7z archive",
    b"\x28\xb5\x2f\xfd": "packed by zstd",
}  # fmt: skip
_TAR, _TAR_AT = b"ustar", 257


def archive_of(data: bytes) -> str:
    """Of bytes that are packed otherwise than by gzip, or are an archive, how; empty for others.

    >>> archive_of(b"BZh91AY"), archive_of(b"Dumping 0.log")
    ('packed by bzip2', '')
    """
    if data.startswith(_TAR, _TAR_AT):
        return "a tar archive"
    return next((kind for magic, kind in _ARCHIVES.items() if data.startswith(magic)), "")


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
            return LogEntry(offset, _CONTROLS[kind], 0, _quorum(kind, value))
        if key is not None:
            raise WireError("a record with a key")
        name, version, fields = decode(value or b"")
    except (WireError, struct.error) as reason:
        raise WireError(f"offset {offset}: {reason}") from None
    return LogEntry(offset, name, version, fields)


def _quorum(number: int, value: bytes) -> dict[str, Any]:
    """Who was elected, and who votes, as far as a record of the quorum tells it in a version that is known."""
    if number not in QUORUM:
        return {}
    leader = {"leaderId": struct.unpack_from(">i", value, 2)[0]} if number == _LEADER_CHANGE else {}
    try:
        rest = Bytes(value)
        version = rest.fixed(">h")
        voters = struct_of(rest, QUORUM[number], version)["voters"] if version <= _KNOWN else None
    except WireError:
        voters = None
    return leader if voters is None else {**leader, "voters": [voter["voterId"] for voter in voters]}


def _sized_bytes(rest: Bytes) -> bytes | None:
    size = rest.signed()
    return None if size < 0 else rest.take(size)


_NUMBERS = {form.name: number for number, form in RECORDS.items()}
_LENGTH_FROM = 12


def unsigned(value: int) -> bytes:
    """An unsigned varint."""
    data = bytearray()
    while value > 0x7F:
        data.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*data, value))


def signed(value: int) -> bytes:
    """A zigzag varint."""
    return unsigned(value << 1 if value >= 0 else (-value << 1) - 1)


def record_bytes(name: str, version: int, data: Mapping[str, Any]) -> bytes:
    """The bytes of a record, the inverse of `fields.decode`; raises KeyError for an unknown kind or no field."""
    number = _NUMBERS[name]
    head = unsigned(FRAME_VERSION) + unsigned(number) + unsigned(version)
    return head + _struct_bytes(RECORDS[number].fields, version, data)


def batch_bytes(base_offset: int, epoch: int, values: Sequence[bytes]) -> bytes:
    """A record batch with these values, without keys, headers and times."""
    records = []
    for delta, value in enumerate(values):
        body = b"\0\0" + signed(delta) + b"\1" + signed(len(value)) + value + b"\0"
        records.append(signed(len(body)) + body)
    inside = b"".join(records)
    last = len(values) - 1
    size = HEADER.size + len(inside) - _LENGTH_FROM
    head = HEADER.pack(base_offset, size, epoch, MAGIC, 0, 0, last, 0, 0, -1, -1, -1, len(values))
    crc = google_crc32c.value(head[CRC_FROM:] + inside)
    return HEADER.pack(base_offset, size, epoch, MAGIC, crc, 0, last, 0, 0, -1, -1, -1, len(values)) + inside


def _struct_bytes(fields: tuple[FieldForm, ...], version: int, data: Mapping[str, Any]) -> bytes:
    present = [field for field in fields if field.since <= version]
    untagged = b"".join(_field_bytes(field, version, data[field.name]) for field in present if field.tag is None)
    tagged = sorted(
        ((field.tag, _field_bytes(field, version, data[field.name])) for field in present
         if field.tag is not None and field.name in data),
    )  # fmt: skip
    return untagged + unsigned(len(tagged)) + b"".join(unsigned(tag) + unsigned(len(b)) + b for tag, b in tagged)


def _field_bytes(field: FieldForm, version: int, value: Any) -> bytes:
    if not field.many:
        return _value_bytes(field.type, version, value)
    if value is None:
        return unsigned(0)
    return unsigned(len(value) + 1) + b"".join(_value_bytes(field.type, version, item) for item in value)


def _value_bytes(kind: str, version: int, value: Any) -> bytes:
    if kind in FIXED:
        return struct.pack(FIXED[kind], value)
    if kind in STRUCTS:
        return _struct_bytes(STRUCTS[kind], version, value)
    if kind == "uuid":
        return base64.urlsafe_b64decode(value + "==")
    if value is None:
        return unsigned(0)
    data = base64.b64decode(value) if kind == "bytes" else value.encode()
    return unsigned(len(data) + 1) + data
