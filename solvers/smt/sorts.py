"""Sorts of places: which sequences are read at the same ones, as all logs are, and all that is kept by leader epoch."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import define, field

from kraftcheck.model.language.terms import Term
from kraftcheck.solvers.smt.places import BINDERS, Swap

Sort = int | None
"""The number of one of the sequences read at such places; None: any place will do."""


@define
class Sorts:
    """Sequences that some claim reads at one place have places of one sort.

    Attributes:
        swap: tells which terms depend on a place that is bound.
    """

    swap: Swap
    _same: dict[int, int] = field(factory=dict)
    _read: dict[int, tuple[int, ...]] = field(factory=dict)

    def copy(self) -> Sorts:
        """These sorts, to learn more."""
        return Sorts(self.swap, dict(self._same), dict(self._read))

    def of(self, claim: Term) -> Sort:
        """The sort of the places that an `every`, `least` or `greatest` speaks of."""
        if claim.index not in self._read:
            bound = claim.args[0]
            read = {n.args[0].index for n in self._about(claim) if n.op == "read" and _moved(n.args[1]) is bound}
            self._read[claim.index] = tuple(sorted(read))
            for other in self._read[claim.index][1:]:
                self._same[self._first(other)] = self._first(self._read[claim.index][0])
        read_at = self._read[claim.index]
        return self._first(read_at[0]) if read_at else None

    def now(self, sort: Sort) -> Sort:
        """What a sort has become."""
        return None if sort is None else self._first(sort)

    def _first(self, sequence: int) -> int:
        while self._same.get(sequence, sequence) != sequence:
            sequence = self._same[sequence]
        return sequence

    def _about(self, claim: Term) -> list[Term]:
        """The terms of a claim that depend on its place: one that does not may bind another by the same number."""
        bound, pending, found = claim.args[0], [claim.args[1]], dict[int, Term]()
        while pending:
            term = pending.pop()
            if term.index not in found and bound.value in self.swap.free(term):
                found[term.index] = term
                pending.extend(term.args)
        return list(found.values())

    def named(self, node: Term) -> Iterator[tuple[Term, Sort]]:
        """The places that a term names: that it reads, or singles out among all."""
        if node.op == "read":
            yield node.args[1], self._first(node.args[0].index)
        elif node.op in BINDERS:
            bound, sort = node.args[0], self.of(node)
            for one in self._about(node):
                if one.op == "eq" and any(arg is bound for arg in one.args):
                    yield from ((arg, sort) for arg in one.args if arg is not bound)


def _moved(place: Term) -> Term:
    """A place without what is added to it."""
    while place.op in ("add", "sub") and place.args[1].op == "const":
        place = place.args[0]
    return place
