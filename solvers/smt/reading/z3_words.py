"""Arithmetic on words in Z3: bits, counts and division, on bit-vectors and on Ints."""

from __future__ import annotations

from typing import Any

import z3

from kraftcheck.model.language.terms import Term


def width_of(lo: int, hi: int) -> int:
    """Bits of a bit-vector that holds lo..hi; at least one."""
    if lo < 0:
        return max((-lo - 1).bit_length(), hi.bit_length() if hi > 0 else 0) + 1
    return max(1, hi.bit_length())


def bit(mask: Any, place: int) -> Any:
    """The truth that a mask has the bit at a place."""
    return z3.Extract(place, place, mask) == z3.BitVecVal(1, 1, mask.ctx)


def count_of(mask: Any, width: int) -> Any:
    """The number of bits of a mask, in a width that holds it."""
    total = z3.BitVecVal(0, width, mask.ctx)
    for place in range(mask.size()):
        one = z3.Extract(place, place, mask)
        total = total + (z3.ZeroExt(width - 1, one) if width > 1 else one)
    return total


def lowest_of(mask: Any, width: int) -> Any:
    """The place of the lowest bit of a mask, -1 where it has none."""
    position = z3.BitVecVal(-1, width, mask.ctx)
    for place in reversed(range(mask.size())):
        position = z3.If(bit(mask, place), z3.BitVecVal(place, width, mask.ctx), position)
    return position


def division_width(node: Term) -> int:
    """The width of operands that no step of a division leaves: one bit more where a word may be negative."""
    lo = min(arg.lo for arg in node.args)
    return width_of(lo, max(arg.hi for arg in node.args)) + (lo < 0)


def divided(node: Term, a: Any, b: Any) -> Any:
    """Quotient rounded down, or remainder of the divisor's sign.

    Args:
        node: the application of `div` or `mod`.
        a, b: dividend and divisor as bit-vectors of `division_width`.
    """
    signed = min(arg.lo for arg in node.args) < 0
    result = a % b if signed else z3.URem(a, b)  # Z3's % on bit-vectors has the sign of the divisor
    if node.op == "div":
        result = (a - result) / b if signed else z3.UDiv(a, b)
    width = width_of(node.lo, node.hi)
    if width <= result.size():
        return z3.Extract(width - 1, 0, result)
    return z3.SignExt(width - result.size(), result) if signed else z3.ZeroExt(width - result.size(), result)


def divided_number(node: Term, a: Any, b: Any) -> Any:
    """As `divided`, of Ints: there a quotient rounds down only where the divisor is positive."""
    negative = node.args[1].hi < 0
    a, b = (-a, -b) if negative else (a, b)
    if node.op == "div":
        return a / b
    return -(a % b) if negative else a % b
