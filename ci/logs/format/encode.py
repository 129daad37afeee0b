"""Records and batches as bytes: the inverse of `fields` and `segments`."""

from __future__ import annotations

import base64
import struct
from collections.abc import Mapping, Sequence
from typing import Any

import google_crc32c

from kraftcheck.ci.logs.format.bodies import CRC_FROM, HEADER, MAGIC
from kraftcheck.ci.logs.format.fields import FIXED, FRAME_VERSION, RECORDS, STRUCTS, FieldForm

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


def record(name: str, version: int, data: Mapping[str, Any]) -> bytes:
    """The bytes of a record; `fields.decode` gives name, version and fields back.

    Raises:
        KeyError: for an unknown kind, or a missing field.
    """
    number = _NUMBERS[name]
    head = unsigned(FRAME_VERSION) + unsigned(number) + unsigned(version)
    return head + _struct(RECORDS[number].fields, version, data)


def batch(base_offset: int, epoch: int, values: Sequence[bytes]) -> bytes:
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


def _struct(fields: tuple[FieldForm, ...], version: int, data: Mapping[str, Any]) -> bytes:
    present = [field for field in fields if field.since <= version]
    untagged = b"".join(_field(field, version, data[field.name]) for field in present if field.tag is None)
    tagged = sorted(
        ((field.tag, _field(field, version, data[field.name])) for field in present
         if field.tag is not None and field.name in data),
    )  # fmt: skip
    return untagged + unsigned(len(tagged)) + b"".join(unsigned(tag) + unsigned(len(b)) + b for tag, b in tagged)


def _field(field: FieldForm, version: int, value: Any) -> bytes:
    if not field.many:
        return _value(field.type, version, value)
    if value is None:
        return unsigned(0)
    return unsigned(len(value) + 1) + b"".join(_value(field.type, version, item) for item in value)


def _value(kind: str, version: int, value: Any) -> bytes:
    if kind in FIXED:
        return struct.pack(FIXED[kind], value)
    if kind in STRUCTS:
        return _struct(STRUCTS[kind], version, value)
    if kind == "uuid":
        return base64.urlsafe_b64decode(value + "==")
    if value is None:
        return unsigned(0)
    data = base64.b64decode(value) if kind == "bytes" else value.encode()
    return unsigned(len(data) + 1) + data
