"""Implications as a claim is written: what `implies` and `any_of` of negations were made of."""

from __future__ import annotations

from typing import Any

from attrs import field, frozen

Term = Any
"""A term, whose module knows this one; a part of a disjunction may be a bool."""

Parts = tuple[tuple[Term, ...], tuple[Term, ...]]
"""Premises, all of which have to hold, and the conclusion: one truth, or several of which one has to hold."""


@frozen
class Implications:
    """The implications of one claim.

    Attributes:
        negations: what `negate` negated, by the index of the negation.
        parts: of each disjunction that is an implication, by its index, what it is made of, each way to read it.
        trivial: premises of the implications that are true whatever the premises are.
    """

    negations: dict[int, Term] = field(factory=dict)
    parts: dict[int, list[Parts]] = field(factory=dict)
    trivial: list[tuple[Term, ...]] = field(factory=list)

    def clear(self) -> None:
        """Begin anew, for another claim."""
        for kept in (self.negations, self.parts, self.trivial):
            kept.clear()

    def note_negation(self, negation: Term, value: Term) -> None:
        """Keep what a rule negated; not what was folded."""
        if negation.op == "not":
            self.negations[negation.index] = value

    def note(self, whole: Term | None, premises: tuple[Term, ...], conclusion: tuple[Term, ...]) -> None:
        """Keep of what an implication was made, None if it is constant; not of one that was folded to a part of it."""
        if whole is None:
            self.trivial.append(premises)
        elif whole.op == "or" and all(one is not whole for one in conclusion):
            self.parts.setdefault(whole.index, []).append((premises, conclusion))

    def note_disjunction(self, whole: Term | None, parts: tuple[Term, ...]) -> None:
        """Keep that negations imply what stands beside them; of negations alone, that each implies the others."""
        indexes = {at: getattr(part, "index", None) for at, part in enumerate(parts)}  # a bool has none
        negated = {at: self.negations[index] for at, index in indexes.items() if index in self.negations}
        others = tuple(part for at, part in enumerate(parts) if at not in negated)
        if negated and others:
            self.note(whole, tuple(negated.values()), others)
        elif len(parts) > 1:
            for at, value in negated.items():
                self.note(whole, (value,), (*parts[:at], *parts[at + 1 :]))
