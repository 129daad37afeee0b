"""A witness of a link: which variant of the rule refutes the property, where, and in how many steps; and their file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from attrs import asdict, frozen

from kraftcheck.ci.systems.rule_index import entries
from kraftcheck.ci.terminal.files import read_json
from kraftcheck.model.language.words import Rule

VERSION = 1


@frozen(order=True)
class Link:
    """A property that names a rule."""

    rule: str
    system: str
    claim: str


@frozen
class Witness:
    """A link that is shown.

    Attributes:
        rule, system, claim: the link, from a rule to a property of a system.
        variant: a choice that the rule names as its switch, with a hyphen where it is switched off; or an operator
            mutant of the function that states the rule, as `kraftcheck.solvers.mutants.source.names` has it.
        scope, bounds: where; bounds override the scope.
        base: the rule set under which the property holds there; with the variant it is refuted.
        steps: the length of the shortest trace; 0 for a property that is refuted by an initial state, or by a
            state that cannot recover.
    """

    rule: str
    system: str
    claim: str
    variant: str
    scope: str
    bounds: Mapping[str, int]
    base: str
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
