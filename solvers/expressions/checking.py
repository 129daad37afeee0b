"""Checking an expression against the layout: each part gets a type, or the expression is refused at its column."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, TypeVar

from attrs import evolve, frozen

from kraftcheck.model.language.layout import UNBOUNDED
from kraftcheck.model.language.words import NO_LEADER, all_of, choose
from kraftcheck.model.nearest import nearest
from kraftcheck.solvers.expressions.source import ExpressionError, Source
from kraftcheck.solvers.expressions.typed import MAX_COST, Names, Result, Typed
from kraftcheck.solvers.expressions.types import TRUTH, RecordType, Type, WordType, joined

MAX_NUMBER = 1 << 61
"""Numbers of an expression stay below this, so that every engine can hold them."""

NONE = "none"
"""How an expression writes that there is no leader, as traces do."""

Kind = TypeVar("Kind")

Rules: TypeAlias = Mapping[type[ast.AST], Callable[..., Typed]]


@frozen
class Checker:
    """Checks the parts of one expression.

    Attributes:
        source: the expression.
        rules: how each form of Python's syntax tree is checked.
        names: the type of each name: the fields, and the variables of `for` around a part.
        listing: the command that shows the fields, for suggestions.
    """

    source: Source
    rules: Rules
    names: Mapping[str, Type]
    listing: str = ""

    def check(self, node: ast.expr) -> Typed:
        """The checked part.

        Raises:
            ExpressionError: where it is not of the language, or its types do not fit.
        """
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

    def evaluate(names: Names) -> Result:
        whole = record.evaluate(names)
        return Result(whole.defined, getattr(whole.value, name))

    return Typed(record.type.fields[name], evaluate, record.total, record.cost + 1)


def constant(type_: Type, value: Any) -> Typed:
    """A value that depends on no state."""
    return Typed(type_, lambda names: Result(True, value))


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
        return Typed(checker.names[name], lambda names: Result(True, names[name]))
    if name == NONE:
        return constant(WordType(NO_LEADER, NO_LEADER), NO_LEADER)
    raise checker.error(node, f"no field {name}; {nearest(name, checker.names, checker.listing)}")


def _attribute(checker: Checker, node: ast.Attribute) -> Typed:
    whole = checker.check(node.value)
    while isinstance(whole.type, RecordType):
        if node.attr in whole.type.fields:
            return field_of(whole, node.attr)
        if len(whole.type.fields) > 1:
            near = nearest(node.attr, whole.type.fields, "")
            raise checker.error(node, f"{checker.text(node.value)} has no field {node.attr}; {near}")
        whole = plain(whole)
    raise checker.error(node, f"{checker.text(node.value)} is {whole.type}; it has no field {node.attr}")


def _conditional(checker: Checker, node: ast.IfExp) -> Typed:
    condition = checker.truth(node.test)
    then, otherwise = plain(checker.check(node.body)), plain(checker.check(node.orelse))
    type_ = joined(then.type, otherwise.type)
    if type_ is None:
        parts = f"{checker.text(node.body)} is {then.type} and {checker.text(node.orelse)} {otherwise.type}"
        raise checker.error(node, f"`if` chooses between two values of one kind: {parts}")

    def evaluate(names: Names) -> Result:
        c, a, b = condition.evaluate(names), then.evaluate(names), otherwise.evaluate(names)
        defined = all_of(c.defined, choose(c.value, a.defined, b.defined))
        return Result(defined, choose(c.value, a.value, b.value))

    parts_ = (condition, then, otherwise)
    return Typed(type_, evaluate, all(part.total for part in parts_), 1 + sum(part.cost for part in parts_))


FORMS: Rules = {
    ast.Constant: _constant, ast.Name: _name, ast.Attribute: _attribute, ast.IfExp: _conditional
}  # fmt: skip
"""The forms that this module checks."""
