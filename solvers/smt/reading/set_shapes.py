"""The shapes of sets: which is one of two by a condition, and which are kept by whom.

A set is a claim about a place. Where that asks something else that is the same at
every place, the set is one of two. Where it reads what a broker keeps, the same set
kept by an equal broker is equal.
"""

from __future__ import annotations

from kraftcheck.model.language.terms import Term
from kraftcheck.solvers.smt.z3terms import Substitution


def condition_of(substitution: Substitution, claim: Term) -> Term | None:
    """A truth that is the same at every place, by which a claim about a place is one of two; None: there is none."""
    pending, seen = [claim.args[1]], set[int]()
    while pending:
        term = pending.pop()
        if term.index in seen or term.op in ("const", "bound", "sequence"):
            continue
        seen.add(term.index)
        if substitution.free(term):
            pending.extend(reversed(term.args))
        elif term.is_truth:
            return term
        elif term.op == "ite":
            return term.args[0]
    return None


def assuming(substitution: Substitution, claim: Term, condition: Term, holds: bool) -> Term:
    """The claim of one place where a condition in it holds, or does not."""
    memo = {condition.index: claim.graph.constant(holds)}

    def assumed(term: Term) -> Term:
        if term.index not in memo:
            args = tuple(map(assumed, term.args))
            memo[term.index] = term if _same(args, term.args) else substitution.rebuilt(term, args)
        return memo[term.index]

    return substitution.rebuilt(claim, (claim.args[0], assumed(claim.args[1]), *claim.args[2:]))


def kept_by(substitution: Substitution, claim: Term) -> tuple[Term, tuple[Term, ...]]:
    """A claim about a place with a name for each place that it reads at and no binder gives, and which these are.

    Each has a name of its own, in the order in which they are met: `A - B` is not `B - A`, whoever keeps the two.
    """
    owners: list[Term] = []

    def named(owner: Term) -> Term:
        owners.append(owner)
        return substitution.named_place(f"owner {len(owners)}")

    def without(term: Term) -> Term:
        if not substitution.free(term):
            return term
        first = int(term.op == "read")
        args = (*term.args[:first], *(
            named(arg) if first and not substitution.free(arg) else without(arg) for arg in term.args[first:]
        ))  # fmt: skip
        return term if _same(args, term.args) else substitution.rebuilt(term, args)

    return without(claim.args[1]), tuple(owners)


def _same(terms: tuple[Term, ...], others: tuple[Term, ...]) -> bool:
    return all(one is other for one, other in zip(terms, others, strict=True))
