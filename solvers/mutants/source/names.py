"""Operator mutants by name, and one of them put into the running rules.

A name is `MODULE:FUNCTION:OPERATOR:NUMBER`; the module is written from `kraftcheck.model` on, and numbers count what
the operator finds in the function, in the order of its text.
"""

from __future__ import annotations

import ast
import functools
import importlib
import pkgutil
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import CodeType

from attrs import frozen

from kraftcheck import model
from kraftcheck.model.language.words import rules_of
from kraftcheck.solvers.mutants.source.operators import OPERATORS, described
from kraftcheck.solvers.mutants.source.trees import (
    Place,
    codes_of,
    expression_at,
    expressions,
    functions_of,
    owners,
    parsed,
    put,
    replaced,
)

ROOT = "kraftcheck.model."
_NO_RULES = ("kraftcheck.model.language", "kraftcheck.model.rules")
"""The words that rules are written with, and the choices between rules."""

_ON_INTS = "kraftcheck.model.controller."
"""The controller in full, which no system explores: there an `if` decides about what is asked, and not about rules."""


_RUNNING = threading.Lock()
"""Held by whoever has a mutant put into the running rules."""


class StaleMutantError(LookupError):
    """A name that is no mutant of the rules as they are written now."""


@frozen
class SourceMutant:
    """One change of one expression.

    Attributes:
        module, function: the rule, a function or a method; a function below it belongs to it.
        operator: which operator made it.
        index: its number among those of the operator in the function, from 1.
        line: the line of the expression.
        before, after: the expression as it is written, and as it becomes.
        rules: ids of the rules that are noted on the function.
        place: where the expression is.
        choice: which of the operator's changes of that expression it is.
    """

    module: str
    function: str
    operator: str
    index: int
    line: int
    before: str
    after: str
    rules: tuple[str, ...]
    place: Place
    choice: int

    @property
    def name(self) -> str:
        """The name, as the command line takes it."""
        return f"{self.module.removeprefix(ROOT)}:{self.function}:{self.operator}:{self.index}"


def source_mutants(leave: Iterable[str] = (), modules: Iterable[str] | None = None) -> tuple[SourceMutant, ...]:
    """The mutants of the rules, by module and text.

    Args:
        leave: modules, or `module:function`, to leave as they are, with everything below them.
        modules: the modules to change; None: those of the model.
    """
    left = frozenset(leave)
    names = _rule_modules() if modules is None else list(modules)
    return tuple(one for name in names if name not in left for one in _of_module(name) if not _is_left(one, left))


def source_mutant(name: str) -> SourceMutant:
    """The mutant of a name.

    Raises:
        StaleMutantError: for a name that no mutant has.
    """
    module = name.partition(":")[0]
    for full in (module, ROOT + module):
        if full in _rule_modules() or full in sys.modules:
            for mutant in _of_module(full):
                if mutant.name == name:
                    return mutant
    raise StaleMutantError(f"no mutant {name!r}; a name is MODULE:FUNCTION:OPERATOR:NUMBER, as the table has it")


def of_rule(rule: str, leave: Iterable[str] = ()) -> tuple[SourceMutant, ...]:
    """The mutants of the functions that state a rule, by its id."""
    return tuple(mutant for mutant in source_mutants(leave) if rule in mutant.rules)


@contextmanager
def applied(mutant: SourceMutant) -> Iterator[None]:
    """The rules with a mutant, for whatever is asked meanwhile, on ints or terms; another thread waits with its own.

    Programs that were traced before keep the rules that they were traced with.
    """
    with _RUNNING, replaced(mutant.module, _changed(mutant)):
        yield


def _changed(mutant: SourceMutant) -> dict[str, CodeType]:
    """The code of a mutant's module."""
    tree = parsed(mutant.module)
    holder, field, position, node, around = expression_at(tree, mutant.place)
    changed = list(OPERATORS[mutant.operator](node, around))[mutant.choice]
    put(holder, field, position, ast.fix_missing_locations(changed))
    try:
        return codes_of(mutant.module, tree)
    finally:
        put(holder, field, position, node)


@functools.cache
def _rule_modules() -> tuple[str, ...]:
    """The modules of the model that state rules, imported, in order."""
    names = [one.name for one in pkgutil.walk_packages(model.__path__, ROOT) if not one.ispkg]
    rules = sorted(name for name in names if not any(name.startswith(f"{part}.") for part in _NO_RULES))
    for name in rules:
        importlib.import_module(name)
    return tuple(rules)


def _is_left(mutant: SourceMutant, left: frozenset[str]) -> bool:
    names = mutant.function.split(".")
    return any(f"{mutant.module}:{'.'.join(names[:depth])}" in left for depth in range(1, len(names) + 1))


@functools.cache
def _of_module(name: str) -> tuple[SourceMutant, ...]:
    live = functions_of(name)
    found: list[SourceMutant] = []
    for function, owner, at in owners(parsed(name)):
        if function not in live:
            continue
        noted = tuple(rule.id for one in live[function][:1] for rule in rules_of(one))
        counts = dict.fromkeys(OPERATORS, 0)
        for node, place, around in expressions(owner, at, name.startswith(_ON_INTS)):
            for operator, changes in OPERATORS.items():
                for choice, changed in enumerate(changes(node, around)):
                    counts[operator] += 1
                    found.append(SourceMutant(
                        name, function, operator, counts[operator], node.lineno, described(node), described(changed),
                        noted, place, choice,
                    ))  # fmt: skip
    return tuple(found)


