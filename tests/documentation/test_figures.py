"""Lengths of traces that the documentation tells, and numbers of proofs, are those of verdicts and of the matrix."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from kraftcheck.ci.prove.proof_rows import BrokenProofRow, every_row, rows
from kraftcheck.properties.defects.matrix import BUGS
from kraftcheck.properties.expected.proofs import ANY_PLACES, BEYOND, NOT_FOR_ANY, PROOF_SCOPES
from kraftcheck.properties.expected.verdicts import EXPECTED
from tests.shared.places import DOCS

TOLD = re.compile(r"`([a-z][a-z0-9-]+)`[^`.;]{0,40}?\b(\d+) steps?\b")
"""A property, and not far behind it a number of steps."""

PAGES = sorted((DOCS / "explanation").rglob("*.md"))


def lengths() -> dict[str, set[int]]:
    """The lengths of the traces of each property, in any scope, under any rule set or defect."""
    known: dict[str, set[int]] = {}
    for row in EXPECTED.values():
        for claim, verdict in row.items():
            if verdict.startswith("refuted "):
                known.setdefault(claim, set()).add(int(verdict.removeprefix("refuted ")))
    for bug in BUGS:
        for claim, steps in bug.refutes.items():
            known.setdefault(claim, set()).add(steps)
    return known


def told_by(page: Path) -> list[tuple[str, int]]:
    """Each property of a page with the number of steps beside it."""
    text = " ".join(page.read_text(encoding="utf-8").split())
    return [(claim, int(steps)) for claim, steps in TOLD.findall(text)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_lengths_are_those_of_some_verdict(page: Path) -> None:
    """A page gives a property no length that no expected verdict and no defect has."""
    known = lengths()
    assert [(claim, steps) for claim, steps in told_by(page) if claim in known and steps not in known[claim]] == []


def test_many_lengths_are_compared() -> None:
    """The pattern sees lengths, of properties that have verdicts: more than fifteen."""
    known = lengths()
    assert sum(claim in known for page in PAGES for claim, _ in told_by(page)) > 15


def proofs_of(heading: str) -> Mapping[str, tuple[int, ...]]:
    """The numbers of a table of the page on proofs, by system: the one whose head ends so."""
    text = (DOCS / "explanation" / "proofs.md").read_text(encoding="utf-8")
    lines = text.partition(heading)[2].splitlines()[2:]
    told = [re.findall(r"`([a-z-]+)`|(\d+)", line) for line in lines[: lines.index("")]]
    return {name: tuple(int(number) for _, number in numbers) for (name, _), *numbers in told}


def counted(every: Sequence[BrokenProofRow], system: str) -> tuple[int, int]:
    """How many variants of a system there are, and how many proofs they must break."""
    own = [row for row in every if row.system == system]
    return len(own), sum(len(row.claims) for row in own)


def test_the_proofs_that_must_break_are_counted() -> None:
    """Of each system the page has the variants, the proofs that must break, and those that no scope of proofs has."""
    left = {name: sum(len(why.claims) for key, why in BEYOND.items() if key[0] == name) for name in PROOF_SCOPES}
    asked = rows()
    assert proofs_of("| refuted elsewhere only |") == {
        name: (*counted(asked, name), left[name]) for name in PROOF_SCOPES
    }


def test_the_proofs_for_any_number_that_must_break_are_counted() -> None:
    """Of each system that takes any number the page has the variants, the proofs, and those that cannot be asked."""
    every = every_row()
    refused = {
        name: sum(len(row.claims) for row in every if row.system == name and (name, row.variant) in NOT_FOR_ANY)
        for name in ANY_PLACES
    }
    assert proofs_of("| cannot be asked |") == {name: (*counted(every, name), refused[name]) for name in ANY_PLACES}
