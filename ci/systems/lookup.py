"""Systems by name, and their properties: what the command line and the pytest plugin ask for."""

from __future__ import annotations

import contextlib
import functools
import importlib
import inspect
import os
import pkgutil
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import FunctionType
from typing import Any

import attrs
import click
from attrs import frozen

from kraftcheck import model
from kraftcheck.ci.terminal.console import Column, Screen, Table, console
from kraftcheck.ci.terminal.files import write_json
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.language.symbolic import place_of, with_article
from kraftcheck.model.language.system import LIVENESS, Property, ScopeError, Setting, System
from kraftcheck.model.language.words import Rule, RuleError, rules_of
from kraftcheck.model.nearest import nearest
from kraftcheck.model.rules import ruleset as rules
from kraftcheck.model.rules.ruleset import parse, variants
from kraftcheck.model.rules.vocabulary import BASE, Vocabulary, vocabulary
from kraftcheck.properties.catalogue import FAIR_SYSTEMS, SYSTEMS
from kraftcheck.properties.catalogue import find as find_in_catalogue
from kraftcheck.properties.register.citations import Reference, references
from kraftcheck.properties.register.defects import BUGS, Bug
from kraftcheck.properties.register.rules import UNCOVERED
from kraftcheck.solvers.program.parts import RAISED, line_of, mend_of
from kraftcheck.solvers.program.program import KINDS, recovery_actions
from kraftcheck.solvers.program.verdict import DEADLOCK


def find_system(name: str | System) -> System:
    """A shipped system, that at `module:attribute` or `file.py:attribute`, or the one given; Refusal for none."""
    if isinstance(name, System):
        return name
    if not isinstance(name, str):
        raise Refusal(f"{name!r} is no system: give a kraftcheck.System, or the name of one")
    if ":" not in name:
        if name.endswith(".py") and Path(name).is_file():
            named = re.findall(r"^(\w+) *=.*\bSystem\(", Path(name).read_text(encoding="utf-8"), re.MULTILINE)
            raise Refusal(f"{name} is a file; name the system in it, {name}:{named[0] if named else 'SYSTEM'}")
        try:
            return find_in_catalogue(name)
        except ScopeError as error:
            raise Refusal(f"{error} (a system of your own is module:attribute, or file.py:attribute)") from error
    module_name, _, attribute = name.partition(":")
    module = _import_file(Path(module_name)) if module_name.endswith(".py") else _import(module_name)
    if not hasattr(module, attribute):
        systems = [key for key, value in vars(module).items() if isinstance(value, System)]
        raise Refusal(f"module {module_name} has no {attribute!r}; {nearest(attribute, systems)}")
    found = getattr(module, attribute)
    if not isinstance(found, System):
        given = f"; give a name to one that it gives, SYSTEM = {attribute}(...)" * inspect.isfunction(found)
        raise Refusal(f"{name} is {with_article(type(found).__name__)}, not a kraftcheck.System{given}")
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
    except Refusal:
        raise
    except RuleError as error:
        raise Refusal(str(error)) from error
    except ImportError as error:
        missing = isinstance(error, ModuleNotFoundError) and f"{name}.".startswith(f"{error.name}.")
        hint = "; run from the folder that holds it" if missing else ""
        told = f"cannot import {name}: {error}{hint}"
        raise Refusal(f"{line}: {told}" if (line := _line_in(error)) else told) from error
    except RAISED as error:
        told = f"importing {name} raised {type(error).__name__}: {error}{mend_of(error)}"
        raise Refusal(f"{line}: {told}" if (line := _line_in(error)) else told) from error


def _line_in(error: BaseException) -> str:
    """The line of an imported file that raised an error, without folders; empty where the error names it itself."""
    line = place_of(error)
    if line is None or isinstance(error, SyntaxError) or line.startswith(f"{__file__}:"):
        return ""
    return line.rpartition("/")[2]


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
    other = getattr(module, "__file__", None) or "a module of Python"
    if Path(other).resolve() != path.resolve():
        raise Refusal(f"{path} is imported as {'.'.join(names)}, which another file has already, {other}; rename one")
    return module


_PACKAGE = str(Path(model.__file__).parent.parent)
_LINE = re.compile(r"^(?P<before>[^\s()]+\.py:\d+): | \((?P<after>[^\s()]+\.py:\d+)(?P<more>, [^()]+)?\)$")
"""The line of a rule that a fault begins or ends with."""


def at_fault(name: str, system: System, setting: Setting, fault: object) -> Refusal:
    """A fault of a system, to be raised, which begins with its author's line, or a changed system's changes'."""
    from kraftcheck.ci.systems.added import is_on  # needs arrays, which lists and help do without

    line, said = _LINE.search(str(fault)), str(fault)
    at = "" if line is None else line["before"] or line["after"]
    own = "" if at.startswith(_PACKAGE) else at.rpartition("/")[2]
    parts = [one for one in getattr(system, "parts", ()) if hasattr(one, "place") and is_on(one, setting)]
    if line is not None and (own or parts) and not line["more"]:
        said = said.replace(line[0], "")
    return Refusal(f"{own or ' or '.join(dict.fromkeys(one.place for one in parts)) or name}: {said}")


def properties_of(name: str, system: System, setting: Setting) -> tuple[Property, ...]:
    """The properties of a system; raises Refusal when it raises, or one has an unknown kind or the id of another."""
    try:
        given = system.properties(setting)
        if isinstance(given, Iterator) and system.properties(setting) is given:
            raise Refusal(f"{name}: properties gave an iterator, which can be gone through only once; give a list")
        claims = tuple(given)
    except Refusal:
        raise
    except RuleError as error:
        raise Refusal(str(error)) from error
    except RAISED as error:
        raise Refusal(f"{_line_in(error) or name}: properties raised {type(error).__name__}: {error}") from error
    for claim in claims:
        if not isinstance(claim, Property):
            raise Refusal(f"{name}: properties gave {claim!r}, not a kraftcheck.Property")
        if claim.kind not in KINDS:
            raise at_fault(name, system, setting, f"property {claim.id} has kind {claim.kind!r}; "
                           f"{nearest(claim.kind, KINDS)}{line_of(claim.predicate)}")  # fmt: skip
    _check_refuting(name, system, setting, claims)
    twice = [id_ for id_, number in Counter([*(c.id for c in claims), DEADLOCK]).items() if number > 1]
    if twice:
        lines = line_of(*(claim.predicate for claim in claims if claim.id == twice[0]))
        raise at_fault(name, system, setting, f"two properties have the id {twice[0]!r} ({DEADLOCK!r} is built in)"
                       f"{lines}")  # fmt: skip
    return claims


def words_of(system: System) -> Vocabulary | None:
    """What `--rules` may say of a system; raises Refusal where it does not say that well."""
    try:
        return vocabulary(system)
    except ScopeError as error:
        raise Refusal(str(error)) from error


def _check_refuting(name: str, system: System, setting: Setting, claims: Sequence[Property]) -> None:
    """Refuse a refuting variant that the rule sets of the system cannot name; those of a system without are words."""
    words = words_of(system)
    if words is None:
        return
    for claim in claims:
        for variant in (one for several in claim.refuted_by for one in several.split("+")):
            if variant not in words.choices:
                near = nearest(variant, words.choices)
                raise at_fault(name, system, setting, f"property {claim.id}: refuted_by names the unknown variant "
                               f"{variant!r}; {near}{line_of(claim.predicate)}")  # fmt: skip


BASE_NOTE = "each choice of the system off"


def every_property(name: str, system: System) -> dict[str, Property]:
    """Properties of the default scope, then others only elsewhere; of a changed system with every choice of its own."""
    words = words_of(system)
    presets: Mapping[str, Any] = {"": None} if words is None else words.presets
    if words is not None and system.base:
        own = "".join(f"+{name}" for name in words.choices if not words.group(name))
        presets = {system.base: words.parse(system.base + own)}
    settings = [system.setting(scope, rules=preset) for scope in system.scopes for preset in presets.values()]
    if system is {**SYSTEMS, **FAIR_SYSTEMS}.get(name):  # another of its name has no defects
        rows = (bug for bug in BUGS if bug.system == name)
        settings += [system.setting(bug.scope, bug.bounds, parse(bug.rules)) for bug in rows]
    by_id: dict[str, Property] = {}
    for setting in settings:
        for claim in properties_of(name, system, setting):
            by_id.setdefault(claim.id, claim)
    return by_id


def describe(system: System) -> dict[str, object]:
    """A system as plain values."""
    return {
        "name": system.name,
        "summary": system.summary,
        **({"changes": list(system.changes)} if system.changes else {}),
        "scopes": {name: dict(bounds) for name, bounds in system.scopes.items()},
        "bounds": [{"name": b.name, "lo": b.lo, "hi": b.hi, "help": b.help} for b in system.bounds],
        "properties": [
            {
                "id": c.id,
                "kind": c.kind,
                "sentence": c.sentence,
                "source": c.source,
                "refuted_by": list(c.refuted_by),
                "rules": list(c.rules),
                "by": {action: dict(arguments) for action, arguments in c.by.items()},
            }
            for c in every_property(system.name, system).values()
        ],
    }


def catalogue(systems: Sequence[System]) -> dict[str, object]:
    """Everything that can be named on the command line."""
    own = next((words for words in map(words_of, systems) if words is not None and not words.declared), None)
    return {
        "version": 1,
        "command": "list",
        "systems": [describe(system) for system in systems],
        "rules": dict(rules.PRESET_NOTES if own is None else {BASE: BASE_NOTE}),
        "variants": [
            {"name": name, **{key: choice.metadata.get(key, "") for key in ("group", "source", "text")}}
            for name, choice in (rules.variants() if own is None else own.choices).items()
        ],
    }


@click.command("list")
@click.argument("system", required=False)
@click.option("--variants", "of_variants", is_flag=True, help="Every choice of the rules, or those that SYSTEM reads.")
@click.option("--properties", is_flag=True, help="Every property of SYSTEM: what it says, its source, what refutes it.")
@click.option("--json", "target", metavar="FILE|-", help="Write the catalogue (of SYSTEM) as a JSON document.")
def list_command(system: str | None, of_variants: bool, properties: bool, target: str | None) -> None:
    """Show what there is: all systems and rule sets, or one SYSTEM; or properties, or variants.

    \b
    Examples:
      kraftcheck list
      kraftcheck list elections
      kraftcheck list elections --properties
      kraftcheck list elections --variants
      kraftcheck list --json -
    """
    chosen = None if system is None else find_system(system)
    if properties and chosen is None:
        raise Refusal("--properties is of one system; name it, as in kraftcheck list elections --properties")
    if target is not None:
        write_json(target, catalogue((*SYSTEMS.values(), *FAIR_SYSTEMS.values()) if chosen is None else (chosen,)))
        return
    screen = console()
    if of_variants:
        _print_variants(screen, _choices(chosen))
        return
    if chosen is not None:
        (_print_properties if properties else _print_system)(screen, chosen)
        return
    screen.heading("systems", "(kraftcheck list SYSTEM shows properties)")
    for listed in SYSTEMS.values():
        screen.plain(f"  {listed.name}: {listed.summary}")
    screen.plain("")
    screen.heading("systems with fairness", "(what must finally happen; explore and check judge them)")
    for listed in FAIR_SYSTEMS.values():
        screen.plain(f"  {listed.name}: {listed.summary}")
    screen.plain("")
    screen.heading("rule sets")
    for name, note in rules.PRESET_NOTES.items():
        if name not in rules.RELEASES:
            screen.plain(f"  {name}: {note}")
    first, *others = rules.RELEASES
    released = ", ".join([first, *(name.removeprefix("kafka-") for name in others)])
    screen.plain(f"  {released}: the controller of that release")
    screen.plain("")
    every = _choices(None)
    screen.heading("variants", f"(PRESET+NAME switches one on, PRESET-NAME off): {len(every)}; --variants shows them")


def _choices(system: System | None) -> Mapping[str, attrs.Attribute[bool]]:
    if system is None:
        return rules.variants()
    words = words_of(system)
    return {} if words is None else {name: one for name, one in words.choices.items() if words.reads(name)}


def _print_variants(screen: Screen, choices: Mapping[str, attrs.Attribute[bool]]) -> None:
    screen.heading("variants", "(PRESET+NAME switches one on, PRESET-NAME off)")
    table = Table((Column(), Column(), Column(is_prose=True), Column(is_prose=True)))
    for name, choice in choices.items():
        told = (choice.metadata.get(key, "") for key in ("group", "text", "source"))
        table.add("  " + name, *told)
    screen.table(table)


FEW = 20  # properties that are listed each with its sentence
SECTIONS: Mapping[str, tuple[str, ...]] = {
    "of states": ("always",), "of steps": ("step",), "of recovery": ("recovers",), "of whole runs": LIVENESS,
    "goals": ("sometimes", "happens"),
}  # fmt: skip
"""What the properties of more are called, by kind."""


def _print_system(screen: Screen, system: System) -> None:
    screen.plain(f"{system.name}: {system.summary}\n")
    if system.changes:
        screen.plain(f"with {', '.join(system.changes)}\n")
    screen.heading("scopes", "(the first is the default)")
    for name, bounds in system.scopes.items():
        screen.plain(f"  {name}: " + (", ".join(f"{k} {v}" for k, v in bounds.items()) or "no bounds"))
    if system.bounds:
        screen.plain("")
        screen.heading("bounds")
    for bound in system.bounds:
        screen.plain(f"  --{bound.name} {bound.lo}..{bound.hi}: {bound.help}")
    words = words_of(system)
    if words is not None and words.declared:
        count = len(_choices(system))
        screen.plain(f"\nreads {count} choices of: {', '.join(words.declared)} (--variants shows them)")
        own = {name: choice for name, choice in words.choices.items() if not words.group(name)}
        if own:
            screen.plain("")
            _print_variants(screen, own)
    elif words is not None:
        screen.plain("")
        screen.heading("rule sets")
        screen.plain(f"  {BASE}: {BASE_NOTE}\n")
        _print_variants(screen, words.choices)
    screen.plain("")
    claims = every_property(system.name, system).values()
    screen.heading("properties", f"({len(claims)}; --properties shows the sources, and what refutes each)")
    table = Table((Column(), Column(is_prose=True)))
    if len(claims) <= FEW:
        for claim in claims:
            table.add("  " + claim.id, claim.sentence)
    else:
        for told, kinds in SECTIONS.items():
            if names := [claim.id for claim in claims if claim.kind in kinds]:
                table.add(f"  {len(names)} {told}", ", ".join(names))
    screen.table(table)


def _print_properties(screen: Screen, system: System) -> None:
    screen.heading("properties")
    prose = [Column(name, is_prose=True) for name in ("says", "source", "refuted by")]
    table = Table((Column("id"), Column("kind"), *prose))
    for claim in every_property(system.name, system).values():
        sentence = claim.sentence + (f" (by {recovery_actions(claim)})" if claim.by else "") + _fairness(system, claim)
        table.add(claim.id, claim.kind, sentence, claim.source, ", ".join(claim.refuted_by))
    screen.table(table)


def _fairness(system: System, claim: Property) -> str:
    """What is fair in a liveness property, at the first scope and rule set; empty for other properties."""
    if claim.kind not in LIVENESS:
        return ""
    words = words_of(system)
    preset = None if words is None else next(iter(words.presets.values()))
    fair = (*system.fairness(system.setting(rules=preset)), *claim.fairness)
    return f" (under {', '.join(one.text for one in fair)})" if fair else " (without fairness)"


@frozen
class RuleCheck:
    """A property of a system that names a rule, and of its refuting variants those that switch the rule."""

    system: str
    claim: Property
    refuted_by: tuple[str, ...]


@frozen
class RuleEntry:
    """A rule with all that names it."""

    rule: Rule  # id, sentence, source, switches
    # function, file, line: the function that states it, by its name within the module; where the rule is noted
    function: str
    file: Path
    line: int
    references: tuple[Reference, ...]  # what its citations lead to
    checks: tuple[RuleCheck, ...]  # the properties that name it
    defects: tuple[Bug, ...]  # rows of the matrix whose variant switches it
    uncovered: str  # why no property names it; empty where one does

    def shown_file(self, root: Path) -> str:
        """The file as it is called from a folder: below it relative, else absolute."""
        return str(self.file.relative_to(root)) if self.file.is_relative_to(root) else str(self.file)


@functools.cache
def entries() -> tuple[RuleEntry, ...]:
    """Every rule of the model, by id; raises UnknownCitation for a source that leads nowhere."""
    claims = list(_claims())
    found = [_entry(rule, function, claims) for function in functions() for rule in rules_of(function)]
    return tuple(sorted(found, key=lambda entry: entry.rule.id))


def _claims() -> Iterator[tuple[str, Property]]:
    for name, system in SYSTEMS.items():
        yield from ((name, claim) for claim in every_property(name, system).values())


def names_in(variant: str) -> set[str]:
    """The choices that a variant switches: `-a` switches `a` off, `a+b` switches two on."""
    return set(variant.removeprefix("-").split("+"))


def choice_text(name: str) -> str:
    """The sentence of a choice that is on."""
    return str(variants()[name].metadata["text"])


def functions() -> Iterator[FunctionType]:
    """The functions and methods that the modules of the model define, each once."""
    for found in pkgutil.walk_packages(model.__path__, f"{model.__name__}."):
        module = importlib.import_module(found.name)
        here = [member for member in vars(module).values() if getattr(member, "__module__", "") == module.__name__]
        for owner in (module, *(member for member in here if inspect.isclass(member))):
            yield from (f for f in vars(owner).values() if inspect.isfunction(f) and f.__module__ == module.__name__)


def _entry(rule: Rule, function: FunctionType, claims: list[tuple[str, Property]]) -> RuleEntry:
    lines, first = inspect.getsourcelines(function)
    offset = next(number for number, line in enumerate(lines) if f'"{rule.id}"' in line)
    switches = set(rule.switches)
    checks = tuple(
        RuleCheck(system, claim, tuple(v for v in claim.refuted_by if names_in(v) & switches))
        for system, claim in claims
        if rule.id in claim.rules
    )
    defects = tuple(bug for bug in BUGS if names_in(bug.variant) & switches)
    place = Path(inspect.getfile(function)).resolve()
    return RuleEntry(
        rule, function.__qualname__, place, first + offset, references(rule.source), checks, defects,
        UNCOVERED.get(rule.id, ""),
    )  # fmt: skip
