"""Rows of `kraftcheck bugs --engine z3`: the rule sets that refute proven properties, and where to ask about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from attrs import evolve, field, frozen

from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.nearest import nearest
from kraftcheck.model.rules.ruleset import PRESETS, RuleSet, parse
from kraftcheck.properties.catalogue import SYSTEMS
from kraftcheck.properties.register.defects import BUGS, with_variant
from kraftcheck.properties.register.proofs import BEYOND, PROOF_SCOPES, unproven


@frozen
class Place:
    """A scope with bounds of its own."""

    scope: str
    bounds: Mapping[str, int] = field(factory=dict)

    def words(self) -> str:
        """As flags of the command line."""
        return " ".join([self.scope, *(f"--{name} {value}" for name, value in self.bounds.items())])


@frozen
class BrokenProofRow:
    """A variant of a system and the proven properties that it must refute.

    Attributes:
        system: its name.
        variant: choices switched on (or off, with a leading hyphen), joined by `+`.
        claims: ids of properties.
        shown: where the matrix shows the variant.
        base: the rule set that is right there.
    """

    system: str
    variant: str
    claims: tuple[str, ...]
    shown: tuple[Place, ...] = ()
    base: str = "fixed"

    @property
    def rules(self) -> str:
        """The rule set with the variant."""
        return with_variant(self.base, self.variant)

    def places(self) -> list[Place]:
        """The scopes of the proofs, and then where the matrix shows the variant, which may take other bounds."""
        return self.places_after(of_proofs(self.system))

    def places_after(self, first: Sequence[Place]) -> list[Place]:
        """Some places, and then where else the matrix shows the variant."""
        return [*first, *(place for place in self.shown if place not in first)]


def of_proofs(system: str) -> list[Place]:
    """The scopes of the proofs, where the right rules have every claim proven."""
    return [Place(scope) for scope in PROOF_SCOPES[system]]


def rows() -> list[BrokenProofRow]:
    """Every rule set that refutes proven properties, without what it refutes only where nothing is proven."""
    asked = (evolve(row, claims=within_proofs(row)) for row in every_row())
    return [row for row in asked if row.claims]


def within_proofs(row: BrokenProofRow) -> tuple[str, ...]:
    """The properties of a row but those that `BEYOND` has."""
    outside = BEYOND.get((row.system, row.variant))
    return tuple(claim for claim in row.claims if outside is None or claim not in outside.claims)


def every_row() -> list[BrokenProofRow]:
    """Every rule set that refutes proven properties, by system and variant."""
    return sorted(
        (row for system in PROOF_SCOPES for row in refuting(system)), key=lambda row: (row.system, row.variant)
    )


def chosen(names: Sequence[str], every: Sequence[BrokenProofRow]) -> list[BrokenProofRow]:
    """The rows of these variants, all of them for none.

    Raises:
        Refusal: for an unknown name, with the nearest ones.
    """
    for name in names:
        if name not in {row.variant for row in every}:
            raise Refusal(f"no proven property names {name!r}; {nearest(name, [row.variant for row in every])}")
    return [row for row in every if not names or row.variant in names]


def refuting(system: str) -> list[BrokenProofRow]:
    """Every rule set that refutes proven properties of a system, by what a property names or the matrix shows."""
    provable = proven_claims(system)
    shown = (
        BrokenProofRow(system, bug.variant, tuple(claim for claim in bug.refutes if claim in provable),
                       (Place(bug.scope, bug.bounds),), bug.base)
        for bug in BUGS if bug.system == system
    )  # fmt: skip
    named = (BrokenProofRow(system, variant, (claim,)) for claim, variants in provable.items() for variant in variants)
    return [row for row in _merged([*shown, *named]) if row.claims]


def proven_claims(system: str) -> dict[str, tuple[str, ...]]:
    """The properties that are proven in some scope of the proofs, with the variants that each names."""
    claims: dict[str, tuple[str, ...]] = {}
    for scope in PROOF_SCOPES[system]:
        for claim in SYSTEMS[system].properties(SYSTEMS[system].setting(scope, rules=PRESETS["fixed"])):
            if claim.kind in ("always", "step") and claim.id not in unproven(system):
                claims[claim.id] = tuple(dict.fromkeys((*claims.get(claim.id, ()), *claim.refuted_by)))
    return claims


def _merged(every: Sequence[BrokenProofRow]) -> list[BrokenProofRow]:
    """One row for each rule set, as it is written first: a property and the matrix may write it in two ways."""
    by_rules: dict[RuleSet, BrokenProofRow] = {}
    for row in every:
        rules = parse(row.rules)
        first = by_rules.get(rules, evolve(row, claims=(), shown=()))
        claims = tuple(dict.fromkeys((*first.claims, *row.claims)))
        by_rules[rules] = evolve(first, claims=claims, shown=(*first.shown, *row.shown))
    return list(by_rules.values())
