"""Expressions as properties: what `--invariant`, `--find` and `--when` give is judged like any other property."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Any

from attrs import evolve, frozen

from kraftcheck.model.language.system import Conjuncts, Property, System
from kraftcheck.model.language.terms import Truth
from kraftcheck.model.language.words import all_of, implies, negate
from kraftcheck.solvers.expressions import checking, operators, places
from kraftcheck.solvers.expressions.checking import (
    Checker,
    ExpressionError,
    Names,
    RecordType,
    Source,
    Type,
    Typed,
    type_of,
)

STATE = "state"  # the name of a state that is no record
IN_RANGE = "every place that it reads is there"  # the conjunct of an expression that cannot be evaluated in every state

FORMS = {**checking.FORMS, **operators.FORMS, **places.FORMS}
"""Every form of Python's syntax that an expression may have; nothing else is read."""


@frozen
class Expression:
    """A truth about a state, checked against a layout."""

    text: str  # as it was written, blanks around it dropped
    parts: tuple[tuple[str, Typed], ...]  # the conjuncts that `and` joins at its top, by their text
    whole: Typed  # the whole of it
    fields: tuple[str, ...]  # the fields of a state; none where it is no record

    def conjuncts(self, state: Any) -> dict[str, Truth]:
        """The named conjuncts; one of them is false where the expression is false or cannot be evaluated."""
        names = self._names(state)
        if self.whole.total:
            return {name: part.evaluate(names).value for name, part in self.parts}
        result = self.whole.evaluate(names)
        return {self.text: implies(result.defined, result.value), IN_RANGE: result.defined}

    def truth(self, state: Any) -> Truth:
        """Whether it can be evaluated and is true."""
        return all_of(*self.conjuncts(state).values())

    def _names(self, state: Any) -> Names:
        return {name: getattr(state, name) for name in self.fields} if self.fields else {STATE: state}


def expression(text: str, shape: Any, listing: str = "") -> Expression:
    """The checked expression.

    Args:
        shape: the layout of the states, as `System.layout` gives it.
        listing: the command that shows the fields, for suggestions.

    Raises:
        ExpressionError: naming the column of what is not of the language, or does not fit the layout.

    >>> from kraftcheck.model.language.brokersets import BrokerSet
    >>> from kraftcheck.model.language.layout import subset_of
    >>> small = expression("size(state) < 2", BrokerSet(subset_of(3)))
    >>> small.truth(BrokerSet.of([1])), small.truth(BrokerSet.of([0, 2]))
    (True, False)
    """
    source = Source(text)
    top = type_of(shape)
    fields: Mapping[str, Type] = top.fields if isinstance(top, RecordType) else {}
    checker = Checker(source, FORMS, fields or {STATE: top}, listing)
    whole = checker.truth(source.tree)
    joined = isinstance(source.tree, ast.BoolOp) and isinstance(source.tree.op, ast.And)
    parts = source.tree.values if joined and isinstance(source.tree, ast.BoolOp) else [source.tree]
    conjuncts = tuple((source.segment(part), checker.truth(part)) for part in parts)
    return Expression(source.text, conjuncts, whole, tuple(fields))


def invariant(claim: Expression, when: Expression | None = None) -> Property:
    """The invariant that an expression holds in every state; with `when`, in every state that satisfies that.

    The goal that a state satisfies `when` is the case of the invariant; it has to be judged beside it.
    """
    options = {"invariant": claim.text}
    if when is None:
        return Property(claim.text, "always", "the expression is true in every state", claim.conjuncts, options=options)
    text, sentence = f"{claim.text} when {when.text}", "the first is true in every state that satisfies the second"
    options["when"] = when.text
    return Property(text, "always", sentence, _conditional(claim, when), case=when.text, options=options)


def _conditional(claim: Expression, when: Expression) -> Callable[[Any], Conjuncts]:
    """The conjuncts of a claim that is about some states only; where `when` cannot be evaluated, that is a fault."""

    def conjuncts(state: Any) -> dict[str, Truth]:
        condition = when.conjuncts(state)
        in_range = condition.pop(IN_RANGE, True)
        concerned = all_of(in_range, *condition.values())
        parts = {name: implies(concerned, part) for name, part in claim.conjuncts(state).items()}
        return parts if when.whole.total else {**parts, f"{IN_RANGE} ({when.text})": in_range}

    return conjuncts


def goal(wanted: Expression, options: Mapping[str, str]) -> Property:
    """The goal that some reachable state satisfies an expression; `options` as in `Property`."""
    return Property(wanted.text, "sometimes", "some state satisfies the expression", wanted.conjuncts, options=options)


def excluded(wanted: Expression) -> Property:
    """The invariant that no state satisfies an expression."""
    sentence, options = "no state satisfies the expression", {"find": wanted.text}
    return Property(wanted.text, "always", sentence, lambda state: negate(wanted.truth(state)), options=options)


INVARIANT, WHEN, FIND = "invariant", "when", "find"  # names of the options, as trace documents record them


@frozen
class Expressions:
    """The expressions of a command line."""

    # each has to hold in every reachable state; with `when`, in those that satisfy that
    invariants: tuple[str, ...] = ()
    when: str = ""  # the states that the invariants are about; empty: all of them
    find: str = ""  # the state to look for; empty: none
    names: tuple[str, ...] = ()  # ids of the invariants, in their order; empty: their texts are

    @classmethod
    def of_options(cls, options: Mapping[str, str]) -> Expressions:
        """The expressions of one property, as `Property.options` has them."""
        claim = options.get(INVARIANT)
        return cls(() if claim is None else (claim,), options.get(WHEN, ""), options.get(FIND, ""))

    def properties(self, shape: Any, listing: str = "") -> tuple[Property, ...]:
        """The properties of the expressions, for states of a layout.

        Args:
            listing: the command that shows the fields, for suggestions.

        Raises:
            ExpressionError: naming the option and the column.
        """
        when = _checked(WHEN, self.when, shape, listing) if self.when else None
        wanted = _checked(FIND, self.find, shape, listing) if self.find else None
        claims = [invariant(_checked(INVARIANT, text, shape, listing), when) for text in self.invariants]
        if self.names:
            claims = [evolve(claim, id=name) for claim, name in zip(claims, self.names, strict=True)]
        goals = [goal(one, {name: one.text}) for name, one in ((WHEN, when), (FIND, wanted)) if one is not None]
        return tuple({claim.id: claim for claim in (*claims, *goals)}.values())


NO_EXPRESSIONS = Expressions()


def typed_id(claim: Property) -> str:
    """The id that the command line gives a property: a name is for Python only, where an expression may have one."""
    text, when = claim.options.get(INVARIANT), claim.options.get(WHEN)
    return claim.id if text is None else f"{text} when {when}" if when else text


def _checked(option: str, text: str, shape: Any, listing: str) -> Expression:
    try:
        return expression(text, shape, listing)
    except ExpressionError as error:
        raise ExpressionError(f"--{option}: {error}") from error


def search_for(system: System, text: str, shape: Any, listing: str = "") -> System:
    """The system whose only property is that no state satisfies an expression: its counterexample is the way to one.

    No state is a deadlock there, so nothing else ends a search that stops at the first violation.
    Raises as `Expressions.properties` does.
    """
    claim = excluded(_checked(FIND, text, shape, listing))
    return evolve(system, properties=lambda _: (claim,), quiescent=lambda state: True)
