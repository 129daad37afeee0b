"""Recording claims: compiled code notes in the frame which of them occur, and where first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir

from kraftcheck.model.language.terms import Term
from kraftcheck.solvers.machine_code.frame import NO_ACTION, FramePlan
from kraftcheck.solvers.machine_code.irtools import TRUTH, load, store, word
from kraftcheck.solvers.machine_code.lower import Scope


def record_claim(b: ir.IRBuilder, plan: FramePlan, frame: Any, claim: int, occurs: Any, mark: Any) -> None:
    """Record the first occurrence of a claim in this expansion."""
    place = plan.claims + claim
    fresh = b.and_(occurs, b.icmp_unsigned("==", load(b, frame, place), word(0)))
    with b.if_then(fresh):
        store(b, b.add(mark, word(1)), frame, place)
        bit = 1 << plan.goal_bits.get(claim, 0)
        store(b, b.or_(load(b, frame, plan.claim_found), word(bit)), frame, plan.claim_found)


def record_claims(b: ir.IRBuilder, plan: FramePlan, frame: Any, first: int, occur: Sequence[Any], mark: Any) -> None:
    """Record those of consecutive claims that occur; one branch when none does."""
    if not occur:
        return
    some = occur[0]
    for occurs in occur[1:]:
        some = b.or_(some, occurs)
    with b.if_then(some, likely=False):
        for offset, occurs in enumerate(occur):
            record_claim(b, plan, frame, first + offset, occurs, mark)


def record_goals(
    b: ir.IRBuilder, plan: FramePlan, frame: Any, first: int, scope: Scope, terms: Sequence[Term], shown: bool,
    mark: Any,
) -> None:  # fmt: skip
    """Record those of consecutive goals that occur; only the terms of those are computed that this piece has not.

    Args:
        b, plan, frame: where to.
        first: number of the first goal.
        scope: where terms are computed.
        terms: of each goal the truth that it occurs, or that it does not.
        shown: which of the two.
        mark: of the occurrence.
    """
    bits = {claim: 1 << plan.goal_bits.get(claim, 0) for claim in range(first, first + len(terms))}
    if not bits:
        return
    every = word(sum({bit for bit in bits.values() if bit > 1}))
    missing = b.icmp_unsigned("!=", b.and_(load(b, frame, plan.claim_found), every), every)
    with b.if_then(missing if 1 not in bits.values() else ir.Constant(TRUTH, 1), likely=False):
        for (claim, bit), term in zip(bits.items(), terms, strict=True):
            recorded = b.and_(load(b, frame, plan.claim_found), word(bit if bit > 1 else 0))
            with b.if_then(b.icmp_unsigned("==", recorded, word(0))):
                value = scope.child().value(term)
                record_claim(b, plan, frame, claim, value if shown else b.not_(value), mark)


def state_mark(b: ir.IRBuilder, identity: Any) -> Any:
    """The mark of a claim about a state."""
    return b.or_(b.shl(identity, word(16)), word(NO_ACTION))
