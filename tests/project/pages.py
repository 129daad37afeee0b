"""Pages whose rows name tests."""

import ast
import re
from pathlib import Path

from tests.shared.places import ROOT


def named_tests(page: str) -> list[tuple[str, str]]:
    """The files of tests that a page names, each with the test in it, or with none."""
    return re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", page)


def functions_of(path: Path) -> set[str]:
    """The test functions of a file."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")}


def missing_tests(page: str) -> list[tuple[str, str]]:
    """The files and tests that a page names and that are not there."""
    return [(file, name) for file, name in named_tests(page)
            if not (ROOT / file).exists() or (name and name not in functions_of(ROOT / file))]  # fmt: skip


def cells(page: str, first: str) -> list[list[str]]:
    """The rows of a page's tables, but for those that begin with the first heading."""
    rows = [line for line in page.splitlines() if line.startswith("| ") and not line.startswith(f"| {first} ")]
    return [line.strip("|").split(" | ") for line in rows]
