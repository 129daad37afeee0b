"""The register: what is known of Kafka as data, in TOML files, each beside the module that reads it.

A file holds tables, and a table becomes a frozen record: its keys are the fields' names, with hyphens. A string over
several lines is one line.
"""

from __future__ import annotations

import functools
import pkgutil
import tomllib
from collections.abc import Mapping
from typing import Any, TypeVar, get_type_hints

import attrs

from kraftcheck.model.nearest import nearest

T = TypeVar("T")


class RegisterError(ValueError):
    """A file of the register that cannot be read: names the file, the table and the mend."""


def content(package: str, file: str, *parts: str) -> dict[str, Any]:
    """The tables of a file of a package.

    Raises:
        RegisterError: when it is no TOML, or has other parts than those that are named, if any are.
    """
    data = pkgutil.get_data(package, file)
    assert data is not None
    try:
        found: dict[str, Any] = _unfolded(tomllib.loads(data.decode()))
    except ValueError as error:
        raise RegisterError(f"{file}: {error}") from None
    if parts and (odd := sorted(found.keys() ^ {*parts})):
        raise RegisterError(f"{file}: {odd[0]} is missing or unknown; write {', '.join(parts)}")
    return found


def record(kind: type[T], table: object, place: str, **given: Any) -> T:
    """A record of the class, from a table and from fields that are given apart.

    Args:
        kind: an attrs class whose fields are strings, numbers, truths, lists of strings or tables of one of these.
        table: what the file has.
        place: file and table, for errors.
        given: fields that the table does not have.

    Raises:
        RegisterError: for a key that is no field, one that is missing, or a value of another type.
    """
    if not isinstance(table, dict):
        raise RegisterError(f"{place}: this is {table!r}; write a table")
    types = {name: hint for name, hint in _types(kind).items() if name not in given}  # type: ignore[arg-type]
    found: dict[str, Any] = dict(given)
    for key, value in table.items():
        name = key.replace("-", "_")
        if name not in types:
            raise RegisterError(f"{place}: unknown key {key!r}; {nearest(key, types)}")
        found[name] = tuple(value) if isinstance(value, list) else value
        if not _fits(found[name], types[name]):
            raise RegisterError(f"{place}: {key} is {value!r}; write {_WORDS[types[name]]}")
    needed = [field.name for field in attrs.fields(kind) if field.default is attrs.NOTHING]  # type: ignore[arg-type]
    missing = [name for name in needed if name not in found]
    if missing:
        raise RegisterError(f"{place}: there is no {missing[0]}; add it")
    return kind(**found)


def numbered(rows: object, place: str) -> dict[str, int]:
    """Names with numbers, from a list such as `["leader-active 2", "isr-active 3"]`.

    Raises:
        RegisterError: for another list.
    """
    found: dict[str, int] = {}
    for row in rows if isinstance(rows, (list, tuple)) else (rows,):
        name, _, number = str(row).partition(" ")
        if not number.isdigit() or name in found:
            raise RegisterError(f'{place}: {row!r} is no name with a number, such as "leader-active 2", listed once')
        found[name] = int(number)
    return found


def spelled(words: object, place: str) -> tuple[tuple[str, ...], dict[str, int]]:
    """Names and bounds that are spelled as on the command line: `replication tiny --fences 2`.

    Raises:
        RegisterError: for other words.
    """
    names, *bounds = str(words).split(" --")
    try:
        found = {name: int(value) for name, value in (one.split(" ") for one in bounds)}
    except ValueError:
        raise RegisterError(f'{place}: {words!r} is no scope with bounds, such as "tiny --fences 2"') from None
    return tuple(names.split()), found


_WORDS: Mapping[Any, str] = {
    str: "a string", bool: "true or false", int: "a number", tuple[str, ...]: "a list of strings",
    Mapping[str, int]: "a table of numbers", Mapping[str, str]: "a table of strings",
}  # fmt: skip


@functools.cache
def _types(kind: type) -> Mapping[str, Any]:
    hints = get_type_hints(kind)
    return {field.name: hints[field.name] for field in attrs.fields(kind)}


def _fits(value: object, hint: Any) -> bool:
    if hint is tuple[str, ...] or hint == tuple[str, ...]:
        return isinstance(value, tuple) and all(isinstance(one, str) for one in value)
    if hint in (Mapping[str, int], Mapping[str, str]):
        of = int if hint == Mapping[str, int] else str
        return isinstance(value, dict) and all(isinstance(one, of) for one in value.values())
    return type(value) is hint


def _unfolded(value: Any) -> Any:
    """A value whose strings are one line each."""
    if isinstance(value, str):
        return " ".join(value.split())
    if isinstance(value, dict):
        return {key: _unfolded(one) for key, one in value.items()}
    return [_unfolded(one) for one in value] if isinstance(value, list) else value
