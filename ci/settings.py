"""From what the user typed to a system at a setting."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Mapping, Sequence

from attrs import evolve, frozen

from ci.refusal import Refusal
from model import rules as rule_sets
from model.layout import LayoutError
from model.system import Property, ScopeError, Setting, System, nearest
from model.untraceable import UntraceableRule
from properties import catalogue
from solvers.program import Program, SystemFault, trace

DEFAULT_RULES = "kafka-4.0"


@frozen
class Subject:
    """A system at a setting, and the words that name both.

    Attributes:
        name: a shipped name, or `module:attribute`.
        system: the system, its properties filtered as asked.
        setting: scope, bounds and rules.
        rules: the rule set as typed; None for systems without rules.
    """

    name: str
    system: System
    setting: Setting
    rules: str | None

    def command(self) -> str:
        """The command that explores this subject again."""
        preset = self.system.scopes.get(self.setting.scope, {})
        bounds = [f"--{k} {v}" for k, v in self.setting.bounds.items() if preset.get(k) != v]
        rules = [] if self.rules is None else [f"--rules {self.rules}"]
        return " ".join(["kraftcheck explore", self.name, f"--scope {self.setting.scope}", *bounds, *rules])

    def title(self) -> str:
        """A line that says what is checked."""
        bounds = ", ".join(f"{name} {value}" for name, value in self.setting.bounds.items())
        parts = [f"scope {self.setting.scope}" + (f" ({bounds})" if bounds else "")]
        return f"{self.name}, " + ", ".join(parts if self.rules is None else [*parts, f"rules {self.rules}"])


def find_system(name: str) -> System:
    """A shipped system, or the `System` at `module:attribute`.

    Raises:
        Refusal: when there is no such system.
    """
    if ":" not in name:
        try:
            return catalogue.find(name)
        except ScopeError as error:
            raise Refusal(f"{error} (a system of your own is module:attribute)") from error
    module_name, _, attribute = name.partition(":")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        module = importlib.import_module(module_name)
    except ImportError as error:
        raise Refusal(f"cannot import {module_name}: {error}; run from the folder that holds it") from error
    except Exception as error:
        raise Refusal(f"importing {module_name} raised {type(error).__name__}: {error}") from error
    if not hasattr(module, attribute):
        systems = [key for key, value in vars(module).items() if isinstance(value, System)]
        raise Refusal(f"module {module_name} has no {attribute!r}; {nearest(attribute, systems)}")
    found = getattr(module, attribute)
    if not isinstance(found, System):
        raise Refusal(f"{name} is a {type(found).__name__}, not a model.system.System")
    return found


def subject(
    name: str, scope: str | None, bounds: Mapping[str, int], rules: str | None, only: Sequence[str] = ()
) -> Subject:
    """The subject that the user named.

    Args:
        name: system name or `module:attribute`.
        scope: preset; None for the first.
        bounds: single bounds that override it.
        rules: `PRESET[+VARIANT|-VARIANT...]`; None for the default.
        only: ids of the properties to judge; empty for all.

    Raises:
        Refusal: naming what is unknown or out of range, with the nearest names.
    """
    system = find_system(name)
    if rules is not None and not system.rules:
        raise Refusal(f"{name} takes no rule set; leave out --rules")
    text = (rules or DEFAULT_RULES) if system.rules else None
    try:
        parsed = None if text is None else rule_sets.parse(text)
        setting = system.setting(scope, bounds, parsed)
    except ScopeError as error:
        raise Refusal(str(error)) from error
    return Subject(name, _only(system, setting, only), setting, text)


def _only(system: System, setting: Setting, ids: Sequence[str]) -> System:
    if not ids:
        return system
    known = {claim.id: claim for claim in system.properties(setting)}
    for id_ in ids:
        if id_ not in known:
            raise Refusal(f"{system.name} has no property {id_!r} at this setting; {nearest(id_, known)}")
    chosen: tuple[Property, ...] = tuple(known[id_] for id_ in dict.fromkeys(ids))
    return evolve(system, properties=lambda _: chosen)


def program(chosen: Subject) -> Program:
    """The subject traced; faults of a user's system become one line."""
    try:
        return trace(chosen.system, chosen.setting)
    except (SystemFault, UntraceableRule, LayoutError) as error:
        raise Refusal(f"{chosen.name}: {error}") from error


def parse_bounds(extra: Sequence[str], known: Sequence[str]) -> dict[str, int]:
    """Single bounds typed as `--NAME N` or `--NAME=N`.

    Raises:
        Refusal: for an unknown flag (nearest names given) or a value that is no int.
    """
    bounds: dict[str, int] = {}
    words = [part for word in extra for part in (word.split("=", 1) if word.startswith("--") else [word])]
    while words:
        flag = words.pop(0)
        name = flag.removeprefix("--")
        if not flag.startswith("--") or name not in known:
            raise Refusal(f"unknown option {flag}; {nearest(name, known)}")
        value = words.pop(0) if words else ""
        if not value.lstrip("-").isdigit():
            raise Refusal(f"--{name} takes an int, not {value!r}")
        bounds[name] = int(value)
    return bounds
