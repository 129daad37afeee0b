"""The symmetry reduction of a traced system: its symmetries, and the terms of the canonical state."""

from __future__ import annotations

from attrs import frozen

from kraftcheck.model.language.symmetry import SymmetryFields
from kraftcheck.model.language.terms import Term


@frozen
class Reduction:
    """The symmetries of a traced system.

    Attributes:
        fields: each symmetry with its places in the layout, in the order they are applied.
        canonical: for each layout slot, the leaf of the state that stands for a state.
        proof: what was proven of the symmetries, in a line; empty where they are compared by samples only.
    """

    fields: tuple[SymmetryFields, ...]
    canonical: tuple[Term, ...]
    proof: str = ""
