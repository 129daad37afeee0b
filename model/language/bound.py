"""The bounds of a system, to which its scopes give values."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import frozen

from kraftcheck.model.language.layout import UNBOUNDED

ANY = UNBOUNDED
"""The value of a bound that bounds nothing, which the command line spells `any`; provers take it where it says so."""


class AnyOf(int):
    """The value ANY of a bound, which remembers whose it is: how many there are is one number of each bound."""

    bound: str

    def __new__(cls, bound: str) -> AnyOf:
        """ANY, of a bound."""
        value = super().__new__(cls, ANY)
        value.bound = bound
        return value


def valued(bound: str, value: int) -> int:
    """The value of a bound, which remembers whose it is where it is ANY."""
    return AnyOf(bound) if value == ANY else value


def bound_of(count: int) -> str:
    """The bound whose value ANY a count is; empty where it is ANY itself."""
    return count.bound if isinstance(count, AnyOf) else ""


@frozen
class Bound:
    """One number that makes the state space finite.

    Attributes:
        name: the command-line flag without dashes.
        lo, hi: smallest and largest value accepted.
        help: a sentence for the user.
        proven_to: largest value that provers accept; None: as `hi`. Proofs are not limited by packing.
        freed_by: a bound that says, where it is not 0, or ANY if it can be, that this one bounds nothing.
        takes_any: whether provers take ANY.
    """

    name: str
    lo: int
    hi: int
    help: str
    proven_to: int | None = None
    freed_by: str = ""
    takes_any: bool = False

    def largest(self, proof: bool) -> int:
        """The largest value accepted."""
        return self.proven_to if proof and self.proven_to is not None else self.hi

    def accepts(self, value: int, proof: bool) -> bool:
        """Whether a value is one that engines take, or (`proof`) provers."""
        return self.lo <= value <= self.largest(proof) or (proof and self.takes_any and value == ANY)

    def range(self, proof: bool) -> str:
        """What is accepted, in words."""
        return f"{self.lo}..{self.largest(proof)}" + (" or any" if proof and self.takes_any else "")

    def frees(self, value: int) -> bool:
        """Whether this bound with a value says that others bound nothing."""
        return value == ANY if self.takes_any else value != 0


def spelled(value: int) -> str:
    """A bound's value as the command line spells it."""
    return "any" if value == ANY else str(value)


def freed(bounds: Mapping[str, Bound], values: Mapping[str, int]) -> tuple[str, ...]:
    """The names of the bounds that bound nothing with some values."""
    names = (name for name, bound in bounds.items() if bound.freed_by)
    return tuple(name for name in names if bounds[bounds[name].freed_by].frees(values.get(bounds[name].freed_by, 0)))
