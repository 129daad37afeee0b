"""The example notebooks run in a kernel, and show what is kept in them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from tests.ci.interface.notebook import NOTEBOOKS, outputs
from tests.shared.places import DOCS, ROOT

SPARK = [pytest.mark.spark, pytest.mark.xdist_group("spark")]


@pytest.mark.parametrize(
    ("name", "cells", "last"),
    [
        ("counterexample", 6, "(680, 0)"),
        pytest.param("spark", 6, "depth\n1     2", marks=SPARK),
    ],
)
def test_a_notebook_shows_what_is_kept_in_it(name: str, cells: int, last: str, tmp_path: Path) -> None:
    """Each cell runs and shows the outputs that the file has, times aside: verdicts, a drawing, frames, numbers."""
    environment = {
        **os.environ, "PYTHONPATH": str(ROOT), "IPYTHONDIR": str(tmp_path / "ipython"),
        "JUPYTER_RUNTIME_DIR": str(tmp_path / "runtime"), "JUPYTER_PLATFORM_DIRS": "1",
    }  # fmt: skip
    target = tmp_path / "run.ipynb"
    words = [sys.executable, "-m", "tests.ci.interface.notebook", name, str(target)]
    ran = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=400)
    assert ran.returncode == 0, ran.stderr[-2000:]
    shown, kept = outputs(target), outputs(NOTEBOOKS[name])
    assert shown == kept, "run `python -m tests.ci.interface.notebook`"
    assert len(shown) == cells
    assert shown[-1][0]["text/plain"][0].startswith(last.split("\n")[0])
    assert name == "spark" or "data:image/svg+xml" in str(shown[0])


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_notebook_is_whole(name: str) -> None:
    """It is valid, every code cell has run in order, and docs/how-to/python.md leads to it."""
    notebook = nbformat.read(NOTEBOOKS[name], as_version=4)
    nbformat.validate(notebook)
    counts = [cell.execution_count for cell in notebook.cells if cell.cell_type == "code"]
    assert counts == list(range(1, len(counts) + 1))
    assert f"(../examples/{name}.ipynb)" in (DOCS / "how-to" / "python.md").read_text(encoding="utf-8")
