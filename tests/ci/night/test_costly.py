"""Of costly items a commit draws a share; every item is drawn by some commit, and what each change needs is kept."""

import hashlib
import subprocess
import sys
from pathlib import Path

import pytest

from tests.ci.night.costly import LIST, SHARE, drawn
from tests.shared.places import ROOT

COMMITS = [hashlib.sha1(str(number).encode(), usedforsecurity=False).hexdigest() for number in range(200)]

CONFTEST = """
from pathlib import Path
from tests.ci.night import costly

HERE = Path(__file__).parent
costly.LIST, costly.LEAST, costly.drawn = HERE / "costly.txt", 0.2, lambda item, commit: "1" in item
pytest_addoption = costly.options

def pytest_configure(config):
    costly.install(config, Path({root!r}))
"""

TOY = """
import subprocess, sys, time
import pytest

@pytest.mark.parametrize("number", [0, 1])
def test_busy(number):
    while time.process_time() < 0.5:
        pass
    subprocess.run([sys.executable, "-c", "import time\\nwhile time.process_time() < 0.3: pass"], check=True)

@pytest.mark.each_change
def test_kept(): pass

def test_other(): pass
"""

BUSY = [f"test_toy.py::test_busy[{number}]" for number in (0, 1)]


def test_every_item_is_drawn_by_some_commits_and_not_by_others() -> None:
    """Of 200 commits each listed item is drawn by about one in SHARE, and no commit draws all or none."""
    listed = LIST.read_text("utf-8").splitlines()
    shares = [sum(drawn(item, commit) for commit in COMMITS) / len(COMMITS) for item in listed]
    assert all(0.4 / SHARE < share < 2 / SHARE for share in shares)
    assert all(0 < sum(drawn(item, commit) for item in listed) < len(listed) / 2 for commit in COMMITS)


@pytest.mark.parametrize(("words", "root", "taken"), [
    (["--costly", "drawn"], ROOT, 3), ([], ROOT, 4), (["--costly", "all", "-m", "costly"], ROOT, 2),
    (["--costly", "drawn"], Path("/"), 4),
], ids=["drawn", "all", "by marker", "without a commit"])  # fmt: skip
def test_what_is_not_drawn_is_left_out_and_said(words: list[str], root: Path, taken: int, tmp_path: Path) -> None:
    """A listed item that the commit does not draw is left out, which the run says; a kept one is no costly one."""
    (tmp_path / "costly.txt").write_text("\n".join([*BUSY, "test_toy.py::test_kept"]) + "\n")
    ran = pytest_of(tmp_path, words, root)
    assert f"{taken} passed" in ran
    assert ("1 of 2 costly tests were drawn by this commit" in ran) == (taken == 3)


def test_the_list_is_what_a_run_measures(tmp_path: Path) -> None:
    """Items that take the least or more, their processes among them, are listed, by the workers of a run too."""
    (tmp_path / "costly.txt").write_text("test_toy.py::test_gone\n")
    assert "4 passed" in pytest_of(tmp_path, ["--costs", "-n", "2"], ROOT)
    assert (tmp_path / "costly.txt").read_text().splitlines() == BUSY


def pytest_of(folder: Path, words: list[str], root: Path) -> str:
    """What a run of the toy says."""
    (folder / "conftest.py").write_text(CONFTEST.format(root=str(root)))
    (folder / "test_toy.py").write_text(TOY)
    (folder / "pytest.ini").write_text("[pytest]\nmarkers =\n  costly: listed\n  each_change: kept\n")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *words, str(folder)]
    environment = {"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"}
    ran = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    return ran.stdout + ran.stderr
