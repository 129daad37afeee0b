"""Values of a JSON document, each by its kind and its range; all else is a ValueError that names the place."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from attrs import field, fields

T = TypeVar("T")
K = TypeVar("K")

Reader = Callable[[Any], T]  # what makes a value of a part of a document, or raises ValueError

NAME = re.compile(r"[\w .,:;=+*/<>()\[\]{}|&%#@!?~^-]{1,1200}")
"""A name: letters, digits and signs, none of which means anything in a quoted text of any engine of SQL.

No quotes, no backslash (an escape in Spark), no dollar (a variable in Spark), no line break, no control character.
"""

FILE_NAME = re.compile(r"[a-z]{1,20}-[0-9a-f-]{1,60}\.parquet", re.ASCII)
"""The name of a file of states, without a folder."""

SHA256 = re.compile(r"[0-9a-f]{64}", re.ASCII)
TOKEN = re.compile(r"[0-9a-f]{32}", re.ASCII)

INT64 = (-(1 << 63), (1 << 63) - 1)


def shown(value: Any) -> str:
    """A value of a stranger's in a message: short, and in ASCII."""
    if isinstance(value, int) and value.bit_length() > 256:  # Python writes no number of thousands of digits
        return f"a number of {value.bit_length():,} bits"
    text = ascii(value) if isinstance(value, str | int | float | bool | None) else type(value).__name__
    return text if len(text) <= 60 else f"{text[:57]}..."


def whole(least: int, most: int) -> Reader[int]:
    """Whole numbers of a range."""

    def read(value: Any) -> int:
        if type(value) is not int or not least <= value <= most:
            raise ValueError(f"takes a whole number {least}..{most}, not {shown(value)}")
        return value

    return read


def number(value: Any) -> float:
    """A number that is finite and not negative, as counts and seconds are."""
    if type(value) not in (int, float) or not (0 <= value <= 1e18 and math.isfinite(value)):
        raise ValueError(f"takes a number 0..10^18, not {shown(value)}")
    found: float = value
    return found


def boolean(value: Any) -> bool:
    """True or false."""
    if type(value) is not bool:
        raise ValueError(f"takes true or false, not {shown(value)}")
    return value


def matching(pattern: re.Pattern[str] = NAME) -> Reader[str]:
    """Texts that match a pattern as a whole."""

    def read(value: Any) -> str:
        if type(value) is not str or not pattern.fullmatch(value):
            raise ValueError(f"takes a name of the pattern {pattern.pattern}, not {shown(value)}")
        return value

    return read


def text(most: int) -> Reader[str]:
    """Texts of a line, which are shown and never asked for by name."""

    def read(value: Any) -> str:
        if type(value) is not str or len(value) > most or not value.isprintable():
            raise ValueError(f"takes a line of at most {most} characters, not {shown(value)}")
        return value

    return read


def one_of(*words: T) -> Reader[T]:
    """Some values and no others."""

    def read(value: Any) -> T:
        for word in words:
            if type(value) is type(word) and value == word:
                return word
        raise ValueError(f"takes {' or '.join(map(repr, words))}, not {shown(value)}")

    return read


def optional(of: Reader[T]) -> Reader[T | None]:
    """A value or null."""
    return lambda value: None if value is None else of(value)


def listed(of: Reader[T], most: int) -> Reader[tuple[T, ...]]:
    """Lists of no more than so many values."""

    def read(value: Any) -> tuple[T, ...]:
        if not isinstance(value, list | tuple) or len(value) > most:
            raise ValueError(f"takes a list of at most {most:,}, not {_size(value)}")
        return tuple(_at(place, of, one) for place, one in enumerate(value))

    return read


def mapped(key: Reader[K], of: Reader[T], most: int) -> Reader[dict[K, T]]:
    """Objects of no more than so many keys."""

    def read(value: Any) -> dict[K, T]:
        if not isinstance(value, Mapping) or len(value) > most:
            raise ValueError(f"takes an object of at most {most:,} keys, not {_size(value)}")
        return {_at(shown(word), key, word): _at(shown(word), of, one) for word, one in value.items()}

    return read


def read_fields(value: Any, readers: Mapping[str, Reader[Any]]) -> dict[str, Any]:
    """The values of an object that has these keys, and no others."""
    if not isinstance(value, dict):
        raise ValueError(f"takes an object, not {_size(value)}")
    for word in readers:
        if word not in value:
            raise ValueError(f"has no {shown(word)}")
    for word in value:
        if word not in readers:
            raise ValueError(f"has an unknown key {shown(word)}")
    return {word: _at(word, read, value[word]) for word, read in readers.items()}


def record(cls: type[T]) -> Reader[T]:
    """Objects of a class of attrs whose fields have readers as converters, by its names."""
    names = [one.name for one in fields(cls)]  # type: ignore[arg-type]

    def read(value: Any) -> T:
        if isinstance(value, cls):  # made by this program, by the same readers
            return value
        made: T = cls(**read_fields(value, dict.fromkeys(names, as_it_is)))
        return made

    return read


def attribute(of: Reader[Any], place: str) -> Any:
    """A field of a class of attrs that takes what a reader takes; a fault says its place."""
    return field(converter=lambda value: _at(place, of, value))


def as_it_is(value: Any) -> Any:
    """Whatever it is: who takes it reads it."""
    return value


def _at(place: object, of: Reader[T], value: Any) -> T:
    try:
        return of(value)
    except ValueError as error:
        raise ValueError(f"{place}: {error}") from error


def _size(value: Any) -> str:
    return f"{len(value):,} of them" if isinstance(value, list | tuple | dict) else shown(value)
