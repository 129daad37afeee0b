"""Expressions on the command line: the options, and the properties that they add to a system."""

from __future__ import annotations

import functools
import shlex
from collections.abc import Callable, Sequence
from typing import Any

import click

from kraftcheck.ci.systems.lookup import properties_of
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.language.layout import LayoutError
from kraftcheck.model.language.system import Property, Setting, System
from kraftcheck.solvers.expressions.added import Expressions
from kraftcheck.solvers.expressions.source import ExpressionError
from kraftcheck.solvers.program.arguments import SystemFault
from kraftcheck.solvers.program.parts import ask

invariant_option = click.option(
    "--invariant", "invariants", multiple=True, metavar="EXPR",
    help="Add an invariant over the fields of the state, such as 'leader in isr'; repeatable.",
)  # fmt: skip

when_option = click.option(
    "--when", metavar="EXPR", help="Each --invariant has to hold only in states that satisfy this."
)

find_option = click.option(
    "--find", metavar="EXPR", help="Judge nothing: search the shortest way to a state that satisfies this."
)


def expression_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds --invariant and --when to a command, which gets them as one argument `expressions`."""

    @functools.wraps(command)
    def packed(*args: Any, invariants: tuple[str, ...], when: str | None, **values: Any) -> Any:
        if when is not None and not invariants:
            raise Refusal("--when says where an --invariant has to hold; give one (or write --find 'P and Q')")
        return command(*args, expressions=Expressions(invariants, when or ""), **values)

    return invariant_option(when_option(packed))


def expression_properties(
    name: str, system: System, setting: Setting, expressions: Expressions
) -> tuple[Property, ...]:  # fmt: skip
    """The properties that expressions add to a system.

    Raises:
        Refusal: for an expression that does not fit the state, or is the id of a property.
    """
    if expressions == Expressions():
        return ()
    try:
        shape = ask("layout", lambda: system.layout(setting))
        added = expressions.properties(shape, f"kraftcheck step {shlex.quote(name)}")
    except (ExpressionError, SystemFault, LayoutError) as error:
        raise Refusal(f"{name}: {error}") from error
    own = {claim.id for claim in properties_of(name, system, setting)}
    for claim in added:
        if claim.id in own:
            raise Refusal(f"{name} has a property {claim.id!r} already; put the expression in parentheses")
    return added


def judged(
    claims: Sequence[Property], added: Sequence[Property], ids: Sequence[str]
) -> tuple[Property, ...]:  # fmt: skip
    """The properties to judge of those of a system and those that are added.

    Args:
        claims, added: all there are.
        ids: those that --property names; none: all. What is added is judged in any case, unless it is named too.
    """
    known = {claim.id: claim for claim in (*claims, *added)}
    if not ids:
        return tuple(known.values())
    wanted = [id_ for id_ in with_added(ids, [claim.id for claim in added]) if id_ in known]
    cases = [known[id_].case for id_ in wanted if known[id_].case]
    return tuple(known[id_] for id_ in dict.fromkeys([*wanted, *cases]))


def with_added(ids: Sequence[str], added: Sequence[str]) -> tuple[str, ...]:
    """The ids that --property names, and those that are added, unless it names some of these or nothing at all."""
    return tuple(ids) if not ids or set(ids) & set(added) else (*ids, *added)
