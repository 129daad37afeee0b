"""The pages of scopes and of systems say what scopes and expected verdicts amount to."""

from __future__ import annotations

import re
import time

import pytest

from kraftcheck.ci.terminal.machine import cache_folder
from kraftcheck.model.rules.ruleset import parse
from kraftcheck.properties.catalogue import SYSTEMS, find
from kraftcheck.properties.register.verdicts import EXPECTED
from kraftcheck.solvers.exploration.explore import SearchBudget, explore
from kraftcheck.solvers.program.trace import trace
from tests.shared.places import DOCS

PAGE = DOCS / "reference" / "scopes.md"
LINE = re.compile(r"^\| `(\S+)` \| `(\S+)` \| [^|]* \| ([^|]+) \| ([^|]+) \| ([^|]+) \|", re.MULTILINE)
ROWS = LINE.findall(PAGE.read_text(encoding="utf-8"))
SMALL = {row: int(row[2].replace(",", "")) for row in ROWS if row[2][0].isdigit()}
CASES = [row if states < 30_000 else pytest.param(*row, marks=pytest.mark.slow)
         for row, states in SMALL.items() if states < 1_000_000]  # fmt: skip


def test_every_scope_is_counted() -> None:
    """Each scope of each system has the counts of a search on the page."""
    assert [row for row in ROWS if not row[3][0].isdigit() and not row[2].startswith("more than")] == []


@pytest.mark.parametrize(("name", "scope", "distinct", "generated", "depth"), CASES)
def test_counts_are_those_of_an_exploration(name: str, scope: str, distinct: str, generated: str, depth: str) -> None:
    """A scope of less than a million states has the counts that the page gives."""
    system = SYSTEMS[name]
    program = trace(system, system.setting(scope, rules=parse("fixed")))
    found = explore(program, SearchBudget(keep=False, cache_dir=cache_folder()), clock=time.perf_counter)
    assert (f"{found.distinct:,}", f"{found.generated:,}", str(found.depth)) == (distinct, generated, depth)


FOLDER = DOCS / "explanation" / "systems"


def rows_of(text: str) -> list[list[str]]:
    """The cells of each row of the table of documents."""
    row = re.compile(r"^\|.*\]\([a-z-]+\.md\)")
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if row.search(line)]


TEXT = (FOLDER / "README.md").read_text("utf-8")
SYSTEM_ROWS = [pytest.param(row, id=row[0]) for row in rows_of(TEXT)]


def of_document(system: str) -> dict[str, dict[str, str]]:
    """The expected refutations under the document's rules, by scope."""
    return {row[1]: dict(odd) for row, odd in EXPECTED.items() if row[0] == system and row[2] == "kip"}


@pytest.mark.parametrize("row", SYSTEM_ROWS)
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
    assert len(SYSTEM_ROWS) >= 4
