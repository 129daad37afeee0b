"""Segments changed at random, whose lengths, counts and checksums are mended: they get past the first check."""

from __future__ import annotations

import gzip
import random
import struct
from collections.abc import Sequence

import google_crc32c
from attrs import define, evolve

from kraftcheck.ci.logs.format import segments
from kraftcheck.ci.logs.format.fields import Bytes, WireError, decode
from kraftcheck.ci.logs.format.segments import CRC_FROM, HEADER
from tests.ci.fuzz.mutations import NUMBERS, bytes_changed, list_changed, mutation, pool

LENGTH, CRC, ATTRIBUTES, LAST, COUNT = 1, 4, 5, 6, 12
"""Places of fields in the header of a batch; its base offset is the first."""

NO_OP = b"\1\24\0\0"  # the value of a record that says nothing


def sealed(count: int, last: int, records: bytes, attributes: int = 0) -> bytes:
    """A batch at offset 0 that says what it is told to, under a right length and checksum."""
    return RawBatch([0, 0, 1, 2, 0, attributes, last, 0, 0, -1, -1, -1, count], records).mended()


def record(delta: int, value: bytes = NO_OP, headers: bytes = b"\0", more: bytes = b"") -> bytes:
    """A record without key and times."""
    body = b"\0\0" + segments.signed(delta) + b"\1" + segments.signed(len(value)) + value + headers + more
    return segments.signed(len(body)) + body


@define
class RawBatch:
    """A batch as bytes: the fields of its header, and its records, which may be compressed."""

    header: list[int]
    records: bytes

    def mended(self, length: bool = True) -> bytes:
        """Its bytes under a right checksum, and a right length unless that is kept."""
        header = [*self.header]
        if length:
            header[LENGTH] = HEADER.size + len(self.records) - 12
        header[CRC] = google_crc32c.value(HEADER.pack(*header)[CRC_FROM:] + self.records)
        return HEADER.pack(*header) + self.records

    def values(self) -> list[bytes]:
        """The values of its records."""
        rest, found = Bytes(self.records), []
        for _ in range(self.header[COUNT]):
            body = Bytes(rest.take(rest.signed()))
            body.take(1)
            body.signed(), body.signed()
            if body.signed() >= 0:
                raise WireError("a record with a key")
            found.append(body.take(body.signed()))
        return found

    def walked(self) -> int:
        """How many records it holds, whatever it says: they are walked to the last byte."""
        plain = gzip.decompress(self.records) if self.header[ATTRIBUTES] & 7 else self.records
        rest, found = Bytes(plain), 0
        while rest.left():
            rest.take(rest.signed())
            found += 1
        return found

    def with_values(self, values: Sequence[bytes]) -> RawBatch:
        """The batch with other records, and a count that fits them."""
        header = [*self.header]
        header[LAST], header[COUNT] = len(values) - 1, len(values)
        return RawBatch(header, b"".join(record(delta, value) for delta, value in enumerate(values)))


def cut(data: bytes) -> list[RawBatch]:
    """The batches of a segment; zeros at its end are none, nor is one that is cut off."""
    found, position = [], 0
    while len(data) - position >= HEADER.size and any(data[position : position + HEADER.size]):
        header = list(HEADER.unpack_from(data, position))
        end = position + header[LENGTH] + 12
        if end > len(data):
            break
        found.append(RawBatch(header, data[position + HEADER.size : end]))
        position = end
    return found


def changed(draw: random.Random, batches: Sequence[RawBatch]) -> bytes:
    """A segment with one to three changes; three in four are mended up to the checksum."""
    made = [evolve(batch) for batch in batches]
    kept_length: set[int] = set()
    for _ in range(draw.choice((1, 1, 2, 3))):
        if draw.randrange(8) == 0:
            made = list_changed(draw, made) or made
            if draw.randrange(2):
                _renumber(made)
            continue
        at = draw.randrange(len(made))
        made[at] = _batch_changed(draw, made[at])
        if draw.randrange(12) == 0:
            kept_length.add(at)
    pieces = []
    for at, batch in enumerate(made):
        try:
            pieces.append(batch.mended(at not in kept_length))
        except struct.error:
            pieces.append(batches[0].mended())
    data = b"".join(pieces)
    if draw.randrange(4):
        return data
    return draw.choice((bytes_changed(draw, data), data[: draw.randrange(len(data))], data + bytes(200), data + data))


def _renumber(batches: Sequence[RawBatch]) -> None:
    """Let offsets follow each other from the first batch on."""
    offset = batches[0].header[0]
    for batch in batches:
        batch.header = [offset, *batch.header[1:]]
        offset += batch.header[LAST] + 1


def _batch_changed(draw: random.Random, batch: RawBatch) -> RawBatch:
    kind = draw.randrange(6)
    if kind == 0:
        header = [*batch.header]
        header[draw.randrange(len(header))] = draw.choice(NUMBERS)
        return RawBatch(header, batch.records)
    if kind == 1:
        return RawBatch([*batch.header], bytes_changed(draw, batch.records))
    if kind == 2 and not batch.header[ATTRIBUTES]:
        stream = gzip.compress(batch.records, mtime=0)
        header = [*batch.header]
        header[ATTRIBUTES] = 1
        return RawBatch(header, draw.choice((stream, bytes_changed(draw, stream), stream * 2)))
    try:
        return batch.with_values(_values_changed(draw, batch.values()))
    except WireError:
        return RawBatch([*batch.header], bytes_changed(draw, batch.records))


def _values_changed(draw: random.Random, values: list[bytes]) -> list[bytes]:
    """The values of records, of which one is another, or is changed field by field or byte by byte."""
    at, kind = draw.randrange(len(values)), draw.randrange(4)
    if kind == 0:
        return list_changed(draw, values) or values
    if kind == 1:
        return [*values[:at], bytes_changed(draw, values[at]), *values[at + 1 :]]
    name, version, fields = decode(values[at])
    document = {"version": version, "data": fields or {}}
    mutation(draw, pool(draw))(document)
    try:
        other = segments.record_bytes(name, document["version"], document["data"])
    except (KeyError, TypeError, ValueError, AttributeError, struct.error):  # no record can hold it
        other = bytes_changed(draw, values[at])
    return [*values[:at], other, *values[at + 1 :]]
