"""Mutants of a folder's functions: one node of a syntax tree with something else in its place."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from attrs import frozen

from kraftcheck.solvers.mutants.operators import described
from kraftcheck.solvers.mutants.source import codes_of, expressions, owners, replaced
from tests.engine_mutants.drawn.operators import changes
from tests.shared.places import ROOT

_LEFT = frozenset({"annotation", "returns", "decorator_list", "args", "type_comment", "ctx", "msg", "exc"})
"""Fields of statements that no mutant changes."""


@frozen
class DrawnMutant:
    """A change of one node.

    Attributes:
        file: from the root of the repository on.
        function: a function, or a method, by its qualified name.
        operator: which operator made it.
        number: which of the file's changes it is.
        lines: first and last that a test runs which reaches the node.
        text: the line of the node.
        change: the node before, and after.
    """

    file: str
    function: str
    operator: str
    number: int
    lines: tuple[int, int]
    text: str
    change: str

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
        """The engine is the mutant, for what is called meanwhile.

        Raises:
            ValueError, SyntaxError: for a change that leaves no function of that name.
        """
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
