"""The text of an expression: parsed by Python's own parser, which runs nothing, within limits of length and depth."""

from __future__ import annotations

import ast
import warnings

MAX_LENGTH = 1000
"""Characters of an expression."""

MAX_DEPTH = 40
"""Levels of nesting of an expression."""

_MEND = "docs/reference/expressions.md has the language"


class ExpressionError(ValueError):
    """An expression that cannot be read, or does not fit the state; the message begins with the column."""


class Source:
    """The text of an expression, and its syntax tree.

    Args:
        text: as it was given.

    Attributes:
        text: the text without blanks around it.
        tree: the syntax tree.

    Raises:
        ExpressionError: where it is no expression, too long or nested too deeply.
    """

    text: str
    tree: ast.expr

    def __init__(self, text: str) -> None:
        self.text = text.strip()
        self._check_text()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", SyntaxWarning)  # as of `2in isr`, which a later Python refuses
                self.tree = ast.parse(self.text, mode="eval").body
        except SyntaxError as error:
            ends = not error.offset  # Python gives no column where there is nothing more to read
            column, message = (len(self.text) + 1, "something is missing") if ends else (error.offset, error.msg)
            raise ExpressionError(f"column {column}: {message}; {_MEND}") from None
        except (RecursionError, MemoryError):
            raise ExpressionError("column 1: the expression is nested too deeply") from None
        self._check_depth()

    def _check_text(self) -> None:
        if not self.text:
            raise ExpressionError("column 1: the expression is empty")
        if len(self.text) > MAX_LENGTH:
            raise ExpressionError(f"column {MAX_LENGTH + 1}: the expression is longer than {MAX_LENGTH} characters")
        for column, character in enumerate(self.text, start=1):
            if not character.isprintable():
                raise ExpressionError(f"column {column}: an expression is one line of printable characters")
            if character in "'\"\\#":
                raise ExpressionError(f"column {column}: expressions have no text and no comments; {_MEND}")

    def _check_depth(self) -> None:
        level: list[ast.AST] = [self.tree]
        depth = 0
        while level:
            if depth == MAX_DEPTH:
                raise self.error(level[0], f"the expression is nested more than {MAX_DEPTH} levels deep")
            level = [child for node in level for child in ast.iter_child_nodes(node)]
            depth += 1

    def segment(self, node: ast.AST) -> str:
        """The text that a part of the tree was read from."""
        return ast.get_source_segment(self.text, node) or self.text

    def error(self, node: ast.AST, message: str) -> ExpressionError:
        """The error to raise about a part of the tree."""
        before = self.text.encode()[: getattr(node, "col_offset", 0)].decode()
        return ExpressionError(f"column {len(before) + 1}: {message}")
