"""Tests stand alone: another order passes as well, and a run that leaves files behind fails."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.project.leftovers import untracked
from tests.shared.places import ROOT

pytest_plugins = ["pytester"]


QUICK = ("model/language/test_words", "model/language/test_layout", "ci/terminal/test_files")
"""Tests that take little time; `KRAFTCHECK_ORDER` reorders any others alike."""


@pytest.mark.parametrize("order", ["reverse", pytest.param("7", marks=pytest.mark.slow)])
@pytest.mark.slow
def test_another_order_passes_and_leaves_nothing(order: str, tmp_path: Path) -> None:
    """Reversed and shuffled, on two workers, the tests pass and the working tree is as before."""
    before = untracked(ROOT)
    files = [str(ROOT / "tests" / f"{name}.py") for name in QUICK]
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n", "2", "-p", "no:cacheprovider", f"--basetemp={tmp_path}", *files],
        cwd=ROOT, env={**os.environ, "KRAFTCHECK_ORDER": order}, capture_output=True, text=True,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout[-2000:]
    assert untracked(ROOT) == before


def test_orders_are_other_orders(tmp_path: Path) -> None:
    """The variable reverses and shuffles what is collected; a seed gives one order."""

    def collected(order: str) -> list[str]:
        ran = subprocess.run(
            [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider",
             "tests/model/language/test_words.py"],
            cwd=ROOT, env={**os.environ, "KRAFTCHECK_ORDER": order}, capture_output=True, text=True, check=True,
        )  # fmt: skip
        return [line for line in ran.stdout.splitlines() if "::" in line]

    plain = collected("")
    assert collected("reverse") == plain[::-1]
    assert plain != collected("7") == collected("7")
    assert sorted(collected("7")) == sorted(plain)


def test_a_group_stays_on_one_worker(pytester: pytest.Pytester) -> None:
    """Tests of one xdist group run in one process, as those that share a Spark session must; others run in both."""
    pytester.makepyfile(
        "import os, pathlib, pytest\n"
        "@pytest.mark.parametrize('n', range(8))\n@pytest.mark.xdist_group('one')\n"
        "def test_grouped(n):\n    pathlib.Path(f'grouped-{os.getpid()}').touch()\n"
        "@pytest.mark.parametrize('n', range(40))\n"
        "def test_free(n):\n    pathlib.Path(f'free-{os.getpid()}').touch()\n"
    )
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-q", "-n", "2", "--dist", "loadgroup")
    assert result.ret == 0
    assert len(list(pytester.path.glob("grouped-*"))) == 1
    assert len(list(pytester.path.glob("free-*"))) == 2


@pytest.mark.parametrize(("writes", "code"), [("pass", 0), ("open('left.txt', 'w').close()", 1)])
def test_files_left_behind_fail_the_run(pytester: pytest.Pytester, writes: str, code: int) -> None:
    """A run whose tests all pass fails when one of them leaves a file that git does not know."""
    subprocess.run(["git", "init", "-q", str(pytester.path)], check=True)
    (pytester.path / ".gitignore").write_text("__pycache__/\n")
    pytester.makeconftest(
        f"import sys\nsys.path.insert(0, {str(ROOT)!r})\n"
        "from pathlib import Path\nfrom tests.project import leftovers\n"
        "def pytest_configure(config):\n    leftovers.install(config, Path(__file__).parent)\n"
    )
    pytester.makepyfile(f"def test_writes():\n    {writes}\n")
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-q")
    assert result.ret == code
    assert ("files left behind: left.txt" in result.stdout.str()) == (code == 1)
