"""GitHub Actions: an annotation for each verdict that is no pass, and a summary of the job in Markdown."""

from __future__ import annotations

import html
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from kraftcheck.ci.run.judged import JudgedProperty, JudgedRun
from kraftcheck.ci.run.reports.escaping import command_data, command_property, fenced, markdown
from kraftcheck.ci.run.reports.sarif import REPOSITORY, place_of_property
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.solvers.machine_code.regular import open_regular

MOST_ANNOTATIONS = 10
"""Errors that GitHub shows of one step."""

MOST_BYTES = 1 << 20
"""Bytes of the summary that GitHub takes of one step."""

MOST_TRACES = 20
"""Counterexamples in a summary."""


def on_github() -> bool:
    """Whether this is a step of a workflow of GitHub Actions."""
    return os.environ.get("GITHUB_ACTIONS") == "true"


def error_commands(runs: Sequence[JudgedRun]) -> Iterator[str]:
    """A workflow command for each verdict that is no pass; where there are too many, the last one says how many."""
    faulty = [(run, one) for run in runs for one in run.properties if not one.passed]
    shown = faulty if len(faulty) <= MOST_ANNOTATIONS else faulty[: MOST_ANNOTATIONS - 1]
    for run, one in shown:
        written = place_of_property(run.subject, one.claim)
        text = f"{one.outcome()}: {one.sentence}\n{run.subject.title()}, {run.engine}\nagain: {run.again(one.id)}"
        where = {}
        if written is not None and written.base == REPOSITORY:
            where = {"file": written.path, "line": str(written.line)}
        elif written is not None:
            text += f"\nwritten in {written.path}, line {written.line}"
        yield _error({**where, "title": f"{run.subject.name} {one.id}"}, text)
    if len(faulty) > len(shown):
        more = len(faulty) - len(shown)
        yield _error({"title": "kraftcheck"}, f"{more} more verdicts that are no pass: see the summary of the job")


def _error(properties: dict[str, str], text: str) -> str:
    named = ",".join(f"{name}={command_property(value)}" for name, value in properties.items())
    return f"::error {named}::{command_data(text)}"


def append_summary(runs: Sequence[JudgedRun], last_line: str) -> None:
    """Add the summary to the one of the step's earlier commands, within what GitHub takes of a step."""
    target = os.environ.get("GITHUB_STEP_SUMMARY")
    if not target:
        return
    try:
        handle = open_regular(Path(target), os.O_WRONLY | os.O_CREAT | os.O_APPEND, follow=True)
    except OSError as error:
        raise Refusal(f"cannot write {target}: {error.strerror}; GITHUB_STEP_SUMMARY names it") from error
    with os.fdopen(handle, "a", encoding="utf-8") as stream:
        room = MOST_BYTES - os.fstat(handle).st_size
        for traces in (MOST_TRACES, 0):
            text = summary(runs, last_line, traces)
            if len(text.encode()) <= room:
                break
        else:
            remark = "The table is left out: it would be larger than GitHub takes."
            text = f"## kraftcheck\n\n{markdown(last_line)}\n\n{remark}\n"
        if len(text.encode()) <= room:  # else the earlier commands of the step have used what there is
            stream.write(text)


def summary(runs: Sequence[JudgedRun], last_line: str, most_traces: int = MOST_TRACES) -> str:
    """The summary: what is no pass in a table, with the counterexamples; what passes as a count."""
    faulty = [(run, one) for run in runs for one in run.properties if not one.passed]
    count = sum(len(run.properties) for run in runs)
    lines = ["## kraftcheck", "", markdown(last_line), ""]
    if faulty:
        lines += ["| system | property | verdict | says |", "|---|---|---|---|"]
        lines += [_row(run, one) for run, one in faulty]
        lines.append("")
    lines += [f"{count - len(faulty)} of {count} verdicts are as they must be.", ""]
    traced = [(run, one) for run, one in faulty if one.trace is not None]
    for run, one in traced[:most_traces]:
        title = html.escape(" ".join(f"{run.subject.name} {one.id}: {one.outcome()}".split()), quote=False)
        lines += [f"<details><summary>{title}</summary>", "", fenced(run.text(one)), "", "</details>", ""]
    if len(traced) > most_traces:
        lines += [f"{len(traced) - most_traces} counterexamples are left out here.", ""]
    return "\n".join(lines) + "\n"


def _row(run: JudgedRun, one: JudgedProperty) -> str:
    cells = [run.subject.title(), one.id, one.outcome(), one.sentence]
    return "| " + " | ".join(markdown(cell) for cell in cells) + " |"
