"""The bounds of a system, to which its scopes give values."""

from __future__ import annotations

from attrs import frozen


@frozen
class Bound:
    """One number that makes the state space finite.

    Attributes:
        name: the command-line flag without dashes.
        lo, hi: smallest and largest value accepted.
        help: a sentence for the user.
        proven_to: largest value that provers accept; None: as `hi`. Proofs are not limited by packing.
        freed_by: a bound that says, where it is not 0, that this one bounds nothing.
    """

    name: str
    lo: int
    hi: int
    help: str
    proven_to: int | None = None
    freed_by: str = ""

    def largest(self, proof: bool) -> int:
        """The largest value accepted."""
        return self.proven_to if proof and self.proven_to is not None else self.hi
