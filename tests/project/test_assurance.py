"""docs/explanation/assurance.md names tests that exist, and every report has its line of assurance."""

from __future__ import annotations

import pytest

from tests.project.pages import cells, missing_tests, named_tests
from tests.shared.commands import kraftcheck
from tests.shared.places import DOCS

PAGE = (DOCS / "explanation" / "assurance.md").read_text(encoding="utf-8")


def test_every_test_on_the_page_exists() -> None:
    """Each guard on the page names a file of tests, or a test in it; most rows name a test."""
    assert missing_tests(PAGE) == []
    assert sum(bool(name) for _, name in named_tests(PAGE)) >= 30


def test_every_way_has_a_guard_and_a_test() -> None:
    """Each row of the page's tables has three cells, and the last names a test."""
    rows = cells(PAGE, "way")
    assert len(rows) >= 40
    assert [row for row in rows if len(row) != 3 or "`tests/" not in row[2]] == []


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
