"""Checked parts of an expression: a type, and how the value is computed from a state of ints or of terms.

A place of a list may not be there: `replicas[1]` of a list of one. A value therefore comes with the truth that it
can be evaluated, which is passed on by the rules of Python: from left to right, and no further than needed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from attrs import frozen

from kraftcheck.model.language.terms import Truth
from kraftcheck.model.language.words import all_of, any_of, implies, negate
from kraftcheck.solvers.expressions.types import TRUTH, Type

MAX_COST = 20_000
"""Operations of an expression, with each `for` written out."""


@frozen
class Result:
    """The value of a part.

    Attributes:
        defined: whether it can be evaluated; elsewhere the value has the right shape and no meaning.
        value: a word, a truth, a collection, a tuple or a record.
    """

    defined: Truth
    value: Any


Names: TypeAlias = Mapping[str, Any]
"""What each name of an expression stands for: the fields of the state, and the variables of `for`."""

Evaluate: TypeAlias = Callable[[Names], Result]


@frozen
class Typed:
    """A checked part of an expression.

    Attributes:
        type: what its value is.
        evaluate: computes it.
        total: whether it can be evaluated in every state.
        cost: how many operations that takes.
    """

    type: Type
    evaluate: Evaluate
    total: bool = True
    cost: int = 1


def strict(type_: Type, operate: Callable[..., Any], *operands: Typed) -> Typed:
    """An operation that evaluates all its operands."""

    def evaluate(names: Names) -> Result:
        results = [operand.evaluate(names) for operand in operands]
        return Result(all_of(*(r.defined for r in results)), operate(*(r.value for r in results)))

    return Typed(type_, evaluate, all(o.total for o in operands), 1 + sum(o.cost for o in operands))


def both(a: Result, b: Result) -> Result:
    """`a and b`: b is not evaluated where a is false."""
    return Result(all_of(a.defined, implies(a.value, b.defined)), all_of(a.value, b.value))


def either(a: Result, b: Result) -> Result:
    """`a or b`: b is not evaluated where a is true."""
    return Result(all_of(a.defined, any_of(a.value, b.defined)), any_of(a.value, b.value))


def implied(a: Result, b: Result) -> Result:
    """`implies(a, b)`: b is not evaluated where a is false."""
    return Result(all_of(a.defined, implies(a.value, b.defined)), implies(a.value, b.value))


def lazily(join: Callable[[Result, Result], Result], *operands: Typed) -> Typed:
    """A connective of truths that evaluates its operands from the left, as far as they decide."""

    def evaluate(names: Names) -> Result:
        first, *rest = (operand.evaluate(names) for operand in operands)
        for result in rest:
            first = join(first, result)
        return first

    return Typed(TRUTH, evaluate, all(o.total for o in operands), 1 + sum(o.cost for o in operands))


def negated(operand: Typed) -> Typed:
    """`not a`."""
    return strict(TRUTH, negate, operand)
