"""The text of the rules as syntax trees, and the functions that run it.

A function is one of a module or of a class in it; what is defined within a function is part of that.
"""

from __future__ import annotations

import ast
import functools
import gc
import importlib
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FunctionType, ModuleType

from attrs import frozen

from kraftcheck.model.language import words
from kraftcheck.solvers.mutants.source.operators import HELPER, Around, truths_within, within_function

_HELPERS = ("negate", "all_of", "any_of")
_DECIDED = ast.If | ast.IfExp | ast.Assert | ast.While
"""Statements that Python decides while a rule is traced: by the rule set, or by the scope."""

_SKIPPED = frozenset({"annotation", "returns", "decorator_list", "type_comment", "defaults"})


@frozen
class Place:
    """An expression in a function: a chain of fields, each with a position in a list or -1, from the module."""

    steps: tuple[tuple[str, int], ...]


@contextmanager
def replaced(
    name: str, codes: Mapping[str, CodeType], extra: Mapping[str, object] | None = None
) -> Iterator[None]:  # fmt: skip
    """A module whose functions run other code, by qualified name; `extra` has names that the code reads."""
    module, functions = _module(name), functions_of(name)
    names = {HELPER.format(word): getattr(words, word) for word in _HELPERS} | dict(extra or {})
    module.__dict__.update(names)
    before = [(function, function.__code__) for owned in functions.values() for function in owned]
    try:
        for name, owned in functions.items():
            for function in owned:
                function.__code__ = codes[name]
        yield
    finally:
        for function, code in before:
            function.__code__ = code
        for name in names:
            module.__dict__.pop(name, None)


def _module(name: str) -> ModuleType:
    return importlib.import_module(name)


def _file(module: ModuleType) -> str:
    return str(module.__file__)


@functools.cache
def parsed(name: str) -> ast.Module:
    """The syntax tree of an imported module."""
    return ast.parse(Path(_file(_module(name))).read_bytes())


def owners(tree: ast.Module) -> Iterator[tuple[str, ast.FunctionDef, Place]]:
    """The functions and methods of a module that are in no other function, by qualified name."""

    def below(body: Iterable[ast.stmt], prefix: str, at: tuple[tuple[str, int], ...]) -> Iterator[
        tuple[str, ast.FunctionDef, Place]
    ]:  # fmt: skip
        for position, statement in enumerate(body):
            place = (*at, ("body", position))
            if isinstance(statement, ast.FunctionDef) and not _describes_scope(statement):
                yield prefix + statement.name, statement, Place(place)
            elif isinstance(statement, ast.ClassDef):
                yield from below(statement.body, f"{prefix}{statement.name}.", place)

    yield from below(tree.body, "", ())


def _describes_scope(function: ast.FunctionDef) -> bool:
    """Whether a function says what a scope holds, and no rule: it asks for the setting alone, and gives no actions."""
    parameters = [one.arg for one in (*function.args.args, *function.args.kwonlyargs)]
    return parameters == ["setting"] and not _gives(function, "list[Action]", "Sequence[Action]")


def expressions(
    owner: ast.FunctionDef, at: Place, tests: bool = False
) -> Iterator[tuple[ast.expr, Place, Around]]:
    """The expressions that a function computes, each before its parts; no annotations, or texts.

    Args:
        owner, at: the function, and where it is in its module.
        tests: whether tests of `if`, which Python decides before a rule is explored, are among them, and what
            comprehensions ask is a truth.
    """
    around, truths = Around(_names(owner), _gives(owner, "Conjuncts", "dict[str, Truth]")), set[int]()

    def below(node: ast.AST, place: tuple[tuple[str, int], ...]) -> Iterator[tuple[ast.expr, Place, Around]]:
        if isinstance(node, ast.expr) and not isinstance(getattr(node, "ctx", None), ast.Store | ast.Del):
            yield node, Place(place), within_function(around, node, frozenset(truths))
        truths.update(id(part) for part in truths_within(node))
        if tests and isinstance(node, ast.comprehension):
            truths.update(map(id, node.ifs))
        if isinstance(node, ast.Return) and _gives(owner, "Truth") and isinstance(node.value, ast.Call | ast.Name):
            truths.add(id(node.value))
        for field, value in ast.iter_fields(node):
            if field in _SKIPPED or (field == "test" and isinstance(node, _DECIDED) and not tests):
                continue
            parts = enumerate(value) if isinstance(value, list) else [(-1, value)]
            for position, part in parts:
                if isinstance(part, ast.AST) and not isinstance(part, ast.JoinedStr):
                    yield from below(part, (*place, (field, position)))

    for position, statement in enumerate(owner.body):
        yield from below(statement, (*at.steps, ("body", position)))


def _gives(owner: ast.FunctionDef, *kinds: str) -> bool:
    """Whether a function's annotation says that it gives a value of one of these kinds."""
    return owner.returns is not None and ast.unparse(owner.returns) in kinds


def _names(owner: ast.FunctionDef) -> dict[str, str]:
    """The names that a function binds, with the annotations of its parameters."""
    parameters = (*owner.args.posonlyargs, *owner.args.args, *owner.args.kwonlyargs)
    bound = {node.id: "" for node in ast.walk(owner) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    told = {one.arg: ast.unparse(one.annotation) if one.annotation is not None else "" for one in parameters}
    return bound | told


def expression_at(tree: ast.Module, place: Place) -> tuple[ast.AST, str, int, ast.expr, Around]:
    """The expression at a place of a tree: what holds it, field and position there, itself, its surroundings."""
    holder: ast.AST = tree
    node: ast.AST = tree
    field, position = "", -1
    for field, position in place.steps:
        holder, value = node, getattr(node, field)
        node = value if position < 0 else value[position]
    assert isinstance(node, ast.expr)
    owner, at = next((owner, at) for _, owner, at in owners(tree) if place.steps[: len(at.steps)] == at.steps)
    return holder, field, position, node, next(around for one, _, around in expressions(owner, at, True) if one is node)


def put(holder: ast.AST, field: str, position: int, node: ast.expr) -> None:
    """Put an expression where `expression_at` found another."""
    if position < 0:
        setattr(holder, field, node)
    else:
        getattr(holder, field)[position] = node


def codes_of(name: str, tree: ast.Module) -> dict[str, CodeType]:
    """The code of the functions of a module that are in no other function, from another tree of it."""
    return _codes(compile(tree, _file(_module(name)), "exec", dont_inherit=True))


def _codes(module: CodeType) -> dict[str, CodeType]:
    """The code of the functions that are in no other function, by qualified name."""
    found: dict[str, CodeType] = {}
    for constant in module.co_consts:
        if isinstance(constant, CodeType):
            is_class = not constant.co_flags & 0x2  # CO_NEWLOCALS: a function has it, the body of a class does not
            found |= _codes(constant) if is_class else {constant.co_qualname: constant}
    return found


@functools.lru_cache(1)
def _by_module(imported: int) -> Mapping[int, list[FunctionType]]:
    """Every live function by its module's names; `imported` counts the modules, with which functions come."""
    found: dict[int, list[FunctionType]] = defaultdict(list)
    for thing in gc.get_objects():
        if isinstance(thing, FunctionType):
            found[id(thing.__globals__)].append(thing)
    return found


@functools.cache
def functions_of(name: str) -> Mapping[str, tuple[FunctionType, ...]]:
    """The live functions of a module, by qualified name; attrs may have made several of one method."""
    module = _module(name)
    codes = codes_of(name, parsed(name))
    found: dict[str, list[FunctionType]] = {}
    for thing in _by_module(len(sys.modules))[id(module.__dict__)]:
        qualified = thing.__code__.co_qualname
        if qualified in codes and thing.__code__.co_firstlineno == codes[qualified].co_firstlineno:
            found.setdefault(qualified, []).append(thing)
    return {qualified: tuple(owned) for qualified, owned in found.items()}
