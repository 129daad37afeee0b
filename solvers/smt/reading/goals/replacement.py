"""Terms with something else in place of some of their parts."""

from __future__ import annotations

from collections.abc import Sequence

from kraftcheck.model.language.terms import Term
from kraftcheck.solvers.smt.places import BINDERS, Substitution

Equal = tuple[Term, Term]
"""A term, and one that it is equal to where a goal is asked; of a truth that is known, a constant."""


def consequences(truth: Term, holds: bool) -> list[Equal]:
    """What follows at once from a truth that holds, or does not: itself, its conjuncts, and the value of a word."""
    if truth.op == "not":
        return consequences(truth.args[0], not holds)
    whole = [(truth, truth.graph.constant(holds))]
    if truth.op == ("and" if holds else "or"):
        return whole + [fact for part in truth.args for fact in consequences(part, holds)]
    if truth.op == "eq" and holds:
        one, other = truth.args
        return whole + [(a, b) for a, b in ((one, other), (other, one)) if b.op == "const" and a.op != "const"]
    return whole


def replaced(substitution: Substitution, term: Term, facts: Sequence[Equal]) -> Term:
    """A term with each left side of some facts replaced by the right one.

    A binder that binds a place of a left side hides it: within, the same term is another one.
    """
    table = {left.index: right for left, right in facts}
    bound = {left.index: substitution.free(left) for left, _ in facts}
    memo: dict[tuple[int, frozenset[int]], Term] = {}

    def within(node: Term, seen: frozenset[int]) -> Term:
        if node.index in seen:
            return table[node.index]
        if not node.args or not seen:
            return node
        key = (node.index, seen)
        if key not in memo:
            memo[key] = rebuilt(node, seen)
        return memo[key]

    def rebuilt(node: Term, seen: frozenset[int]) -> Term:
        first = int(node.op in BINDERS)
        if first:
            seen = frozenset(index for index in seen if node.args[0].value not in bound[index])
        args = (*node.args[:first], *(within(arg, seen) for arg in node.args[first:]))
        if all(one is other for one, other in zip(args, node.args, strict=True)):
            return node
        new = substitution.rebuilt(node, args)
        return new.args[1] if new.op == "every" and new.args[1].op == "const" else new

    return within(term, frozenset(table))
