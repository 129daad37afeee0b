"""docs/systems/README.md tells what the expected verdicts say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from model.rules import parse
from properties.catalogue import SYSTEMS, find
from properties.expected import EXPECTED

FOLDER = Path(__file__).parent.parent / "docs" / "systems"
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in (FOLDER / "README.md").read_text(encoding="utf-8").splitlines()
    if re.search(r"\]\([a-z-]+\.md\)", line)
]


def of_document(system: str) -> dict[str, dict[str, str]]:
    """The expected refutations under the document's rules, by scope."""
    return {row[1]: dict(odd) for row, odd in EXPECTED.items() if row[0] == system and row[2] == "kip"}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[1])
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


def test_every_page_has_a_row() -> None:
    """Each page of the folder that is about a shipped system is linked from the table."""
    pages = {path.stem for path in FOLDER.glob("*.md")} & set(SYSTEMS)
    assert pages == {name for row in ROWS for name in re.findall(r"\]\(([a-z-]+)\.md\)", row[1])}
