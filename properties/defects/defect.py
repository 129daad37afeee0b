"""A row of the matrix of defects."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import field, frozen


def with_variant(base: str, variant: str) -> str:
    """A rule set with choices switched on, or off where a leading hyphen says so, as on the command line."""
    return base + (variant if variant.startswith("-") else f"+{variant}")


@frozen
class Bug:
    """A defect, as data.

    Attributes:
        entry: citations of where it comes from, such as its number in the catalogue.
        variant: choices switched on (or off, with a leading hyphen), joined by `+`.
        system, scope, bounds: where it shows; bounds override the scope.
        refutes: property to length of the shortest trace.
        base: the rule set that is right in this scope.
    """

    entry: str
    variant: str
    system: str
    scope: str
    refutes: Mapping[str, int]
    bounds: Mapping[str, int] = field(factory=dict)
    base: str = "fixed"

    @property
    def rules(self) -> str:
        """The rule set with the defect."""
        return with_variant(self.base, self.variant)
