"""Terms as Z3 expressions: truths are Bool; words are bit-vectors, or Int where a field has no bound.

A word's bit-vector is as wide as its interval needs: unsigned where it is
never negative, else two's complement. A word that depends on an unbounded
field (`kraftcheck.model.language.layout.UNBOUNDED`) is an Int. `kraftcheck.model.language.terms.evaluate` defines
every operator; tests compare this reader with it and with machine code.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import z3
from attrs import define, field

from kraftcheck.model.language.layout import UNBOUNDED
from kraftcheck.model.language.terms import MASK_BITS, Graph, Term
from kraftcheck.solvers.machine_code.lower import LoweringError
from kraftcheck.solvers.program.evaluation import closure
from kraftcheck.solvers.program.symbols import is_below
from kraftcheck.solvers.smt.printer import WORD

BINDERS = ("every", "least", "greatest", "least_by", "above", "cardinality")  # operators that speak of any place
LAST_GENERATION = 1  # how many witnesses of witnesses are named


@define
class Substitution:
    """Puts places in for bound ones, in the terms of one graph, and names places.

    The names have no dot and are no identifiers: so none is that of a field or of an argument.
    """

    graph: Graph  # holds every term
    _free: dict[int, frozenset[int]] = field(factory=dict)
    _memo: dict[tuple[int, int, int], Term] = field(factory=dict)
    _names: dict[str, Term] = field(factory=dict)
    _deepest: dict[int, int] = field(factory=dict)
    _generations: dict[int, int] = field(factory=dict)

    def free(self, term: Term) -> frozenset[int]:
        """The numbers of the bound places that a term depends on."""
        if term.index not in self._free:
            for node in closure([term], self._free):
                self._free[node.index] = self._free_of(node)
        return self._free[term.index]

    def _free_of(self, node: Term) -> frozenset[int]:
        if node.op == "bound":
            return frozenset((node.value,))
        free = frozenset[int]().union(*(self._free[arg.index] for arg in node.args))
        return free - {node.args[0].value} if node.op in BINDERS else free

    def at(self, claim: Term, place: Term) -> Term:
        """The body of a binder at a place that depends on no bound one."""
        bound, body = claim.args[:2]
        return self._with(body, bound, place)

    def key_at(self, claim: Term, place: Term) -> Term:
        """The key of a `least_by` at a place that depends on no bound one."""
        return self._with(claim.args[2], claim.args[0], place)

    def deepest(self, term: Term) -> int:
        """The largest number of a bound place in a term, free or not; -1 where there is none."""
        if term.index not in self._deepest:
            for node in closure([term], self._deepest):
                own = node.value if node.op == "bound" else -1
                self._deepest[node.index] = max([own, *(self._deepest[arg.index] for arg in node.args)])
        return self._deepest[term.index]

    def _with(self, term: Term, bound: Term, place: Term) -> Term:
        """A term with a place for a bound one, and a number less for those that are bound within.

        So a claim has the same numbers as if it had been made of the place.
        """
        if term is bound:
            return place
        if bound.value > self.deepest(term) or (term.op in BINDERS and term.args[0] is bound):
            return term
        if term.op == "bound":
            return self.graph.intern("bound", (), term.value - (term.value > bound.value), term.lo, term.hi, False)
        key = (term.index, bound.value, place.index)
        if key not in self._memo:
            self._memo[key] = self.rebuilt(term, tuple(self._with(arg, bound, place) for arg in term.args))
        return self._memo[key]

    def rebuilt(self, term: Term, args: tuple[Term, ...]) -> Term:
        """The operator of a term with other arguments."""
        graph = self.graph
        if term.op == "every" and args[1].op == "const":
            return args[1]
        if term.op == "read" or term.op in BINDERS:
            return graph.intern(term.op, args, 0, term.lo, term.hi, term.is_truth)
        if term.op != "ite":
            return graph.lift(graph.apply(term.op, *args))
        condition, consequent, otherwise = args
        if condition.op == "const":
            return consequent if condition.value else otherwise
        return graph.lift(graph.ite(condition, consequent, otherwise))

    def named_place(self, name: str, truth: bool = False) -> Term:
        """The place (or truth) with a name, always the same term. A place may turn out negative."""
        if truth and name not in self._names:
            self._names[name] = self.graph.truth_variable(name)
        return self.named_word(name, -UNBOUNDED, UNBOUNDED)

    def named_word(self, name: str, lo: int, hi: int) -> Term:
        """The word with a name, always the same term."""
        if name not in self._names:
            self._names[name] = self.graph.variable(name, lo, hi)
        return self._names[name]

    def witness(self, name: str, *claims: Term) -> Term | None:
        """The place with a name where claims fail or have members; None where that is too far from what is asked.

        Where each broker has a set of others, a witness has one as well, and so on without end.
        """
        generation = max(map(self.generation, claims)) + 1
        if generation > LAST_GENERATION:
            return None
        place = self.named_place(name)
        self._generations[place.index] = generation
        return place

    def near(self, claim: Term, place: Term) -> bool:
        """Whether an instance of a claim at a place is not too far from what is asked."""
        return self.generation(claim) + self.generation(place) <= LAST_GENERATION

    def generation(self, term: Term) -> int:
        """How many witnesses of witnesses a term names; 0 where it names none."""
        if term.index not in self._generations:
            for node in closure([term], self._generations):
                self._generations[node.index] = max((self._generations[arg.index] for arg in node.args), default=0)
        return self._generations[term.index]

    def within(self, word: Term) -> list[Term]:
        """Truths that a word is in its interval, written out although that says so, and below its number."""
        graph = self.graph
        number = graph.notes.below.get(word.args[0].index) if word.op == "read" else None
        ends = [(word, graph.constant(word.lo))]
        if word.hi < UNBOUNDED:
            ends.append((graph.constant(word.hi), word))
        outside = [graph.intern("lt", pair, 0, 0, 1, True) for pair in ends]
        of = graph.notes.of_places.get(word.args[0].index, ()) if word.op == "read" else ()
        inside = [] if number is None else [graph.lift(is_below(word, word.lo, number, word.args[1:], of))]
        return [*(graph.intern("not", (truth,), 0, 0, 1, True) for truth in outside), *inside]


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


z3.set_param("ctrl_c", False)  # Z3 would take Ctrl-C for itself, and go on with the next query


class Z3Reader:
    """Z3 expressions of the terms of one graph, each made once.

    The symbols of variables begin with `WORD`, and no other symbol in Z3 may: a field is named as its author likes,
    and must be no symbol of the prover's own.

    Attributes:
        context: the Z3 context that they belong to.
    """

    def __init__(self, context: z3.Context | None = None) -> None:
        self.context = context or z3.main_ctx()
        self._expressions: dict[int, Any] = {}

    def bind(self, variable: Term, value: Any) -> None:
        """Let a variable stand for an expression of its own sort."""
        self._expressions[variable.index] = value

    def expression(self, term: Term) -> Any:
        """The expression of a term; raises LoweringError when a mask has no bound."""
        if term.index not in self._expressions:
            for node in closure([term], self._expressions):
                self._expressions[node.index] = self._read(node)
        return self._expressions[term.index]

    def constant(self, term: Term, value: int) -> Any:
        """A value in the sort of a term."""
        if term.is_truth:
            return z3.BoolVal(bool(value), self.context)
        if is_number(term):
            return z3.IntVal(value, self.context)
        return z3.BitVecVal(value, width_of(term.lo, term.hi), self.context)

    def variable(self, term: Term, name: str, prefix: str = WORD) -> Any:
        """A constant symbol in the sort of a term."""
        name = prefix + name
        if term.op == "sequence":
            places = [z3.IntSort(self.context)] * term.args[0].value
            return z3.Function(name, *places, self._sort(term))
        if term.is_truth:
            return z3.Bool(name, self.context)
        if is_number(term):
            return z3.Int(name, self.context)
        return z3.BitVec(name, width_of(term.lo, term.hi), self.context)

    def within(self, variable: Term, lo: int, hi: int) -> Any:
        """The truth that a word is in lo..hi; an unbounded end asks nothing.

        A bit-vector may hold more than its interval: for variables this is what bounds them.
        """
        x, number = self.expression(variable), variable.graph.notes.below.get(variable.index)
        if variable.is_truth or variable.op == "sequence":  # what is not asked of a sequence makes a proof no easier
            return z3.BoolVal(True, self.context)
        if is_number(variable):
            end = [x <= hi] if hi < UNBOUNDED else [] if number is None else [x < self.expression(number)]
            return z3.And(x >= lo, *end) if end else x >= lo
        width, signed = x.size(), variable.lo < 0
        smallest, largest = (-(1 << width - 1), (1 << width - 1) - 1) if signed else (0, (1 << width) - 1)
        if lo > largest or hi < smallest:
            return z3.BoolVal(False, self.context)
        parts = []
        if lo > smallest:
            parts.append(_at_most(z3.BitVecVal(lo, width, self.context), x, signed))
        if hi < largest:
            parts.append(_at_most(x, z3.BitVecVal(hi, width, self.context), signed))
        return conjunction(parts, self.context)

    def below_number(self, sequence: Term, word: Any, places: Sequence[Any]) -> list[Any]:
        """The truth that a word of a sequence is below its number, if it has one: `is_below` in Z3."""
        notes = sequence.graph.notes
        if (bound := notes.below.get(sequence.index)) is None:
            return []
        number, of = self.expression(bound), notes.of_places[sequence.index]
        if bound.lo > sequence.lo:
            return [word < number]
        beyond = [z3.Or(at < 0, *([] if n is None else [at >= self.expression(n)]))
                  for at, n in zip(places, of, strict=True)]  # fmt: skip
        return [z3.Or(word < number, z3.And(number <= sequence.lo, z3.Or(*beyond)))]

    def fitted(self, term: Term, target: Term) -> Any:
        """A word or truth in the sort of another, which keeps its value if it is in the other's domain."""
        value = self.expression(term)
        if term.is_truth or (is_number(term) and is_number(target)):
            return value
        if is_number(term) or is_number(target):
            return self._as_sort(target, self._as_int(term))
        return self.resize(value, term, width_of(target.lo, target.hi))

    def _read(self, node: Term) -> Any:
        if node.op == "const":
            return self.constant(node, node.value)
        if node.op in ("var", "sequence"):
            return self.variable(node, node.graph.variables[node.value])
        if node.op in _ON_PLACES:
            return self._place_operator(node)
        if any(is_number(arg) for arg in node.args) or is_number(node):
            return self._number_operator(node)
        values = [self._expressions[arg.index] for arg in node.args]
        return self._truth_operator(node, values) if node.op in _ON_TRUTHS else self._word_operator(node, values)

    def _truth_operator(self, node: Term, values: Sequence[Any]) -> Any:
        match node.op:
            case "not" | "and" | "or":
                return self._connective(node.op, values)
            case "ite":
                arms = zip(values[1:], node.args[1:], strict=True)
                return z3.If(values[0], *(self._fit(value, arm, node) for value, arm in arms))
        if node.args[0].is_truth:
            return values[0] == values[1]
        a, b = self._align(node.args, values)
        if node.op == "eq":
            return a == b
        return a < b if min(arg.lo for arg in node.args) < 0 else z3.ULT(a, b)

    def _connective(self, op: str, values: Sequence[Any]) -> Any:
        """A connective of truths; Z3's own functions check each operand, which costs more than the rest."""
        context, operands = self.context.ref(), (z3.Ast * len(values))(*(value.as_ast() for value in values))
        if op == "not":
            return z3.BoolRef(z3.Z3_mk_not(context, operands[0]), self.context)
        make = z3.Z3_mk_and if op == "and" else z3.Z3_mk_or
        return z3.BoolRef(make(context, len(values), operands), self.context)

    def _word_operator(self, node: Term, values: Sequence[Any]) -> Any:
        width = width_of(node.lo, node.hi)
        if node.op == "member":
            return self._member(node, values)
        if node.op == "single":
            bits = [self._is(node.args[0], values[0], k) for k in range(min(width, MASK_BITS))]
            return self.from_bits(bits)
        if node.op == "count":
            return count_of(values[0], width)
        if node.op == "narrow":
            return self.resize(values[0], node.args[0], width)
        if node.op == "lowest":
            return lowest_of(values[0], width)
        if node.op in ("div", "mod"):
            operands = [self.resize(v, arg, division_width(node)) for v, arg in zip(values, node.args, strict=True)]
            return divided(node, *operands)
        if node.op not in _ON_WORDS:
            raise LoweringError(f"unknown operator {node.op}")
        return _ON_WORDS[node.op](*(self.resize(v, arg, width) for v, arg in zip(values, node.args, strict=True)))

    def _number_operator(self, node: Term) -> Any:
        """Operators with an Int among operands and result."""
        values = [v if a.is_truth else self._as_int(a) for a, v in ((a, self._expressions[a.index]) for a in node.args)]
        if node.op in _ON_NUMBERS:
            return _ON_NUMBERS[node.op](*values)
        if node.op in ("div", "mod", "narrow"):
            return self._as_sort(node, values[0] if node.op == "narrow" else divided_number(node, *values[:2]))
        if node.op == "single":
            return self.from_bits([values[0] == k for k in range(MASK_BITS)])
        mask = self._expressions[node.args[0].index]
        if node.op == "member" and not is_number(node.args[0]):
            places = range(min(mask.size(), MASK_BITS))
            return disjunction([z3.And(values[1] == k, bit(mask, k)) for k in places], self.context)
        raise LoweringError(f"a {node.op} of an unbounded word: masks need a bound")

    def _place_operator(self, node: Term) -> Any:
        """Operators that read sequences, and claims about every place."""
        if node.op == "bound":
            return z3.Int(f"bound {node.value}", self.context)
        if node.op == "read":
            return self._expressions[node.args[0].index](*map(self._as_int, node.args[1:]))
        # What these mean is told apart (`kraftcheck.solvers.smt.instances`).
        name = f"{node.op} {node.index}"
        return z3.Bool(name, self.context) if node.op == "every" else z3.Int(name, self.context)

    def _sort(self, term: Term) -> Any:
        """The sort of a sequence's words."""
        if term.is_truth:
            return z3.BoolSort(self.context)
        if is_number(term):
            return z3.IntSort(self.context)
        return z3.BitVecSort(width_of(term.lo, term.hi), self.context)

    def _as_sort(self, node: Term, number: Any) -> Any:
        """An Int as what a node is: an Int, or a bit-vector."""
        return number if is_number(node) else z3.Int2BV(number, width_of(node.lo, node.hi))

    def _as_int(self, term: Term) -> Any:
        """A word as an Int."""
        value = self._expressions[term.index]
        if is_number(term):
            return value
        if term.op == "const":
            return z3.IntVal(term.value, self.context)
        return z3.BV2Int(value, is_signed=term.lo < 0)

    def _member(self, node: Term, values: Sequence[Any]) -> Any:
        of, at = node.args
        mask, index = self.resize(values[0], of, MASK_BITS) if of.lo < 0 else values[0], values[1]
        if at.op == "const":
            in_range = 0 <= at.value < min(mask.size(), MASK_BITS)
            return bit(mask, at.value) if in_range else z3.BoolVal(False, self.context)
        places = range(max(0, at.lo), min(mask.size(), MASK_BITS, at.hi + 1))
        hits = [z3.And(self._is(at, index, k), bit(mask, k)) for k in places]
        return disjunction(hits, self.context)

    def _is(self, term: Term, value: Any, number: int) -> Any:
        """The truth that a word is a number."""
        if not term.lo <= number <= term.hi:
            return z3.BoolVal(False, self.context)
        return value == self.constant(term, number)

    def from_bits(self, bits: Sequence[Any]) -> Any:
        """The mask with these bits, the lowest first."""
        one, zero = z3.BitVecVal(1, 1, self.context), z3.BitVecVal(0, 1, self.context)
        parts = [z3.If(bit, one, zero) for bit in reversed(bits)]
        return z3.Concat(*parts) if len(parts) > 1 else parts[0]

    def _align(self, terms: Sequence[Term], values: Sequence[Any]) -> list[Any]:
        """Two words in one width that keeps both values."""
        width = width_of(min(t.lo for t in terms), max(t.hi for t in terms))
        return [self.resize(v, t, width) for v, t in zip(values, terms, strict=True)]

    def _fit(self, value: Any, term: Term, target: Term) -> Any:
        return value if term.is_truth else self.resize(value, term, width_of(target.lo, target.hi))

    def resize(self, value: Any, term: Term, width: int) -> Any:
        """A word in another width, its value kept modulo 2**width."""
        if term.op == "const":
            return z3.BitVecVal(term.value, width, self.context)
        current: int = value.size()
        if current == width:
            return value
        if current > width:
            return z3.Extract(width - 1, 0, value)
        return z3.SignExt(width - current, value) if term.lo < 0 else z3.ZeroExt(width - current, value)


_ON_PLACES = frozenset({"bound", "read", *BINDERS})
_ON_TRUTHS = frozenset({"not", "and", "or", "eq", "lt", "ite"})
_ARITHMETIC: Mapping[str, Callable[..., Any]] = {"add": operator.add, "sub": operator.sub, "mul": operator.mul}
_ON_NUMBERS: Mapping[str, Callable[..., Any]] = {**_ARITHMETIC, "ite": z3.If, "eq": operator.eq, "lt": operator.lt}
_ON_WORDS: Mapping[str, Callable[..., Any]] = {
    **_ARITHMETIC, "band": operator.and_, "bor": operator.or_, "bclear": lambda a, b: a & ~b,
}  # fmt: skip


def is_number(term: Term) -> bool:
    """Whether a word is an Int: its interval has no upper end."""
    return not term.is_truth and (term.hi >= _NO_END or term.lo <= -_NO_END)


_NO_END = UNBOUNDED // 2


def _at_most(a: Any, b: Any, signed: bool) -> Any:
    return a <= b if signed else z3.ULE(a, b)


def value_of(model: z3.ModelRef, term: Term, symbol: Any) -> int:
    """The value that a model gives to a symbol of a term's sort; 0 or the smallest where it gives none."""
    value = model.eval(symbol, model_completion=True)
    if term.is_truth:
        return int(z3.is_true(value))
    found: int = value.as_signed_long() if not is_number(term) and term.lo < 0 else value.as_long()
    return found


def conjunction(parts: Iterable[Any], context: z3.Context | None = None) -> Any:
    """The conjunction of any number of truths."""
    truths = list(parts)
    return z3.And(*truths) if len(truths) > 1 else truths[0] if truths else z3.BoolVal(True, context)


def disjunction(parts: Iterable[Any], context: z3.Context | None = None) -> Any:
    """The disjunction of any number of truths; SMT-LIB has none of a single one."""
    truths = list(parts)
    return z3.Or(*truths) if len(truths) > 1 else truths[0] if truths else z3.BoolVal(False, context)
