"""Expected verdicts: what `kraftcheck check` compares with, strictly both ways; from verdicts.toml and liveness.toml.

A row is a system at a scope under a rule set; it lists the properties that do not simply hold, with the length of the
shortest trace, of liveness of the shortest run into a cycle. A defect that is no longer found is as much a failure as a
new one.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Collection, Mapping
from typing import Any

from kraftcheck.model.register import RegisterError, content, numbered

Row = tuple[str, str, str]
"""System, scope, rule set."""

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

EXPECTED: Rows = _rows(_SAFETY["checked"], "verdicts.toml: checked")
"""The rows that `kraftcheck check` compares."""

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
