"""Reports of replayed logs: one of each log, and the exit code and the document of several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from attrs import frozen

from kraftcheck.ci.logs.summary import DOCUMENT_VERSION, NON_CONFORMANT, Summary
from kraftcheck.ci.logs.summary_lines import lines
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
    """The worst exit code: a batch that is not explained comes before a property that does not hold."""
    codes = {report.code for report in reports}
    return NON_CONFORMANT if NON_CONFORMANT in codes else worst_first(codes)


def total_line(reports: Sequence[LogReport]) -> str:
    """The exit code, with both its reasons where there are two."""
    counts = {name: sum(report.document[name] for report in reports) for name in ("unexplained", "violations")}
    both = f"{counts['unexplained']} batches not explained, {counts['violations']} violations " if all(
        counts.values()
    ) else ""  # fmt: skip
    return f"{both}(exit {exit_code(reports)})"


def document(reports: Sequence[LogReport]) -> dict[str, Any]:
    """All logs as plain values."""
    logs = [report.document for report in reports]
    counts = {name: sum(log[name] for log in logs) for name in ("unexplained", "violations")}
    return {"version": DOCUMENT_VERSION, "command": "replay", "exit": exit_code(reports), **counts, "logs": logs}
