"""Lengths of traces that the documentation tells are those of expected verdicts and of the matrix of defects."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kraftcheck.properties.defects.matrix import BUGS
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
