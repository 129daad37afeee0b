"""Typed fields of plain dicts, and directory ids as text."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping
from typing import Any, Self, TypeVar

from attrs import frozen

from kraftcheck.model.partition.registration import LOST, MIGRATING, UNASSIGNED

T = TypeVar("T")

INT32 = (-(1 << 31), (1 << 31) - 1)
INT64 = (-(1 << 63), (1 << 63) - 1)


class FormError(ValueError):
    """Input that has not the form it should have; the message names the key."""


@frozen
class Fields:
    """A dict being read."""

    data: Mapping[str, Any]  # its content
    where: str = ""  # path to it, for messages; empty at the top

    @classmethod
    def of(cls, value: object, where: str = "") -> Self:
        """The value as fields; raises FormError when it is not a dict with text keys."""
        if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
            raise FormError(f"{where or 'input'}: an object is wanted, not {_kind(value)}")
        return cls(value, where)

    def key(self, key: str) -> str:
        """The path to a key."""
        return f"{self.where}.{key}" if self.where else key

    def only(self, *known: str) -> Self:
        """These fields, once no others are there; raises FormError for an unknown key."""
        for key in self.data:
            if key not in known:
                raise FormError(f"{self.key(key)}: unknown key")
        return self

    def has(self, key: str) -> bool:
        """Whether the key is there with a value that is not null."""
        return self.data.get(key) is not None

    def read(self, key: str, reader: Callable[[object, str], T]) -> T:
        """A mandatory field; raises FormError when it is missing, or when the reader refuses it."""
        if key not in self.data:
            raise FormError(f"{self.key(key)}: missing")
        return reader(self.data[key], self.key(key))

    def read_or(self, key: str, reader: Callable[[object, str], T], default: T) -> T:
        """A field that may be absent or null; the default then."""
        return self.read(key, reader) if self.has(key) else default


def integer(value: object, where: str, bounds: tuple[int, int] = INT32) -> int:
    """An int within bounds; 32 bits by default."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise FormError(f"{where}: an integer is wanted, not {_kind(value)}")
    if not bounds[0] <= value <= bounds[1]:
        raise FormError(f"{where}: {value} is out of range {bounds[0]}..{bounds[1]}")
    return value


def long(value: object, where: str) -> int:
    """An int of 64 bits."""
    return integer(value, where, INT64)


def flag(value: object, where: str) -> bool:
    """A bool."""
    if not isinstance(value, bool):
        raise FormError(f"{where}: true or false is wanted, not {_kind(value)}")
    return value


def text(value: object, where: str) -> str:
    """A string."""
    if not isinstance(value, str):
        raise FormError(f"{where}: a text is wanted, not {_kind(value)}")
    return value


def choice(*allowed: str) -> Callable[[object, str], str]:
    """A reader of one of some strings."""

    def read(value: object, where: str) -> str:
        if value not in allowed:
            raise FormError(f"{where}: {value!r} is none of {', '.join(allowed)}")
        return str(value)

    return read


def items(value: object, where: str) -> list[Any]:
    """A list."""
    if not isinstance(value, list | tuple):
        raise FormError(f"{where}: a list is wanted, not {_kind(value)}")
    return list(value)


def each(reader: Callable[[object, str], T]) -> Callable[[object, str], tuple[T, ...]]:
    """A reader of lists whose members another reader reads."""

    def read(value: object, where: str) -> tuple[T, ...]:
        return tuple(reader(item, f"{where}[{n}]") for n, item in enumerate(items(value, where)))

    return read


_integers = each(integer)


def integers(value: object, where: str) -> tuple[int, ...]:
    """A list of 32-bit ints."""
    if not isinstance(value, list | tuple) or not {*map(type, value)} <= {int}:
        return _integers(value, where)
    within = not value or INT32[0] <= min(value) <= max(value) <= INT32[1]
    return tuple(value) if within else _integers(value, where)


def brokers(value: object, where: str) -> tuple[int, ...]:
    """A list of brokers as Kafka's controllers take it: numbers from 0, none of them twice. Source: `Replicas`."""
    listed, known = integers(value, where), set[int]()
    for broker in listed:
        if broker < 0:
            raise FormError(f"{where}: {broker} is no broker")
        if broker in known:
            raise FormError(f"{where}: broker {broker} is named twice")
        known.add(broker)
    return listed


def _kind(value: object) -> str:
    return "null" if value is None else f"{type(value).__name__} {value!r}"[:80]


BYTES = 16


class DirectoryTextError(ValueError):
    """A text that is no directory id, or an id without a form in a numbering."""


@frozen
class Reserved:
    """One reserved id."""

    name: str  # what the document calls it
    number: int  # what the document numbers it
    id: int  # what the model numbers it


@frozen
class Numbering:
    """How one document writes directory ids."""

    name: str  # the document
    reserved: tuple[Reserved, ...]  # its reserved ids

    def text(self, directory: int) -> str:
        """An id as a reserved name, else as 22 characters of URL-safe base64.

        Raises:
            DirectoryTextError: for a reserved id the document does not know.
        """
        known = self._by_id(directory)
        return known.name if known else _to_base64(directory)

    def base64(self, directory: int) -> str:
        """An id as 22 characters of URL-safe base64, as the log holds it.

        Raises:
            DirectoryTextError: for a reserved id the document does not know.
        """
        known = self._by_id(directory)
        return _to_base64(known.number if known else directory)

    def parse(self, text: object) -> int:
        """The id that a name or 22 characters of base64 stand for; raises DirectoryTextError for anything else."""
        if not isinstance(text, str):
            raise DirectoryTextError(f"{text!r} is not the text of a directory id")
        for known in self.reserved:
            if known.name == text:
                return known.id
        number = _from_base64(text)
        for known in self.reserved:
            if known.number == number:
                return known.id
        if number in _RESERVED_IDS:
            raise DirectoryTextError(f"{text!r} is a reserved id that {self.name} does not know")
        return number

    def _by_id(self, directory: int) -> Reserved | None:
        found = next((known for known in self.reserved if known.id == directory), None)
        if found is None and directory in _RESERVED_IDS:
            raise DirectoryTextError(f"reserved id {directory} has no form in {self.name}")
        return found


_RESERVED_IDS = (MIGRATING, UNASSIGNED, LOST)

CODE = Numbering(
    "the code", (Reserved("MIGRATING", 0, MIGRATING), Reserved("UNASSIGNED", 1, UNASSIGNED), Reserved("LOST", 2, LOST))
)
"""The numbering of Kafka's code and of the model."""

KIP = Numbering(
    "KIP-858",
    (Reserved("UNASSIGNED_DIR", 0, UNASSIGNED), Reserved("LOST_DIR", 1, LOST), Reserved("MIGRATING_DIR", 2, MIGRATING)),
)
"""The numbering of the design document."""

DRAFT = Numbering("the draft of KIP-858", (Reserved("UnknownDir", 0, UNASSIGNED), Reserved("OfflineDir", 1, LOST)))
"""The numbering of the design document's earlier draft, which has no MIGRATING."""


def _to_base64(number: int) -> str:
    try:
        raw = number.to_bytes(BYTES, "big")
    except OverflowError:
        raise DirectoryTextError(f"{number} is not a 128-bit id") from None
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def _from_base64(text: str) -> int:
    """The number of a base64 text; unused low bits of the last character are ignored, as in Kafka."""
    try:
        raw = base64.b64decode(text + "==", altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raw = b""
    if len(raw) != BYTES or len(text) != 22:
        raise DirectoryTextError(f"{text!r} is neither a reserved name nor 22 characters of base64")
    return int.from_bytes(raw, "big")
