"""What a rule did wrong: its line, and what to write instead."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Iterable
from typing import Any

from attrs.exceptions import FrozenInstanceError

from kraftcheck.model.language.symbolic import record_fields
from kraftcheck.model.nearest import nearest

_OF_PYTHONS_SETS = {
    "add": "plus(s.just(x))", "append": "append() of a Queue, or put() of a tuple", "remove": "minus(s.just(x))",
    "discard": "minus(s.just(x))", "union": "plus()", "update": "plus()", "intersection": "keep()",
    "difference": "minus()", "issubset": "within()",
}  # fmt: skip

_OF_TYPE_ERRORS = {
    "has no len()": "use size() of a set, or count()",
    "is not iterable": "use has() of a set, or some() of a tuple",
    "does not support item assignment": "use put(), which gives a new tuple",
    "object is not subscriptable": "use get() of a tuple, or has() of a set",
    "unexpected keyword argument": "a rule takes the state and the action's parameters, a record its fields",
    "missing": "a rule takes the state and the action's parameters, a record all its fields; evolve() changes some",
}


def mend_of(error: BaseException) -> str:
    """What to write instead, after a semicolon; empty where an error does not say enough."""
    if isinstance(error, (FrozenInstanceError, dataclasses.FrozenInstanceError)):
        return "; a state never changes: return evolve(state, field=value)"
    if isinstance(error, AttributeError) and error.name is not None:
        if error.name in _OF_PYTHONS_SETS and not hasattr(error.obj, "__path__"):
            return f"; use {_OF_PYTHONS_SETS[error.name]}"
        hint = nearest(error.name, [name for name in dir(error.obj) if not name.startswith("_")])
        return f"; {hint}" if hint else ""
    if isinstance(error, TypeError):
        return next((f"; {mend}" for sign, mend in _OF_TYPE_ERRORS.items() if sign in str(error)), "")
    return ""


def line_of(rule: Callable[..., Any] | None) -> str:
    """The line of a rule in parentheses; empty for what is no function of Python."""
    code = getattr(inspect.unwrap(rule), "__code__", None) if rule is not None else None
    return "" if code is None else f" ({code.co_filename}:{code.co_firstlineno})"


def no_state(state: Any, shape: Any, differing: Iterable[str]) -> str:
    """What is wrong with an effect's answer that has not the fields of the layout, and what to return."""
    if state is None:
        return "; it gave None: return the next state"
    if record_fields(type(shape)) is not None and not isinstance(state, type(shape)):
        return f"; it gave no {type(shape).__name__}: return evolve(state, field=value)"
    first = next(iter(differing), "").partition("[")[0]
    given = getattr(state, first, None) if first else None
    return f"; {first} is a {type(given).__name__}: make it a tuple" if isinstance(given, (list, set, dict)) else ""
