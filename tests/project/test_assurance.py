"""Pages of docs/explanation that name tests name those that exist, and every report has its line of assurance."""

import pytest

from tests.project.pages import cells, missing_tests, named_tests
from tests.shared.commands import kraftcheck
from tests.shared.places import DOCS

PAGES = {name: (DOCS / "explanation" / f"{name}.md").read_text(encoding="utf-8") for name in ("assurance", "security")}


@pytest.mark.parametrize("name", PAGES)
def test_every_test_on_the_page_exists(name: str) -> None:
    """Each row names a file of tests, or a test in it: of security all, of assurance most."""
    named = [bool(test) for _, test in named_tests(PAGES[name])]
    assert missing_tests(PAGES[name]) == []
    assert sum(named) >= (30 if name == "assurance" else len(named))


ROWS = [("assurance", "way", 40, 3), ("security", "input", 6, 5)]


@pytest.mark.parametrize(("name", "first", "least", "width"), ROWS)
def test_every_row_has_its_cells_and_a_test(name: str, first: str, least: int, width: int) -> None:
    """Each row of a page's tables has so many cells, and the last names a test."""
    rows = cells(PAGES[name], first)
    assert len(rows) >= least
    assert [row for row in rows if len(row) != width or "`tests/" not in row[-1]] == []


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("explore tests.toys:CLOCK", "assurance: audited 2 states and 2 transitions on ints, no difference; "),
        ("explore tests.toys:COUNTER", "; bounds that left steps out: 1 declared"),
        ("simulate tests.toys:CLOCK --runs 2 --steps 5", "assurance: no audit of walks; "),
        ("prove tests.toys:CLOCK --bmc 2", "assurance: answered by Z3 alone; "),
        ("prove elections --scope tiny --rules fixed --property isr-elr-disjoint", "assurance: answered by Z3 "),
    ],
)
def test_reports_end_with_assurance(words: str, says: str) -> None:
    """What stands behind a verdict is one line of every report."""
    lines = [line for line in kraftcheck(*words.split(), "--quiet").out.splitlines() if line.startswith("assurance: ")]
    assert len(lines) == 1
    assert says in lines[0]
