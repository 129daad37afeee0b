"""Traced `recovers` properties: the states they concern, their goal, and the action instances they allow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from attrs import frozen

from kraftcheck.model.language.fairness import several
from kraftcheck.model.language.system import Action, Property
from kraftcheck.model.language.terms import Term
from kraftcheck.model.nearest import nearest

MAX_RECOVERS = 21
"""A state's mark has three bits for each, in 64."""


@frozen
class RecoversClaim:
    """A `recovers` property, traced.

    Attributes:
        claim: the property.
        when: truth that a state is concerned.
        goal: truth that a state satisfies it.
        allowed: for each action instance whether the way out may use it.
    """

    claim: Property
    when: Term
    goal: Term
    allowed: tuple[bool, ...]


def mark_bytes(claims: int) -> int:
    """Bytes of a state's mark in the backward search: three bits for each `recovers` property."""
    return next(size for size in (0, 1, 2, 4, 8) if 3 * claims <= 8 * size)


def recovery_action_bits(claims: Sequence[RecoversClaim], instances: int) -> tuple[int, ...]:
    """For each action instance the bits of a mark that flow back through it: "reaches" and "leaves" where it may."""
    n = len(claims)
    return tuple(
        sum((1 << number) | (1 << n + number) for number, claim in enumerate(claims) if claim.allowed[row])
        for row in range(instances)
    )


def recovery_actions(claim: Property) -> str:
    """The actions of a property's way out in words; empty: every action."""

    def described(restriction: Mapping[str, Any]) -> str:
        arguments = (f"{name}={' or '.join(map(str, several(value)))}" for name, value in restriction.items())
        return f"({', '.join(arguments)})" if restriction else ""

    return ", ".join(name + described(restriction) for name, restriction in claim.by.items())


def unknown_recovery_action(claim: Property, actions: Sequence[Action]) -> str | None:
    """A name in a property's way out that the system does not have, with the nearest names; None where all exist."""
    by_name = {action.name: action for action in actions}
    for name, restriction in claim.by.items():
        if name not in by_name:
            return f"property {claim.id}: its way out names the action {name!r}; {nearest(name, by_name)}"
        parameters = by_name[name].parameters
        for argument, value in restriction.items():
            if argument not in parameters:
                hint = nearest(argument, parameters)
                return f"property {claim.id}: action {name} has no argument {argument!r}; {hint}"
            for item in value if isinstance(value, tuple) else (value,):
                if item not in parameters[argument]:
                    return f"property {claim.id}: action {name} never has {argument} = {item!r}"
    return None
