"""The arguments of the engines as Python functions, checked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from attrs import fields

from kraftcheck.ci.terminal import machine
from kraftcheck.ci.terminal.cache import cache_folder
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.language.bound import ANY, spelled
from kraftcheck.model.nearest import nearest
from kraftcheck.solvers.expressions.added import Expressions

R = TypeVar("R")

Invariants = Mapping[str, str] | Iterable[str]
"""Expressions by the names that they get as properties, or expressions that are named by their texts."""


def bounds_of(bounds: Mapping[str, int | str]) -> dict[str, int]:
    """Bounds as the command line takes them: with `-` for `_`, and `any` for one that bounds nothing."""
    numbers = {name: ANY if value == spelled(ANY) else value for name, value in bounds.items()}
    for name, value in numbers.items():
        if isinstance(value, bool) or not isinstance(value, int):
            raise Refusal(f"{name} takes an int, not {value!r}")
    return {name.replace("_", "-"): int(value) for name, value in numbers.items()}


def check_numbers(least: int, **numbers: int | None) -> None:
    """Refuse what is no int, and ints below the least that makes sense; None stands for a default."""
    for name, value in numbers.items():
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < least):
            raise Refusal(f"{name} takes an int of at least {least}, not {value!r}")


def expressions_of(invariants: Invariants, when: str = "", invariant: str = "") -> Expressions:
    """Expressions as the command line takes them, with the names that they have; refuses what are none."""
    named = dict(invariants) if isinstance(invariants, Mapping) else {}
    texts, names = list(named.values() or invariants), list(named)
    if isinstance(invariants, str) or not all(isinstance(text, str) and text.strip() for text in (*texts, *names)):
        raise Refusal(f"invariants takes expressions by name, {{'led': 'a in b'}}, or a list, not {invariants!r}")
    if not isinstance(invariant, str) or (invariant and named):
        raise Refusal(f"invariant takes one expression, beside no named invariants, not {invariant!r}")
    texts += [invariant] * bool(invariant)
    if when and not texts:
        raise Refusal("when says where invariants have to hold; give one")
    return Expressions(tuple(texts), when, names=tuple(name.strip() for name in names))


def record_of(kind: type[R], name: str, values: Mapping[str, Any] | None) -> R:
    """A record of options from a mapping of their names; refuses a name that it does not have."""
    offered = [one.name for one in fields(kind)]  # type: ignore[arg-type]
    for key in values or {}:
        if key not in offered:
            raise Refusal(f"{name} has no option {key!r}; {nearest(key, offered)}")
    return kind(**(values or {}))


def check_choice(name: str, value: str, choices: Iterable[str]) -> None:
    """Refuse a value that is not one of some."""
    if value not in choices:
        raise Refusal(f"{name} is {value!r}, none of {', '.join(choices)}")


def threads_of(threads: int | None) -> int:
    """How many threads: every processor that this process may use by default."""
    return threads if threads is not None else machine.cores()


def cache_of(cache: bool) -> Path | None:
    """The folder of compiled code, if it is to be kept."""
    return cache_folder() if cache else None
