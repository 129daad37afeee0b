"""`recovers` properties, traced: which states they concern, what they ask for, by which action instances."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen

from kraftcheck.model.language.nearest import nearest
from kraftcheck.model.language.system import Action, Property
from kraftcheck.model.language.terms import Term

MAX_RECOVERIES = 21
"""A state's mark has three bits for each, in 64."""


@frozen
class Recovery:
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


def mark_bytes(recoveries: int) -> int:
    """Bytes of a state's mark in the backward search: three bits for each `recovers` property."""
    return next(size for size in (0, 1, 2, 4, 8) if 3 * recoveries <= 8 * size)


def way_bits(recoveries: Sequence[Recovery], instances: int) -> tuple[int, ...]:
    """For each action instance the bits of a mark that flow back through it: "reaches" and "leaves" where it may."""
    n = len(recoveries)
    return tuple(
        sum((1 << number) | (1 << n + number) for number, one in enumerate(recoveries) if one.allowed[row])
        for row in range(instances)
    )


def unknown_way(claim: Property, actions: Sequence[Action]) -> str | None:
    """What a property's way out names that the system does not have, with the nearest names; None: nothing."""
    known = {action.name: action for action in actions}
    for name, wanted in claim.by.items():
        if name not in known:
            return f"property {claim.id}: its way out names the action {name!r}; {nearest(name, known)}"
        parameters = known[name].parameters
        for argument, value in wanted.items():
            if argument not in parameters:
                hint = nearest(argument, parameters)
                return f"property {claim.id}: action {name} has no argument {argument!r}; {hint}"
            for one in value if isinstance(value, tuple) else (value,):
                if one not in parameters[argument]:
                    return f"property {claim.id}: action {name} never has {argument} = {one!r}"
    return None
