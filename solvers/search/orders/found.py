"""How much a search left out as another order of independent steps."""

from __future__ import annotations

from attrs import frozen


@frozen
class OrdersFound:
    """What was left out.

    Attributes:
        reduced: states of which some successors were not followed.
        left_out: successors that were not followed.
    """

    reduced: int
    left_out: int

    def text(self) -> str:
        """What was left out, in a line of a report."""
        if not self.reduced:
            return "orders: in no state were steps independent enough to leave one out"
        states = "1 state" if self.reduced == 1 else f"{self.reduced:,} states"
        steps = "1 step" if self.left_out == 1 else f"{self.left_out:,} steps"
        return f"orders: of {states} {steps} not followed, as another order of independent steps; traces may be longer"

    def document(self) -> dict[str, int]:
        """The same as plain values."""
        return {"reduced": self.reduced, "left_out": self.left_out}
