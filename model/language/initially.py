"""What initial states have instead of a value, in fields without bound: only provers take it."""

from __future__ import annotations

from typing import Any

from attrs import frozen


@frozen
class Anything:
    """What an initial state has where any value of the domain will do; for fields without bound."""


@frozen
class Filled:
    """What an initial state has where a sequence without end has one word at place 0, and another everywhere else."""

    first: int
    rest: int


def anything() -> Any:
    """Any value, typed so that it can stand where an initial state has a word without bound."""
    return Anything()


def filled(first: int, rest: int) -> Any:
    """A sequence that is almost everywhere the same, typed so that it can stand where an initial state has one."""
    return Filled(first, rest)
