"""The options `--junit` and `--sarif`, and what every command with verdicts does at its end for CI systems."""

from __future__ import annotations

import functools
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

import click
from attrs import frozen

from kraftcheck.ci.run.judged import JudgedRun, every_id, not_judged
from kraftcheck.ci.run.reports.github import append_summary, error_commands, on_github
from kraftcheck.ci.run.reports.junit import junit
from kraftcheck.ci.run.reports.sarif import sarif
from kraftcheck.ci.run.result import Result
from kraftcheck.ci.systems.subject import Subject
from kraftcheck.ci.terminal.console import Screen, console
from kraftcheck.ci.terminal.files import check_apart, check_writable, write, write_json
from kraftcheck.ci.terminal.interrupts import Interrupted
from kraftcheck.solvers.program.verdict import EXIT_INCOMPLETE


@frozen
class ReportFiles:
    """The reports that are wanted.

    Attributes:
        junit, sarif: files to write; None: none.
    """

    junit: Path | None = None
    sarif: Path | None = None

    def check(self, **others: str | Path | None) -> None:
        """Refuse files that cannot be written, or that another option writes too, before work is spent.

        Args:
            others: further files of the command, by option.

        Raises:
            Refusal: in one line.
        """
        for path in (self.junit, self.sarif):
            check_writable(None if path is None else str(path.absolute()))
        check_apart(**others, junit=self.junit, sarif=self.sarif)

    @property
    def paths(self) -> tuple[Path | None, ...]:
        """The files."""
        return self.junit, self.sarif

    @contextmanager
    def of_unfinished(self, chosen: Subject, engine: str) -> Iterator[None]:
        """Where the work is stopped before it has a verdict, the reports say so of each property."""
        try:
            yield
        except Interrupted as reason:
            run = JudgedRun(chosen, engine, not_judged(chosen, every_id(chosen), str(reason)))
            self.write(console(to_stderr=True), [run], EXIT_INCOMPLETE, f"incomplete: {reason}")
            raise

    def write(self, screen: Screen, runs: Sequence[JudgedRun], code: int, last_line: str) -> None:
        """Write the files; under GitHub Actions annotate the change and add to the summary of the job.

        Args:
            screen: where files and annotations are named: standard error, where standard output is a document.
            runs: what was judged.
            code: the exit code.
            last_line: the result in a line.
        """
        if self.junit is not None:
            write(self.junit, junit(runs, time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime())))
            screen.plain(f"wrote {self.junit}")
        if self.sarif is not None:
            write(self.sarif, sarif(runs, code))
            screen.plain(f"wrote {self.sarif}")
        if on_github():
            for line in error_commands(runs):
                screen.command(line)
            append_summary(runs, last_line)


def finish(screen: Screen, result: Result, target: str | None, reports: ReportFiles) -> NoReturn:
    """Write the document and the reports of a result, print its last line, and end with its exit code.

    Args:
        screen: standard error, where standard output is the document.
        result: the answer.
        target: where the document goes; None: nowhere.
        reports: the reports that are wanted.
    """
    if target is not None:
        write_json(target, result.document)
    reports.write(screen, [result.run()], result.exit_code, result.last_line)
    screen.plain(result.last_line)
    sys.exit(result.exit_code)


def report_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options to a command, which gets them as one argument `reports`."""

    @functools.wraps(command)
    def packed(*args: Any, junit: Path | None, sarif: Path | None, **values: Any) -> Any:
        return command(*args, reports=ReportFiles(junit, sarif), **values)

    path = click.Path(path_type=Path)
    with_sarif = click.option("--sarif", type=path, metavar="FILE", help="Write the verdicts as SARIF 2.1.0.")(packed)
    return click.option("--junit", type=path, metavar="FILE", help="Write the verdicts as JUnit XML.")(with_sarif)
