"""The error of a rule that cannot be traced, and the line of the rule that caused it."""

from __future__ import annotations

import sys
from typing import NoReturn

_MACHINERY = (
    "model/untraceable.py",
    "model/terms.py",
    "model/words.py",
    "model/brokersets.py",
    "model/idlists.py",
    "attr/_make.py",
)


class UntraceableRule(TypeError):
    """A rule asked a symbolic value for a concrete one (an `if`, `and`, `in`, index ...)."""


def place() -> str:
    """The line of the rule at work: the nearest caller outside the word machinery."""
    frame = sys._getframe(1)
    while frame.f_back is not None and _is_machinery(frame.f_code.co_filename):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


def _is_machinery(filename: str) -> bool:
    return filename.startswith("<attrs") or filename.endswith(_MACHINERY)


def refuse(what: str, instead: str) -> NoReturn:
    """Raise `UntraceableRule` for a symbolic word used as something else."""
    raise UntraceableRule(f"{place()}: a symbolic word was used as {what}; use {instead}")
