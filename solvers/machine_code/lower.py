"""Terms lowered to LLVM values: words are i64, truths are i1.

`kraftcheck.model.language.terms.evaluate` defines every operator; a property-based test compares
this reader with it on random graphs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from llvmlite import ir

from kraftcheck.model.language.layout import Layout
from kraftcheck.model.language.terms import MASK_BITS, Term
from kraftcheck.solvers.machine_code.irtools import POINTER, TRUTH, WORD, Builder, begin, word
from kraftcheck.solvers.program.evaluation import closure

Leaf = Callable[[Builder, Term], Any]  # gives the value of a variable at the builder's position


class LoweringError(ValueError):
    """A term that does not fit 64-bit words."""


def depends_on(variables: Iterable[Term], terms: Sequence[Term]) -> set[int]:
    """Indices of those terms (arguments first) that read one of the variables."""
    reading = {variable.index for variable in variables}
    for term in terms:
        if any(arg.index in reading for arg in term.args):
            reading.add(term.index)
    return reading


class PathValues:
    """Values of the terms emitted so far along one path of one function.

    A child scope sees its parent's values, which dominate it; siblings do not
    see each other's.
    """

    def __init__(self, builder: Builder, leaf: Leaf, values: dict[int, Any] | None = None) -> None:
        self._builder = builder
        self._leaf = leaf
        self._values = values if values is not None else {}

    def child(self, bound: dict[int, Any] | None = None) -> PathValues:
        """A scope for a block that this one dominates, with further terms bound to values."""
        return PathValues(self._builder, self._leaf, {**self._values, **(bound or {})})

    def emit(self, roots: Iterable[Term], unless: set[int] = frozenset()) -> None:  # type: ignore[assignment]
        """Emit what the roots need, except terms in `unless`, at the builder's position."""
        for term in closure(roots, self._values):
            if term.index not in unless:
                self._values[term.index] = self._lower(term)

    def value(self, term: Term) -> Any:
        """The value of a term, emitted here when it is new."""
        if term.index not in self._values:
            self.emit([term])
        return self._values[term.index]

    def _lower(self, term: Term) -> Any:
        if not -(1 << 63) <= term.lo <= term.hi < 1 << 63:
            raise LoweringError(f"a {term.op} term has values {term.lo}..{term.hi}, beyond 64 bits: lower a bound")
        if term.op == "const":
            return ir.Constant(TRUTH, term.value) if term.is_truth else word(term.value)
        if term.op == "var":
            return self._leaf(self._builder, term)
        return lower_operator(self._builder, term, [self._values[arg.index] for arg in term.args])


def lower_operator(b: Builder, term: Term, values: Sequence[Any]) -> Any:
    """One operator applied to LLVM values; the term has the intervals."""
    match term.op:
        case "ite":
            return b.select(*values)
        case "not":
            return b.not_(values[0])
        case "and" | "band":
            return b.and_(*values)
        case "or" | "bor":
            return b.or_(*values)
        case "eq":
            return b.icmp_unsigned("==", *values)
        case "lt":
            return b.icmp_signed("<", *values)
        case "add":
            return b.add(*values)
        case "sub":
            return b.sub(*values)
        case "mul":
            return b.mul(*values)
        case "div" | "mod":
            return _divided(b, term, *values)
        case "bclear":
            return b.and_(values[0], b.not_(values[1]))
        case "member":
            return _member(b, term, *values)
        case "single":
            return _single(b, term.args[0], values[0])
        case "narrow":
            return values[0]
        case "count":
            return b.ctpop(values[0])
        case "lowest":
            position = b.cttz(values[0], ir.Constant(TRUTH, 0))
            return b.select(b.icmp_unsigned("==", values[0], 0), -1, position)
    raise LoweringError(f"unknown operator {term.op}")


def _divided(b: Builder, term: Term, dividend: Any, divisor: Any) -> Any:
    """Quotient rounded down, or remainder of the divisor's sign; the machine's own round towards 0.

    A divisor is never 0 where the value is used (`algebra.interval`). Machine code also computes values of steps that
    are cut off, where a word may have left its interval; there it must not stop the process.
    """
    of, by = term.args
    if by.op != "const":
        divisor = b.select(b.icmp_unsigned("==", divisor, 0), 1, divisor)
    if of.lo >= 0 and by.lo > 0:
        return b.udiv(dividend, divisor) if term.op == "div" else b.urem(dividend, divisor)
    rest = b.srem(dividend, divisor)
    other_sign = b.icmp_signed("<", b.xor(rest, divisor), 0)
    apart = b.and_(b.icmp_unsigned("!=", rest, 0), other_sign)
    if term.op == "mod":
        return b.select(apart, b.add(rest, divisor), rest)
    quotient = b.sdiv(dividend, divisor)
    return b.select(apart, b.sub(quotient, 1), quotient)


def _member(b: Builder, term: Term, mask: Any, index: Any) -> Any:
    """Bit `index` of the mask; no bit outside 0..61.

    A shift by `index & 63` maps -2 and -1 to the bits 62 and 63, which no
    mask below 2**62 has: such an index needs no comparison.
    """
    of, at = term.args
    bit = b.trunc(b.lshr(mask, b.and_(index, 63)), TRUTH)
    clear_top = of.lo >= 0 and of.hi < 1 << MASK_BITS
    if (at.lo >= 0 and at.hi < MASK_BITS) or (clear_top and at.lo >= MASK_BITS - 64 and at.hi < 64):
        return bit
    return b.and_(bit, b.icmp_unsigned("<", index, MASK_BITS))


def _single(b: Builder, at: Term, index: Any) -> Any:
    bit = b.shl(1, b.and_(index, 63))
    if at.lo >= 0 and at.hi < MASK_BITS:
        return bit
    return b.select(b.icmp_unsigned("<", index, MASK_BITS), bit, 0)


def slot_reader(layout: Layout, state: Sequence[Term], words: Sequence[Any]) -> Leaf:
    """Reads state variables out of packed words."""
    slots = {term.index: slot for term, slot in zip(state, layout.slots, strict=True)}

    def read(b: Builder, term: Term) -> Any:
        slot = slots[term.index]
        shifted = b.lshr(words[slot.word], slot.shift) if slot.shift else words[slot.word]
        if term.is_truth:
            return b.trunc(shifted, TRUTH)
        raw = b.and_(shifted, (1 << slot.domain.bits) - 1)
        return b.add(raw, slot.domain.lo) if slot.domain.lo else raw

    return read


def pack(b: Builder, layout: Layout, state: Sequence[Term], after: Sequence[Term], words: Sequence[Any],
         scope: PathValues) -> list[Any]:  # fmt: skip
    """The packed words of the next state; unchanged fields keep their bits."""
    result = list(words)
    for slot, old, new in zip(layout.slots, state, after, strict=True):
        if old is new or slot.domain.bits == 0:
            continue
        value = b.zext(scope.value(new), WORD) if new.is_truth else scope.value(new)
        raw = b.sub(value, slot.domain.lo) if slot.domain.lo else value
        shifted = b.shl(raw, slot.shift) if slot.shift else raw
        mask = ~(((1 << slot.domain.bits) - 1) << slot.shift)
        result[slot.word] = b.or_(b.and_(result[slot.word], mask), shifted)
    return result


def lower_rows(module: ir.Module, name: str, variables: Sequence[Term], roots: Sequence[Term]) -> None:
    """A public function `name(input, count, output)` that evaluates the roots for each row of variable values."""
    function, b = begin(module, name, [POINTER, WORD, POINTER], public=True)
    source, count, target = function.args
    places = {variable.index: place for place, variable in enumerate(variables)}
    with b.count(0, count) as row:
        first = b.mul(row, len(variables))

        def read(b: Builder, term: Term) -> Any:
            value = b.get(source, b.add(first, places[term.index]))
            return b.trunc(value, TRUTH) if term.is_truth else value

        scope = PathValues(b, read)
        for place, root in enumerate(roots):
            value = scope.value(root)
            widened = b.zext(value, WORD) if root.is_truth else value
            b.put(widened, target, b.add(b.mul(row, len(roots)), place))
    b.ret(count)
