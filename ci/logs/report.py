"""Reports of replayed logs: one of each log, and the exit code and the document of several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from attrs import frozen

from kraftcheck.ci.logs.summary import DOCUMENT_VERSION, Summary, lines
from kraftcheck.solvers.program.verdict import worst_first


@frozen
class LogReport:
    """The report of one log: the document, under Spark without its rows; the lines for a reader; the exit code."""

    document: dict[str, Any]
    lines: tuple[str, ...]
    code: int


def report_of(summary: Summary, verbose: bool = False) -> LogReport:
    """The report of a replayed log."""
    return LogReport(summary.document(), tuple(lines(summary, verbose)), summary.exit_code())


def exit_code(reports: Sequence[LogReport]) -> int:
    """The worst exit code: a property that does not hold comes before a batch that is not explained."""
    return worst_first(report.code for report in reports)


def document(reports: Sequence[LogReport]) -> dict[str, Any]:
    """All logs as plain values."""
    logs = [report.document for report in reports]
    return {"version": DOCUMENT_VERSION, "command": "replay", "exit": exit_code(reports), "logs": logs}
