"""The page of scopes says what a search counts, and every system has a page."""

import re
import time

import pytest

from kraftcheck.ci.terminal.machine import cache_folder
from kraftcheck.model.rules.ruleset import parse
from kraftcheck.properties.catalogue import SYSTEMS
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


TEXT = (FOLDER / "README.md").read_text("utf-8")


def test_every_system_has_a_page() -> None:
    """Each shipped system has a page of its name in the folder, and the folder's first page links to it."""
    pages = {path.stem for path in FOLDER.glob("*.md")}
    assert set(SYSTEMS) <= pages
    assert set(re.findall(r"\(([a-z-]+)\.md\)", TEXT)) >= set(SYSTEMS)
