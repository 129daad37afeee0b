"""Terms over intervals: what values a term may have where only intervals of its variables are known, for many rows.

Each value is a pair of arrays, the smallest and the largest value in each row; a truth has the pair "must hold, may
hold". Where every variable has one value, so has every term, and it is the one that the operators are defined by.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from kraftcheck.model.language.algebra import MASK_BITS
from kraftcheck.model.language.terms import Term

Values = npt.NDArray[Any]
Pair = tuple[Values, Values]

WIDEST = (1 << 63) - 1
"""Words beyond it do not fit the arrays."""


class TooWideError(ValueError):
    """A word that does not fit 64 bits."""


def bounds_of(terms: Sequence[Term], variables: Mapping[int, Pair]) -> dict[int, Pair]:
    """The pair of each term, given those of the variables by index; arguments come before their users."""
    pairs = dict(variables)
    with np.errstate(all="ignore"):  # a value that is not used may overflow; those that are used fit their intervals
        for term in terms:
            if term.index not in pairs:
                pairs[term.index] = _pair(term, [pairs[arg.index] for arg in term.args])
    return pairs


def _pair(term: Term, args: Sequence[Pair]) -> Pair:
    if not -WIDEST <= term.lo <= term.hi <= WIDEST:
        raise TooWideError(f"a {term.op} has values {term.lo}..{term.hi}, beyond 64 bits: lower a bound")
    if term.op == "const":
        value = np.bool_(term.value) if term.is_truth else np.int64(term.value)
        return _both(value)
    if term.op == "ite":
        return _chosen(*args)
    if term.is_truth:
        return _truth(term, args)
    return _word(term, args)


def _both(value: Any) -> Pair:
    array = np.asarray(value)
    return array, array


def _chosen(condition: Pair, then: Pair, otherwise: Pair) -> Pair:
    must, may = condition
    is_truth = then[0].dtype == np.bool_
    low = np.where(must, then[0], np.where(may, _least(then[0], otherwise[0], is_truth), otherwise[0]))
    high = np.where(must, then[1], np.where(may, _most(then[1], otherwise[1], is_truth), otherwise[1]))
    return low, high


def _least(a: Values, b: Values, is_truth: bool) -> Values:
    return a & b if is_truth else np.minimum(a, b)


def _most(a: Values, b: Values, is_truth: bool) -> Values:
    return a | b if is_truth else np.maximum(a, b)


def _truth(term: Term, args: Sequence[Pair]) -> Pair:
    (low, high), *others = args
    if term.op == "not":
        return ~high, ~low
    (other_low, other_high) = others[0]
    match term.op:
        case "and":
            return low & other_low, high & other_high
        case "or":
            return low | other_low, high | other_high
        case "eq":
            if low.dtype == np.bool_:
                low, high, other_low, other_high = (a.astype(np.int64) for a in (low, high, other_low, other_high))
            same = (low == high) & (other_low == other_high) & (low == other_low)
            return same, (low <= other_high) & (other_low <= high)
        case "lt":
            return high < other_low, low < other_high
        case "member":
            return _member(*args)
    raise ValueError(f"unknown operator {term.op}")


def _member(mask: Pair, index: Pair) -> Pair:
    """The bit of a mask: it is determined where all bits from it on are the same at both ends."""
    place = index[0]
    inside = (place >= 0) & (place < MASK_BITS)
    shift = np.clip(place, 0, MASK_BITS - 1)
    low, high = mask[0] >> shift, mask[1] >> shift
    determined = (index[0] == index[1]) & ((low == high) | ~inside)
    bit = inside & ((low & 1) == 1)
    return determined & bit, ~determined | bit


def _word(term: Term, args: Sequence[Pair]) -> Pair:
    low, high = args[0]
    match term.op:
        case "narrow":
            return low, high
        case "add":
            return low + args[1][0], high + args[1][1]
        case "sub":
            return low - args[1][1], high - args[1][0]
        case "mul":
            products = [a * b for a in args[0] for b in args[1]]
            return np.minimum.reduce(np.broadcast_arrays(*products)), np.maximum.reduce(np.broadcast_arrays(*products))
        case "band" | "bor" | "bclear":
            return _masks(term.op, args[0], args[1])
        case "count":
            unknown = _below_first_difference(low, high)
            certain = np.bitwise_count(low & ~unknown).astype(np.int64)
            return certain, certain + np.bitwise_count(unknown).astype(np.int64)
    exact = np.logical_and.reduce(np.broadcast_arrays(*(one == other for one, other in args)))
    value = _value(term.op, [pair[0] for pair in args])
    return np.where(exact, value, np.int64(term.lo)), np.where(exact, value, np.int64(term.hi))


def _masks(op: str, a: Pair, b: Pair) -> Pair:
    """Masks bit by bit: the bits above the first in which two ends differ are known."""
    unknown = _below_first_difference(*a) | _below_first_difference(*b)
    value = a[0] & b[0] if op == "band" else a[0] | b[0] if op == "bor" else a[0] & ~b[0]
    return value & ~unknown, value | unknown


def _below_first_difference(low: Values, high: Values) -> Values:
    """For each row the mask of all bits up to the highest one in which two words differ."""
    differ: Values = low ^ high
    for shift in (1, 2, 4, 8, 16, 32):
        differ = differ | (differ >> shift)
    return differ


def _value(op: str, args: Sequence[Values]) -> Values:
    """The value of an operator where its operands have one."""
    a = args[0]
    match op:
        case "div":
            return np.asarray(np.floor_divide(a, np.where(args[1] == 0, 1, args[1])))
        case "mod":
            return np.asarray(np.mod(a, np.where(args[1] == 0, 1, args[1])))
        case "single":
            inside = (a >= 0) & (a < MASK_BITS)
            return np.where(inside, np.int64(1) << np.clip(a, 0, MASK_BITS - 1), 0)
        case "lowest":
            return np.where(a == 0, -1, np.bitwise_count((a & -a) - 1).astype(np.int64))
    raise ValueError(f"unknown operator {op}")
