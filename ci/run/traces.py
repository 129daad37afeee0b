"""The traces of a search: on the screen, and as files of a folder."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from urllib.parse import quote

from kraftcheck.ci.dataset.store.objects import AnyPath, ObjectPath
from kraftcheck.ci.systems.report import DEADLOCK_FAILS
from kraftcheck.ci.systems.subject import Subject
from kraftcheck.ci.terminal.console import Screen
from kraftcheck.ci.terminal.files import folder, write
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.verdict import Trace
from kraftcheck.solvers.traces import itf
from kraftcheck.solvers.traces.render import lines

TRACE = ".itf.json"
"""How names of traces end."""

REPORT = "report.json"
"""Name of the document of a finished run beside its traces: that of `--json`."""

LONGEST_NAME = 150
"""Characters of a property's id in the name of a file; file systems take 255 bytes."""


def shortest_first(found: Sequence[Trace]) -> list[Trace]:
    """Traces, shortest first."""
    return sorted(found, key=lambda trace: (len(trace.steps), trace.claim))


def trace_name(claim: str) -> str:
    """The name of the file for the trace of a property; a long one is cut, and a digest keeps it apart."""
    name = quote(claim, safe=" +")
    if len(name) > LONGEST_NAME:
        name = f"{name[:LONGEST_NAME]}-{hashlib.sha256(claim.encode()).hexdigest()[:12]}"
    return f"{name}{TRACE}"


def print_traces(screen: Screen, chosen: Subject, refuting: Sequence[Trace], number: int) -> None:
    """Show the first counterexamples, each with the command that finds it again."""
    sentences = {claim.id: claim.sentence for claim in chosen.system.properties(chosen.setting)}
    for trace in refuting[:number]:
        sentence = sentences.get(trace.claim, DEADLOCK_FAILS)
        screen.plain(f"\n{trace.claim} is refuted: {sentence}")
        screen.plain("\n".join(lines(trace)))
        screen.plain(f"     again: {chosen.again(trace.claim)}")
    if len(refuting) > number:
        others = ", ".join(trace.claim for trace in refuting[number:])
        screen.plain(f"\nalso refuted (--traces {len(refuting)} shows all): {others}")


def print_goals(screen: Screen, chosen: Subject, shown: Sequence[Trace]) -> None:
    """Show the witness of each goal."""
    sentences = {claim.id: claim.sentence for claim in chosen.system.properties(chosen.setting)}
    for trace in shown:
        screen.plain(f"\n{trace.claim} is shown: {sentences[trace.claim]}")
        screen.plain("\n".join(lines(trace)))


def write_traces(
    place: AnyPath, chosen: Subject, program: Program, traces: Sequence[Trace], shortest: bool
) -> list[str]:
    """Write traces as ITF into a folder, made if need be; returns the names of the files.

    Args:
        place: the folder.
        chosen, program: what the traces are of.
        traces: counterexamples and witnesses.
        shortest: whether no shorter ones exist.
    """
    names = []
    for trace in traces:
        names.append(trace_name(trace.claim))
        text = itf.text(itf.document(trace, program, chosen.name, chosen.rules, shortest))
        if isinstance(place, ObjectPath):
            (place / names[-1]).put(text.encode())
        else:
            write(folder(place) / names[-1], text)
    return names
