"""Comparisons with real Kafka as Python functions: `kraftcheck.replay` and `kraftcheck.conform`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TypeAlias

from kraftcheck.ci.conformance import command as conformance
from kraftcheck.ci.conformance.vectors.files import VectorError
from kraftcheck.ci.interface.report import Report
from kraftcheck.ci.logs import command as logs
from kraftcheck.ci.logs.format.read import find
from kraftcheck.ci.logs.report import document, exit_code, report_of
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.language.system import ScopeError

Place: TypeAlias = str | os.PathLike[str]


def replay(*paths: Place, rules: str | None = None, static: tuple[str, ...] = (), allow_skipped: int = 0) -> Report:
    """Say which controller events wrote each batch of metadata logs, and check the properties on the way.

    Args:
        paths: segments, snapshots, texts of Kafka's dump tool, JSON lines, or folders of them.
        rules: rule set; that of the metadata version by default.
        static: lines `KEY=VALUE` of the controller's configuration file.
        allow_skipped: undecodable places to pass over.

    Raises:
        Refusal: in one line, for what cannot be read.
    """
    if not paths:
        raise Refusal("replay takes at least one path of a log")
    try:
        found = find(tuple(Path(path) for path in paths))
        reports = [report_of(logs.replay(log, rules, static, allow_skipped)) for log in found]
    except ScopeError as error:
        raise Refusal(str(error)) from error
    text = "\n".join(line for report in reports for line in report.lines)
    return Report(exit_code(reports), document(reports), text)


def conform(*paths: Place, rules: str = "kafka-4.0", allow_unsupported: bool = False) -> Report:
    """Run cases of Kafka's own tests.

    Args:
        paths: JSON files, or folders of them.
        rules: rule set, `PRESET[+VARIANT|-VARIANT...]`.
        allow_unsupported: whether a case that is not modelled passes.

    Raises:
        Refusal: in one line, for what cannot be read.
    """
    try:
        report = conformance.conform(tuple(Path(path) for path in paths), rules)
    except (VectorError, ScopeError) as error:
        raise Refusal(str(error)) from error
    return Report(report.exit_code(allow_unsupported), report.document(), "\n".join(conformance.lines(report)))
