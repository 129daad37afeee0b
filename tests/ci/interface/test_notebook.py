"""The example notebook runs in a kernel, and shows what is kept in it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import nbformat

from tests.ci.interface.notebook import NOTEBOOK, outputs
from tests.shared.places import DOCS, ROOT


def test_the_notebook_shows_what_is_kept_in_it(tmp_path: Path) -> None:
    """Each cell runs and shows the outputs that the file has, times aside: verdicts, a drawing, frames, numbers."""
    environment = {
        **os.environ, "PYTHONPATH": str(ROOT), "IPYTHONDIR": str(tmp_path / "ipython"),
        "JUPYTER_RUNTIME_DIR": str(tmp_path / "runtime"), "JUPYTER_PLATFORM_DIRS": "1",
    }  # fmt: skip
    target = tmp_path / "run.ipynb"
    words = [sys.executable, "-m", "tests.ci.interface.notebook", str(target)]
    ran = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr[-2000:]
    shown, kept = outputs(target), outputs(NOTEBOOK)
    assert shown == kept, "run `python -m tests.ci.interface.notebook`"
    assert len(shown) == 6
    [first] = shown[0]
    assert "data:image/svg+xml" in str(first)
    assert shown[-1] == [{"text/plain": ["(680, 0)"]}]


def test_the_notebook_is_whole() -> None:
    """The notebook is valid, every code cell has run in order, and docs/how-to/python.md leads to it."""
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(notebook)
    counts = [cell.execution_count for cell in notebook.cells if cell.cell_type == "code"]
    assert counts == list(range(1, len(counts) + 1))
    assert "(../examples/counterexample.ipynb)" in (DOCS / "how-to" / "python.md").read_text(encoding="utf-8")
