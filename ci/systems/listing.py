"""`kraftcheck list`: systems, properties, rule sets and variants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs
import click

from kraftcheck.ci.systems.lookup import find_system, properties_of, words_of
from kraftcheck.ci.terminal.console import Column, Screen, Table, console
from kraftcheck.ci.terminal.files import write_json
from kraftcheck.model.language.system import LIVENESS, Property, System
from kraftcheck.model.rules import ruleset as rules
from kraftcheck.model.rules.vocabulary import BASE
from kraftcheck.properties.catalogue import FAIR_SYSTEMS, SYSTEMS
from kraftcheck.solvers.program.program import recovery_actions

BASE_NOTE = "each choice of the system off"


def every_property(name: str, system: System) -> dict[str, Property]:
    """Properties of the default scope and, for what only they have, of the other scopes and rule sets."""
    words = words_of(system)
    presets: Mapping[str, Any] = {"": None} if words is None else words.presets
    by_id: dict[str, Property] = {}
    for scope in system.scopes:
        for preset in presets.values():
            for claim in properties_of(name, system, system.setting(scope, rules=preset)):
                by_id.setdefault(claim.id, claim)
    return by_id


def describe(system: System) -> dict[str, object]:
    """A system as plain values."""
    return {
        "name": system.name,
        "summary": system.summary,
        "scopes": {name: dict(bounds) for name, bounds in system.scopes.items()},
        "bounds": [{"name": b.name, "lo": b.lo, "hi": b.hi, "help": b.help} for b in system.bounds],
        "properties": [
            {"id": c.id, "kind": c.kind, "sentence": c.sentence, "source": c.source, "refuted_by": list(c.refuted_by),
             "rules": list(c.rules), "by": {action: dict(arguments) for action, arguments in c.by.items()}}
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
@click.option("--json", "target", metavar="FILE|-", help="Write the catalogue (of SYSTEM) as a JSON document.")
def list_command(system: str | None, target: str | None) -> None:
    """Show what there is: all systems, rule sets and variants, or the properties of one SYSTEM.

    \b
    Examples:
      kraftcheck list
      kraftcheck list elections
      kraftcheck list --json -
    """
    chosen = None if system is None else find_system(system)
    if target is not None:
        write_json(target, catalogue((*SYSTEMS.values(), *FAIR_SYSTEMS.values()) if chosen is None else (chosen,)))
        return
    screen = console()
    if chosen is not None:
        _print_system(screen, chosen)
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
        screen.plain(f"  {name}: {note}")
    _print_variants(screen, rules.variants())


def _print_variants(screen: Screen, choices: Mapping[str, attrs.Attribute[bool]]) -> None:
    screen.plain("")
    screen.heading("variants", "(PRESET+NAME switches one on, PRESET-NAME off)")
    table = Table((Column(), Column(), Column(is_prose=True), Column(is_prose=True)))
    for name, choice in choices.items():
        told = (choice.metadata.get(key, "") for key in ("group", "text", "source"))
        table.add("  " + name, *told)
    screen.table(table)


def _print_system(screen: Screen, system: System) -> None:
    screen.plain(f"{system.name}: {system.summary}\n")
    screen.heading("scopes", "(the first is the default)")
    for name, bounds in system.scopes.items():
        screen.plain(f"  {name}: " + ", ".join(f"{k} {v}" for k, v in bounds.items()))
    screen.plain("")
    screen.heading("bounds")
    for bound in system.bounds:
        screen.plain(f"  --{bound.name} {bound.lo}..{bound.hi}: {bound.help}")
    words = words_of(system)
    if words is not None and words.declared:
        screen.plain(f"\nreads choices of: {', '.join(words.declared)} (kraftcheck list shows them)")
    elif words is not None:
        screen.plain("")
        screen.heading("rule sets")
        screen.plain(f"  {BASE}: {BASE_NOTE}")
        _print_variants(screen, words.choices)
    screen.plain("")
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
