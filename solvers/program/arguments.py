"""The arguments of actions as terms: a table of instances for explorers, free variables for provers."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from attrs import field, frozen

from kraftcheck.model.language import sequences
from kraftcheck.model.language.anynumber.family import Family
from kraftcheck.model.language.collections.names import clash, class_of, variable
from kraftcheck.model.language.layout import leaves, rebuild
from kraftcheck.model.language.symbolic import described
from kraftcheck.model.language.system import Action
from kraftcheck.model.language.terms import Graph, Term, Truth
from kraftcheck.model.language.words import all_of, any_of
from kraftcheck.solvers.program.symbols import symbol


class SystemFault(ValueError):
    """A system that raises, or answers with the wrong type; the message names the part."""


@frozen
class Choices:
    """The arguments of one action kind.

    Attributes:
        arguments: by name, records of terms.
        variables: their leaves.
        instances: argument values by name, one mapping for each instance; none when free.
        table: for each instance, the value of each leaf.
        allowed: for each parameter the truth that its argument is one of its values; none when listed.
    """

    arguments: Mapping[str, Any]
    variables: tuple[Term, ...]
    instances: tuple[Mapping[str, Any], ...] = ()
    table: tuple[tuple[int, ...], ...] = ()
    allowed: Mapping[str, Term] = field(factory=dict)


def listed_arguments(action: Action, graph: Graph) -> Choices:
    """The arguments over the table of all instances.

    Raises:
        SystemFault: when values are no words, or differ in shape.
    """
    names = list(_checked(action))
    rows = [dict(zip(names, row, strict=True)) for row in itertools.product(*action.parameters.values())]
    table = tuple(tuple(_leaf(action, path, v) for path, v in leaves(tuple(row.values()))) for row in rows)
    if not rows:
        return Choices({}, ())
    paths = [path for name, value in rows[0].items() for path, _ in leaves(value, name)]
    if any(len(row) != len(paths) for row in table):
        raise SystemFault(f"action {action.name}: argument values differ in shape")
    columns = list(zip(*table, strict=True)) if paths else []
    variables = tuple(_variable(graph, action, path, column) for path, column in zip(paths, columns, strict=True))
    feed = iter(variables)
    arguments = {name: rebuild(value, lambda: next(feed)) for name, value in rows[0].items()}
    return Choices(arguments, variables, tuple(rows), tuple(tuple(map(_plain, row)) for row in table))


def free_arguments(action: Action, graph: Graph) -> Choices:
    """The arguments as terms that stand for any of their values.

    Raises:
        SystemFault: when values are no words, or differ in shape.
    """
    arguments, variables, allowed = {}, list[Term](), {}
    for name, values in _checked(action).items():
        if isinstance(values, Family):
            symbols = [symbol(graph, f"{action.name}.{path}", d) for path, d in leaves(values.shape, name)]
            shape: Any = values.shape
        else:
            rows = [[_leaf(action, path, v) for path, v in leaves(value, name)] for value in values]
            if not rows:
                return Choices({}, (), allowed={name: graph.constant(False)})
            if any(len(row) != len(rows[0]) for row in rows):
                raise SystemFault(f"action {action.name}: argument values differ in shape")
            shape = values[0]
            paths = [path for path, _ in leaves(shape, name)]
            symbols = [_variable(graph, action, p, c) for p, c in zip(paths, zip(*rows, strict=True), strict=True)]
        feed = iter(symbols)
        arguments[name] = rebuild(shape, lambda feed=feed: next(feed))  # type: ignore[misc]
        variables += map(sequences.symbol_of, symbols)
        member = values.member(arguments[name]) if isinstance(values, Family) else _one_of(rows, symbols)
        allowed[name] = graph.lift(member)
    return Choices(arguments, tuple(variables), allowed=allowed)


def _checked(action: Action) -> Mapping[str, Sequence[Any]]:
    """The values of each parameter.

    Raises:
        SystemFault: when one of them has no values to go through.
    """
    for name, values in action.parameters.items():
        if not isinstance(values, Iterable | Family):
            raise SystemFault(f"action {action.name}: the values of {name} are {described(values)}, no range or list")
    return action.parameters


def _one_of(rows: Sequence[Sequence[int]], variables: Sequence[Term]) -> Truth:
    """The truth that the variables are one of the rows; their intervals already hold."""
    if len(variables) == 1:
        values, only = {int(row[0]) for row in rows}, variables[0]
        if len(values) == only.hi - only.lo + 1:
            return True
    return any_of(*(all_of(*(v == x for v, x in zip(variables, row, strict=True))) for row in rows))


def _leaf(action: Action, path: str, value: Any) -> int:
    if not isinstance(value, int):
        what = f"action {action.name}, parameter {path}"
        raise SystemFault(f"{what} ranges over {described(value)}; use words, truths or records of them")
    return value


def _plain(value: int) -> int:
    """A truth or a number; the text of a member of an Enum would be its name."""
    return value if isinstance(value, bool) else int(value)


def _variable(graph: Graph, action: Action, path: str, column: Sequence[int]) -> Term:
    name = f"{action.name}.{path}"
    if len({isinstance(value, bool) for value in column}) > 1:
        raise SystemFault(f"action {action.name}, parameter {path} ranges over truths and numbers; use one of them")
    if isinstance(column[0], bool):
        return graph.truth_variable(name)
    enums = {class_of(value) for value in column}
    if len(enums - {None}) > 1:
        raise SystemFault(f"action {action.name}, parameter {path}: {clash(*sorted(enums - {None}, key=str))}")
    numbers = list(map(int, column))
    word: Term = variable(graph, name, min(numbers), max(numbers), enums.pop() if len(enums) == 1 else None)
    return word
