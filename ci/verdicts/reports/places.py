"""Where a property, a rule or an action is written: the file and line that reports point at."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from attrs import frozen

from kraftcheck import model
from kraftcheck.ci.systems.subject import Subject
from kraftcheck.model.language import system as language
from kraftcheck.model.language.system import Property

REPOSITORY, PACKAGE = "%SRCROOT%", "KRAFTCHECK"
"""What a path is relative to: the root of the repository, or the folder that holds the installed package."""

LAYERS = ("model", "properties", "solvers", "ci")


@frozen
class Place:
    """A line of a file.

    Attributes:
        path: relative to `base`, with `/`; absolute where that is empty.
        line: from 1.
        base: `REPOSITORY`, `PACKAGE`, or empty for a file of neither.
    """

    path: str
    line: int
    base: str


def repository() -> Path:
    """The root of the repository around the working folder; the working folder itself where there is none."""
    here = Path.cwd().resolve()
    workspace = os.environ.get("GITHUB_WORKSPACE")
    if workspace and here.is_relative_to(Path(workspace).resolve()):
        return Path(workspace).resolve()
    return next((folder for folder in (here, *here.parents) if (folder / ".git").exists()), here)


def package() -> Path:
    """The folder that holds the package `kraftcheck`."""
    return Path(model.__file__).absolute().parent.parent.parent  # the layers of a checkout are links


def place(file: str | Path, line: int) -> Place:
    """A file as reports name it.

    A file of an installed kraftcheck is named as its module is, `kraftcheck/properties/...`, for it is in no repository
    of the user; in a checkout of kraftcheck it is a file as any other.
    """
    return _place(str(Path(file).absolute()), line, repository())


@functools.lru_cache(maxsize=1024)
def _place(file: str, line: int, root: Path) -> Place:
    path, home = Path(file).resolve(), package()
    if root != home:
        for layer in LAYERS:
            folder = (home / "kraftcheck" / layer).resolve()
            if path.is_relative_to(folder):
                return Place(f"kraftcheck/{layer}/{path.relative_to(folder).as_posix()}", line, PACKAGE)
    if path.is_relative_to(root):
        return Place(path.relative_to(root).as_posix(), line, REPOSITORY)
    return Place(path.as_posix(), line, "")


def place_of(function: Any) -> Place | None:
    """Where a function is written; None for what has no source, such as a builtin."""
    while isinstance(function, functools.partial):
        function = function.func
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    if code is None or code.co_filename in ("<string>", "<stdin>", language.__file__):
        return None
    return place(code.co_filename, code.co_firstlineno)


def place_of_property(chosen: Subject, claim: Property | None) -> Place | None:
    """Where a property is written; for deadlock, and where that is unknown, a place of its system."""
    places = (place_of(function) for function in _functions(chosen, claim))
    return next((found for found in places if found is not None), None)


def place_of_action(chosen: Subject, name: str) -> Place | None:
    """Where the effect of an action is written."""
    actions = chosen.system.actions(chosen.setting)
    return next((place_of(action.effect) for action in actions if action.name == name), None)


def _functions(chosen: Subject, claim: Property | None) -> Iterator[Any]:
    """The function that states a property, then those of its system."""
    if claim is not None:
        yield claim.predicate
        yield chosen.whole.properties
    yield chosen.system.quiescent
    yield from (action.effect for action in chosen.system.actions(chosen.setting))
