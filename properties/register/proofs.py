"""Expected proofs: what `kraftcheck check` proves, and what it must fail to prove; from proofs.toml."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from attrs import frozen

from kraftcheck.model.register import content, spelled

_TABLES = content(
    __package__, "proofs.toml", "not-proven", "scopes", "any-places", "beyond", "not-for-any"
)

NOT_PROVEN: Mapping[tuple[str, str, str], tuple[str, ...]] = {
    (system, scope, rules): tuple(claims)
    for system, scopes in _TABLES["not-proven"].items()
    for scope, listed in scopes.items()
    for rules, claims in listed.items()
}
"""For each proof (system, scope, rule set) the claims that are not proven; all others are, for any number of steps."""

LONG = frozenset({("replication", "small", "fixed"), ("directories", "small", "kip")})
"""Of these the proofs that take Z3 half a minute and more; the check has them where a scope is named."""

ANY_NUMBER: Mapping[tuple[str, str, str], tuple[str, ...]] = {
    ("elections", "small", "fixed"): ("leader-in-isr", "leader-active"),
}
"""Of some rows (system, scope, rule set) claims that support each other, proven for any number of brokers in seconds;
tests prove the others by night."""

CERTIFIED = ("broker-ids", "sessions", "fixed")
"""The proof of which `kraftcheck check` has the certificate checked by cvc5: the fastest."""

PROOF_SCOPES: Mapping[str, tuple[str, ...]] = {system: tuple(scopes) for system, scopes in _TABLES["scopes"].items()}
"""For each system that is proven, the scopes in one of which each refuting variant must break its proofs."""

ANY_PLACES: Mapping[str, tuple[tuple[str, Mapping[str, int]], ...]] = {
    system: tuple((scope, bounds) for (scope,), bounds in (spelled(one, "proofs.toml: any-places") for one in places))
    for system, places in _TABLES["any-places"].items()
}
"""For each system that is proven for any number, where runs with few brokers are looked for: scopes and bounds."""


@frozen
class OutsideProofs:
    """Why no proof breaks by properties that a variant refutes.

    Attributes:
        reason: where it refutes them; there the right rules are not proven either.
        claims: ids of the properties.
    """

    reason: str
    claims: tuple[str, ...]


def _pair(words: str) -> tuple[str, str]:
    system, _, variant = words.partition(" ")
    return system, variant


BEYOND: Mapping[tuple[str, str], OutsideProofs] = {
    _pair(row): OutsideProofs(reason, tuple(claims))
    for reason, rows in _TABLES["beyond"].items()
    for row, claims in rows.items()
}
"""By variant (system, variant) what it refutes only where the right rules are not proven.

`kraftcheck bugs --engine z3` asks the rest.
"""

NOT_FOR_ANY: Mapping[tuple[str, str], str] = {
    _pair(row): reason for reason, rows in _TABLES["not-for-any"].items() for row in rows
}
"""Variants (system, variant) that provers do not take with any number of brokers where they refute, and why."""


def unproven(system: str) -> frozenset[str]:
    """The claims of a system that are not proven even under the right rules."""
    rows = (claims for row, claims in NOT_PROVEN.items() if (row[0], row[2]) == (system, "fixed"))
    return frozenset(claim for claims in rows for claim in claims)


def proofs_named(scopes: Collection[str]) -> frozenset[tuple[str, str, str]]:
    """The rows to prove at their scope's bounds: the long ones only where a scope is named."""
    return frozenset(row for row in NOT_PROVEN if scopes or row not in LONG)
