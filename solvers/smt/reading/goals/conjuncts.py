"""The conjuncts of truths, through claims about every place and through disjunctions.

A claim about every place whose body is a conjunction is one claim for each conjunct,
and a disjunction with a conjunction in it is a conjunction of disjunctions. A solver
that proves them one by one has less to refute each time.
"""

from __future__ import annotations

from collections.abc import Iterable

from attrs import define, field

from kraftcheck.model.language.terms import Graph, Term
from kraftcheck.solvers.smt.z3terms import Substitution

MOST = 8
"""Disjunctions that one is made of, at most: distributed without end, they are thousands."""


@define
class Conjuncts:
    """Finds the conjuncts of truths of one graph.

    Attributes:
        substitution: knows which terms depend on a bound place.
    """

    substitution: Substitution
    _memo: dict[tuple[int, bool], list[Term]] = field(factory=dict)

    def of(self, truth: Term, holds: bool = True) -> list[Term]:
        """Truths that all hold just where a truth does, or (not `holds`) where it does not."""
        key = (truth.index, holds)
        if key not in self._memo:
            self._memo[key] = self._of(truth, holds)
        return self._memo[key]

    def _of(self, truth: Term, holds: bool) -> list[Term]:
        graph = truth.graph
        if truth.op == "const":
            return [] if bool(truth.value) == holds else [graph.constant(False)]
        if truth.op == "not":
            return self.of(truth.args[0], not holds)
        if truth.op in ("and", "or"):
            return self._of_connective(truth, holds)
        if truth.op == "every" and holds:
            return once(of_every(self.substitution, truth, part) for part in self.of(truth.args[1]))
        return [truth if holds else graph.lift(graph.negate(truth))]

    def _of_connective(self, truth: Term, holds: bool) -> list[Term]:
        parts = [self.of(arg, holds) for arg in truth.args]
        if (truth.op == "and") == holds:
            return once(part for some in parts for part in some)
        found = parts[0]
        for other in parts[1:]:
            found = self._distributed(truth.graph, found, other)
        return found

    def _distributed(self, graph: Graph, some: list[Term], others: list[Term]) -> list[Term]:
        """The conjuncts of the disjunction of two conjunctions; of the shorter, or of both, as a whole if too many."""
        if len(some) * len(others) > MOST:
            longer, shorter = sorted((some, others), key=len, reverse=True)
            kept = longer if len(longer) <= MOST else shorter if len(shorter) <= MOST else None
            some, others = (part if part is kept else [joined(graph, "and", part)] for part in (some, others))
        return once(graph.lift(graph.apply("or", one, other)) for one in some for other in others)


def of_every(substitution: Substitution, claim: Term, body: Term) -> Term:
    """The claim about every place with another body; the body itself where that does not depend on the place."""
    if claim.args[0].value not in substitution.free(body):
        return body
    return claim.graph.intern("every", (claim.args[0], body), claim.value, claim.lo, claim.hi, True)


def once(truths: Iterable[Term]) -> list[Term]:
    """Truths, each once, without those that always hold."""
    return [truth for truth in {truth.index: truth for truth in truths}.values() if not holds_always(truth)]


def holds_always(truth: Term) -> bool:
    """Whether a truth is the constant that holds."""
    return truth.op == "const" and bool(truth.value)


def joined(graph: Graph, op: str, truths: Iterable[Term]) -> Term:
    """The conjunction or disjunction of some truths."""
    found = graph.constant(op == "and")
    for truth in truths:
        found = graph.lift(graph.apply(op, found, truth))
    return found


def flattened(truth: Term, op: str) -> list[Term]:
    """What a nested conjunction or disjunction is made of."""
    return [part for arg in truth.args for part in flattened(arg, op)] if truth.op == op else [truth]
