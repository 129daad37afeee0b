"""The symmetries of a traced system, and the state that stands for all that are like it."""

from __future__ import annotations

from attrs import frozen

from kraftcheck.model.language.symmetry import Fields
from kraftcheck.model.language.terms import Term


@frozen
class Reduction:
    """The symmetries of a traced system.

    Attributes:
        fields: each symmetry with its places in the layout, in the order they are applied.
        least: for each layout slot, the leaf of the state that stands for a state.
    """

    fields: tuple[Fields, ...]
    least: tuple[Term, ...]
