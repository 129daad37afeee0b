"""Defects, historical and seeded: the scope that shows each, and the properties that it breaks there.

From the entries of choices in `model/rules`. A row of the matrix, `breaks`, is a rule variant: on, it refutes exactly
the named properties with traces of the given lengths; off, every property holds in the same scope. A sighting beside
it, `also`, lists only some properties, in another scope or system, and of the rules beside the variant it asks no more
than that these keep the same properties there. `kraftcheck bugs` runs the matrix.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from attrs import field, frozen

from kraftcheck.model.register import RegisterError, numbered, spelled
from kraftcheck.model.rules.choice import entries_of
from kraftcheck.model.rules.ruleset import GROUPS

Key = tuple[str, str, str]  # system, property, variant

_CATALOGUED = re.compile(r"catalogue (\d+)")


def with_variant(base: str, variant: str) -> str:
    """A rule set with choices switched on, or off where a leading hyphen says so, as on the command line."""
    return base + (variant if variant.startswith("-") else f"+{variant}")


@frozen
class Bug:
    """A defect, as data.

    Attributes:
        system, scope, bounds: where it shows; bounds override the scope.
    """

    entry: str  # citations of where it comes from, such as its number in the catalogue; empty for a sighting
    variant: str  # choices switched on (or off, with a leading hyphen), joined by `+`
    system: str
    scope: str
    refutes: Mapping[str, int]  # property to length of the shortest trace
    bounds: Mapping[str, int] = field(factory=dict)
    base: str = "fixed"  # the rule set that is right in this scope

    @property
    def rules(self) -> str:
        """The rule set with the defect."""
        return with_variant(self.base, self.variant)


def _rows(kind: str) -> Iterator[Bug]:
    """The rows of a kind, `breaks` or `also`, by group and choice."""
    for group in GROUPS:
        file = group.replace("_", "-")
        for name, entry in entries_of(file).items():
            for row in getattr(entry, kind):
                yield _bug(row, name, f"{file}.toml: [[{name}.{kind}]]")


def _bug(row: Mapping[str, Any], name: str, place: str) -> Bug:
    names, bounds = spelled(row.get("at"), place)
    odd = row.keys() - {"of", "at", "variant", "base", "properties"}
    if odd or len(names) != 2 or not row.get("properties"):
        raise RegisterError(f"{place}: write at with a system and a scope, and properties with steps; no {sorted(odd)}")
    claims = numbered(row["properties"], place)
    return Bug(row.get("of", ""), row.get("variant", name), *names, claims, bounds, row.get("base", "fixed"))


def _place(bug: Bug) -> int:
    """The number in the catalogue of a row; after all numbers where it has none."""
    number = _CATALOGUED.match(bug.entry)
    return int(number[1]) if number else 1000


BUGS: tuple[Bug, ...] = tuple(sorted(_rows("breaks"), key=_place))
"""The matrix, in the order of the catalogue, then by group."""

BESIDE: tuple[Bug, ...] = tuple(_rows("also"))  # what the matrix does not list, by group


def _by_key() -> Mapping[Key, tuple[Bug, ...]]:
    found: dict[Key, tuple[Bug, ...]] = {}
    for row in (*BUGS, *BESIDE):
        for claim in row.refutes:
            key = row.system, claim, row.variant
            found[key] = (*found.get(key, ()), row)
    return found


SEEN: Mapping[Key, tuple[Bug, ...]] = _by_key()  # the sightings of each pair of a property and a variant
