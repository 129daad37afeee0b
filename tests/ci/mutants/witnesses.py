"""Witnesses of links of rules and properties: `python -m tests.ci.mutants.witnesses [--system SYSTEM]... [FILE]`."""

import contextlib
import functools
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import click
from attrs import asdict, evolve, frozen

from kraftcheck.ci.systems.lookup import entries, names_in
from kraftcheck.ci.terminal.files import read_json, write_json
from kraftcheck.ci.terminal.machine import cache_folder
from kraftcheck.model.language.layout import LayoutError
from kraftcheck.model.language.symbolic import UntraceableRule
from kraftcheck.model.language.system import Setting, System
from kraftcheck.model.language.words import Rule
from kraftcheck.model.rules.ruleset import parse
from kraftcheck.properties.catalogue import SYSTEMS
from kraftcheck.properties.register.defects import BESIDE, BUGS, Bug, with_variant
from kraftcheck.properties.register.verdicts import EXPECTED
from kraftcheck.solvers.exploration.explore import SearchBudget, explore
from kraftcheck.solvers.machine_code.lower import LoweringError
from kraftcheck.solvers.mutants.source import applied, of_rule, source_mutant
from kraftcheck.solvers.program.parts import SystemFault
from kraftcheck.solvers.program.trace import trace
from kraftcheck.solvers.program.verdict import Refuted

VERSION = 1


@frozen(order=True)
class Link:
    """A property that names a rule."""

    rule: str
    system: str
    claim: str


@frozen
class Witness:
    """A link that is shown."""

    # rule, system, claim: the link, from a rule to a property of a system
    rule: str
    system: str
    claim: str
    # a choice that the rule names as its switch, with a hyphen where it is switched off; or an operator mutant of the
    # function that states the rule, as `kraftcheck.solvers.mutants.source` has it
    variant: str
    # scope, bounds: where; bounds override the scope
    scope: str
    bounds: Mapping[str, int]
    base: str  # the rule set under which the property holds there; with the variant it is refuted
    # the length of the shortest trace; 0 for a property that is refuted by an initial state, or by a state that cannot
    # recover
    steps: int

    @property
    def link(self) -> Link:
        """The link that it shows."""
        return Link(self.rule, self.system, self.claim)

    @property
    def is_mutant(self) -> bool:
        """Whether the variant is a mutant, and no choice."""
        return ":" in self.variant

    def text(self) -> str:
        """The variant and the place in words."""
        bounds = "".join(f" --{name} {value}" for name, value in self.bounds.items())
        base = "" if self.base == "fixed" else f", {self.base}"
        return f"`{self.variant}` in {self.steps} (`{self.scope}{bounds}`{base})"


def links() -> dict[Link, Rule]:
    """Every link that a property of a shipped system declares, with its rule."""
    found = {Link(e.rule.id, check.system, check.claim.id): e.rule for e in entries() for check in e.checks}
    return dict(sorted(found.items()))


def read_witnesses(path: Path) -> tuple[Witness, ...]:
    """The witnesses of a file that `document` made."""
    return tuple(Witness(**row) for row in read_json(path)["witnesses"])


def document(witnesses: Iterable[Witness]) -> dict[str, Any]:
    """The witnesses as plain values, in the order of their links."""
    return {"version": VERSION, "witnesses": [asdict(one) for one in sorted(witnesses, key=lambda one: one.link)]}


RULES = "fixed"
MAX_STATES = 1_500_000
PLACES_OF_MUTANTS = 4  # in so many of the smallest scopes a rule's operator mutants are tried

MEMORY = 3 << 30

OF_DOCUMENT = {"broker-ids": "kip"}  # the rule set that is right where the system is about what a document proposes


@frozen
class Place:
    """A scope with bounds, and the rule set that is right there."""

    scope: str
    bounds: tuple[tuple[str, int], ...] = ()
    base: str = RULES


FURTHER: Mapping[str, tuple[Place, ...]] = {
    "elections": (Place("small"), Place("tiny", base=RULES + "+designated-elections")),
    "replication": (
        Place("tiny", (("reassignments", 1), ("unclean-stops", 0))),
        Place("tiny", (("config-changes", 1), ("unclean-stops", 0))),
    ),
    "kraft": (Place("tiny", (("failures", 0), ("fences", 0))),),
}  # fmt: skip
"""Places to try besides the scopes of a system and those of its defects."""


def _place_of(bug: Bug) -> Place:
    return Place(bug.scope, tuple(bug.bounds.items()), bug.base)


def places(system: str) -> list[Place]:
    """The smallest scopes of a system, then those in which its defects show."""
    small = [name for name in SYSTEMS[system].scopes if name not in ("default", "small", "medium", "large")]
    found = [Place("tiny"), *FURTHER.get(system, ()), *(Place(name) for name in small)]
    if system in OF_DOCUMENT:
        found += [Place(name, base=OF_DOCUMENT[system]) for name in small]
    return list(dict.fromkeys(found))


def choices_of(link: Link, rule: Rule) -> Iterator[tuple[str, Place]]:
    """Choices that switch the rule, each where a defect of the matrix or the property itself says that it shows."""
    switches = set(rule.switches)
    for bug in BUGS:
        if bug.system == link.system and link.claim in bug.refutes:
            yield from _split(bug.variant, switches, _place_of(bug))
    for place in places(link.system):
        for variant in (*_refuting(link), *rule.switches):
            yield from _split(_spelled(variant), switches, place)


def _split(variant: str, switches: set[str], place: Place) -> Iterator[tuple[str, Place]]:
    """Each choice of a combination that switches the rule, the others being part of the rules that it is added to."""
    if variant.startswith("-"):
        if names_in(variant) & switches:
            yield variant, place
        return
    names = variant.split("+")
    for name in names:
        if name in switches:
            within = parse(place.base).value(name.replace("-", "_"))  # a document has its own errors
            others = [f"-{name}"] * within + [f"+{other}" for other in names if other != name]
            base = place.base + "".join(others)
            yield name, evolve(place, base=base)


def _spelled(variant: str) -> str:
    """A choice as it is switched: off, where the right rules have it on."""
    on = {*names_in(variant)} if "+" not in variant else set()
    return "-" + variant if any(parse(RULES).value(name.replace("-", "_")) for name in on) else variant


def _refuting(link: Link) -> tuple[str, ...]:
    claims = _claims(link.system)
    return claims.get(link.claim, ())


@functools.cache
def _claims(system: str) -> Mapping[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for place in places(system):
        for claim in SYSTEMS[system].properties(_setting(system, place, place.base)):
            found[claim.id] = claim.refuted_by
    return found


def _setting(system: str, place: Place, rules: str) -> Setting:
    return SYSTEMS[system].setting(place.scope, dict(place.bounds), parse(rules))


def _only(system: System, wanted: frozenset[str]) -> System:
    """The system with some of its properties; what deadlocks is no matter here."""
    return evolve(
        system, properties=lambda setting: [one for one in system.properties(setting) if one.id in wanted],
        quiescent=lambda state: True,
    )  # fmt: skip


@functools.cache
def refuted(system: str, place: Place, rules: str, wanted: frozenset[str], mutant: str = "") -> Mapping[str, int]:
    """The properties that are refuted, with the lengths of their traces.

    Args:
        system, place: where.
        rules: the rule set.
        wanted: which properties are asked.
        mutant: an operator mutant that is put into the rules.
    """
    around: Any = applied(source_mutant(mutant)) if mutant else contextlib.nullcontext()
    with around:
        program = trace(_only(SYSTEMS[system], wanted), _setting(system, place, rules))
        budget = SearchBudget(MEMORY, max_states=MAX_STATES, keep=False, cache_dir=None if mutant else cache_folder())
        found = explore(program, budget, clock=time.monotonic)
    return {one.claim: one.depth or 0 for one in found.verdicts if isinstance(one.verdict, Refuted)}


def by_matrix(link: Link, rule: Rule) -> Witness | None:
    """The witness that the matrix of defects has, or the sightings beside it: a choice alone, or none."""
    for bug in (*BUGS, *BESIDE):
        if bug.system == link.system and link.claim in bug.refutes and bug.variant.removeprefix("-") in rule.switches:
            return _witness(link, bug.variant, _place_of(bug), bug.refutes[link.claim])
    return None


def by_choice(link: Link, rule: Rule, together: Mapping[str, frozenset[str]]) -> Witness | None:
    """The first choice that refutes the property where the rules without it do not.

    Args:
        link, rule: what is to be shown.
        together: by choice the properties that are asked of it at once.
    """
    for variant, place in dict.fromkeys(choices_of(link, rule)):
        wanted = together[variant.removeprefix("-")] | {link.claim}
        steps = refuted(link.system, place, with_variant(place.base, variant), wanted).get(link.claim)
        if steps is not None and holds(link, place):
            return _witness(link, variant, place, steps)
    return None


def by_mutant(link: Link) -> Witness | None:
    """The first operator mutant of the rule's function that does, in the smallest scopes."""
    for place in places(link.system)[:PLACES_OF_MUTANTS]:
        if not holds(link, place):
            continue
        for mutant in of_rule(link.rule):
            steps = attempt(link, place, mutant.name)
            if steps is not None:
                return _witness(link, mutant.name, place, steps)
    return None


def holds(link: Link, place: Place) -> bool:
    """Whether the rules of a place do not refute a property, as `check` and `bugs` have it; else that is explored."""
    row = EXPECTED.get((link.system, place.scope, place.base))
    if row is not None and not place.bounds:
        return link.claim not in row
    if any(_place_of(bug) == place for bug in BUGS if bug.system == link.system):
        return True
    return link.claim not in refuted(link.system, place, place.base, frozenset({link.claim}))


def attempt(link: Link, place: Place, mutant: str) -> int | None:
    """The length of the trace by which a mutant refutes a link's property; None where it does not, or breaks the model.

    A mutant may make rules that give no state, or that no engine takes: then it shows nothing.
    """
    try:
        return refuted(link.system, place, place.base, frozenset({link.claim}), mutant).get(link.claim)
    except (SystemFault, UntraceableRule, LayoutError, LoweringError):
        return None


def _witness(link: Link, variant: str, place: Place, steps: int) -> Witness:
    return Witness(link.rule, link.system, link.claim, variant, place.scope, dict(place.bounds), place.base, steps)


def steps_again(witness: Witness) -> tuple[int | None, bool]:
    """The length of the trace found anew, None for none, and whether the property holds without the variant."""
    place = Place(witness.scope, tuple(witness.bounds.items()), witness.base)
    wanted = frozenset({witness.claim})
    rules = witness.base if witness.is_mutant else with_variant(witness.base, witness.variant)
    mutant = witness.variant if witness.is_mutant else ""
    steps = refuted(witness.system, place, rules, wanted, mutant).get(witness.claim)
    return steps, witness.claim not in refuted(witness.system, place, witness.base, wanted)


def together(missing: Mapping[Link, Rule], system: str) -> dict[str, frozenset[str]]:
    """By choice the properties of a system that links to its rules name, to be asked at once."""
    names: dict[str, set[str]] = {}
    for link, rule in missing.items():
        for choice in rule.switches if link.system == system else ():
            names.setdefault(choice, set()).add(link.claim)
    return {choice: frozenset(claims) for choice, claims in names.items()}


@click.command()
@click.argument("target", type=click.Path(path_type=Path), default=Path("docs/reference/witnesses.json"))
@click.option("--system", "systems", multiple=True, type=click.Choice(list(SYSTEMS)), help="Only links of this system.")
def witnesses_command(target: Path, systems: tuple[str, ...]) -> None:
    """Write the witnesses of links to TARGET, which keeps those that it has; what it does not find it names."""
    declared = links()
    known = {one.link: one for one in read_witnesses(target) if one.link in declared} if target.exists() else {}
    wanted = [one for one in declared if one not in known and (not systems or one.system in systems)]
    for link in wanted:
        found = by_matrix(link, declared[link])
        if found is not None:
            known[link] = found
    left = {link: declared[link] for link in wanted if link not in known}
    asked = {system: together(left, system) for system in SYSTEMS}
    missing = []
    for number, (link, rule) in enumerate(left.items(), 1):
        found = by_choice(link, rule, asked[link.system]) or by_mutant(link)
        if found is None:
            missing.append(link)
        else:
            known[link] = found
            write_json(str(target), document(known.values()))
        click.echo(f"{number} of {len(left)}: {link} {found.text() if found else 'NOT SHOWN'}", err=True)
    write_json(str(target), document(known.values()))
    sys.stdout.write(f"{len(known)} of {len(declared)} links are shown; not found: {len(missing)}\n")


if __name__ == "__main__":
    witnesses_command()
