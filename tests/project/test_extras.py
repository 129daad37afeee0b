"""A base install: each command that needs an extra names it in one line; all else works."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.shared.places import ROOT

pytestmark = pytest.mark.shipped

BASE = """
import sys

ABSENT = {"pyspark", "pyarrow", "duckdb", "pandas", "matplotlib", "cvc5", "bitwuzla", "hypothesis", "bottle",
          "waitress"}

class Without:
    def __init__(self, finder):
        self._finder = finder

    def find_spec(self, name, path=None, target=None):
        return None if name.partition(".")[0] in ABSENT else self._finder.find_spec(name, path, target)

    def __getattr__(self, name):
        return getattr(self._finder, name)

sys.meta_path[:] = [Without(finder) for finder in sys.meta_path]
from kraftcheck.ci.main import main
main()
"""
"""The command line where no package of an extra can be imported."""


def ran(words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the command line of a base install."""
    command = [sys.executable, "-c", BASE, *words.split()]
    return subprocess.run(
        command, cwd=folder, env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin"}, capture_output=True, text=True
    )


@pytest.mark.parametrize(
    ("words", "extra"),
    [
        ("explore tests.toys:CLOCK --engine spark", "spark"),
        ("replay {elr} --engine spark --out out", "spark"),
        ("explore tests.toys:CLOCK --engine disk", "disk"),
        ("query out SELECT", "disk"),
        ("sweep out", "spark"),
        ("simulate tests.toys:CLOCK --plot a.svg", "plots"),
        ("serve tests.toys:CLOCK", "serve"),
        ("prove elections --scope tiny --solver bitwuzla", "solvers"),
        ("prove elections --scope tiny --second-solver cvc5", "solvers"),
    ],
)
def test_the_extra_is_named(words: str, extra: str, tmp_path: Path) -> None:
    """What is not installed is refused in one line that says what to install, and nothing is written."""
    done = ran(words.format(elr=ROOT / "tests" / "captured" / "elr"), tmp_path)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr
    assert f"pip install 'kraftcheck[{extra}]'" in done.stderr
    assert [path.name for path in tmp_path.iterdir() if path.name != ".cache"] == []


@pytest.mark.parametrize("words", ["list", "explore tests.toys:CLOCK --quiet --no-cache", "replay {elr}"])
def test_the_rest_works_without(words: str, tmp_path: Path) -> None:
    """Commands of the base install need no extra."""
    done = ran(words.format(elr=ROOT / "tests" / "captured" / "elr"), tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
