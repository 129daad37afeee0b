"""The properties that a command adds to a system by expressions: `--invariant`, `--when` and `--find`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import evolve, frozen

from kraftcheck.model.language.system import Property, System
from kraftcheck.solvers.expressions.expression import Expression, excluded, expression, goal, invariant
from kraftcheck.solvers.expressions.source import ExpressionError

INVARIANT, WHEN, FIND = "invariant", "when", "find"
"""Names of the options, as trace documents record them."""


@frozen
class Expressions:
    """The expressions of a command line.

    Attributes:
        invariants: each has to hold in every reachable state; with `when`, in those that satisfy that.
        when: the states that the invariants are about; empty: all of them.
        find: the state to look for; empty: none.
        names: ids of the invariants, in their order; empty: their texts are.
    """

    invariants: tuple[str, ...] = ()
    when: str = ""
    find: str = ""
    names: tuple[str, ...] = ()

    @classmethod
    def of_options(cls, options: Mapping[str, str]) -> Expressions:
        """The expressions of one property, as `Property.options` has them."""
        claim = options.get(INVARIANT)
        return cls(() if claim is None else (claim,), options.get(WHEN, ""), options.get(FIND, ""))

    def properties(self, shape: Any, listing: str = "") -> tuple[Property, ...]:
        """The properties of the expressions, for states of a layout.

        Args:
            shape: the layout.
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
