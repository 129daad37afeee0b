"""Reading typed fields out of plain dicts, with errors that name the key."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from attrs import frozen

T = TypeVar("T")

INT32 = (-(1 << 31), (1 << 31) - 1)
INT64 = (-(1 << 63), (1 << 63) - 1)


class FormError(ValueError):
    """Input that has not the form it should have; the message names the key."""


@frozen
class Fields:
    """A dict being read.

    Attributes:
        data: its content.
        where: path to it, for messages; empty at the top.
    """

    data: Mapping[str, Any]
    where: str = ""

    @classmethod
    def of(cls, value: object, where: str = "") -> Fields:
        """The value as fields.

        Raises:
            FormError: when it is not a dict with text keys.
        """
        if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
            raise FormError(f"{where or 'input'}: an object is wanted, not {_kind(value)}")
        return cls(value, where)

    def key(self, key: str) -> str:
        """The path to a key."""
        return f"{self.where}.{key}" if self.where else key

    def only(self, *known: str) -> Fields:
        """These fields, once no others are there.

        Raises:
            FormError: for an unknown key.
        """
        for key in self.data:
            if key not in known:
                raise FormError(f"{self.key(key)}: unknown key")
        return self

    def has(self, key: str) -> bool:
        """Whether the key is there with a value that is not null."""
        return self.data.get(key) is not None

    def read(self, key: str, reader: Callable[[object, str], T]) -> T:
        """A mandatory field.

        Raises:
            FormError: when it is missing, or when the reader refuses it.
        """
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


integers = each(integer)
"""A reader of lists of 32-bit ints."""


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
