"""Mutants of the functions of a folder: what an operator makes of one node of a syntax tree."""

import ast
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

from attrs import frozen

from kraftcheck.solvers.mutants.operators import OPERATORS as OF_RULES
from kraftcheck.solvers.mutants.operators import Around, described
from kraftcheck.solvers.mutants.source import codes_of, expressions, owners, replaced
from tests.shared.places import ROOT

Replacements: TypeAlias = Iterator[ast.AST]

_OTHER: Mapping[type[ast.AST], type[ast.AST]] = {
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.And: ast.Or, ast.Or: ast.And,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.BitOr: ast.BitAnd, ast.BitAnd: ast.BitOr,
}  # fmt: skip

_WORDS = (
    ("all", "any"), ("min", "max"), ("And", "Or"), ("conjunction", "disjunction"), ("all_of", "any_of"),
    ("combinations", "permutations"), ("least", "greatest"), ("POSITIVE", "NEGATIVE"), ("PROVEN", "UNDECIDED"),
    ("REFUTED", "PROVEN"), ("sat", "unsat"), ("unknown", "unsat"), ("before", "after"), ("one", "other"),
    ("lo", "hi"), ("first", "second"), ("UDiv", "URem"), ("ULT", "ULE"), ("ZeroExt", "SignExt"),
)  # fmt: skip
_NEIGHBOURS: Mapping[str, tuple[str, ...]] = {
    word: tuple(b if word == a else a for a, b in _WORDS if word in (a, b)) for pair in _WORDS for word in pair
}
"""Names that are taken for each other."""


def other_operator(node: ast.AST) -> Replacements:
    """`is not` for `is`, `or` for `and`, minus for plus."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _OTHER:
        yield ast.Compare(node.left, [_OTHER[type(node.ops[0])]()], node.comparators)  # type: ignore[list-item]
    elif isinstance(node, ast.BoolOp):
        yield ast.BoolOp(_OTHER[type(node.op)](), node.values)  # type: ignore[arg-type]
    elif isinstance(node, ast.BinOp) and type(node.op) in _OTHER:
        yield ast.BinOp(node.left, _OTHER[type(node.op)](), node.right)  # type: ignore[arg-type]


def negated_test(node: ast.AST) -> Replacements:
    """The opposite of what is tested."""
    if isinstance(node, ast.If | ast.While):
        yield type(node)(_not(node.test), node.body, node.orelse)
    elif isinstance(node, ast.IfExp):
        yield ast.IfExp(_not(node.test), node.body, node.orelse)
    elif isinstance(node, ast.comprehension) and node.ifs:
        for at, test in enumerate(node.ifs):
            ifs = [*node.ifs[:at], _not(test), *node.ifs[at + 1 :]]
            yield ast.comprehension(node.target, node.iter, ifs, node.is_async)


def dropped_test(node: ast.AST) -> Replacements:
    """A branch that is always taken, or never; a comprehension that asks nothing."""
    if isinstance(node, ast.If):
        yield ast.If(ast.Constant(True), node.body, node.orelse)
        yield ast.If(ast.Constant(False), node.body, node.orelse)
    elif isinstance(node, ast.IfExp):
        yield node.body
        yield node.orelse
    elif isinstance(node, ast.comprehension):
        for at in range(len(node.ifs)):
            yield ast.comprehension(node.target, node.iter, node.ifs[:at] + node.ifs[at + 1 :], node.is_async)


def dropped_part(node: ast.AST) -> Replacements:
    """One operand, argument or element less."""
    if isinstance(node, ast.BoolOp):
        for at in range(len(node.values)):
            rest = [*node.values[:at], *node.values[at + 1 :]]
            yield ast.BoolOp(node.op, rest) if len(rest) > 1 else rest[0]
    elif isinstance(node, ast.BinOp) and not isinstance(node.left, ast.Constant | ast.JoinedStr):
        yield node.left
    elif isinstance(node, ast.Tuple | ast.List) and isinstance(node.ctx, ast.Load) and len(node.elts) > 1:
        for at in range(len(node.elts)):
            yield type(node)([*node.elts[:at], *node.elts[at + 1 :]], ast.Load())
    elif isinstance(node, ast.Call) and any(isinstance(argument, ast.Starred) for argument in node.args):
        for at in range(len(node.args)):
            yield ast.Call(node.func, [*node.args[:at], *node.args[at + 1 :]], node.keywords)
    elif isinstance(node, ast.Call) and node.keywords:
        for at in (at for at, one in enumerate(node.keywords) if one.arg != "strict"):
            yield ast.Call(node.func, node.args, [*node.keywords[:at], *node.keywords[at + 1 :]])


def lost_item(node: ast.AST) -> Replacements:
    """A loop that leaves out its last item, or its first."""
    if isinstance(node, ast.For | ast.comprehension):
        for ends in (ast.Slice(None, ast.Constant(-1)), ast.Slice(ast.Constant(1))):
            items = ast.Subscript(ast.List([ast.Starred(node.iter, ast.Load())], ast.Load()), ends, ast.Load())
            if isinstance(node, ast.For):
                yield ast.For(node.target, items, node.body, node.orelse)
            else:
                yield ast.comprehension(node.target, items, node.ifs, node.is_async)


def other_number(node: ast.AST) -> Replacements:
    """A number one higher or one lower; the other truth."""
    if isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield ast.Constant(not node.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, int):
        yield ast.Constant(node.value + 1)
        yield ast.Constant(node.value - 1)


def other_name(node: ast.AST) -> Replacements:
    """A word for its neighbour."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        yield from (ast.Name(name, ast.Load()) for name in _NEIGHBOURS.get(node.id, ()))
    elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
        yield from (ast.Attribute(node.value, name, ast.Load()) for name in _NEIGHBOURS.get(node.attr, ()))


def argument_for_call(node: ast.AST) -> Replacements:
    """What is given to a call, or what its method is of, for its value."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield node.operand
    elif isinstance(node, ast.Call):
        if len(node.args) == 1 and not isinstance(node.args[0], ast.Starred):
            yield node.args[0]
        if isinstance(node.func, ast.Attribute) and not isinstance(node.func.value, ast.Name):
            yield node.func.value


def dropped_slice(node: ast.AST) -> Replacements:
    """All of a sequence for a part of it."""
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice) and isinstance(node.ctx, ast.Load):
        yield node.value


def dropped_statement(node: ast.AST) -> Replacements:
    """A statement that is not done: a call, a change of a value, an error, the end of a loop or of a function."""
    said = isinstance(node, ast.Expr) and isinstance(node.value, ast.Call | ast.Yield | ast.YieldFrom)
    if said or isinstance(node, ast.AugAssign | ast.Raise | ast.Break | ast.Continue | ast.Delete):
        yield ast.Pass()
    if isinstance(node, ast.Break):
        yield ast.Continue()
    elif isinstance(node, ast.Continue):
        yield ast.Break()


def other_result(node: ast.AST) -> Replacements:
    """A function that gives a fixed value."""
    if isinstance(node, ast.Return) and node.value is not None and not isinstance(node.value, ast.Constant | ast.Name):
        if isinstance(node.value, ast.List | ast.ListComp):
            yield ast.Return(ast.List([], ast.Load()))
        elif isinstance(node.value, ast.Compare | ast.BoolOp) or _asks(node.value):
            yield ast.Return(ast.Constant(True))
            yield ast.Return(ast.Constant(False))


OF_PYTHON: Mapping[str, Callable[[ast.AST], Replacements]] = {
    "other-operator": other_operator, "negate-test": negated_test, "drop-test": dropped_test,
    "drop-part": dropped_part, "lose-item": lost_item, "other-number": other_number, "other-name": other_name,
    "argument-for-call": argument_for_call, "drop-slice": dropped_slice, "drop-statement": dropped_statement,
    "other-result": other_result,
}  # fmt: skip
"""The operators of Python by name."""


def changes(node: ast.AST, around: Around | None) -> Iterator[tuple[str, ast.AST]]:
    """What may stand in a node's place, with the operator; each text once.

    Args:
        node: of a function's body.
        around: what surrounds an expression; None: what is none.
    """
    seen = {ast.dump(node)}
    for operator, change in OF_PYTHON.items():
        yield from ((operator, made) for made in change(node) if _is_new(made, seen))
    if around is not None and isinstance(node, ast.expr):
        for operator, of_rule in OF_RULES.items():
            yield from ((operator, made) for made in of_rule(node, around) if _is_new(made, seen))


def _is_new(made: ast.AST, seen: set[str]) -> bool:
    text = ast.dump(made)
    fresh = text not in seen
    seen.add(text)
    return fresh


def _not(test: ast.expr) -> ast.expr:
    return test.operand if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not) else ast.UnaryOp(
        ast.Not(), test
    )  # fmt: skip


def _asks(node: ast.expr) -> bool:
    """Whether an expression is a truth by its form."""
    is_not = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
    return is_not or (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("all", "any"))


_LEFT = frozenset({"annotation", "returns", "decorator_list", "args", "type_comment", "ctx", "msg", "exc"})
"""Fields of statements that no mutant changes."""


@frozen
class DrawnMutant:
    """A change of one node."""

    file: str  # from the root of the repository on
    function: str  # a function, or a method, by its qualified name
    operator: str  # which operator made it
    number: int  # which of the file's changes it is
    lines: tuple[int, int]  # first and last that a test runs which reaches the node
    text: str  # the line of the node
    change: str  # the node before, and after

    @property
    def key(self) -> str:
        """What a judgement names it by: it stays the same while the line does."""
        return f"{self.file}:{self.function} | {self.text} | {self.operator} | {self.change}"

    @property
    def named(self) -> str:
        """The key without the folders."""
        return self.key[self.file.rfind("/") + 1 :]

    @property
    def module(self) -> str:
        """The module of the file."""
        return f"kraftcheck.{self.file.removesuffix('.py').replace('/', '.')}"

    @contextmanager
    def applied(self) -> Iterator[None]:
        """The engine is the mutant, for what is called meanwhile."""
        tree = ast.parse((ROOT / self.file).read_text(encoding="utf-8"))
        one = next(one for number, one in enumerate(_every(tree)) if number == self.number)
        made = ast.fix_missing_locations(ast.copy_location(one.made, one.node))
        if one.position < 0:
            setattr(one.holder, one.field, made)
        else:
            getattr(one.holder, one.field)[one.position] = made
        with replaced(self.module, codes_of(self.module, tree)):
            yield


def mutants_of(folder: Path) -> Iterator[DrawnMutant]:
    """The mutants of the files below a folder of the repository, or of one file, in the order of their text."""
    for path in [folder] if folder.is_file() else sorted(folder.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        rows = text.splitlines()
        for number, one in enumerate(_every(ast.parse(text))):
            change = f"{_shown(one.node)} -> {_shown(one.made)}"
            file, line = path.relative_to(ROOT).as_posix(), rows[one.line - 1].strip()
            yield DrawnMutant(file, one.function, one.operator, number, one.lines, line, change)


@frozen(eq=False)
class _Change:
    function: str
    operator: str
    holder: ast.AST
    field: str
    position: int
    node: ast.AST
    made: ast.AST
    line: int
    lines: tuple[int, int]


def _every(tree: ast.Module) -> Iterator[_Change]:
    for function, owner, at in owners(tree):
        around = {id(node): one for node, _, one in expressions(owner, at, tests=True)}
        for statement, holder, field, position in [*_parts(owner)]:
            node = getattr(holder, field) if position < 0 else getattr(holder, field)[position]
            line = getattr(node, "lineno", getattr(holder, "lineno", statement.lineno))
            for operator, made in changes(node, around.get(id(node))):
                yield _Change(function, operator, holder, field, position, node, made, line, _lines(statement))


def _parts(holder: ast.AST, within: ast.stmt | None = None) -> Iterator[tuple[ast.stmt, ast.AST, str, int]]:
    """Each node of a function: its statement, and where it is."""
    for field, value in ast.iter_fields(holder):
        if field in _LEFT and isinstance(holder, ast.stmt):
            continue
        for position, node in enumerate(value) if isinstance(value, list) else [(-1, value)]:
            checks = isinstance(node, ast.keyword) and node.arg == "strict"  # a check of `zip` that nothing fails
            if isinstance(node, ast.AST) and not checks and not isinstance(node, ast.JoinedStr | ast.expr_context):
                statement: Any = node if isinstance(node, ast.stmt) else within
                yield statement, holder, field, position
                yield from _parts(node, statement)


def _lines(statement: ast.stmt) -> tuple[int, int]:
    """The lines of a statement, without those of statements in it."""
    body = getattr(statement, "body", None)
    return statement.lineno, max(statement.lineno, body[0].lineno - 1) if body else statement.end_lineno or 0


def _shown(node: ast.AST) -> str:
    """A node in one short line."""
    text = described(node) if isinstance(node, ast.expr) else _first_line(node)
    return text if len(text) <= 60 else f"{text[:28]} ... {text[-28:]}"


def _first_line(node: ast.AST) -> str:
    return ast.unparse(ast.fix_missing_locations(node)).strip().partition("\n")[0]
