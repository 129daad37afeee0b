"""What mends in pairs break: `python -m kraftcheck.ci.conformance.findings.pairs [SYSTEM-SCOPE]...` writes the record.

The newest release is searched with the choices of two findings switched off, or of one, each in the scopes in which
causes are recorded. A pair breaks a promise where it refutes a property that the release keeps as it is. A mend that
alone leaves the program of a scope as it is plays no part there, and is in no pair.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations_with_replacement
from pathlib import Path

import attrs
from attrs import frozen

from kraftcheck.ci.conformance.findings.causes import CELLS, Cell, refuted
from kraftcheck.ci.systems.subject import program, subject
from kraftcheck.model.rules.ruleset import NEWEST, without
from kraftcheck.properties.register.findings import BY_ID
from kraftcheck.solvers.program.fingerprint import fingerprint

PLACE = Path(__file__).parent / "pairs.json"

Pair = tuple[str, str]
"""Two findings in the order of their severity; twice the same is one mend alone."""


@frozen
class Pairs:
    """What the mends of the newest release break in a scope.

    Attributes:
        release, system, scope: where.
        mends: the findings whose mends change the program there.
        pairs: how many mends and pairs of mends were judged, by every property.
        breaking: the properties that a pair refutes and the release does not, by the two names.
    """

    release: str
    system: str
    scope: str
    mends: Sequence[str]
    pairs: int
    breaking: Mapping[str, Sequence[str]]


def mends(cell: Cell) -> tuple[str, ...]:
    """The findings of the newest release whose mend changes the program of a scope, worst first."""
    plain = _print_of(cell, NEWEST)
    own = (name for name in BY_ID if mended((name, name)) != NEWEST)
    return tuple(name for name in own if _print_of(cell, mended((name, name))) != plain)


def _print_of(cell: Cell, rules: str) -> str:
    return fingerprint(program(subject(*cell, {}, rules)))


def pairs(names: Sequence[str]) -> tuple[Pair, ...]:
    """Each mend with itself and with every other."""
    return tuple(combinations_with_replacement(names, 2))


def mended(pair: Pair) -> str:
    """The newest release with two mends."""
    return without(NEWEST, sorted({switch for name in pair for switch in BY_ID[name].switches}))


def broken(cell: Cell, pair: Pair) -> list[str]:
    """The properties that a pair of mends refutes in a scope, and the release as it is does not.

    Raises:
        RuntimeError: where a property is not decided.
    """
    return sorted(refuted(cell, mended(pair)).keys() - refuted(cell, NEWEST).keys())


def judge(cell: Cell) -> Pairs:
    """What the pairs break in a scope."""
    names = mends(cell)
    found = {" ".join(pair): claims for pair in pairs(names) if (claims := broken(cell, pair))}
    return Pairs(NEWEST.removeprefix("kafka-"), *cell, names, len(pairs(names)), found)


def recorded() -> tuple[Pairs, ...]:
    """The record of the repository."""
    rows = json.loads(PLACE.read_text(encoding="utf-8"))
    return tuple(Pairs(**{**row, "mends": tuple(row["mends"])}) for row in rows)


def write(names: Sequence[str]) -> None:
    """Write the record of every scope, or of those that are named, as `elections-tiny`; each when it is done."""
    for cell in _chosen(names):
        rows = [row for row in recorded() if (row.system, row.scope) != cell] + [judge(cell)]
        text = ",\n".join(json.dumps(attrs.asdict(row)) for row in rows)
        PLACE.write_text(f"[\n{text}\n]\n", encoding="utf-8")
        print(rows[-1])


def _chosen(names: Sequence[str]) -> Iterator[Cell]:
    return (cell for cell in CELLS if not names or "-".join(cell) in names)


if __name__ == "__main__":
    write(sys.argv[1:])
