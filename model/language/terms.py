"""Terms: symbolic words in an expression graph, which every engine but the interpreter reads.

A rule called with Python ints computes a value; the same rule called with
`Term` arguments builds a graph. Terms have two sorts, truth and word; a word
knows the interval its value lies in, from which readers derive widths and
overflow checks. Terms are hash-consed within one `Graph`: equal expressions
are the same object, so shared work is emitted once.
"""

from __future__ import annotations

from typing import Any, TypeAlias, cast, overload

from attrs import define, field

from kraftcheck.model.language import algebra
from kraftcheck.model.language.collections.implications import Implications
from kraftcheck.model.language.collections.names import Notes, check_alike, check_numbers
from kraftcheck.model.language.symbolic import Symbolic, described
from kraftcheck.model.language.untraceable import UntraceableRule, place


@define(eq=False, repr=False, slots=True)
class Term(Symbolic):
    """One node of the graph: operator, arguments, sort and interval.

    Attributes:
        graph: the graph the term belongs to; terms of two graphs never mix.
        op: `const`, `var`, `ite`, or a name of `TRUTH_OPERATORS` / `WORD_OPERATORS`.
        args: argument terms (`var`: none).
        value: the constant of a `const`; the index in `graph.variables` of a `var`.
        lo, hi: inclusive interval of the value; truths have 0 and 1.
        is_truth: the sort.
        index: position in `graph.nodes`; arguments come before their users.
    """

    graph: Graph
    op: str
    args: tuple[Term, ...]
    value: int
    lo: int
    hi: int
    is_truth: bool
    index: int

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
        raise self.graph.refusal(f"a symbolic word meets {type(other).__name__} {described(other)}; use words only")


Word: TypeAlias = int | Term
Truth: TypeAlias = bool | Term


@define(eq=False)
class Graph:
    """A hash-consed graph of terms with constant folding.

    Attributes:
        nodes: every term, arguments before users.
        variables: name of each variable, by its number.
        binders: how many bound places (`kraftcheck.model.language.sequences`) a rule is nested in.
        refusals: what rules were refused, in order.
        implications: those of the claim that was traced last.
        notes: what is known of its words besides.
    """

    nodes: list[Term] = field(factory=list)
    variables: list[str] = field(factory=list)
    binders: int = 0
    refusals: list[str] = field(factory=list)
    implications: Implications = field(factory=Implications)
    notes: Notes = field(factory=Notes)
    _interned: dict[tuple[object, ...], Term] = field(factory=dict, repr=False)

    def variable(self, name: str, lo: int, hi: int) -> Term:
        """A new word variable with values lo..hi."""
        self.variables.append(name)
        return self.intern("var", (), len(self.variables) - 1, lo, hi, False)

    def truth_variable(self, name: str) -> Term:
        """A new truth variable."""
        self.variables.append(name)
        return self.intern("var", (), len(self.variables) - 1, 0, 1, True)

    def constant(self, value: int) -> Term:
        """The constant, a truth when `value` is a bool."""
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
    def apply(self, op: algebra.TruthOperator, *args: Term) -> Truth: ...

    @overload
    def apply(self, op: algebra.WordOperator, *args: Term) -> Word: ...

    @overload
    def apply(self, op: str, *args: Term) -> Any: ...

    def apply(self, op: str, *args: Term) -> Any:
        """The folded application of an operator.

        Returns a Python bool or int when the result is constant, so that
        rules specialise themselves wherever their inputs are known; else a
        term. The operator decides the sort.
        """
        wants_truth = op in ("not", "and", "or")
        for arg in args:
            if arg.graph is not self:
                raise self.refusal(f"terms of two graphs meet in {op}")
            if op != "eq" and arg.is_truth != wants_truth:
                raise self.refusal(f"{op} got a {'truth' if arg.is_truth else 'word'}")
        if all(arg.op == "const" for arg in args):
            return self._constant(op, [arg.value for arg in args])
        simpler = algebra.fold(self, op, args)
        if simpler is not None:
            return simpler
        try:
            lo, hi = algebra.interval(op, *((arg.lo, arg.hi) for arg in args))
        except ValueError as error:
            raise self.refusal(str(error)) from None
        if lo == hi and op in algebra.WORD_OPERATORS:
            return lo
        if op in algebra.COMMUTATIVE and args[0].index > args[1].index:
            args = (args[1], args[0])
        return self.intern(op, args, 0, lo, hi, op in algebra.TRUTH_OPERATORS)

    def _constant(self, op: str, values: list[int]) -> Any:
        try:
            return algebra.evaluate(op, values)
        except ZeroDivisionError:
            raise self.refusal("a division by 0") from None

    def intern(self, op: str, args: tuple[Term, ...], value: int, lo: int, hi: int, truth: bool,
               kind: object = None) -> Term:  # fmt: skip
        """The node with these attributes, made once for each kind of value that it may be; nothing is folded."""
        key = (op, value, truth, kind, *(id(arg) for arg in args))
        if key not in self._interned:
            self._interned[key] = Term(self, op, args, value, lo, hi, truth, len(self.nodes))
            self.nodes.append(self._interned[key])
        return self._interned[key]


def lower(term: Term) -> Any:
    """A constant term as the Python value it stands for; any other term itself."""
    if term.op != "const":
        return term
    return bool(term.value) if term.is_truth else term.value
