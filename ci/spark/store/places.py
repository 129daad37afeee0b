"""The states of a dataset by number: a depth, and an id within it.

The native engine numbers its states from 0 on, and so does each level here. A
place is a type of its own, so that neither can pass for the other.
"""

from __future__ import annotations

from attrs import frozen

PLACE_BITS = 48


@frozen(order=True)
class Place:
    """A state of a dataset.

    Attributes:
        depth: its level.
        id: its number there: bucket and row.
    """

    depth: int
    id: int

    @classmethod
    def of(cls, number: int) -> Place:
        """The place that a query has as one number: depth << 48 | id."""
        return cls(number >> PLACE_BITS, number & (1 << PLACE_BITS) - 1)


@frozen
class Occasion:
    """Where a claim first occurred.

    Attributes:
        state: the state.
        action: the action instance taken there, or NO_ACTION for a claim about the state.
    """

    state: Place
    action: int
