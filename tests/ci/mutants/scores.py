"""The scores of operator mutants, read back from the document that a command wrote."""

from __future__ import annotations

from pathlib import Path

from kraftcheck.ci.mutants.operators import Alive, SystemScore
from kraftcheck.ci.terminal.files import read_json


def read_scores(path: Path) -> list[SystemScore]:
    """The scores of a document; it is one of this version, or the test fails."""
    systems = read_json(path)["systems"]
    return [SystemScore(**{**one, "alive": tuple(Alive(**row) for row in one["alive"])}) for one in systems]
