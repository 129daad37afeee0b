"""Pairs of a property and a variant that show a row of the coverage table, with the scope in which they do."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping

from attrs import frozen

from kraftcheck.ci.systems.listing import every_property
from kraftcheck.ci.systems.rule_index import entries, names_in
from kraftcheck.model.language.system import Property
from kraftcheck.model.rules.ruleset import CHOICES, PRESETS, parse
from kraftcheck.properties.catalogue import FAIR_SYSTEMS, SYSTEMS, find
from kraftcheck.properties.register.coverage import Statement
from kraftcheck.properties.register.defects import SEEN, Bug


@frozen
class Shown:
    """A property that a variant refutes, because of rules that the property checks and the variant switches.

    Attributes:
        claim: the property with its system, as in `directories fenced-until-settled`.
        rules: ids of these rules.
        seen: the variant, where it is seen, and what it refutes there.
    """

    claim: str
    rules: tuple[str, ...]
    seen: Bug

    @property
    def length(self) -> int:
        """Steps of the shortest trace."""
        return self.seen.refutes[self.claim.partition(" ")[2]]

    def place(self) -> str:
        """The scope and its bounds, and the rules that keep the property there, where these are not `fixed`."""
        bounds = "".join(f" --{name} {value}" for name, value in sorted(self.seen.bounds.items()))
        base = "" if self.seen.base == "fixed" else f" --rules {self.seen.base}"
        return f"{self.seen.system} {self.seen.scope}{bounds}{base}"


def shown(one: Statement) -> tuple[Shown, ...]:
    """What shows a row: pairs that share a rule (one of the row, if it names any), in the scope that the row names."""
    return tuple(_shown(one))


def _shown(one: Statement) -> Iterator[Shown]:
    for claim in one.properties:
        system, _, name = claim.partition(" ")
        for variant in one.variants:
            rules = rules_between(claim, variant)
            if one.rules:
                rules = tuple(rule for rule in rules if rule in one.rules)
            for seen in SEEN.get((system, name, variant), ()):
                if rules and one.within in ("", seen.scope):
                    yield Shown(claim, rules, seen)


def as_rows(one: Statement) -> list[dict[str, object]]:
    """What shows a row, for programs."""
    return [
        {"property": pair.claim, "variant": pair.seen.variant, "scope": pair.seen.scope,
         "bounds": dict(pair.seen.bounds), "base": pair.seen.base, "length": pair.length, "rules": list(pair.rules)}
        for pair in shown(one)
    ]  # fmt: skip


def rules_between(claim: str, variant: str) -> tuple[str, ...]:
    """The rules that a property checks and a variant switches."""
    switched = {rule for name in names_in(variant) for rule in _switched().get(name, ())}
    named = claims()[claim].rules if claim in claims() else ()
    return tuple(rule for rule in named if rule in switched)


def of_the_document(variant: str) -> bool:
    """Whether a variant is what the documents say: then the property is what their words break."""
    names = {name.replace("-", "_") for name in names_in(variant)}
    feature = all(CHOICES[name].metadata["group"] == "feature" for name in names)
    return not feature and not variant.startswith("-") and all(PRESETS["kip"].value(name) for name in names)


@functools.cache
def _switched() -> Mapping[str, tuple[str, ...]]:
    """The rules that each variant switches."""
    found: dict[str, tuple[str, ...]] = {}
    for entry in entries():
        for name in entry.rule.switches:
            found[name] = (*found.get(name, ()), entry.rule.id)
    return found


@functools.cache
def claims() -> Mapping[str, Property]:
    """The properties of all systems, those of the bounds of a sighting among them, as `system property`."""
    found: dict[str, Property] = {}
    for name in (*SYSTEMS, *FAIR_SYSTEMS):
        found |= {f"{name} {one.id}": one for one in every_property(name, find(name)).values()}
    for seen in (row for rows in SEEN.values() for row in rows):
        system = find(seen.system)
        setting = system.setting(seen.scope, seen.bounds, parse(seen.rules))
        found = {f"{seen.system} {one.id}": one for one in system.properties(setting)} | found
    return found
