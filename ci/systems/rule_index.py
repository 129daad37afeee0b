"""The rules of the model with all that names them: the place, the sources, the properties, the defects."""

from __future__ import annotations

import functools
import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType

from attrs import frozen

from kraftcheck import model
from kraftcheck.ci.systems.listing import every_property
from kraftcheck.model.language.system import Property
from kraftcheck.model.language.words import Rule, rules_of
from kraftcheck.model.rules.ruleset import parse, variants
from kraftcheck.properties.catalogue import SYSTEMS
from kraftcheck.properties.register.citations import Reference, references
from kraftcheck.properties.register.defects import BUGS, Bug
from kraftcheck.properties.register.rules import UNCOVERED


@frozen
class Check:
    """A property that names a rule.

    Attributes:
        system: the property's system.
        claim: the property.
        refuted_by: of its refuting variants those that switch the rule.
    """

    system: str
    claim: Property
    refuted_by: tuple[str, ...]


@frozen
class Entry:
    """A rule with all that names it.

    Attributes:
        rule: id, sentence, source, switches.
        function: the function that states it, by its name within the module.
        file: the function's file.
        line: the line of the file where the rule is noted.
        references: what its citations lead to.
        checks: the properties that name it.
        defects: rows of the matrix whose variant switches it.
        uncovered: why no property names it; empty where one does.
    """

    rule: Rule
    function: str
    file: Path
    line: int
    references: tuple[Reference, ...]
    checks: tuple[Check, ...]
    defects: tuple[Bug, ...]
    uncovered: str

    def shown_file(self, root: Path) -> str:
        """The file as it is called from a folder: below it relative, else absolute."""
        return str(self.file.relative_to(root)) if self.file.is_relative_to(root) else str(self.file)


@functools.cache
def entries() -> tuple[Entry, ...]:
    """Every rule of the model, by id.

    Raises:
        UnknownCitation: for a source that leads nowhere.
    """
    claims = list(_claims())
    found = [_entry(rule, function, claims) for function in functions() for rule in rules_of(function)]
    return tuple(sorted(found, key=lambda entry: entry.rule.id))


def _claims() -> Iterator[tuple[str, Property]]:
    """The properties of every system: those of its scopes, and those that only the bounds of a defect have."""
    for name, system in SYSTEMS.items():
        claims = every_property(name, system)
        for bug in BUGS:
            if bug.system == name:
                setting = system.setting(bug.scope, bug.bounds, parse(bug.rules))
                claims = {**{claim.id: claim for claim in system.properties(setting)}, **claims}
        yield from ((name, claim) for claim in claims.values())


def names_in(variant: str) -> set[str]:
    """The choices that a variant switches: `-a` switches `a` off, `a+b` switches two on."""
    return set(variant.removeprefix("-").split("+"))


def choice_text(name: str) -> str:
    """What is so when a choice is on."""
    return str(variants()[name].metadata["text"])


def functions() -> Iterator[FunctionType]:
    """The functions and methods that the modules of the model define, each once."""
    for found in pkgutil.walk_packages(model.__path__, f"{model.__name__}."):
        module = importlib.import_module(found.name)
        here = [member for member in vars(module).values() if getattr(member, "__module__", "") == module.__name__]
        for owner in (module, *(member for member in here if inspect.isclass(member))):
            yield from (f for f in vars(owner).values() if inspect.isfunction(f) and f.__module__ == module.__name__)


def _entry(rule: Rule, function: FunctionType, claims: list[tuple[str, Property]]) -> Entry:
    lines, first = inspect.getsourcelines(function)
    offset = next(number for number, line in enumerate(lines) if f'"{rule.id}"' in line)
    switches = set(rule.switches)
    checks = tuple(
        Check(system, claim, tuple(v for v in claim.refuted_by if names_in(v) & switches))
        for system, claim in claims
        if rule.id in claim.rules
    )
    defects = tuple(bug for bug in BUGS if names_in(bug.variant) & switches)
    place = Path(inspect.getfile(function)).resolve()
    return Entry(
        rule, function.__qualname__, place, first + offset, references(rule.source), checks, defects,
        UNCOVERED.get(rule.id, ""),
    )  # fmt: skip
