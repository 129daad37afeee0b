"""Places: a state of a dataset by its depth and its id within the level.

The native engine numbers its states from 0 on, and so does each level here. A
place is a type of its own, so that neither can pass for the other.
"""

from __future__ import annotations

from attrs import frozen

PLACE_BITS = 48


@frozen(order=True)
class StatePlace:
    """A state of a dataset.

    Attributes:
        depth: its level.
        id: its number there: bucket and row.
    """

    depth: int
    id: int

    @classmethod
    def of(cls, number: int) -> StatePlace:
        """The place that a query has as one number: depth << 48 | id."""
        return cls(number >> PLACE_BITS, number & (1 << PLACE_BITS) - 1)


@frozen
class PlacedOccurrence:
    """Where a claim first occurred.

    Attributes:
        state: the state.
        action: the action instance taken there, or NO_ACTION for a claim about the state.
    """

    state: StatePlace
    action: int
