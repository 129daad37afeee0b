"""Terms: symbolic words in an expression graph, which every engine but the interpreter reads.

The graph's operators, and the implications of a claim.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any, Literal, Protocol, Self, TypeAlias, cast, get_args, overload

from attrs import define, field, frozen

from kraftcheck.model.language.symbolic import (
    AnyOf,
    Notes,
    Symbolic,
    UntraceableRule,
    check_alike,
    check_numbers,
    described,
    place,
)

TruthOperator: TypeAlias = Literal["not", "and", "or", "eq", "lt", "member"]
WordOperator: TypeAlias = Literal[
    "add", "sub", "mul", "div", "mod", "band", "bor", "bclear", "single", "count", "lowest", "narrow"
]

TRUTH_OPERATORS: frozenset[str] = frozenset(get_args(TruthOperator))
WORD_OPERATORS: frozenset[str] = frozenset(get_args(WordOperator))

COMMUTATIVE = frozenset({"and", "or", "eq", "add", "mul", "band", "bor"})  # operators whose operands may change places
MASK_BITS = 62  # masks use bits 0..61; the top bits stay clear so that `member(mask, -1)` is false
ENDLESS = 1 << 512  # an end of an interval beyond this stands for infinity, and stays so when it is divided
Interval: TypeAlias = tuple[int, int]  # smallest and largest value, both included


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


Part = Any  # a term, whose module knows this one; a part of a disjunction may be a bool

Parts = tuple[tuple[Part, ...], tuple[Part, ...]]
"""Premises, all of which have to hold, and the conclusion: one truth, or several of which one has to hold."""


@frozen
class Implications:
    """The implications of one claim."""

    negations: dict[int, Part] = field(factory=dict)  # what `negate` negated, by the index of the negation
    # of each disjunction that is an implication, by its index, what it is made of, each way to read it
    parts: dict[int, list[Parts]] = field(factory=dict)
    # premises of the implications that are true whatever the premises are
    trivial: list[tuple[Part, ...]] = field(factory=list)

    def clear(self) -> None:
        """Begin anew, for another claim."""
        for kept in (self.negations, self.parts, self.trivial):
            kept.clear()

    def note_negation(self, negation: Part, value: Part) -> None:
        """Keep what a rule negated; not what was folded."""
        if negation.op == "not":
            self.negations[negation.index] = value

    def note(self, whole: Part | None, premises: tuple[Part, ...], conclusion: tuple[Part, ...]) -> None:
        """Keep of what an implication was made, None if it is constant; not of one that was folded to a part of it."""
        if whole is None:
            self.trivial.append(premises)
        elif whole.op == "or" and all(one is not whole for one in conclusion):
            self.parts.setdefault(whole.index, []).append((premises, conclusion))

    def note_disjunction(self, whole: Part | None, parts: tuple[Part, ...]) -> None:
        """Keep that negations imply what stands beside them; of negations alone, that each implies the others."""
        if not self.negations:
            return
        indexes = {at: getattr(part, "index", None) for at, part in enumerate(parts)}  # a bool has none
        negated = {at: self.negations[index] for at, index in indexes.items() if index in self.negations}
        others = tuple(part for at, part in enumerate(parts) if at not in negated)
        if negated and others:
            self.note(whole, tuple(negated.values()), others)
        elif len(parts) > 1:
            for at, value in negated.items():
                self.note(whole, (value,), (*parts[:at], *parts[at + 1 :]))


@define(eq=False, repr=False, slots=True)
class Term(Symbolic):
    """One node of the graph: operator, arguments, sort and interval."""

    graph: Graph  # the graph the term belongs to; terms of two graphs never mix
    op: str  # `const`, `var`, `ite`, or a name of `TRUTH_OPERATORS` / `WORD_OPERATORS`
    args: tuple[Term, ...]  # argument terms (`var`: none)
    value: int  # the constant of a `const`; the index in `graph.variables` of a `var`
    # lo, hi: inclusive interval of the value; truths have 0 and 1
    lo: int
    hi: int
    is_truth: bool  # the sort
    index: int  # position in `graph.nodes`; arguments come before their users

    __hash__ = Symbolic.__hash__  # a class that defines equality alone would have none, and the message no line

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        """What `isinstance` and class patterns go by: the type that the value has when the rule runs on ints."""
        return bool if self.is_truth else int

    def described(self) -> str:
        """See `Symbolic`; arguments by index, for written out a graph explodes."""
        args = f" of {[arg.index for arg in self.args]}" if self.args else ""
        name = f" {self.graph.variables[self.value]}" if self.op == "var" else f" {self.value}" * (self.op == "const")
        sort = "truth" if self.is_truth else f"word in {self.lo}..{self.hi}"
        return f"<{self.op}{name}{args}: a {sort}>"

    def __eq__(self, other: object) -> Term | bool:  # type: ignore[override]
        """The truth that both are equal."""
        return self.graph.apply("eq", self, self._operand(other))

    def __ne__(self, other: object) -> Term | bool:  # type: ignore[override]
        """The truth that both differ."""
        return self.graph.negate(self.graph.apply("eq", self, self._operand(other)))

    def __lt__(self, other: int | Term) -> Term | bool:
        """The truth that this word is below the other."""
        return self.graph.apply("lt", self, self._operand(other))

    def __gt__(self, other: int | Term) -> Term | bool:
        """The truth that this word is above the other."""
        return self.graph.apply("lt", self._operand(other), self)

    def __le__(self, other: int | Term) -> Term | bool:
        """The truth that this word is at most the other."""
        return self.graph.negate(self.graph.apply("lt", self._operand(other), self))

    def __ge__(self, other: int | Term) -> Term | bool:
        """The truth that this word is at least the other."""
        return self.graph.negate(self.graph.apply("lt", self, self._operand(other)))

    def __add__(self, other: int | Term) -> Word:
        """Sum of two words."""
        return self.graph.apply("add", *self._numbers(other))

    __radd__ = __add__

    def __sub__(self, other: int | Term) -> Word:
        """Difference of two words."""
        return self.graph.apply("sub", *self._numbers(other))

    def __rsub__(self, other: int) -> Word:
        """Difference of a constant and this word."""
        return self.graph.apply("sub", *self._numbers(other)[::-1])

    def __mul__(self, other: int | Term) -> Word:
        """Product of two words."""
        return self.graph.apply("mul", *self._numbers(other))

    __rmul__ = __mul__

    def __floordiv__(self, other: int | Term) -> Word:
        """Quotient of two words, rounded down; the divisor's interval has no 0."""
        return self.graph.apply("div", *self._numbers(other))

    def __rfloordiv__(self, other: int) -> Word:
        """Quotient of a constant and this word."""
        return self.graph.apply("div", *self._numbers(other)[::-1])

    def __mod__(self, other: int | Term) -> Word:
        """Remainder of two words, of the divisor's sign."""
        return self.graph.apply("mod", *self._numbers(other))

    def __rmod__(self, other: int) -> Word:
        """Remainder of a constant and this word."""
        return self.graph.apply("mod", *self._numbers(other)[::-1])

    def __neg__(self) -> Word:
        """This word with the other sign."""
        return 0 - self

    def __abs__(self) -> Word:
        """The size of this word, without its sign."""
        negative = self.graph.lift(self < 0)
        size = self.graph.lift(self.graph.ite(negative, 0 - self, self))
        ends = (abs(self.lo), abs(self.hi))
        least = 0 if self.lo <= 0 <= self.hi else min(ends)
        return self.graph.apply("narrow", size, self.graph.constant(least), self.graph.constant(max(ends)))

    def __and__(self, other: bool | int | Term) -> Truth:
        """Conjunction of truths, or intersection of masks."""
        return cast(Truth, self.graph.apply("and" if self.is_truth else "band", self, self._operand(other)))

    __rand__ = __and__

    def __or__(self, other: bool | int | Term) -> Truth:
        """Disjunction of truths, or union of masks."""
        return cast(Truth, self.graph.apply("or" if self.is_truth else "bor", self, self._operand(other)))

    __ror__ = __or__

    def _numbers(self, other: object) -> tuple[Term, Term]:
        """This word and another, which both are numbers."""
        check_numbers(self.graph, self, other)
        return self, self._operand(other)

    def _operand(self, other: object) -> Term:
        check_alike(self.graph, self, other)
        if isinstance(other, Term):
            return other
        if isinstance(other, int):
            return self.graph.constant(other)
        mend = f"make {type(other).__name__} a kc.Enum" if isinstance(other, enum.Enum) else "use words only"
        raise self.graph.refusal(f"a symbolic word meets {type(other).__name__} {described(other)}; {mend}")


Word: TypeAlias = int | Term
Truth: TypeAlias = bool | Term


_OF_TRUTHS = "of truths write implies(p, q) for `=>`, all_of(), any_of(), and choose(p, 1, 0) for a number"
_OF_WORDS = "write all_of(), any_of() or negate() of comparisons: & and | bind more tightly than =="


@define(eq=False)
class Graph:
    """A hash-consed graph of terms with constant folding."""

    nodes: list[Term] = field(factory=list)  # every term, arguments before users
    variables: list[str] = field(factory=list)  # name of each variable, by its number
    binders: int = 0  # how many bound places (`kraftcheck.model.language.sequences`) a rule is nested in
    refusals: list[str] = field(factory=list)  # what rules were refused, in order
    implications: Implications = field(factory=Implications)  # those of the claim that was traced last
    notes: Notes = field(factory=Notes)  # what is known of its words besides
    _interned: dict[tuple[object, ...], Term] = field(factory=dict, repr=False)

    def variable(self, name: str, lo: int, hi: int) -> Term:
        """A new word variable with values lo..hi."""
        self.variables.append(name)
        return self.intern("var", (), len(self.variables) - 1, lo, hi, False)

    def truth_variable(self, name: str) -> Term:
        """A new truth variable."""
        self.variables.append(name)
        return self.intern("var", (), len(self.variables) - 1, 0, 1, True)

    def free_name(self, name: str) -> str:
        """A name that no variable has: where one has it, with asterisks."""
        while name in self.variables:
            name += "*"
        return name

    def constant(self, value: int) -> Term:
        """The constant, a truth when `value` is a bool."""
        if isinstance(value, AnyOf):
            value.refused()
        return self.intern("const", (), int(value), int(value), int(value), isinstance(value, bool))

    def decision(self, truth: Term, kind: str, position: int = 0) -> Truth:
        """The truth that a rule decides by, as it is; a graph that mutates rules answers otherwise."""
        return truth

    def lift(self, value: Word) -> Term:
        """The value as a term of this graph."""
        if not isinstance(value, Term):
            return self.constant(value)
        if value.graph is not self:
            raise self.refusal("a rule kept a word of an earlier call; use its arguments only")
        return value

    def refusal(self, message: str) -> UntraceableRule:
        """The error to raise, with the line of the rule; its text is kept, so that no rule catches it unnoticed."""
        self.refusals.append(f"{place()}: {message}")
        return UntraceableRule(self.refusals[-1])

    def negate(self, value: Truth) -> Truth:
        """The negation of a truth."""
        return self.apply("not", value) if isinstance(value, Term) else not value

    def ite(self, condition: Term, then: Word, otherwise: Word) -> Word:
        """`then` where the condition holds, else `otherwise`; both of one sort."""
        a, b = self.lift(then), self.lift(otherwise)
        if not condition.is_truth:
            raise self.refusal("choose() on a word; compare it")
        if a.is_truth != b.is_truth:
            raise self.refusal("choose() between a truth and a word")
        if a is b:
            return cast(Word, lower(a))
        if condition.op == "not":
            return self.ite(condition.args[0], b, a)
        if a.op == "ite" and a.args[0] is condition:
            return self.ite(condition, a.args[1], b)
        if b.op == "ite" and b.args[0] is condition:
            return self.ite(condition, a, b.args[2])
        if a.is_truth:
            return self._ite_of_truths(condition, a, b)
        return self.intern("ite", (condition, a, b), 0, min(a.lo, b.lo), max(a.hi, b.hi), False)

    def _ite_of_truths(self, c: Term, a: Term, b: Term) -> Truth:
        if a.op == "const":
            return self.apply("or", c, b) if a.value else self.apply("and", self.lift(self.negate(c)), b)
        if b.op == "const":
            return self.apply("or", self.lift(self.negate(c)), a) if b.value else self.apply("and", c, a)
        return self.intern("ite", (c, a, b), 0, 0, 1, True)

    @overload
    def apply(self, op: TruthOperator, *args: Term) -> Truth: ...

    @overload
    def apply(self, op: WordOperator, *args: Term) -> Word: ...

    @overload
    def apply(self, op: str, *args: Term) -> Any: ...

    def apply(self, op: str, *args: Term) -> Any:
        """The folded application of an operator.

        Returns a Python bool or int when the result is constant, so that
        rules specialise themselves wherever their inputs are known; else a
        term. The operator decides the sort.
        """
        wants_truth, known = op in ("not", "and", "or"), True
        for arg in args:
            if arg.graph is not self:
                raise self.refusal(f"terms of two graphs meet in {op}")
            if arg.is_truth != wants_truth and op != "eq":
                raise self.refusal(f"{op} got a {f'truth; {_OF_TRUTHS}' if arg.is_truth else f'word; {_OF_WORDS}'}")
            known = known and arg.op == "const"
        if known:
            return self._constant(op, [arg.value for arg in args])
        simpler = fold(self, op, args)
        if simpler is not None:
            return simpler
        try:
            lo, hi = interval(op, *((arg.lo, arg.hi) for arg in args))
        except ValueError as error:
            raise self.refusal(str(error)) from None
        if lo == hi and op in WORD_OPERATORS:
            return lo
        if op in COMMUTATIVE and args[0].index > args[1].index:
            args = (args[1], args[0])
        return self.intern(op, args, 0, lo, hi, op in TRUTH_OPERATORS)

    def _constant(self, op: str, values: list[int]) -> Any:
        try:
            return evaluate(op, values)
        except ZeroDivisionError:
            raise self.refusal("a division by 0") from None

    def intern(self, op: str, args: tuple[Term, ...], value: int, lo: int, hi: int, truth: bool,
               kind: object = None) -> Term:  # fmt: skip
        """The node with these attributes, made once for each kind of value that it may be; nothing is folded."""
        key = (op, value, truth, kind, *map(id, args))
        found = self._interned.get(key)
        if found is None:
            found = self._interned[key] = Term(self, op, args, value, lo, hi, truth, len(self.nodes))
            self.nodes.append(found)
        return found


def lower(term: Term) -> Any:
    """A constant term as the Python value it stands for; any other term itself."""
    if term.op != "const":
        return term
    return bool(term.value) if term.is_truth else term.value
