"""Checking an expression against the layout: each part gets a type, or the expression is refused at its column."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

import attrs
from attrs import evolve, field, frozen

from kraftcheck.model.language.brokersets import BrokerSet, Replicas
from kraftcheck.model.language.idlists import AtMostOne
from kraftcheck.model.language.layout import UNBOUNDED, Endless, Flag
from kraftcheck.model.language.places import Queue
from kraftcheck.model.language.symbolic import record_fields
from kraftcheck.model.language.terms import Truth
from kraftcheck.model.language.words import NO_LEADER, all_of, any_of, choose, implies, negate
from kraftcheck.model.nearest import nearest


@frozen
class TruthType:
    """A truth."""

    def __str__(self) -> str:
        """The type in words."""
        return "a truth"


@frozen
class WordType:
    """A number in lo..hi."""

    # lo, hi: the smallest and the largest
    lo: int
    hi: int
    names: Mapping[str, int] = field(factory=dict, eq=False, repr=False)  # of an enumeration, the number of each name

    def __str__(self) -> str:
        """The type in words."""
        return "a number"


@frozen
class SetType:
    """A set of brokers, or of other small numbers, in 0..count-1."""

    count: int

    def __str__(self) -> str:
        """The type in words."""
        return "a set"


@frozen
class ListType:
    """A list of numbers, in order."""

    of: type  # the class of the field; `tuple` for a list that the expression writes
    member: WordType  # what a member may be
    most: int  # how many members it has at most; a written list has exactly so many

    def __str__(self) -> str:
        """The type in words."""
        return "a list"


@frozen
class TupleType:
    """A fixed number of places, each with a value: one for each broker, or each log."""

    items: tuple[Type, ...]

    def __str__(self) -> str:
        """The type in words."""
        return f"a row of {len(self.items)} places"


@frozen
class RecordType:
    """A record with named fields."""

    of: type
    fields: Mapping[str, Type]

    def __str__(self) -> str:
        """The type in words."""
        return f"a record with the fields {', '.join(self.fields)}"


@frozen
class EndlessType:
    """A sequence without end, which only provers read."""

    def __str__(self) -> str:
        """The type in words."""
        return "a sequence without end, which expressions do not read"


Type: TypeAlias = TruthType | WordType | SetType | ListType | TupleType | RecordType | EndlessType

TRUTH = TruthType()


def type_of(shape: Any) -> Type:
    """The type of a state, or of a part of one, by its layout."""
    if isinstance(shape, Flag):
        return TRUTH
    if isinstance(shape, Endless):
        return EndlessType()
    if isinstance(shape, BrokerSet):
        return SetType(_largest(shape.mask).bit_length())
    if isinstance(shape, Replicas):
        return ListType(Replicas, WordType(0, max(map(_largest, shape.slots), default=0)), len(shape.slots))
    if isinstance(shape, AtMostOne):
        return ListType(AtMostOne, WordType(-1, _largest(shape.slot)), 1)
    if isinstance(shape, Queue) and shape.items and isinstance(item := type_of(shape.items[0]), WordType):
        return ListType(type(shape), item, len(shape.items))
    if isinstance(shape, tuple):
        return TupleType(tuple(type_of(item) for item in shape))
    if hasattr(shape, "lo"):
        names = getattr(shape, "names", None)
        named = {} if names is None else {str(names(n)): n for n in range(shape.lo, shape.hi + 1)}
        return WordType(shape.lo, shape.hi, named)
    return RecordType(type(shape), {name: type_of(getattr(shape, name)) for name in record_fields(type(shape)) or ()})


def _largest(domain: Any) -> int:
    """The largest value that a domain, which stands where a state has a word, allows."""
    found: int = domain.hi
    return found


def joined(a: Type, b: Type) -> Type | None:
    """The type of a value that is of one type or the other; None where nothing can be both."""
    match a, b:
        case WordType(), WordType():
            return WordType(min(a.lo, b.lo), max(a.hi, b.hi), a.names if a.names == b.names else {})
        case SetType(), SetType():
            return SetType(max(a.count, b.count))
        case ListType(), ListType():
            word = joined(a.member, b.member)
            fits = a.of is b.of and a.most == b.most
            return attrs.evolve(a, member=word) if fits and isinstance(word, WordType) else None
        case TupleType(), TupleType():
            items = _joined_parts(a.items, b.items)
            return None if items is None else TupleType(items)
        case RecordType(), RecordType():
            parts = _joined_parts(list(a.fields.values()), list(b.fields.values()))
            same = a.of is b.of and parts is not None
            return RecordType(a.of, dict(zip(a.fields, parts or (), strict=True))) if same else None
    return a if a == b else None


def _joined_parts(a: Sequence[Type], b: Sequence[Type]) -> tuple[Type, ...] | None:
    """The types of parts that stand at the same places; None where some pair has none, or there are more of one."""
    if len(a) != len(b):
        return None
    parts = [joined(x, y) for x, y in zip(a, b, strict=True)]
    return None if None in parts else tuple(part for part in parts if part is not None)


def item_type(row: TupleType) -> Type | None:
    """The type of whatever stands at a place that is not known; None where the places have too different ones."""
    result: Type | None = row.items[0]
    for item in row.items[1:]:
        result = None if result is None else joined(result, item)
    return result


MAX_COST = 20_000  # operations of an expression, with each `for` written out


@frozen
class CheckedValue:
    """The value of a part.

    Attributes:
        defined: whether it can be evaluated; elsewhere the value has the right shape and no meaning.
        value: a word, a truth, a collection, a tuple or a record.
    """

    defined: Truth
    value: Any


Names: TypeAlias = Mapping[str, Any]
"""What each name of an expression stands for: the fields of the state, and the variables of `for`."""

Evaluate: TypeAlias = Callable[[Names], CheckedValue]


@frozen
class Typed:
    """A checked part of an expression."""

    type: Type  # what its value is
    evaluate: Evaluate  # computes it
    total: bool = True  # whether it can be evaluated in every state
    cost: int = 1  # how many operations that takes


def strict(type_: Type, operate: Callable[..., Any], *operands: Typed) -> Typed:
    """An operation that evaluates all its operands."""

    def evaluate(names: Names) -> CheckedValue:
        results = [operand.evaluate(names) for operand in operands]
        return CheckedValue(all_of(*(r.defined for r in results)), operate(*(r.value for r in results)))

    return Typed(type_, evaluate, all(o.total for o in operands), 1 + sum(o.cost for o in operands))


def both(a: CheckedValue, b: CheckedValue) -> CheckedValue:
    """`a and b`: b is not evaluated where a is false."""
    return CheckedValue(all_of(a.defined, implies(a.value, b.defined)), all_of(a.value, b.value))


def either(a: CheckedValue, b: CheckedValue) -> CheckedValue:
    """`a or b`: b is not evaluated where a is true."""
    return CheckedValue(all_of(a.defined, any_of(a.value, b.defined)), any_of(a.value, b.value))


def implied(a: CheckedValue, b: CheckedValue) -> CheckedValue:
    """`implies(a, b)`: b is not evaluated where a is false."""
    return CheckedValue(all_of(a.defined, implies(a.value, b.defined)), implies(a.value, b.value))


def lazily(join: Callable[[CheckedValue, CheckedValue], CheckedValue], *operands: Typed) -> Typed:
    """A connective of truths that evaluates its operands from the left, as far as they decide."""

    def evaluate(names: Names) -> CheckedValue:
        first, *rest = (operand.evaluate(names) for operand in operands)
        for result in rest:
            first = join(first, result)
        return first

    return Typed(TRUTH, evaluate, all(o.total for o in operands), 1 + sum(o.cost for o in operands))


def negated(operand: Typed) -> Typed:
    """`not a`."""
    return strict(TRUTH, negate, operand)


MAX_LENGTH = 1000  # characters of an expression
MAX_DEPTH = 40  # levels of nesting of an expression

_MEND = "write comparisons of fields, such as 'leader in isr and leader not in fenced'"


class ExpressionError(ValueError):
    """An expression that cannot be read, or does not fit the state; the message begins with the column."""


class Source:
    """The text of an expression, and its syntax tree.

    Raises:
        ExpressionError: where it is no expression, too long or nested too deeply.
    """

    text: str  # the text without blanks around it
    tree: ast.expr  # the syntax tree

    def __init__(self, text: str) -> None:
        self.text = text.strip()
        self._check_text()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", SyntaxWarning)  # as of `2in isr`, which a later Python refuses
                self.tree = ast.parse(self.text, mode="eval").body
        except SyntaxError as error:
            ends = not error.offset  # Python gives no column where there is nothing more to read
            column, message = (len(self.text) + 1, "something is missing") if ends else (error.offset, error.msg)
            mend = "write == to compare" if re.search(r"(?<![=<>!])=(?!=)", self.text) else _MEND
            raise ExpressionError(f"column {column}: {message}; {mend}") from None
        except (RecursionError, MemoryError):
            raise ExpressionError("column 1: the expression is nested too deeply") from None
        self._check_depth()

    def _check_text(self) -> None:
        if not self.text:
            raise ExpressionError("column 1: the expression is empty")
        if len(self.text) > MAX_LENGTH:
            raise ExpressionError(f"column {MAX_LENGTH + 1}: the expression is longer than {MAX_LENGTH} characters")
        for column, character in enumerate(self.text, start=1):
            if not character.isprintable():
                raise ExpressionError(f"column {column}: an expression is one line of printable characters")
            if character in "'\"\\#":
                raise ExpressionError(f"column {column}: expressions have no text and no comments; {_MEND}")

    def _check_depth(self) -> None:
        level: list[ast.AST] = [self.tree]
        depth = 0
        while level:
            if depth == MAX_DEPTH:
                raise self.error(level[0], f"the expression is nested more than {MAX_DEPTH} levels deep")
            level = [child for node in level for child in ast.iter_child_nodes(node)]
            depth += 1

    def segment(self, node: ast.AST) -> str:
        """The text that a part of the tree was read from."""
        return ast.get_source_segment(self.text, node) or self.text

    def error(self, node: ast.AST, message: str) -> ExpressionError:
        """The error to raise about a part of the tree."""
        before = self.text.encode()[: getattr(node, "col_offset", 0)].decode()
        return ExpressionError(f"column {len(before) + 1}: {message}")


MAX_NUMBER = 1 << 61  # numbers of an expression stay below this, so that every engine can hold them
NONE = "none"  # how an expression writes that there is no leader, as traces do

Kind = TypeVar("Kind")

Rules: TypeAlias = Mapping[type[ast.AST], Callable[..., Typed]]


@frozen
class Checker:
    """Checks the parts of one expression."""

    source: Source  # the expression
    rules: Rules  # how each form of Python's syntax tree is checked
    names: Mapping[str, Type]  # the type of each name: the fields, and the variables of `for` around a part
    listing: str = ""  # the command that shows the fields, for suggestions

    def check(self, node: ast.expr) -> Typed:
        """The checked part; raises ExpressionError where it is not of the language, or its types do not fit."""
        if type(node) not in self.rules:
            form = type(node).__name__
            raise self.error(node, f"expressions have no such form as `{self.text(node)}` (Python's {form})")
        typed = self.rules[type(node)](self, node)
        if typed.cost > MAX_COST:
            raise self.error(node, f"this takes more than {MAX_COST:,} operations once each `for` is written out")
        largest = max(-typed.type.lo, typed.type.hi) if isinstance(typed.type, WordType) else 0
        if MAX_NUMBER <= largest < UNBOUNDED // 2:  # a number without bound is the provers', which hold any
            raise self.error(node, "this number may be too large for the engines")
        return typed

    def check_as(self, node: ast.expr, kind: type[Kind], what: str) -> tuple[Typed, Kind]:
        """A checked part whose type has to be of a kind; a record of one field stands for that field."""
        typed = plain(self.check(node))
        if not isinstance(typed.type, kind):
            raise self.error(node, f"{self.text(node)} is {typed.type}, not {what}")
        return typed, typed.type

    def truth(self, node: ast.expr) -> Typed:
        """A checked part that has to be a truth."""
        return self.check_as(node, type(TRUTH), "a truth")[0]

    def word(self, node: ast.expr) -> tuple[Typed, WordType]:
        """A checked part that has to be a number."""
        return self.check_as(node, WordType, "a number")

    def within(self, name: str, type_: Type) -> Checker:
        """The checker for what is below a `for`."""
        return evolve(self, names={**self.names, name: type_})

    def text(self, node: ast.AST) -> str:
        """The text of a part, for messages."""
        text = self.source.segment(node)
        return text if len(text) <= 40 else f"{text[:37]}..."

    def error(self, node: ast.AST, message: str) -> ExpressionError:
        """The error to raise about a part."""
        return self.source.error(node, message)


def plain(typed: Typed) -> Typed:
    """A part as operations take it: a record of one field stands for that field, as it does in layouts and traces."""
    while isinstance(typed.type, RecordType) and len(typed.type.fields) == 1:
        typed = field_of(typed, next(iter(typed.type.fields)))
    return typed


def field_of(record: Typed, name: str) -> Typed:
    """A field of a record."""
    assert isinstance(record.type, RecordType)

    def evaluate(names: Names) -> CheckedValue:
        whole = record.evaluate(names)
        return CheckedValue(whole.defined, getattr(whole.value, name))

    return Typed(record.type.fields[name], evaluate, record.total, record.cost + 1)


def constant(type_: Type, value: Any) -> Typed:
    """A value that depends on no state."""
    return Typed(type_, lambda names: CheckedValue(True, value))


def _constant(checker: Checker, node: ast.Constant) -> Typed:
    if isinstance(node.value, bool):
        return constant(TRUTH, node.value)
    if node.value is None:
        return constant(WordType(NO_LEADER, NO_LEADER), NO_LEADER)
    if isinstance(node.value, int):
        return constant(WordType(node.value, node.value), node.value)
    raise checker.error(node, f"{checker.text(node)} is neither a whole number nor True, False or {NONE}")


def _name(checker: Checker, node: ast.Name) -> Typed:
    name = node.id
    if name in checker.names:
        return Typed(checker.names[name], lambda names: CheckedValue(True, names[name]))
    if name == NONE:
        return constant(WordType(NO_LEADER, NO_LEADER), NO_LEADER)
    raise checker.error(node, f"no field {name}; {nearest(name, checker.names, checker.listing)}")


def _attribute(checker: Checker, node: ast.Attribute) -> Typed:
    whole = checker.check(node.value)
    while isinstance(whole.type, RecordType):
        if node.attr in whole.type.fields:
            return field_of(whole, node.attr)
        if len(whole.type.fields) > 1:
            near = nearest(node.attr, whole.type.fields)
            raise checker.error(node, f"{checker.text(node.value)} has no field {node.attr}; {near}")
        whole = plain(whole)
    text = checker.text(node.value)
    mend = f", write size({text})" if node.attr == "size" else ""
    raise checker.error(node, f"{text} is {whole.type}; it has no field {node.attr}{mend}")


def _conditional(checker: Checker, node: ast.IfExp) -> Typed:
    condition = checker.truth(node.test)
    then, otherwise = plain(checker.check(node.body)), plain(checker.check(node.orelse))
    type_ = joined(then.type, otherwise.type)
    if type_ is None:
        parts = f"{checker.text(node.body)} is {then.type} and {checker.text(node.orelse)} {otherwise.type}"
        raise checker.error(node, f"`if` chooses between two values of one kind: {parts}")

    def evaluate(names: Names) -> CheckedValue:
        c, a, b = condition.evaluate(names), then.evaluate(names), otherwise.evaluate(names)
        defined = all_of(c.defined, choose(c.value, a.defined, b.defined))
        return CheckedValue(defined, choose(c.value, a.value, b.value))

    parts_ = (condition, then, otherwise)
    return Typed(type_, evaluate, all(part.total for part in parts_), 1 + sum(part.cost for part in parts_))


FORMS: Rules = {ast.Constant: _constant, ast.Name: _name, ast.Attribute: _attribute, ast.IfExp: _conditional}
"""The forms that this module checks."""
