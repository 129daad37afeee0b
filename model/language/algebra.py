"""The operators of the term graph: their names, their meaning on ints, their intervals, what they fold to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Protocol, Self, TypeAlias, get_args

TruthOperator: TypeAlias = Literal["not", "and", "or", "eq", "lt", "member"]
WordOperator: TypeAlias = Literal[
    "add", "sub", "mul", "div", "mod", "band", "bor", "bclear", "single", "count", "lowest", "narrow",
]  # fmt: skip

TRUTH_OPERATORS: frozenset[str] = frozenset(get_args(TruthOperator))
WORD_OPERATORS: frozenset[str] = frozenset(get_args(WordOperator))

COMMUTATIVE = frozenset({"and", "or", "eq", "add", "mul", "band", "bor"})
"""Operators whose operands may change places."""

MASK_BITS = 62
"""Masks use bits 0..61; the top bits stay clear so that `member(mask, -1)` is false."""

ENDLESS = 1 << 512
"""An end of an interval beyond this stands for infinity, and stays so when it is divided."""

Interval: TypeAlias = tuple[int, int]
"""Smallest and largest value, both included."""


def evaluate(op: str, values: Sequence[int]) -> Any:
    """The meaning of each operator on ints: the definition every reader must agree with.

    `member(m, i)` and `single(i)` are total: an index outside 0..61 is no
    member and gives the empty mask, so NO_LEADER (-1) needs no special case.
    `div` rounds down and `mod` has the sign of the divisor, as `//` and `%` do.
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
        case "mul":
            return a * b
        case "div":
            return a // b
        case "mod":
            return a % b
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
        ValueError: for a mask that may be negative, and for a divisor that may be 0.
    """
    if op in TRUTH_OPERATORS:
        return 0, 1
    a_lo, a_hi = operands[0]
    b_lo, b_hi = operands[-1]
    if op == "narrow":
        lo, hi = max(a_lo, operands[1][0]), min(a_hi, b_hi)
        return (lo, hi) if lo <= hi else (operands[1][0], b_hi)
    if op in ("band", "bor", "bclear", "count", "lowest") and min(a_lo, b_lo) < 0:
        raise ValueError(f"{op} needs masks, which are never negative")
    if op in ("div", "mod") and b_lo <= 0 <= b_hi:
        raise ValueError(f"a divisor in {b_lo}..{b_hi} may be 0; divide by maximum(1, divisor), or by a constant")
    match op:
        case "add":
            return a_lo + b_lo, a_hi + b_hi
        case "sub":
            return a_lo - b_hi, a_hi - b_lo
        case "mul" | "div":
            corners = [evaluate(op, (a, b)) for a in (a_lo, a_hi) for b in (b_lo, b_hi)]
            corners += [a for a in (a_lo, a_hi) if abs(a) >= ENDLESS]
            return min(corners), max(corners)
        case "mod":
            return _remainders((a_lo, a_hi), (b_lo, b_hi))
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


def _remainders(dividend: Interval, divisor: Interval) -> Interval:
    """What a remainder can be: below the divisor in size, of its sign, and the dividend where that is smaller."""
    lo, hi = dividend
    if divisor[0] > 0:
        return (lo, hi) if lo >= 0 and hi < divisor[0] else (0, min(hi, divisor[1] - 1) if lo >= 0 else divisor[1] - 1)
    return (lo, hi) if divisor[1] < lo and hi <= 0 else (max(lo, divisor[0] + 1) if hi <= 0 else divisor[0] + 1, 0)


class Node(Protocol):
    """What folding reads of a term (`kraftcheck.model.language.terms.Term`)."""

    op: str
    args: tuple[Self, ...]
    value: int
    lo: int
    hi: int
    is_truth: bool


def fold(graph: Any, op: str, args: tuple[Node, ...]) -> Any:
    """What an application is without a search: a simpler term, a constant, or None where nothing applies.

    Args:
        graph: the graph of the terms.
        op: an operator.
        args: its operands, of which not all are constants.
    """
    if len(args) == 1:
        return args[0].args[0] if op == "not" and args[0].op == "not" else None
    if op == "narrow":
        return args[0] if args[1].value <= args[0].lo and args[0].hi <= args[2].value else None
    a, b = args
    if op in COMMUTATIVE and op != "eq" and a.op == "const":
        a, b = b, a
    if op in ("and", "or"):
        return _folded_truth(op, a, b)
    if op in ("eq", "lt"):
        return _compared(graph, op, a, b)
    if op == "member":
        return False if b.hi < 0 or a.lo == a.hi == 0 else None
    return _folded_word(op, a, b)


def _folded_truth(op: str, a: Node, b: Node) -> Any:
    if b.op == "const":
        return a if bool(b.value) == (op == "and") else bool(b.value)
    if a is b:
        return a
    if (a.op == "not" and a.args[0] is b) or (b.op == "not" and b.args[0] is a):
        return op == "or"
    return None


def _folded_word(op: str, a: Node, b: Node) -> Any:
    zero, one = (b.op == "const" and b.value == number for number in (0, 1))
    match op:
        case "band" if a is b or (b.op == "const" and b.value == (1 << b.value.bit_length()) - 1 >= a.hi >= a.lo >= 0):
            return a
        case "bor" if zero or a is b:
            return a
        case "bclear" | "add" | "sub" if zero:
            return a
        case "bclear" | "sub" if a is b:
            return 0
        case "mul" if zero:
            return 0
        case "mul" | "div" if one:
            return a
    return None


def _compared(graph: Any, op: str, a: Node, b: Node) -> Any:
    if a is b:
        return op == "eq"
    if a.is_truth != b.is_truth:
        raise graph.refusal("a truth is compared with a word")
    if op == "lt":
        return True if a.hi < b.lo else False if a.lo >= b.hi else None
    if a.hi < b.lo or b.hi < a.lo:
        return False
    if a.op == "const":
        a, b = b, a
    if b.op == "const" and a.is_truth:
        return a if b.value else graph.negate(a)
    if b.op == "const" and a.op == "ite" and any(arm.op == "const" for arm in a.args[1:]):
        condition, then, otherwise = a.args
        return graph.ite(condition, graph.apply("eq", then, b), graph.apply("eq", otherwise, b))
    return None
