"""Many operator mutants in one trace: each changed expression is computed beside the right one, and chosen by number.

An expression with mutants becomes a call that gets its value and, unevaluated,
what each mutant makes of it. While a system is traced with a number of the
mutant in its state, the call answers with a choice between them; else it gives
the value. What cannot be chosen between, because the values differ in shape or
are not symbolic, is told, and has to be traced by itself.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from attrs import define, field

from kraftcheck.model.language.symbolic import record_fields
from kraftcheck.model.language.terms import Term
from kraftcheck.model.language.words import choose
from kraftcheck.solvers.mutants.source.names import SourceMutant
from kraftcheck.solvers.mutants.source.operators import OPERATORS
from kraftcheck.solvers.mutants.source.trees import Place, codes_of, expression_at, parsed, put, replaced

AT = "__mutant_at__"

Site = tuple[str, Place]


class _NoChoiceError(Exception):
    """Two values that no condition chooses between."""


@define
class Joined:
    """Mutants in one trace.

    Attributes:
        numbers: the mutants by number, from 1.
        mutant: the variable that holds the number of the active one, once it exists.
        reached: the sites that the trace met.
        apart: the mutants that have to be traced by themselves.
    """

    numbers: Mapping[int, SourceMutant]
    mutant: Term | None = None
    reached: set[Site] = field(factory=set)
    apart: set[SourceMutant] = field(factory=set)
    _forced: SourceMutant | None = None
    _right: bool = False

    def state_of(self, mutated: Any) -> Any:
        """The state that comes with a number of the mutant, which is noted."""
        self.mutant = mutated.mutant if isinstance(mutated.mutant, Term) else None
        return mutated.state

    @contextmanager
    def none(self) -> Iterator[None]:
        """Meanwhile no mutant is active."""
        self._right = True
        try:
            yield
        finally:
            self._right = False

    @contextmanager
    def installed(self) -> Iterator[None]:
        """The rules with these mutants, for what is traced meanwhile."""
        by_module: dict[str, dict[Place, list[int]]] = {}
        for number, mutant in self.numbers.items():
            by_module.setdefault(mutant.module, {}).setdefault(mutant.place, []).append(number)
        with ExitStack() as stack:
            for module, places in by_module.items():
                stack.enter_context(replaced(module, codes_of(module, _with_calls(module, places, self.numbers)),
                                             {AT: self._at}))  # fmt: skip
            yield

    def _at(self, numbers: tuple[int, ...], value: Any, *changes: Callable[[], Any]) -> Any:
        """The value of an expression, as the active mutant changes it."""
        mutants = [self.numbers[number] for number in numbers]
        self.reached.add((mutants[0].module, mutants[0].place))
        if self._right:
            return value
        if self._forced is not None:
            return changes[mutants.index(self._forced)]() if self._forced in mutants else value
        if self.mutant is None:
            self.apart.update(mutants)
            return value
        result, graph = value, self.mutant.graph
        for number, mutant, change in zip(numbers, mutants, changes, strict=True):
            if mutant in self.apart:
                continue
            refused = len(graph.refusals)
            self._forced = mutant
            try:
                changed = change()
                active = graph.lift(graph.apply("eq", self.mutant, graph.constant(number)))
                result = chosen(active, changed, result)
            except Exception:  # whatever it is, it is met again where the mutant is traced by itself
                del graph.refusals[refused:]
                self.apart.add(mutant)
            finally:
                self._forced = None
        return result


def chosen(condition: Term, then: Any, otherwise: Any) -> Any:
    """A choice between two values, tables and lists among them.

    Raises:
        _NoChoiceError: where Python values differ, which rules may decide by while they are traced.
    """
    if isinstance(then, dict) and isinstance(otherwise, dict) and list(then) == list(otherwise):
        return {key: chosen(condition, then[key], otherwise[key]) for key in then}
    if isinstance(then, list | tuple) and type(then) is type(otherwise) and len(then) == len(otherwise):
        return type(then)(chosen(condition, a, b) for a, b in zip(then, otherwise, strict=True))
    if not _is_symbolic(then) and not _is_symbolic(otherwise):
        if then is otherwise or (type(then) is type(otherwise) and then == otherwise):
            return otherwise
        raise _NoChoiceError
    return choose(condition, then, otherwise)


def _is_symbolic(value: Any) -> bool:
    """Whether a value has a term in it."""
    if isinstance(value, Term):
        return True
    if isinstance(value, list | tuple):
        return any(map(_is_symbolic, value))
    names = record_fields(type(value))
    return names is not None and any(_is_symbolic(getattr(value, name)) for name in names)


def _with_calls(module: str, places: Mapping[Place, Sequence[int]], numbers: Mapping[int, SourceMutant]) -> ast.Module:
    """The tree of a module in which each of these expressions is a call of `Joined._at`."""
    tree = copy.deepcopy(parsed(module))
    changes: dict[Place, list[ast.expr]] = {}
    for place, members in places.items():
        _, _, _, node, around = expression_at(tree, place)
        for number in members:
            mutant = numbers[number]
            made = list(OPERATORS[mutant.operator](node, around))[mutant.choice]
            changes.setdefault(place, []).append(copy.deepcopy(made))
    found = {place: expression_at(tree, place)[:4] for place in places}
    for place, (holder, name, position, node) in found.items():
        known = ast.Tuple([ast.Constant(number) for number in places[place]], ast.Load())
        empty = ast.arguments([], [], None, [], [], None, [])
        later: list[ast.expr] = [ast.Lambda(empty, change) for change in changes[place]]
        call = ast.Call(ast.Name(AT, ast.Load()), [known, node, *later], [])
        put(holder, name, position, ast.fix_missing_locations(ast.copy_location(call, node)))
    return tree
