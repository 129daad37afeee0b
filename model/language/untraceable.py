"""The error of a rule that cannot be traced, with the line of the rule."""

from __future__ import annotations

import functools
import sys

_MACHINERY = (
    "/kraftcheck/__init__.py",
    "kraftcheck/model/language/untraceable.py",
    "kraftcheck/model/language/symbolic.py",
    "kraftcheck/model/language/terms.py",
    "kraftcheck/model/language/words.py",
    "kraftcheck/model/language/brokersets.py",
    "kraftcheck/model/language/idlists.py",
    "kraftcheck/model/language/sequences.py",
    "kraftcheck/model/language/algebra.py",
    "kraftcheck/model/language/collections/arithmetic.py",
    "kraftcheck/model/language/collections/bags.py",
    "kraftcheck/model/language/collections/doubts.py",
    "kraftcheck/model/language/collections/maps.py",
    "kraftcheck/model/language/collections/names.py",
    "kraftcheck/model/language/collections/numbering.py",
    "kraftcheck/model/language/collections/places.py",
    "kraftcheck/model/language/collections/quantifiers.py",
    "kraftcheck/model/language/collections/queues.py",
    "kraftcheck/model/language/collections/sets.py",
    "kraftcheck/model/language/anynumber/brokers.py",
    "kraftcheck/model/language/anynumber/maps.py",
    "attr/_make.py",
)

_CALLERS = (
    "kraftcheck/solvers/program/verdict.py",
    "kraftcheck/solvers/program/parts.py",
    "kraftcheck/solvers/program/trace.py",
    "kraftcheck/model/language/collections/listed.py",
    "kraftcheck/model/language/system.py",
)
"""What calls rules, and is none."""

_STANDARD_LIBRARY = functools.__file__.removesuffix("functools.py")


class UntraceableRule(TypeError):
    """A rule asked a symbolic value for a concrete one (an `if`, `and`, `in`, index ...)."""


def place() -> str:
    """The line of the rule that is traced: the nearest caller outside the word machinery and Python's library."""
    frame = sys._getframe(1)
    while frame.f_back is not None and _is_machinery(frame.f_code.co_filename):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


def place_of(error: BaseException) -> str | None:
    """The line of the rule that raised an error; None where it was raised before any rule was called."""
    at, line = error.__traceback__, None
    while at is not None:
        filename = at.tb_frame.f_code.co_filename
        if not _is_machinery(filename) and not filename.endswith(_CALLERS):
            line = f"{filename}:{at.tb_lineno}"
        at = at.tb_next
    return line


def _is_machinery(filename: str) -> bool:
    if filename.startswith(_STANDARD_LIBRARY):
        return "site-packages" not in filename
    return filename.startswith(("<attrs", "<frozen")) or filename.endswith(_MACHINERY)
