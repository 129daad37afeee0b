"""docs/explanation/assurance.md names tests that exist, and every report has its line of assurance."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.shared.commands import kraftcheck
from tests.shared.places import DOCS, ROOT

PAGE = (DOCS / "explanation" / "assurance.md").read_text(encoding="utf-8")
NAMED = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", PAGE)


def functions_of(path: Path) -> set[str]:
    """The test functions of a file."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")}


def test_every_test_on_the_page_exists() -> None:
    """Each guard on the page names a file of tests, or a test in it; most rows name a test."""
    missing = [(file, name) for file, name in NAMED if not (ROOT / file).exists()]
    missing += [(file, name) for file, name in NAMED if (ROOT / file).exists() and name
                and name not in functions_of(ROOT / file)]  # fmt: skip
    assert missing == []
    assert sum(bool(name) for _, name in NAMED) >= 30


def test_every_way_has_a_guard_and_a_test() -> None:
    """Each row of the page's tables has three cells, and the last names a test."""
    rows = [line for line in PAGE.splitlines() if line.startswith("| ") and not line.startswith("| way ")]
    cells = [line.strip("|").split(" | ") for line in rows]
    assert len(rows) >= 40
    assert [row for row in cells if len(row) != 3 or "`tests/" not in row[2]] == []


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
