"""The example notebooks: run their cells in a kernel, as Jupyter does, and write what they show.

`python -m tests.ci.interface.notebook` runs them in their place; with one and a file the result goes there instead.
"""

import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from traitlets.config import Config

from tests.documentation.console import masked
from tests.shared.places import DOCS

NOTEBOOKS = {name: DOCS / "examples" / f"{name}.ipynb" for name in ("counterexample", "spark")}


def run(name: str, target: Path) -> None:
    """Run a notebook from its first cell to its last, and write it with its outputs; a cell must not raise."""
    notebook = nbformat.read(NOTEBOOKS[name], as_version=4)
    no_port = Config(KernelManager={"transport": "ipc"})
    NotebookClient(notebook, timeout=120, kernel_name="python3", record_timing=False, config=no_port).execute()
    notebook.metadata.pop("language_info", None)  # it names the version of Python
    for cell in notebook.cells:
        if cell.cell_type == "code":  # a JVM writes to standard error what it has to say of this machine
            cell.outputs = [output for output in cell.outputs if output.get("name") != "stderr"]
    nbformat.write(notebook, target)


def outputs(path: Path) -> list[list[Mapping[str, Any]]]:
    """What each code cell of a notebook shows: text by its type, without times, rates and the bytes of images."""
    cells = [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
    return [[_plain(output) for output in cell.outputs] for cell in cells]


def _plain(output: Mapping[str, Any]) -> Mapping[str, Any]:
    data = output.get("data", {"text/plain": output.get("text", "")})
    texts = {kind: re.sub(r"base64,[\w+/=]+", "base64,", text.replace("<br>", "\n")) for kind, text in data.items()}
    return {kind: masked(text.removesuffix("</p>").split("\n")) for kind, text in texts.items()}


if __name__ == "__main__":
    for one, place in {sys.argv[1]: Path(sys.argv[2])}.items() if sys.argv[1:] else NOTEBOOKS.items():
        run(one, place)
