"""Files of a test item's counterexample: the trace as ITF, and a page to step through it."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

from kraftcheck.ci.explore.picture import html
from kraftcheck.ci.systems.subject import Subject
from kraftcheck.ci.terminal.files import folder, write
from kraftcheck.solvers.drawings.drawing import drawing
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.verdict import Trace
from kraftcheck.solvers.traces import itf


def write_artefacts(place: Path, trace: Trace, program: Program, chosen: Subject, shortest: bool) -> dict[str, str]:
    """Write both files below a folder; returns their paths by kind.

    Args:
        place: the folder, made if need be.
        trace, program, chosen: the counterexample, and what it is of.
        shortest: whether no shorter one exists.
    """
    stem = quote(trace.claim, safe=" +")
    content = itf.document(trace, program, chosen.name, chosen.rules, shortest)
    texts = {"itf": itf.text(content), "html": html(drawing(trace, program, chosen.title()))}
    paths = {"itf": folder(place) / f"{stem}.itf.json", "html": place / f"{stem}.html"}
    for kind, text in texts.items():
        write(paths[kind], text)
    return {kind: str(path) for kind, path in paths.items()}
