"""Premises in parts: each part of an invariant is a premise of its own.

A long invariant says many things, and the proof of a part of a goal needs few of them.
What has proven one part, and nothing else, most often proves the next in a moment.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from attrs import define, evolve, field

from kraftcheck.model.language.terms import Term
from kraftcheck.solvers.smt.queries import BOUND, PREMISE, Premises
from kraftcheck.solvers.smt.reading.goals.parts import Parts

STEP = "lemma about the step: "
"""Group of the premises that are proven of the step."""

CHOSEN = (PREMISE, BOUND, STEP)
"""Groups of the premises of which a proof may leave out any."""

CLAIMS = (PREMISE, STEP)
"""Those of which a proof may leave out parts."""


@define
class PremiseParts:
    """Takes the premises of one theory apart.

    Attributes:
        parts: of its truths.
        read: how Z3 reads a term.
    """

    parts: Parts
    read: Callable[[Term], Any]
    _claims: dict[str, str] = field(factory=dict)

    def of(self, premises: Premises) -> Premises:
        """Premises with each part of an invariant under a name of its own."""
        terms = dict[str, Term]()
        for name, term in premises.terms.items():
            terms |= self._of_claim(name, term) if name.startswith(CLAIMS) else {name: term}
        others = {name: truth for name, truth in premises.truths.items() if not name.startswith(CLAIMS)}
        return evolve(premises, terms=terms, truths={name: self.read(term) for name, term in terms.items()} | others)

    def _of_claim(self, name: str, term: Term) -> dict[str, Term]:
        parts = {f"{name}, part {number}": part for number, part in enumerate(self.parts.of(term))}
        self._claims |= dict.fromkeys(parts, name)
        return parts

    def whole(self, name: str) -> str:
        """The premise that one is, or is a part of."""
        return self._claims.get(name, name)


def chosen(premises: Premises, names: Collection[str]) -> Premises:
    """Premises with no other invariants and bounds than those with some names."""

    def kept(name: str) -> bool:
        return name in names or not name.startswith(CHOSEN)

    truths = {name: truth for name, truth in premises.truths.items() if kept(name)}
    return evolve(premises, truths=truths, terms={name: term for name, term in premises.terms.items() if kept(name)})
