"""Expected verdicts and proofs: what `kraftcheck check` compares with, strictly both ways."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Collection, Mapping
from typing import Any

from attrs import frozen

from kraftcheck.model.register import RegisterError, content, numbered, spelled

Row = tuple[str, str, str]  # system, scope, rule set

Rows = Mapping[Row, Mapping[str, str]]


def _rows(tables: dict[str, Any], place: str) -> Rows:
    """The rows of a table by system and scope; the name of another rule set stands for what is said of that one."""
    found: dict[Row, Mapping[str, str]] = {}
    for system, scopes in tables.items():
        for scope, listed in scopes.items():
            for rules, told in listed.items():
                at = f"{place}.{system}.{scope}: {rules}"
                if isinstance(told, str) and (system, scope, told) not in found:
                    raise RegisterError(f"{at}: there is no rule set {told!r} above; name one, or list the properties")
                found[system, scope, rules] = (
                    found[system, scope, told] if isinstance(told, str)
                    else {claim: f"refuted {length}" for claim, length in numbered(told, at).items()}
                )  # fmt: skip
    return found


_SAFETY = content(__package__, "verdicts.toml", "checked", "named", "nothing")
_LIVENESS = content(__package__, "liveness.toml", "smallest", "larger")

EXPECTED: Rows = _rows(_SAFETY["checked"], "verdicts.toml: checked")  # the rows that `kraftcheck check` compares

EXPECTED_LARGE: Rows = _rows(_SAFETY["named"], "verdicts.toml: named")
"""Those that it compares only where their scope is named; tests of the profile `nightly` explore them."""

SMALLEST: Rows = _rows(_LIVENESS["smallest"], "liveness.toml: smallest")
"""The scopes in which each claim of liveness is shown to fail by its variants, and to need its fairness."""

EXPECTED_LIVENESS: Rows = {**SMALLEST, **_rows(_LIVENESS["larger"], "liveness.toml: larger")}
"""Every row of liveness; they are explored only where the system is named."""

EVERY: Rows = ChainMap(dict(EXPECTED_LIVENESS), dict(EXPECTED_LARGE), EXPECTED)  # type: ignore[arg-type]
"""All rows."""

OF_NOTHING: dict[tuple[str, str], tuple[str, ...]] = {
    (row.split()[0], row.split()[1]): tuple(claims) for row, claims in _SAFETY["nothing"].items()
}
"""Claims that hold of nothing, by system and rule set. `kraftcheck check` says `vacuous` in the cell."""


def word(system: str, rules: str, claim: str, verdict: str) -> str:
    """The verdict of a cell: `vacuous` for `holds` where that is said of nothing."""
    return "vacuous" if verdict == "holds" and claim in OF_NOTHING.get((system, rules), ()) else verdict


def expected(row: Row, claim: str) -> str:
    """The expected verdict of a property, as `holds` or `refuted N`."""
    return EVERY[row].get(claim, "holds")


def rows_named(systems: Collection[str], scopes: Collection[str]) -> list[Row]:
    """The rows to explore: large scopes only where a scope is named, systems with fairness only where they are."""
    fair = [row for row in EXPECTED_LIVENESS if row[0] in systems]
    return [*EXPECTED, *(EXPECTED_LARGE if scopes else ()), *fair]


_TABLES = content(__package__, "proofs.toml", "not-proven", "scopes", "any-places", "beyond", "not-for-any")

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
    ("elections", "small", "fixed"): ("leader-in-isr", "leader-active")
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
    """Why no proof breaks by properties that a variant refutes."""

    reason: str  # where it refutes them; there the right rules are not proven either
    claims: tuple[str, ...]  # ids of the properties


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
