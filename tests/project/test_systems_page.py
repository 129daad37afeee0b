"""docs/explanation/systems/README.md says what the expected verdicts say of the design documents."""

from __future__ import annotations

import re

import pytest

from kraftcheck.model.rules.ruleset import parse
from kraftcheck.properties.catalogue import SYSTEMS, find
from kraftcheck.properties.register.verdicts import EXPECTED
from tests.shared.places import DOCS

FOLDER = DOCS / "explanation" / "systems"


def rows_of(text: str) -> list[list[str]]:
    """The cells of each row of the table of documents."""
    row = re.compile(r"^\|.*\]\([a-z-]+\.md\)")
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if row.search(line)]


TEXT = (FOLDER / "README.md").read_text("utf-8")
ROWS = [pytest.param(row, id=row[0]) for row in rows_of(TEXT)]


def of_document(system: str) -> dict[str, dict[str, str]]:
    """The expected refutations under the document's rules, by scope."""
    return {row[1]: dict(odd) for row, odd in EXPECTED.items() if row[0] == system and row[2] == "kip"}


@pytest.mark.parametrize("row", ROWS)
def test_a_row_tells_the_expected_verdicts(row: list[str]) -> None:
    """What a row calls broken, with its length, is what some scope refutes; what it calls kept is what none does."""
    name = re.findall(r"`([^`]+)`", row[1])[0]
    shortest: dict[str, int] = {}
    for odd in of_document(name).values():
        for claim, verdict in odd.items():
            length = int(verdict.removeprefix("refuted "))
            shortest[claim] = min(length, shortest.get(claim, length))
    assert {claim: int(length) for claim, length in re.findall(r"`([^`]+)` \((\d+)\)", row[3])} == shortest
    system, kinds = find(name), ("always", "step", "recovers")
    settings = [system.setting(scope, rules=parse("kip")) for scope in of_document(name)]
    promised = {claim.id for setting in settings for claim in system.properties(setting) if claim.kind in kinds}
    assert set(re.findall(r"`([^`]+)`", row[2])) == promised - set(shortest)


def test_every_system_has_a_page() -> None:
    """Each shipped system has a page of its name in the folder, and the folder's first page links to it."""
    pages = {path.stem for path in FOLDER.glob("*.md")}
    assert set(SYSTEMS) <= pages
    assert set(re.findall(r"\(([a-z-]+)\.md\)", TEXT)) >= set(SYSTEMS)
    assert len(ROWS) >= 4
