"""The ways that Python takes through rules: while a rule is traced, words stand for all their values at once.

No rule may decide by what Python says of a word. Words refuse what they are asked; of what nobody asks them (`is`,
`type()`, a class, a variable that changes) a rule takes the way of one answer alone. So each rule that is compared on
ints is followed there instruction by instruction, and must take no turn that it did not take when it was traced.
"""

from __future__ import annotations

import dis
import functools
import gc
import linecache
import sys
import sysconfig
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any, TypeVar

from kraftcheck import model
from kraftcheck.model.language.symbolic import UntraceableRule

Way = set[tuple[CodeType, int, int]]
"""The turns that were taken: the code, an instruction, and the one after it."""

T = TypeVar("T")

_OWN = tuple(place.removesuffix("model") for place in model.__path__)
_PYTHON = sysconfig.get_path("stdlib")
_LIBRARIES = ("/attr/", "/attrs/", "/numpy/", "/hypothesis/", "/_pytest/", "/pluggy/", "/coverage/")


def followed(question: Callable[[], T], way: Way) -> T:
    """The answer of a question; the turns that are taken in what is no part of kraftcheck are added to the way."""

    def called(frame: FrameType, event: str, argument: Any) -> Any:
        if not _is_a_rule(frame):
            return None
        frame.f_trace_opcodes, frame.f_trace_lines, last = True, False, -1

        def taken(frame: FrameType, event: str, argument: Any) -> Any:
            nonlocal last
            if event == "opcode":
                way.add((frame.f_code, last, frame.f_lasti))
                last = frame.f_lasti
            return taken

        return taken

    before, collects = sys.gettrace(), gc.isenabled()
    gc.disable()  # what it calls for the garbage of others is no part of the answer
    sys.settrace(called)
    try:
        return question()
    finally:
        sys.settrace(before)
        if collects:
            gc.enable()


def without_identity(way: Way) -> Way:
    """The way itself.

    Raises:
        UntraceableRule: for a function on it that compares by identity, with its line.
    """
    for found in sorted(one for code in {code for code, _, _ in way} for one in _by_identity(code)):
        raise UntraceableRule(
            f"{found} asks whether both are one object, and these are others while a rule is traced; "
            "compare values and classes with == (is None is allowed)"
        )
    return way


_OF_SHAPE = frozenset({
    "hasattr", "getattr", "isinstance", "issubclass", "type", "dir", "vars", "id", "repr", "str", "format", "callable",
    "len", "__class__", "__dict__", "__name__", "__slots__", "attrgetter", "methodcaller",
})  # fmt: skip
"""What tells a value by what it is, and not by what it holds."""


def asked_of_shape(way: Way) -> str:
    """The first function on a way that asks what a value is, with its line; empty where none does."""
    codes = {code for code, _, _ in way}
    found = [(code, name) for code in codes for name in sorted(_OF_SHAPE.intersection(code.co_names))]
    return min((f"{code.co_filename}:{code.co_firstlineno}: it asks {name}" for code, name in found), default="")


def turn_of(way: Way, traced: Way) -> str:
    """The line of the first turn of a way that another one has not; empty where there is none."""
    turns = sorted((code.co_filename, _line(code, at)) for code, at, after in way - traced)
    return ":".join(map(str, turns[0])) if turns else ""


def _line(code: CodeType, at: int) -> int:
    return next((line for first, end, line in code.co_lines() if line and first <= at < end), code.co_firstlineno)


def _is_a_rule(frame: FrameType) -> bool:
    """Whether code is no part of kraftcheck, of Python or of a library that rules are made with.

    What `eval` has made is of the module whose names it knows, whatever its file is called.
    """
    module = sys.modules.get(frame.f_globals.get("__name__") or "")
    of_module = module is not None and vars(module) is frame.f_globals
    return _is_of_rules((getattr(module, "__file__", None) if of_module else None) or frame.f_code.co_filename)


@functools.cache
def _is_of_rules(file: str) -> bool:
    if file.startswith(("<attrs ", "<frozen ", *_OWN)):
        return False
    installed = "site-packages" in file
    return not (any(name in file for name in _LIBRARIES) if installed else file.startswith(_PYTHON))


@functools.cache
def _by_identity(code: CodeType) -> tuple[str, ...]:
    """The comparisons of a function by identity with anything but None: the line, and the text."""
    found, last = list[str](), None
    for one in dis.get_instructions(code):
        of_none = last is not None and last.opname == "LOAD_CONST" and last.argval is None and not one.is_jump_target
        if one.opname == "IS_OP" and not of_none:
            at = one.positions or dis.Positions()
            line = linecache.getline(code.co_filename, at.lineno or 0).encode()
            text = line[at.col_offset : at.end_col_offset].decode()
            shown = text if " is " in text and at.lineno == at.end_lineno else "is"
            found.append(f"{code.co_filename}:{at.lineno or code.co_firstlineno}: `{shown}`")
        last = one
    return tuple(found)
