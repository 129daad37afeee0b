"""Operator mutants in the running rules: their syntax trees, mutants by name, and many of them in one trace."""

from __future__ import annotations

import ast
import copy
import functools
import gc
import importlib
import pkgutil
import sys
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

from attrs import define, evolve, field, frozen

from kraftcheck import model
from kraftcheck.model.language import words
from kraftcheck.model.language.symbolic import record_fields
from kraftcheck.model.language.terms import Term
from kraftcheck.model.language.words import choose, rules_of
from kraftcheck.solvers.mutants.operators import HELPER, OPERATORS, Around, described, truths_within

_HELPERS = ("negate", "all_of", "any_of")
_DECIDED = ast.If | ast.IfExp | ast.Assert | ast.While
"""Statements that Python decides while a rule is traced: by the rule set, or by the scope."""

_SKIPPED = frozenset({"annotation", "returns", "decorator_list", "type_comment", "defaults"})


@frozen
class SyntaxPlace:
    """An expression in a function: a chain of fields, each with a position in a list or -1, from the module."""

    steps: tuple[tuple[str, int], ...]


@contextmanager
def replaced(name: str, codes: Mapping[str, CodeType], extra: Mapping[str, object] | None = None) -> Iterator[None]:
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


def owners(tree: ast.Module) -> Iterator[tuple[str, ast.FunctionDef, SyntaxPlace]]:
    """The functions and methods of a module that are in no other function, by qualified name."""

    def below(
        body: Iterable[ast.stmt], prefix: str, at: tuple[tuple[str, int], ...]
    ) -> Iterator[tuple[str, ast.FunctionDef, SyntaxPlace]]:
        for position, statement in enumerate(body):
            place = (*at, ("body", position))
            if isinstance(statement, ast.FunctionDef) and not _describes_scope(statement):
                yield prefix + statement.name, statement, SyntaxPlace(place)
            elif isinstance(statement, ast.ClassDef):
                yield from below(statement.body, f"{prefix}{statement.name}.", place)

    yield from below(tree.body, "", ())


def _describes_scope(function: ast.FunctionDef) -> bool:
    """Whether a function says what a scope holds, and no rule: it asks for the setting alone, and gives no actions."""
    parameters = [one.arg for one in (*function.args.args, *function.args.kwonlyargs)]
    return parameters == ["setting"] and not _gives(function, "list[Action]", "Sequence[Action]")


def expressions(
    owner: ast.FunctionDef, at: SyntaxPlace, tests: bool = False
) -> Iterator[tuple[ast.expr, SyntaxPlace, Around]]:
    """The expressions that a function computes, each before its parts; no annotations, or texts.

    Args:
        owner, at: the function, and where it is in its module.
        tests: whether tests of `if`, which Python decides before a rule is explored, are among them, and what
            comprehensions ask is a truth.
    """
    around, truths = Around(_names(owner), _gives(owner, "Conjuncts", "dict[str, Truth]")), set[int]()

    def below(node: ast.AST, place: tuple[tuple[str, int], ...]) -> Iterator[tuple[ast.expr, SyntaxPlace, Around]]:
        if isinstance(node, ast.expr) and not isinstance(getattr(node, "ctx", None), ast.Store | ast.Del):
            yield node, SyntaxPlace(place), evolve(around, truth=id(node) in truths)
        truths.update(id(part) for part in truths_within(node))
        if tests and isinstance(node, ast.comprehension):
            truths.update(map(id, node.ifs))
        if isinstance(node, ast.Return) and _gives(owner, "Truth") and isinstance(node.value, ast.Call | ast.Name):
            truths.add(id(node.value))
        for name, value in ast.iter_fields(node):
            if name in _SKIPPED or (name == "test" and isinstance(node, _DECIDED) and not tests):
                continue
            parts = enumerate(value) if isinstance(value, list) else [(-1, value)]
            for position, part in parts:
                if isinstance(part, ast.AST) and not isinstance(part, ast.JoinedStr):
                    yield from below(part, (*place, (name, position)))

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


def expression_at(tree: ast.Module, place: SyntaxPlace) -> tuple[ast.AST, str, int, ast.expr, Around]:
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
    frozen = gc.get_freeze_count()
    gc.unfreeze()  # what is frozen is not among the objects
    for thing in gc.get_objects():
        if isinstance(thing, FunctionType):
            found[id(thing.__globals__)].append(thing)
    if frozen:
        gc.freeze()
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


ROOT = "kraftcheck.model."
_NO_RULES = ("kraftcheck.model.language", "kraftcheck.model.rules")
"""The words that rules are written with, and the choices between rules."""

_ON_INTS = "kraftcheck.model.controller."
"""The controller in full, which no system explores: there an `if` decides about what is asked, and not about rules."""


_RUNNING = threading.Lock()  # held by whoever has a mutant put into the running rules


class StaleMutantError(LookupError):
    """A name that is no mutant of the rules as they are written now."""


@frozen
class SourceMutant:
    """One change of one expression."""

    # module, function: the rule, a function or a method; a function below it belongs to it
    module: str
    function: str
    operator: str  # which operator made it
    index: int  # its number among those of the operator in the function, from 1
    line: int  # the line of the expression
    # before, after: the expression as it is written, and as it becomes
    before: str
    after: str
    rules: tuple[str, ...]  # ids of the rules that are noted on the function
    place: SyntaxPlace  # where the expression is
    choice: int  # which of the operator's changes of that expression it is

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
    """The mutant of a name; raises StaleMutantError for a name that no mutant has."""
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


AT = "__mutant_at__"

Site = tuple[str, SyntaxPlace]


class _NoChoiceError(Exception):
    """Two values that no condition chooses between."""


@define
class Joined:
    """Mutants in one trace."""

    numbers: Mapping[int, SourceMutant]  # the mutants by number, from 1
    mutant: Term | None = None  # the variable that holds the number of the active one, once it exists
    reached: set[Site] = field(factory=set)  # the sites that the trace met
    apart: set[SourceMutant] = field(factory=set)  # the mutants that have to be traced by themselves
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
        by_module: dict[str, dict[SyntaxPlace, list[int]]] = {}
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


def _with_calls(
    module: str, places: Mapping[SyntaxPlace, Sequence[int]], numbers: Mapping[int, SourceMutant]
) -> ast.Module:
    """The tree of a module in which each of these expressions is a call of `Joined._at`."""
    tree = copy.deepcopy(parsed(module))
    changes: dict[SyntaxPlace, list[ast.expr]] = {}
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
