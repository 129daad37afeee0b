"""Initial states that are described instead of listed, and initial values of fields without bound."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from attrs import frozen

from kraftcheck.model.language.terms import Truth


@frozen
class Anything:
    """Any value of the domain, in an initial state; for fields without bound."""


@frozen
class Described:
    """All states of the layout of which a rule holds, as initial states.

    Attributes:
        rule: `state -> truth | named conjuncts`.
    """

    rule: Callable[[Any], Truth | Mapping[str, Truth]]

    def __iter__(self) -> Iterator[Described]:
        """Itself alone: it stands where initial states are listed."""
        yield self

    def holds(self, state: Any) -> dict[str, Truth]:
        """What is described of a state, by name."""
        said = self.rule(state)
        return (dict(said) if isinstance(said, Mapping) else {"described": said}) or {"described": True}


@frozen
class Filled:
    """An endless sequence in an initial state: one word at place 0, and another everywhere else."""

    first: int
    rest: int


def all_where(rule: Callable[[Any], Truth | Mapping[str, Truth]]) -> Any:
    """All states of the layout of which a rule holds, typed so that they can stand where initial states are listed.

    The rule answers with a truth, or with named ones that must all hold. Explorers list the states by giving the
    fields values in the order of the layout; provers take the rule as it is.
    """
    return Described(rule)


def anything() -> Any:
    """Any value, typed so that it can stand where an initial state has a word without bound."""
    return Anything()


def filled(first: int, rest: int) -> Any:
    """A sequence that is almost everywhere the same, typed so that it can stand where an initial state has one."""
    return Filled(first, rest)
