"""Truths made simpler by what is known where they matter.

Each disjunct of a goal matters only where the others do not hold: so in `not leads(b) or p`,
`p` may take it that `b` leads. What a step does to a broker is often chosen by just such truths.
"""

from __future__ import annotations

from collections.abc import Sequence

from kraftcheck.model.language.terms import Term
from kraftcheck.solvers.smt.places import Substitution
from kraftcheck.solvers.smt.reading.goals.conjuncts import flattened, holds_always, joined, of_every
from kraftcheck.solvers.smt.reading.goals.replacement import Equal, consequences, replaced

MOST_ROUNDS = 6
"""How often a truth is gone through; one that is not simplest by then is as true."""


def simplified(substitution: Substitution, truth: Term, facts: Sequence[Equal] = ()) -> Term:
    """A truth that is as true as another where some facts hold."""
    for fact in facts:  # one after another: what a later one speaks of is what an earlier one has left
        truth = replaced(substitution, truth, [fact])
    for _ in range(MOST_ROUNDS):
        before, truth = truth, _round(substitution, truth)
        if truth is before:
            break
    return truth


def _round(substitution: Substitution, truth: Term) -> Term:
    if truth.op == "every":
        body = _round(substitution, truth.args[1])
        return truth if body is truth.args[1] else of_every(substitution, truth, body)
    return _disjunction(substitution, truth) if truth.op == "or" else truth


def _disjunction(substitution: Substitution, truth: Term) -> Term:
    disjuncts = flattened(truth, "or")
    before = [*disjuncts]
    for place in range(len(disjuncts)):
        others = [one for at, one in enumerate(disjuncts) if at != place]
        facts = [fact for other in others for fact in consequences(other, False)]
        disjuncts[place] = _round(substitution, replaced(substitution, disjuncts[place], facts))
        if holds_always(disjuncts[place]):
            return disjuncts[place]
    if all(one is other for one, other in zip(before, disjuncts, strict=True)):
        return truth
    return joined(truth.graph, "or", disjuncts)
