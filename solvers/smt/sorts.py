"""Sorts of places: sequences that are read at the same places share one, as all logs do."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import define, field

from kraftcheck.model.language.terms import Term
from kraftcheck.solvers.smt.places import BINDERS, Substitution

Sort = int | None
"""The number of one of the sequences read at such places, negative for their second ones; None: any place will do."""


def apart(one: Sort, other: Sort) -> bool:
    """Whether places of two sorts are never places of both."""
    return None not in (one, other) and one != other


@define
class Sorts:
    """Sequences that some claim reads at one place have places of one sort.

    Attributes:
        substitution: knows which terms depend on a bound place.
    """

    substitution: Substitution
    _same: dict[int, int] = field(factory=dict)
    _read: dict[int, tuple[int, ...]] = field(factory=dict)

    def copy(self) -> Sorts:
        """These sorts, to learn more."""
        return Sorts(self.substitution, dict(self._same), dict(self._read))

    def of(self, claim: Term) -> Sort:
        """The sort of the places that a binder speaks of."""
        if claim.index not in self._read:
            bound = claim.args[0]
            read = {
                sequence
                for n in self._dependent_terms(claim) if n.op == "read"
                for place, sequence in _places_read(n) if _base_place(place) is bound
            }  # fmt: skip
            self._read[claim.index] = tuple(sorted(read))
            for other in self._read[claim.index][1:]:
                self._same[self._first(other)] = self._first(self._read[claim.index][0])
        read_at = self._read[claim.index]
        return self._first(read_at[0]) if read_at else None

    def comparable(self, one: Term, other: Term) -> bool:
        """Whether the sizes of two sets are compared: those of two sorts have no members in common."""
        return not apart(self.of(one), self.of(other))

    def merges(self) -> int:
        """How many sequences are known to have the places of others."""
        return len(self._same)

    def current(self, sort: Sort) -> Sort:
        """The sort that a sort has been merged into."""
        return None if sort is None else self._first(sort)

    def _first(self, sequence: int) -> int:
        while self._same.get(sequence, sequence) != sequence:
            sequence = self._same[sequence]
        return sequence

    def _dependent_terms(self, claim: Term) -> list[Term]:
        """The terms of a claim that depend on its place: one that does not may bind another by the same number."""
        bound, pending, terms = claim.args[0], [*claim.args[1:]], dict[int, Term]()
        while pending:
            term = pending.pop()
            if term.index not in terms and bound.value in self.substitution.free(term):
                terms[term.index] = term
                pending.extend(term.args)
        return list(terms.values())

    def places_of(self, node: Term) -> Iterator[tuple[Term, Sort]]:
        """The places that a term names: that it reads, or singles out among all."""
        if node.op == "read":
            yield from ((place, self._first(sequence)) for place, sequence in _places_read(node))
        elif node.op in BINDERS:
            bound, sort = node.args[0], self.of(node)
            for term in self._dependent_terms(node):
                if term.op == "eq" and any(arg is bound for arg in term.args):
                    yield from ((arg, sort) for arg in term.args if arg is not bound)


def _places_read(node: Term) -> Iterator[tuple[Term, int]]:
    """The places of a word that is read, each with a number of its own for each sequence."""
    for position, place in enumerate(node.args[1:]):
        yield place, (-1 if position else 1) * node.args[0].index


def _base_place(place: Term) -> Term:
    """A place without what is added to it."""
    while place.op in ("add", "sub") and place.args[1].op == "const":
        place = place.args[0]
    return place
