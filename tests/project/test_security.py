"""docs/explanation/security.md names a test in each row, and each of them exists."""

from __future__ import annotations

from tests.project.pages import cells, missing_tests, named_tests
from tests.shared.places import DOCS

PAGE = (DOCS / "explanation" / "security.md").read_text(encoding="utf-8")


def test_every_test_on_the_page_exists() -> None:
    """Each row names a file of tests and a test in it."""
    assert missing_tests(PAGE) == []
    assert all(name for _, name in named_tests(PAGE))


def test_every_input_says_what_is_read_run_and_refused() -> None:
    """Each row of the page's table has five cells, and the last names a test."""
    rows = cells(PAGE, "input")
    assert len(rows) >= 6
    assert [row for row in rows if len(row) != 5 or "`tests/" not in row[4]] == []
