"""The ways that rules take: the turns of their code, and what they ask on them that no word can answer."""

from __future__ import annotations

import ast
import builtins
import dis
import functools
import gc
import linecache
import re
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, TypeVar

from kraftcheck.model.language.layout import leaves
from kraftcheck.model.language.symbolic import UntraceableRule, record_fields
from kraftcheck.model.language.terms import Term
from kraftcheck.solvers.audit.numbers import OWN

Way = set[tuple[CodeType, int, int]]
"""The turns that were taken: the code, an instruction, and the one after it, or UNEQUAL; of a library LIBRARY."""

UNEQUAL = -2  # after a comparison of a record with what is of another class
LIBRARY = -3  # where a rule calls what is neither its own nor kraftcheck's

T = TypeVar("T")

_PYTHON = sysconfig.get_path("stdlib")
_HARMLESS = ("functools.py", "enum.py", "typing.py", "operator.py", "collections/", "dataclasses.py", "_abc", "abc.py")
_LIBRARIES = ("attr/", "attrs/", "numpy/", "hypothesis/", "_pytest/", "pluggy/", "coverage/")


def followed(question: Callable[[], T], way: Way) -> T:
    """The answer of a question; the turns that are taken in what is no part of kraftcheck are added to the way."""

    def compared(frame: FrameType, event: str, answer: Any) -> Any:
        if event == "return" and answer is NotImplemented:
            asking, values = frame, (frame.f_locals.get("self"), frame.f_locals.get("other"))
            while asking.f_code.co_name in ("__eq__", "__ne__") and asking.f_back is not None:
                asking = asking.f_back
            of_words = any(isinstance(leaf, Term) for value in values for _, leaf in leaves(value))
            if of_words and _is_a_rule(asking):
                way.add((asking.f_code, asking.f_lasti, UNEQUAL))
        return compared

    def called(frame: FrameType, event: str, argument: Any) -> Any:
        if _is_made_equality(frame):
            return compared
        if not _is_a_rule(frame):
            if frame.f_back is not None and _is_a_rule(frame.f_back) and _is_of_library(frame.f_code.co_filename):
                way.add((frame.f_code, LIBRARY, LIBRARY))
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


def check_questions(way: Way) -> None:
    """Refuse what Python answers alike for every state.

    Raises:
        UntraceableRule: for a function on the way that compares by identity, or a record with what is of another
            class, or asks a method that it does not call for its truth, with its line.
    """
    unequal = [(code, one) for code, at, after in way if after == UNEQUAL
               for one in dis.get_instructions(code) if one.offset == at]  # fmt: skip
    found = [f"{_quoted(code, one, str(one.argval))} {OF_TWO_CLASSES}" for code, one in unequal]
    for text in sorted([*found, *(one for code in _codes(way) for one in _misread(code))]):
        raise UntraceableRule(text)


_OF_SHAPE = frozenset({
    "hasattr", "getattr", "isinstance", "issubclass", "type", "dir", "vars", "id", "repr", "str", "format", "callable",
    "len", "__class__", "__dict__", "__name__", "__slots__", "attrgetter", "methodcaller",
})  # fmt: skip
"""What tells a value by what it is, and not by what it holds."""


_HIDDEN = re.compile(r"__(?!name__|module__|qualname__|class_getitem__)\w+__")
"""Members that Python gives every value, and that rules read of none but by an operator."""

OF_CLASS = _OF_SHAPE.difference(("len", "repr", "str", "format", "id", "__name__")).union(
    ("length_hint", "largest", "freed", "builtins", "getsizeof"))  # fmt: skip
"""What tells a map of any number from a tuple, or what bounds a word, and raises in neither."""

_GLOBAL = ("LOAD_GLOBAL", "LOAD_NAME", "IMPORT_FROM")  # instructions that look a function up, and not a field


def asked_of_shape(way: Way, names: frozenset[str] = _OF_SHAPE) -> str:
    """The first function on a way that asks what a value is, with its line; empty where none does."""
    found = [
        (code, name)
        for code in _codes(way)
        for name in sorted({*code.co_names})
        if _HIDDEN.fullmatch(name) or (name in names and (names is _OF_SHAPE or _asks_of_class(code, name)))
    ]
    said = [f"{code.co_filename}:{code.co_firstlineno}: it asks {name}" for code, name in found]
    called = [f"{code.co_filename}: its {code.co_name} is called" for code, at, _ in way if at == LIBRARY]
    return min([*said, *called], default="")


def _codes(way: Way) -> set[CodeType]:
    """The code of rules on a way."""
    return {code for code, at, _ in way if at != LIBRARY}


def _asks_of_class(code: CodeType, name: str) -> bool:
    """Whether a function looks a name up to ask by it: a field may be called `type`, and a member read by its name."""
    if not hasattr(builtins, name):
        return True
    looked_up = any(one.argval == name and one.opname in _GLOBAL for one in dis.get_instructions(code))
    return looked_up and not (name == "getattr" and _names_members(code))


def _names_members(code: CodeType) -> bool:
    """Whether each getattr of a function is a call without a default, which says nothing of what has no such member."""
    lines = {line for _, _, line in code.co_lines() if line}
    try:
        nodes = [one for one in ast.walk(_tree(code.co_filename)) if getattr(one, "lineno", 0) in lines]
    except (OSError, SyntaxError, ValueError):
        return False
    calls = [one for one in nodes if isinstance(one, ast.Call) and len(one.args) == 2 and not one.keywords
             and isinstance(one.func, ast.Name) and one.func.id == "getattr"]  # fmt: skip
    return len(calls) == sum(isinstance(one, ast.Name) and one.id == "getattr" for one in nodes)


@functools.cache
def _tree(file: str) -> ast.Module:
    return ast.parse(Path(file).read_bytes())


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
    file, said = frame.f_code.co_filename, (getattr(module, "__file__", None) if of_module else None)
    return is_of_rules(said or file) or (not file.startswith("<") and is_of_rules(file))


def _is_made_equality(frame: FrameType) -> bool:
    """Whether code is the comparison that a class of records was given, by attrs or as a dataclass."""
    code = frame.f_code
    return (code.co_name in ("__eq__", "__ne__") and record_fields(type(frame.f_locals.get("self"))) is not None
            and (code.co_filename.startswith("<") or "/attr/" in code.co_filename))  # fmt: skip


@functools.cache
def is_of_rules(file: str) -> bool:
    """Whether code is of who wrote the rules: no part of kraftcheck, of Python, or of a library that rules may call."""
    if file.startswith(("<attrs ", "<frozen ", *OWN)):
        return False
    installed = file.rpartition("site-packages/")[2]
    return not (installed.startswith(_LIBRARIES) if installed != file else file.startswith(_PYTHON))


@functools.cache
def _is_of_library(file: str) -> bool:
    """Whether code is of a library that rules have no use for."""
    if is_of_rules(file) or file.startswith(("<", *OWN)) or "/attr" in file:
        return False
    return not file.removeprefix(_PYTHON + "/").startswith(_HARMLESS)


IDENTITY = ("asks whether both are one object, and these are others while a rule is traced; "
            "compare values and classes with == (is None is allowed)")  # fmt: skip
OF_TWO_CLASSES = ("compares a record with a value of another class, which it never equals, whatever they hold; compare "
                  "records of one class (is None is allowed)")  # fmt: skip
UNCALLED = "is a condition, and a method that is not called is always true; call it"
ANSWERS = frozenset({"has", "is_empty", "is_full", "same", "within"})
"""The methods of collections whose answers are truths."""


@functools.cache
def _misread(code: CodeType) -> tuple[str, ...]:
    """What a function asks of Python that Python answers alike for every state: the line, the text, and why.

    Comparisons by identity with anything but None, and methods of collections as conditions.
    """
    found, last = list[str](), None
    for one in dis.get_instructions(code):
        name = "" if last is None else last.argval
        decides = one.opname in ("UNARY_NOT", "TO_BOOL") or ("JUMP" in one.opname and "_IF_" in one.opname)
        if one.opname == "IS_OP" and not (last is not None and last.opname == "LOAD_CONST" and name is None
                                          and not one.is_jump_target):  # fmt: skip
            found.append(f"{_quoted(code, one, ' is ')} {IDENTITY}")
        elif decides and last is not None and last.opname in ("LOAD_ATTR", "LOAD_METHOD") and name in ANSWERS:
            found.append(f"{_quoted(code, last, f'.{name}')} {UNCALLED}")
        last = one
    return tuple(found)


def _quoted(code: CodeType, one: dis.Instruction, part: str) -> str:
    """The line of an instruction, and its text where that is of one line; else the part that matters."""
    at = one.positions or dis.Positions()
    line = linecache.getline(code.co_filename, at.lineno or 0).encode()
    text = line[at.col_offset : at.end_col_offset].decode()
    shown = text if part in text and at.lineno == at.end_lineno else part.strip()
    return f"{code.co_filename}:{at.lineno or code.co_firstlineno}: `{shown}`"
