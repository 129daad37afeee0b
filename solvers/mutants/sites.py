"""Sites: the places in the source at which a rule decides by a condition.

A condition is found in the call stack while the rule is traced: the innermost
caller that is no part of the word machinery is the rule. Code positions give
the call, so that a site is identified by its source text, not by its line, and
survives edits elsewhere.
"""

from __future__ import annotations

import ast
import functools
import itertools
import linecache
import re
import sys
from types import CodeType, FrameType

from attrs import field, frozen

from kraftcheck.model.language.words import BRANCH

_MACHINERY = (
    "kraftcheck.model.language.terms",
    "kraftcheck.model.language.words",
    "kraftcheck.model.language.brokersets",
    "kraftcheck.model.language.idlists",
    "kraftcheck.solvers.mutants.sites",
    "kraftcheck.solvers.mutants.mutate",
)
_FIELDS = frozenset({"set_when", "clear_when", "or_else"})
_DECIDING = frozenset({"choose", "all_of", "any_of", "none_of", "implies", "word"}) | _FIELDS
"""Functions and methods of `model.language.words` by which a rule decides; a lookup (`pick`) is no decision."""

_INNER = re.compile(r"\.<locals>\.<(genexpr|listcomp|setcomp|dictcomp|lambda)>")


@frozen
class Site:
    """A condition of a rule.

    Attributes:
        module, rule: where it is written; the rule is a function or method.
        kind: `branch`, `conjunct` or `disjunct`, as `kraftcheck.model.language.words` names them.
        call: the call that decides, as written.
        part: the condition, as written.
        line: its line, which is no part of its identity.
    """

    module: str
    rule: str
    kind: str
    call: str
    part: str
    line: int = field(eq=False)


def find_site(kind: str, position: int) -> Site | None:
    """The condition by which the traced rule decides; None for conditions of the machinery itself.

    Args:
        kind: how the innermost operation decides.
        position: which of its operands is meant.
    """
    frame: FrameType | None = sys._getframe(1)
    outermost = None
    while frame is not None and _is_machinery(frame):
        outermost = (
            frame.f_code.co_qualname if frame.f_globals.get("__name__") == "kraftcheck.model.language.words" else None
        )
        frame = frame.f_back
    if frame is None or outermost is None:
        return None
    name = outermost.rpartition(".")[2]
    if name not in _DECIDING or (name in _FIELDS and kind != BRANCH):
        return None
    return _site(frame.f_code, frame.f_lasti, str(frame.f_globals.get("__name__")), kind, position)


def _is_machinery(frame: FrameType) -> bool:
    return frame.f_globals.get("__name__") in _MACHINERY or frame.f_code.co_filename.startswith("<attrs")


@functools.cache
def _site(code: CodeType, at: int, module: str, kind: str, position: int) -> Site | None:
    start, end, left, right = next(itertools.islice(code.co_positions(), at // 2, None))
    if start is None or end is None or left is None or right is None:
        return None
    call = _call(_source(code.co_filename, start, end, left, right))
    part = None if call is None else _part(call, kind, position)
    if call is None or part is None:
        return None
    rule = _INNER.sub("", code.co_qualname).replace(".<locals>", "")
    return Site(module, rule, kind, ast.unparse(call), part, start)


def _source(filename: str, start: int, end: int, left: int, right: int) -> str:
    """The text between two positions; columns count bytes."""
    lines = [linecache.getline(filename, number).encode() for number in range(start, end + 1)]
    lines[-1] = lines[-1][:right]
    lines[0] = lines[0][left:]
    return b"".join(lines).decode()


def _call(text: str) -> ast.Call | None:
    try:
        parsed = ast.parse(f"({text})", mode="eval").body
    except SyntaxError:
        return None
    return parsed if isinstance(parsed, ast.Call) else None


def _part(call: ast.Call, kind: str, position: int) -> str | None:
    """The condition among the arguments; None where they are drawn from a collection."""
    if isinstance(call.func, ast.Attribute) and call.func.attr == "or_else":
        return f"{ast.unparse(call.func.value)} is present"
    index = 0 if kind == BRANCH else position
    if index >= len(call.args) or any(isinstance(argument, ast.Starred) for argument in call.args):
        return None
    return ast.unparse(call.args[index])


def first_sentence(module: str, rule: str) -> str:
    """The first sentence of a rule's docstring, or nothing."""
    rule_object: object = sys.modules.get(module)
    for name in rule.split("."):
        rule_object = getattr(rule_object, name, None)
    paragraph = (getattr(rule_object, "__doc__", None) or "").strip().split("\n\n")[0]
    return " ".join(paragraph.split())
