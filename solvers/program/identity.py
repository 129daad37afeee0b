"""Comparisons by identity in rules, which no tracing sees: `vote is Vote.YES` is false of a word that stands for all.

Python calls nothing for `is`, so a rule that asks it of a word gives terms for one answer alone. Where functions that a
system may call compare with anything but None, those that run while it is traced are noted, and such a one is refused.
"""

from __future__ import annotations

import contextlib
import cProfile
import dis
import functools
import itertools
import sys
import sysconfig
from collections.abc import Iterator
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from kraftcheck import model
from kraftcheck.model.language.symbolic import UntraceableRule
from kraftcheck.model.language.system import System

_OWN = tuple(place.removesuffix("model") for place in model.__path__)
_PYTHON = sysconfig.get_path("stdlib")
MOST = 1000
"""Items of a collection that are looked at; there are lists of initial states."""

_LIBRARIES = ("/attr/", "/attrs/", "/numpy/", "/hypothesis/", "/_pytest/", "/pluggy/", "/coverage/")


@contextlib.contextmanager
def without_identity(system: System) -> Iterator[None]:
    """Refuse rules that run meanwhile and compare by identity.

    A profiler that runs already goes on, and nothing is noted then.

    Raises:
        UntraceableRule: for one, with its line.
    """
    if sys.getprofile() is not None or not any(map(_places, _reached(system))):
        yield
        return
    watch = cProfile.Profile(subcalls=False, builtins=False)
    with watch:
        yield
    run = {one.code for one in watch.getstats() if isinstance(one.code, CodeType) and _is_a_rule(one.code.co_filename)}
    for place in sorted(place for code in run for place in _places(code)):
        raise UntraceableRule(
            f"{place}: `is` asks whether two things are one object, and a word of a rule stands for every value; "
            "compare with == (is None is allowed)"
        )


def _reached(system: System) -> Iterator[CodeType]:
    """The functions, no part of kraftcheck, that those of a system name, and what they name in turn."""
    pending: list[Any] = [getattr(system, name.name) for name in System.__attrs_attrs__]
    seen = dict[int, Any]()
    while pending:
        one = pending.pop()
        if id(one) in seen:
            continue
        seen[id(one)] = one  # kept, so that no other object gets its number
        match one:
            case MethodType():
                pending += [one.__self__, one.__func__]
            case functools.partial():
                pending += [one.func, *one.args, *one.keywords.values()]
            case FunctionType() if _is_a_rule(one.__code__.co_filename):
                codes = [*_within(one.__code__)]
                yield from codes
                names = {name for code in codes for name in code.co_names}
                pending += [one.__globals__[name] for name in names if name in one.__globals__]
                pending += [cell.cell_contents for cell in one.__closure__ or () if _is_filled(cell)]
                pending += [*(one.__defaults__ or ()), *(one.__kwdefaults__ or {}).values()]
            case FunctionType():  # of kraftcheck: what it was given
                pending += [cell.cell_contents for cell in one.__closure__ or () if _is_filled(cell)]
            case dict():
                pending += itertools.islice(one.values(), MOST)
            case list() | tuple() | set() | frozenset():
                pending += itertools.islice(one, MOST)
            case None | str() | int() | float() | bytes():
                pass
            case ModuleType() if _is_a_rule(getattr(one, "__file__", None) or "<"):
                pending += [part for part in vars(one).values() if isinstance(part, FunctionType | type)]
            case ModuleType():
                pass
            case staticmethod() | classmethod():
                pending.append(one.__func__)
            case _:
                pending += _held_by(one)


def _held_by(one: Any) -> Iterator[Any]:
    """What an object or a class holds, and the class of an object, if it is no part of kraftcheck or Python."""
    kind = one if isinstance(one, type) else type(one)
    module = sys.modules.get(kind.__module__)
    if module is not None and _is_a_rule(getattr(module, "__file__", None) or "<"):
        yield from (part.fget if isinstance(part, property) else part for part in vars(kind).values())
        yield from kind.__bases__
    if not isinstance(one, type):
        yield from getattr(one, "__dict__", {}).values()
        yield from (getattr(one, name, None) for name in getattr(kind, "__slots__", ()))


def _within(code: CodeType) -> Iterator[CodeType]:
    yield code
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield from _within(part)


def _is_filled(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True


@functools.cache
def _is_a_rule(file: str) -> bool:
    """Whether a file is no part of kraftcheck, of Python or of a library that rules are made with."""
    if file.startswith(("<", *_OWN)):
        return False
    installed = "site-packages" in file
    return not (any(name in file for name in _LIBRARIES) if installed else file.startswith(_PYTHON))


@functools.cache
def _places(code: CodeType) -> tuple[str, ...]:
    """Where a function compares by identity with anything but None."""
    found, last = list[str](), None
    for one in dis.get_instructions(code):
        of_none = last is not None and last.opname == "LOAD_CONST" and last.argval is None and not one.is_jump_target
        if one.opname == "IS_OP" and not of_none:
            found.append(f"{code.co_filename}:{(one.positions and one.positions.lineno) or code.co_firstlineno}")
        last = one
    return tuple(found)
