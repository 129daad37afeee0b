"""Whether a system asks what class a value has: one of any number has values of other classes than one of a number.

Searches take a map as a tuple, and provers as one of any number. A rule that asks which it has would be another rule
for a proof than for a search, though it is the same text. So no function of a user's system may ask, in modules of its
own or in those that these import from beside them.
"""

from __future__ import annotations

import ast
import dis
import functools
import inspect
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import attrs

from kraftcheck.model.language.system import System
from kraftcheck.solvers.program.parts import SystemFault

ASKING = frozenset((
    "type", "isinstance", "issubclass", "hasattr", "getattr", "vars", "dir", "id", "callable", "largest",
    "singledispatch", "singledispatchmethod", "__class__", "__dict__", "__mro__", "__subclasshook__", "freed", "case",
))  # fmt: skip
"""Names by which a function learns of what class a value is, or what bounds it."""

_MEMBER = "getattr"
_PATTERN = "MATCH_CLASS"  # the instruction of `case Class(...)`
_OTHERS = tuple(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib"))


def check_classes(system: System) -> None:
    """Refuse a system of any number that asks of what class a value is.

    Raises:
        SystemFault: naming what it asks by, and the line.
    """
    parts: list[Any] = [system.initial, system.layout, system.actions, system.properties, system.lemmas]
    for code in _codes(parts):
        for instruction in dis.get_instructions(code):
            asked = "case" if instruction.opname == _PATTERN else _name(instruction)
            line = (instruction.positions and instruction.positions.lineno) or code.co_firstlineno
            if asked in ASKING and not (asked == _MEMBER and _names_members(code.co_filename, line)):
                raise SystemFault(
                    f"{code.co_filename}:{line}: {asked} asks of what class a value is, which with any number is "
                    "another than with a number; let rules say the same of both, or prove it of a number"
                )


def _name(instruction: dis.Instruction) -> str:
    """The name that an instruction looks up; empty where it has a text, or none."""
    if instruction.opname in ("LOAD_CONST", "RETURN_CONST", "KW_NAMES") or not isinstance(instruction.argval, str):
        return ""
    return instruction.argval


def _names_members(file: str, line: int) -> bool:
    """Whether each getattr of a line is a call without a default, which says nothing of what has no such member."""
    try:
        nodes = [one for one in ast.walk(_tree(file)) if getattr(one, "lineno", 0) == line]
    except (OSError, SyntaxError, ValueError):
        return False
    calls = [one for one in nodes if isinstance(one, ast.Call) and isinstance(one.func, ast.Name)
             and one.func.id == _MEMBER and len(one.args) == 2 and not one.keywords]  # fmt: skip
    return len(calls) == sum(isinstance(one, ast.Name) and one.id == _MEMBER for one in nodes)


@functools.cache
def _tree(file: str) -> ast.Module:
    return ast.parse(Path(file).read_bytes())


def _codes(parts: list[Any]) -> Iterator[CodeType]:
    """The code of functions, and of all that they reach in a user's modules."""
    waiting, seen = parts, set[int]()
    while waiting:
        part = waiting.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        if isinstance(part, MethodType):
            waiting += [part.__func__, part.__self__]
        elif isinstance(part, FunctionType):
            waiting += _given(part)
            if _is_own(part.__module__, part.__code__.co_filename):
                yield from _nested(part.__code__)
                waiting += _reached(part)
        elif isinstance(part, type):
            if _is_own(part.__module__, ""):
                waiting += [*vars(part).values(), *part.__bases__]
        elif isinstance(part, property | staticmethod | classmethod):
            waiting += [getattr(part, "fget", None), getattr(part, "__func__", None)]
        elif isinstance(part, tuple | list | set | frozenset):
            waiting += part
        elif isinstance(part, dict):
            waiting += part.values()
        elif isinstance(part, functools.partial):
            waiting += [part.func, part.args, part.keywords]
        elif attrs.has(type(part)):  # as an action, or a property
            waiting += [type(part), *(getattr(part, one.name, None) for one in attrs.fields(type(part)))]
        elif _is_own(type(part).__module__, ""):
            waiting += [type(part), *getattr(part, "__dict__", {}).values()]


def _nested(code: CodeType) -> Iterator[CodeType]:
    yield code
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield from _nested(one)


def _reached(function: FunctionType) -> list[Any]:
    """What a function may call or read by name: globals, and members of modules."""
    names = {name for code in _nested(function.__code__) for name in code.co_names}
    found = [function.__globals__[name] for name in names if name in function.__globals__]
    modules = [one for one in found if isinstance(one, ModuleType) and _is_own(one.__name__, "")]
    members = [vars(one)[name] for one in modules for name in names if name in vars(one)]
    return [*found, *members]


def _given(function: FunctionType) -> list[Any]:
    """What a function was given: what it closes over, its defaults, and what it wraps."""
    cells = [cell.cell_contents for cell in function.__closure__ or () if not _is_empty(cell)]
    given = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
    return [*cells, *given, *([inspect.unwrap(function)] if hasattr(function, "__wrapped__") else [])]


def _is_empty(cell: Any) -> bool:
    try:
        return cell.cell_contents is cell
    except ValueError:
        return True


def _is_own(module: str, file: str) -> bool:
    """Whether a module is neither Python's, nor kraftcheck's, nor one that was installed."""
    name = module.partition(".")[0]
    if name in ("kraftcheck", "attr", "attrs", "builtins") or (name in sys.stdlib_module_names and name != "__main__"):
        return False
    place = file or getattr(sys.modules.get(module), "__file__", None) or ""
    return not place.startswith("<") and not place.startswith(_OTHERS)
