"""Masks beyond the 32 bits of TLC's numbers: in TLA+ they are the sets of their bits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from kraftcheck.model.language.algebra import MASK_BITS
from kraftcheck.model.language.terms import Term

LARGEST = (1 << 31) - 1
"""TLC's numbers have 32 bits."""

OPERATORS = f"""\
RECURSIVE MaskOf(_)
BitsOf(a) == {{i \\in 0..30 : (a \\div 2^i) % 2 = 1}}
MaskOf(a) == IF a = {{}} THEN 0 ELSE LET b == CHOOSE i \\in a : TRUE IN 2^b + MaskOf(a \\ {{b}})
LowestOf(a) == IF a = {{}} THEN -1 ELSE CHOOSE i \\in a : \\A b \\in a : i <= b
SingleOf(a) == IF a >= 0 /\\ a < {MASK_BITS} THEN {{a}} ELSE {{}}"""
"""Operators on masks that are sets of bits, and from one form to the other."""

NAMES = frozenset({"BitsOf", "MaskOf", "LowestOf", "SingleOf", "Cardinality", "IsFiniteSet"})
"""Names that a module with such masks has besides."""


class TooWide(ValueError):
    """A word that TLC has no number for."""


def refusal(term: Term) -> TooWide:
    """The error for a term that has neither a number nor a set of bits."""
    return TooWide(f"a {term.op} has values {term.lo}..{term.hi}, and TLC's numbers have 32 bits: lower a bound")


def is_wide(term: Term) -> bool:
    """Whether a term is written as a set of bits: a word that is never negative and may be beyond a number."""
    return term.lo >= 0 and term.hi > LARGEST


def bits_text(mask: int) -> str:
    """A mask as the set of its bits."""
    return "{" + ", ".join(str(place) for place in range(mask.bit_length()) if mask >> place & 1) + "}"


def subsets_text(lo: int, hi: int) -> str:
    """The sets of bits of the masks lo..hi.

    Raises:
        TooWide: unless these are all masks of some bits.
    """
    if lo != 0 or hi & (hi + 1):
        raise TooWide(f"a field has values {lo}..{hi}, and TLC's numbers have 32 bits: lower a bound")
    return f"SUBSET (0..{hi.bit_length() - 1})"


def wide_text(term: Term, texts: Sequence[str]) -> str | None:
    """A term as text where it or an argument of it is a set of bits; None where neither is.

    Args:
        term: an operation.
        texts: its arguments, each a set where `is_wide` says so.

    Raises:
        TooWide: for arithmetic on words that have no number.
    """
    if not is_wide(term) and not any(map(is_wide, term.args)):
        return None
    if term.op not in _ON_SETS:
        raise refusal(next((one for one in (term, *term.args) if is_wide(one)), term))
    in_sets, whole = _ON_SETS[term.op]
    args = [as_set(arg, text) if place in in_sets else text
            for place, (arg, text) in enumerate(zip(term.args, texts, strict=True))]  # fmt: skip
    text = whole(args)
    return text if is_wide(term) or term.op in _TO_OTHERS else f"MaskOf({text})"


def as_set(term: Term, text: str) -> str:
    """An operand as a set of bits."""
    if is_wide(term):
        return text
    if term.lo < 0:
        raise refusal(term)
    return bits_text(term.value) if term.op == "const" else f"BitsOf({text})"


_TO_OTHERS = frozenset({"member", "count", "lowest", "eq"})
"""What gives no mask."""

_ON_SETS: Mapping[str, tuple[tuple[int, ...], Callable[[Sequence[str]], str]]] = {
    "band": ((0, 1), lambda args: f"({args[0]} \\cap {args[1]})"),
    "bor": ((0, 1), lambda args: f"({args[0]} \\cup {args[1]})"),
    "bclear": ((0, 1), lambda args: f"({args[0]} \\ {args[1]})"),
    "ite": ((1, 2), lambda args: f"(IF {args[0]} THEN {args[1]} ELSE {args[2]})"),
    "single": ((), lambda args: f"SingleOf({args[0]})"),
    "member": ((0,), lambda args: f"({args[1]} \\in {args[0]})"),
    "count": ((0,), lambda args: f"Cardinality({args[0]})"),
    "lowest": ((0,), lambda args: f"LowestOf({args[0]})"),
    "eq": ((0, 1), lambda args: f"({args[0]} = {args[1]})"),
}
"""For each operator which operands are sets of bits, and its text."""
