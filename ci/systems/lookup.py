"""Systems by name, and their properties: what the command line and the pytest plugin ask for."""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.language.symbolic import place_of
from kraftcheck.model.language.system import Property, ScopeError, Setting, System
from kraftcheck.model.nearest import nearest
from kraftcheck.model.rules.vocabulary import Vocabulary, vocabulary
from kraftcheck.properties import catalogue
from kraftcheck.solvers.program.program import KINDS
from kraftcheck.solvers.program.verdict import DEADLOCK


def find_system(name: str) -> System:
    """A shipped system, or the `System` at `module:attribute` or `file.py:attribute`.

    Raises:
        Refusal: when there is no such system.
    """
    if ":" not in name:
        try:
            return catalogue.find(name)
        except ScopeError as error:
            raise Refusal(f"{error} (a system of your own is module:attribute, or file.py:attribute)") from error
    module_name, _, attribute = name.partition(":")
    module = _import_file(Path(module_name)) if module_name.endswith(".py") else _import(module_name)
    if not hasattr(module, attribute):
        systems = [key for key, value in vars(module).items() if isinstance(value, System)]
        raise Refusal(f"module {module_name} has no {attribute!r}; {nearest(attribute, systems)}")
    found = getattr(module, attribute)
    if not isinstance(found, System):
        raise Refusal(f"{name} is a {type(found).__name__}, not a kraftcheck.System")
    return found


def _import(name: str) -> Any:
    """The module, also from the working folder; what it prints goes to standard error."""
    if not all(part.isidentifier() for part in name.split(".")):
        raise Refusal(f"{name!r} is no module name; a system of your own is module:attribute")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        with contextlib.redirect_stdout(sys.stderr):
            return importlib.import_module(name)
    except ImportError as error:
        missing = isinstance(error, ModuleNotFoundError) and f"{name}.".startswith(f"{error.name}.")
        hint = "; run from the folder that holds it" if missing else ""
        raise Refusal(f"cannot import {name}: {error}{hint}") from error
    except (Exception, SystemExit) as error:
        raise Refusal(f"importing {name} raised {type(error).__name__}: {error}{_line_in(error)}") from error


def _line_in(error: BaseException) -> str:
    """The line of an imported file that raised an error, in parentheses; empty where the error names it itself."""
    line = place_of(error)
    return "" if line is None or isinstance(error, SyntaxError) or line.startswith(f"{__file__}:") else f" ({line})"


def _import_file(path: Path) -> Any:
    """The module in a file, imported by the name that it has from the folder of its topmost package."""
    if not path.is_file():
        raise Refusal(f"there is no file {path}; a system of your own is module:attribute, or file.py:attribute")
    folder, names = path.resolve().parent, [path.stem]
    while (folder / "__init__.py").is_file():
        folder, names = folder.parent, [folder.name, *names]
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    module = _import(".".join(names))
    if Path(getattr(module, "__file__", None) or "").resolve() != path.resolve():
        raise Refusal(f"{path} is imported as {'.'.join(names)}, which another file has already; rename one of them")
    return module


def properties_of(name: str, system: System, setting: Setting) -> tuple[Property, ...]:
    """The properties of a system, once none would be left out silently.

    Raises:
        Refusal: when it raises, or one has an unknown kind or the id of another.
    """
    try:
        claims = tuple(system.properties(setting))
    except Exception as error:
        raise Refusal(f"{name}: properties raised {type(error).__name__}: {error}") from error
    for claim in claims:
        if not isinstance(claim, Property):
            raise Refusal(f"{name}: properties gave {claim!r}, not a kraftcheck.Property")
        if claim.kind not in KINDS:
            raise Refusal(f"{name}: property {claim.id} has kind {claim.kind!r}; {nearest(claim.kind, KINDS)}")
    _check_refuting(name, system, claims)
    twice = [id_ for id_, number in Counter([*(c.id for c in claims), DEADLOCK]).items() if number > 1]
    if twice:
        raise Refusal(f"{name}: two properties have the id {twice[0]!r} ({DEADLOCK!r} is built in)")
    return claims


def words_of(system: System) -> Vocabulary | None:
    """What `--rules` may say of a system; raises Refusal where it does not say that well."""
    try:
        return vocabulary(system)
    except ScopeError as error:
        raise Refusal(str(error)) from error


def _check_refuting(name: str, system: System, claims: Sequence[Property]) -> None:
    """Refuse a refuting variant that the rule sets of the system cannot name; those of a system without are words."""
    words = words_of(system)
    if words is None:
        return
    for claim in claims:
        for variant in (one for several in claim.refuted_by for one in several.split("+")):
            if variant not in words.choices:
                near = nearest(variant, words.choices)
                raise Refusal(f"{name}: property {claim.id}: refuted_by names the unknown variant {variant!r}; {near}")
