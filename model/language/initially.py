"""Initial values of fields without bound: any value, or a filled sequence; only provers take them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from attrs import frozen


@frozen
class Anything:
    """Any value of the domain, in an initial state; for fields without bound."""


@frozen
class Described:
    """All states of which a rule holds, as initial states, in place of one; for systems without bound.

    Attributes:
        holds: `state -> named conjuncts`.
    """

    holds: Callable[[Any], Mapping[str, Any]]


@frozen
class Filled:
    """An endless sequence in an initial state: one word at place 0, and another everywhere else."""

    first: int
    rest: int


def all_where(holds: Callable[[Any], Mapping[str, Any]]) -> Any:
    """All states of which a rule holds, typed so that they can stand where an initial state is listed."""
    return Described(holds)


def anything() -> Any:
    """Any value, typed so that it can stand where an initial state has a word without bound."""
    return Anything()


def filled(first: int, rest: int) -> Any:
    """A sequence that is almost everywhere the same, typed so that it can stand where an initial state has one."""
    return Filled(first, rest)
