"""The operators of the term graph: their names, their meaning on ints, their intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias, get_args

TruthOperator: TypeAlias = Literal["not", "and", "or", "eq", "lt", "member"]
WordOperator: TypeAlias = Literal["add", "sub", "band", "bor", "bclear", "single", "count", "lowest", "narrow"]

TRUTH_OPERATORS: frozenset[str] = frozenset(get_args(TruthOperator))
WORD_OPERATORS: frozenset[str] = frozenset(get_args(WordOperator))

MASK_BITS = 62
"""Masks use bits 0..61; the top bits stay clear so that `member(mask, -1)` is false."""

Interval: TypeAlias = tuple[int, int]
"""Smallest and largest value, both included."""


def evaluate(op: str, values: Sequence[int]) -> Any:
    """The meaning of each operator on ints: the definition every reader must agree with.

    `member(m, i)` and `single(i)` are total: an index outside 0..61 is no
    member and gives the empty mask, so NO_LEADER (-1) needs no special case.
    `narrow(a, lo, hi)` is a, where it is known to be in lo..hi: elsewhere nothing is claimed.
    """
    a = values[0]
    b = values[1] if len(values) > 1 else 0
    match op:
        case "not":
            return not a
        case "and":
            return bool(a and b)
        case "or":
            return bool(a or b)
        case "eq":
            return a == b
        case "lt":
            return a < b
        case "member":
            return 0 <= b < MASK_BITS and (a >> b) & 1 == 1
        case "add":
            return a + b
        case "sub":
            return a - b
        case "band":
            return a & b
        case "bor":
            return a | b
        case "bclear":
            return a & ~b
        case "single":
            return 1 << a if 0 <= a < MASK_BITS else 0
        case "count":
            return a.bit_count()
        case "lowest":
            return (a & -a).bit_length() - 1
        case "narrow":
            return a
    raise ValueError(f"unknown operator {op}")


def interval(op: str, *operands: Interval) -> Interval:
    """An interval that holds every value of the operator over its operands' intervals.

    Raises:
        ValueError: for a mask that may be negative.
    """
    if op in TRUTH_OPERATORS:
        return 0, 1
    a_lo, a_hi = operands[0]
    b_lo, b_hi = operands[-1]
    if op == "narrow":
        lo, hi = max(a_lo, operands[1][0]), min(a_hi, b_hi)
        return (lo, hi) if lo <= hi else (a_lo, a_hi)
    if op in ("band", "bor", "bclear", "count", "lowest") and min(a_lo, b_lo) < 0:
        raise ValueError(f"{op} needs masks, which are never negative")
    match op:
        case "add":
            return a_lo + b_lo, a_hi + b_hi
        case "sub":
            return a_lo - b_hi, a_hi - b_lo
        case "band":
            return 0, min(a_hi, b_hi)
        case "bor":
            return max(a_lo, b_lo), (1 << max(a_hi.bit_length(), b_hi.bit_length())) - 1
        case "bclear":
            return 0, a_hi
        case "single":
            inside = a_lo >= 0 and a_hi < MASK_BITS
            return (1 << a_lo if inside else 0), (1 << min(a_hi, MASK_BITS - 1) if a_hi >= 0 else 0)
        case "count":
            return (1 if a_lo > 0 else 0), a_hi.bit_length()
    return (0 if a_lo > 0 else -1), a_hi.bit_length() - 1
