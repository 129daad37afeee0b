"""What pairs of mends break, and which is needed: `python -m kraftcheck.ci.conformance.findings.pairs [NAME]...`.

It writes the record, of every scope or of those that are named, as `elections-tiny`; `needed` is the second question.

The newest release is searched with the choices of two findings switched off, or of one, each in the scopes in which
causes are recorded. A pair breaks a promise where it refutes a property that the release keeps as it is. A mend that
alone leaves the program of a scope as it is plays no part there, and is in no pair. With every finding mended, one
choice at a time is put back: it is needed where a promise breaks that held.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations_with_replacement
from pathlib import Path

from attrs import evolve, frozen

from kraftcheck.ci.conformance.findings.causes import CELLS, Cell, refuted, searched
from kraftcheck.ci.conformance.findings.search import rows_of, write_rows
from kraftcheck.ci.systems.subject import program, subject
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.rules.ruleset import CHOICES, MENDED, NEWEST, PRESETS, variant_name, without
from kraftcheck.properties.register.findings import BY_ID, FINDINGS
from kraftcheck.solvers.program.fingerprint import fingerprint

PLACE, NEEDED = (Path(__file__).parent / name for name in ("pairs.json", "needed.json"))

Pair = tuple[str, str]  # two findings in the order of their severity; twice the same is one mend alone


@frozen
class Pairs:
    """What the mends of the newest release break in a scope."""

    # release, system, scope: where
    release: str
    system: str
    scope: str
    mends: Sequence[str]  # the findings whose mends change the program there
    pairs: int  # how many mends and pairs of mends were judged, by every property
    # the properties that a pair refutes and the release does not, by the two names
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
    """What a pair of mends refutes and the release itself does not; raises UndecidedFinding where it is open."""
    return sorted(refuted(cell, mended(pair)).keys() - refuted(cell, NEWEST).keys())


def judge(cell: Cell) -> Pairs:
    """What the pairs break in a scope."""
    names = mends(cell)
    found = {" ".join(pair): claims for pair in pairs(names) if (claims := broken(cell, pair))}
    return Pairs(NEWEST.removeprefix("kafka-"), *cell, names, len(pairs(names)), found)


def recorded() -> tuple[Pairs, ...]:
    """The record of the repository."""
    return tuple(rows_of(PLACE, Pairs))


@frozen
class Needed:
    """What breaks where every finding is mended but for one choice."""

    choice: str  # which
    # system, scope, bounds: where; bounds override the scope
    system: str
    scope: str
    bounds: Mapping[str, int]
    # property, steps: a property that the mended release keeps there, and the length of its trace
    property: str
    steps: int


def choices() -> tuple[str, ...]:
    """The choices of the newest release that the mended one has not."""
    return tuple(variant_name(name) for name in CHOICES if PRESETS[NEWEST].value(name) != PRESETS[MENDED].value(name))


def steps_with(choice: str, place: Needed) -> int | None:
    """The trace's length with a choice put back in the mended release; None: it holds; raises UndecidedFinding."""
    rules = f"{MENDED}+{choice}" if choice else MENDED
    chosen = subject(place.system, place.scope, place.bounds, rules, only=(place.property,))
    return searched(program(chosen), chosen.title()).get(place.property)


def need(choice: str) -> Needed | None:
    """Where a choice that is put back breaks a promise: in a search of its finding, or a scope; None for nowhere."""
    own = (one.search for one in FINDINGS if one.search is not None and choice in one.switches)
    for one in own:
        place = Needed(choice, one.system, one.scope, one.bounds, one.property, 0)
        if (steps := steps_with(choice, place)) is not None and steps_with("", place) is None:
            return evolve(place, steps=steps)
    for cell in CELLS:
        try:
            found = refuted(cell, f"{MENDED}+{choice}")
        except Refusal:
            continue  # No rule of the scope asks it.
        for claim in sorted(found.keys() - refuted(cell, MENDED).keys()):
            return Needed(choice, *cell, {}, claim, found[claim])
    return None


def needed() -> tuple[Needed, ...]:
    """The record of the repository: the choices that no other mend makes up for."""
    return tuple(rows_of(NEEDED, Needed))


def write(names: Sequence[str]) -> None:
    """Write the record of every scope, or of those that are named; each when it is done."""
    for cell in _chosen(names):
        rows = [row for row in recorded() if (row.system, row.scope) != cell] + [judge(cell)]
        write_rows(PLACE, rows)
        print(rows[-1])
    if not names or "needed" in names:
        write_rows(NEEDED, filter(None, map(need, choices())))


def _chosen(names: Sequence[str]) -> Iterator[Cell]:
    return (cell for cell in CELLS if not names or "-".join(cell) in names)


if __name__ == "__main__":
    write(sys.argv[1:])
