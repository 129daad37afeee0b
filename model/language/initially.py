"""Initial values of fields without bound: any value, or a filled sequence; only provers take them."""

from __future__ import annotations

from typing import Any

from attrs import frozen


@frozen
class Anything:
    """Any value of the domain, in an initial state; for fields without bound."""


@frozen
class Filled:
    """An endless sequence in an initial state: one word at place 0, and another everywhere else."""

    first: int
    rest: int


def anything() -> Any:
    """Any value, typed so that it can stand where an initial state has a word without bound."""
    return Anything()


def filled(first: int, rest: int) -> Any:
    """A sequence that is almost everywhere the same, typed so that it can stand where an initial state has one."""
    return Filled(first, rest)
