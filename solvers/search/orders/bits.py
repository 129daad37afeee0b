"""The bits of words: which bits of the state a term reads, which bits of a field a step may change.

A mask over processes is one word of the state. A rule for process 3 that asks `member(mask, 3)` and clears that bit
has nothing to do with a rule for process 4. So reading and writing is followed bit by bit, with Python ints as sets of
bits: -1 is all bits. Each answer is an upper bound of what is read or changed, for every state within its domains.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from attrs import define, field

from kraftcheck.model.language.algebra import MASK_BITS
from kraftcheck.model.language.terms import Term
from kraftcheck.solvers.machine_code.lower import closure

ALL = -1
"""Every bit of a word; the value of a truth."""

Bits = dict[int, int]
"""Bits by the index of a variable of the state; a variable that is absent has none."""


@define
class BitReader:
    """Follows bits through the terms of one graph; what it found of a term is kept.

    Attributes:
        ones, zeros: by index of a term, the bits of it that are set, and clear, in every state.
    """

    ones: Bits = field(factory=dict)
    zeros: Bits = field(factory=dict)

    def read(self, roots: Iterable[tuple[Term, int]]) -> Bits:
        """The bits of each variable that decide the wanted bits of the roots.

        Args:
            roots: terms, each with the bits of its value that are wanted.
        """
        wanted: Bits = {}
        terms = []
        for term, bits in roots:
            if bits:
                wanted[term.index] = wanted.get(term.index, 0) | bits
                terms.append(term)
        self._note(terms)
        read: Bits = {}
        for term in reversed(closure(terms)):  # users before their arguments
            bits = wanted.get(term.index, 0)
            if term.op == "var" and bits:
                read[term.index] = bits
            for arg, of_arg in zip(term.args, self._wanted_of(term, bits), strict=True) if bits else ():
                wanted[arg.index] = wanted.get(arg.index, 0) | of_arg
        return read

    def _wanted_of(self, term: Term, bits: int) -> Sequence[int]:
        """The bits of each argument that decide these bits of a term."""
        match term.op:
            case "ite":
                return ALL, bits, bits
            case "narrow":
                return bits, 0, 0
            case "bor" | "band" | "bclear":
                x, y = (arg.index for arg in term.args)
                deciding = self.ones if term.op == "bor" else self.zeros  # a bit of one decides, whatever the other's
                of_x = self.ones if term.op == "bclear" else deciding
                return bits & ~of_x[y], bits & ~deciding[x]
            case "member":
                return _places(term.args[1]), ALL
        return [ALL] * len(term.args)

    def changed(self, before: Term, after: Term) -> int:
        """The bits of a field that a step may change.

        Args:
            before, after: the variable of the field, and its value after the step.
        """
        self._note([before, after])
        kept: Bits = {before.index: ALL}
        for term in closure([after], kept):
            own = self._kept_of(term, kept)
            kept[term.index] = own if term.is_truth else own | self.zeros[before.index] & self.zeros[term.index]
        return ~kept[after.index]

    def _kept_of(self, term: Term, kept: Bits) -> int:
        """The bits of a term that are those of the variable whose bits its arguments keep."""
        of = [kept[arg.index] for arg in term.args]
        match term.op:
            case "narrow":
                return of[0]
            case "ite":
                return of[1] & of[2]
            case "bor" | "band":
                x, y = (arg.index for arg in term.args)
                neutral = self.zeros if term.op == "bor" else self.ones
                return of[0] & of[1] | of[0] & neutral[y] | of[1] & neutral[x]
            case "bclear":
                return of[0] & self.zeros[term.args[1].index]
        return 0

    def _note(self, roots: Sequence[Term]) -> None:
        for term in closure(roots, self.zeros):
            self.ones[term.index] = self._ones_of(term)
            self.zeros[term.index] = self._zeros_of(term)

    def _ones_of(self, term: Term) -> int:
        match term.op:
            case "const":
                return term.value
            case "bor":
                return self.ones[term.args[0].index] | self.ones[term.args[1].index]
        return 0

    def _zeros_of(self, term: Term) -> int:
        above = ~((1 << term.hi.bit_length()) - 1) if term.lo >= 0 else 0
        of = [self.zeros[arg.index] for arg in term.args]
        match term.op:
            case "const":
                return ~term.value
            case "bor" | "ite":
                return above | of[-2] & of[-1]
            case "band":
                return above | of[0] | of[1]
            case "bclear":
                return above | of[0] | self.ones[term.args[1].index]
            case "single":
                return above | ~_places(term.args[0])
        return above


def _places(index: Term) -> int:
    """The bits of a mask that an index may name; no bit outside 0..61."""
    lo, hi = max(index.lo, 0), min(index.hi, MASK_BITS - 1)
    return (1 << hi + 1) - (1 << lo) if lo <= hi else 0
