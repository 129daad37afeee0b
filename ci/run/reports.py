"""The reports of a command with verdicts: files for CI systems, and GitHub's annotations and job summary."""

from __future__ import annotations

import functools
import html
import os
import re
import shlex
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

import click
from attrs import frozen

from kraftcheck.ci.run import formats
from kraftcheck.ci.run.formats import junit, sarif
from kraftcheck.ci.run.judged import NOT_JUDGED, JudgedProperty, JudgedRun
from kraftcheck.ci.run.result import Result
from kraftcheck.ci.systems.subject import subject
from kraftcheck.ci.terminal.console import Screen, console, plain_screen
from kraftcheck.ci.terminal.files import check_apart, check_writable, write, write_json
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.language.system import System
from kraftcheck.properties.kinds import always
from kraftcheck.solvers.machine_code.regular import open_regular

MOST_ANNOTATIONS = 10  # errors that GitHub shows of one step
MOST_BYTES = 1 << 20  # bytes of the summary that GitHub takes of one step
MOST_TRACES = 20  # counterexamples in a summary


def error_commands(runs: Sequence[JudgedRun]) -> Iterator[str]:
    """A workflow command for each verdict that is no pass; where there are too many, the last one says how many."""
    faulty = [(run, one) for run in runs for one in run.properties if not one.passed]
    shown = faulty if len(faulty) <= MOST_ANNOTATIONS else faulty[: MOST_ANNOTATIONS - 1]
    for run, one in shown:
        written = formats.place_of_judged(run, one)
        text = f"{one.outcome()}: {one.sentence}\n{run.subject.title()}, {run.engine}\nagain: {run.again(one.id)}"
        where = {}
        if written is not None and written.base == formats.REPOSITORY:
            where = {"file": written.path, "line": str(written.line)}
        elif written is not None:
            text += f"\nwritten in {written.path}, line {written.line}"
        yield _error({**where, "title": f"{run.subject.name} {one.id}"}, text)
    if len(faulty) > len(shown):
        more = len(faulty) - len(shown)
        yield _error({"title": "kraftcheck"}, f"{more} more verdicts that are no pass: see the summary of the job")


def _error(properties: dict[str, str], text: str) -> str:
    named = ",".join(f"{name}={formats.command_property(value)}" for name, value in properties.items())
    return f"::error {named}::{formats.command_data(text)}"


def _is_action() -> bool:
    return os.environ.get("GITHUB_ACTIONS") == "true"


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
            text = f"## kraftcheck\n\n{formats.markdown(last_line)}\n\n{remark}\n"
        if len(text.encode()) <= room:  # else the earlier commands of the step have used what there is
            stream.write(text)


def summary(runs: Sequence[JudgedRun], last_line: str, most_traces: int = MOST_TRACES) -> str:
    """The summary: what is no pass in a table, with the counterexamples; what passes as a count."""
    faulty = [(run, one) for run in runs for one in run.properties if not one.passed]
    count = sum(len(run.properties) for run in runs)
    lines = ["## kraftcheck", "", formats.markdown(last_line), ""]
    if faulty:
        lines += ["| system | property | verdict | says |", "|---|---|---|---|"]
        lines += [_row(run, one) for run, one in faulty]
        lines.append("")
    lines += [f"{count - len(faulty)} of {count} verdicts are as they must be.", ""]
    traced = [(run, one) for run, one in faulty if one.trace is not None]
    for run, one in traced[:most_traces]:
        title = html.escape(" ".join(f"{run.subject.name} {one.id}: {one.outcome()}".split()), quote=False)
        lines += [f"<details><summary>{title}</summary>", "", formats.fenced(run.text(one)), "", "</details>", ""]
    if len(traced) > most_traces:
        lines += [f"{len(traced) - most_traces} counterexamples are left out here.", ""]
    return "\n".join(lines) + "\n"


def _row(run: JudgedRun, one: JudgedProperty) -> str:
    cells = [run.subject.title(), one.id, one.outcome(), one.sentence]
    return "| " + " | ".join(formats.markdown(cell) for cell in cells) + " |"


@frozen
class ReportFiles:
    """The reports that are wanted."""

    junit: Path | None = None
    sarif: Path | None = None

    def check(self, **others: str | Path | None) -> None:
        """Refuse files that cannot be written, or that another option writes too, before work is spent."""
        for path in (self.junit, self.sarif):
            check_writable(None if path is None else str(path.absolute()))
        check_apart(**others, junit=self.junit, sarif=self.sarif)

    @property
    def paths(self) -> tuple[Path | None, ...]:
        """The files."""
        return self.junit, self.sarif

    @property
    def wanted(self) -> bool:
        """Whether anything is written, or annotated."""
        return any(self.paths) or _is_action()

    def write(self, screen: Screen, runs: Sequence[JudgedRun], code: int, last_line: str) -> None:
        """Write the files, named on a screen; under GitHub Actions annotate, and add to the job's summary."""
        moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime())
        for path in self.paths:
            if path is not None:
                with unwritten(lambda: code):
                    write(path, junit(runs, moment) if path is self.junit else sarif(runs, code))
                    screen.plain(f"wrote {path}")
        if _is_action():
            for line in error_commands(runs):
                screen.command(line)
            with unwritten(lambda: code):
                append_summary(runs, last_line)


@contextmanager
def unwritten(failed: Callable[[], object]) -> Iterator[None]:
    """What cannot be written of a verdict that is no pass is said, and the verdict stays; of a pass it is refused."""
    try:
        yield
    except Refusal as error:
        if not failed():
            raise
        click.echo(f"kraftcheck: {error.message}", err=True)


def write_unjudged(command: str, files: Mapping[str, Path], code: int, reason: str) -> None:
    """Write reports in which nothing passes, where this run wrote none; under GitHub Actions annotate too."""
    left = {option: path for option, path in files.items() if not path.exists() and _takes(path)}
    claim, at = always("verdict", "kraftcheck ends with a verdict", bool), None
    if (begins := re.match(r"(.+?):(?: line )?(\d{1,7})?", reason)) and os.path.isfile(begins[1]):
        at = formats.place(begins[1], int(begins[2] or 1))
    row = JudgedProperty(claim.id, claim.kind, NOT_JUDGED, reason, False, claim=claim, at=at)
    nothing = System(name=f"kraftcheck {command}", summary="", initial=(), actions=(), layout=None)
    again = shlex.join(["kraftcheck", *sys.argv[1:]])
    run = JudgedRun(subject(nothing, None, {}, None), command, (row,), command=again)
    screen = console(to_stderr=True) if _is_action() else plain_screen()
    reports = ReportFiles(left.get("--junit"), left.get("--sarif"))
    reports.write(screen, [run], code, f"no verdict: {reason} (exit {code})")


def _takes(path: Path) -> bool:
    try:
        check_writable(str(path.absolute()))
    except Refusal:
        return False
    return True


def finish(screen: Screen, result: Result, target: str | None, reports: ReportFiles) -> NoReturn:
    """Write a result's document, if to a target, and reports, print its last line, end with its exit code."""
    with unwritten(lambda: result.exit_code):
        if target is not None:
            write_json(target, result.document)
    reports.write(screen, [result.run()], result.exit_code, result.last_line)
    screen.plain(result.last_line)
    sys.exit(result.exit_code)


def report_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options to a command, which gets them as one argument `reports`, and says how no verdict is written."""

    @functools.wraps(command)
    def packed(*args: Any, junit: Path | None, sarif: Path | None, **values: Any) -> Any:
        return command(*args, reports=ReportFiles(junit, sarif), **values)

    packed.unjudged = write_unjudged  # type: ignore[attr-defined]  # for a command line that is refused
    path = click.Path(path_type=Path)
    with_sarif = click.option("--sarif", type=path, metavar="FILE", help="Write the verdicts as SARIF 2.1.0.")(packed)
    return click.option("--junit", type=path, metavar="FILE", help="Write the verdicts as JUnit XML.")(with_sarif)
