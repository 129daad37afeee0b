"""Many logs at once: each is a part that a process of this machine, or a task of Spark, replays and tabulates."""

from __future__ import annotations

import functools
import os
from collections.abc import Sequence
from pathlib import Path

from kraftcheck.ci.logs.format.read import LogFiles, cluster_id
from kraftcheck.ci.logs.report import LogReport, ReplayOptions, lines
from kraftcheck.ci.logs.tables import tables
from kraftcheck.ci.run.fanout import Cluster, fan_out, processes
from kraftcheck.ci.terminal.files import results
from kraftcheck.ci.terminal.interrupts import Interrupted
from kraftcheck.ci.terminal.refusal import Refusal

Part = Sequence[tuple[int, LogFiles]]  # some logs, each with its number

MANY, MOST = 64, 16
"""Of so many logs several are a part, at most so many: a task for each small log would cost more than its replay."""


def _parts(logs: Sequence[LogFiles]) -> list[Part]:
    """All logs, those of a part beside each other.

    >>> [len(part) for part in _parts([LogFiles("log", ())] * 200)][-2:], len(_parts([LogFiles("log", ())] * 63))
    ([3, 2], 63)
    """
    numbered, size = list(enumerate(logs)), max(1, min(MOST, len(logs) // MANY))
    return [numbered[at : at + size] for at in range(0, len(numbered), size)]


def _all_replayed(options: ReplayOptions, out: Path, part: Part) -> list[LogReport | str]:
    return [_replayed(options, out, number, log) for number, log in part]


def _replayed(options: ReplayOptions, out: Path, number: int, log: LogFiles) -> LogReport | str:
    """The report of one log, whose rows are written as they come; or why it is refused."""
    try:
        name = os.fsencode(options.name(log)).decode("utf-8", "backslashreplace")  # a table's texts are of characters
        of_log = name, None if options.anonymise else cluster_id(log)
        with tables(out, number, of_log, options.rules) as files:
            summary = options.replay(log, files.add, detailed=False, diagnoses=True)
            files.finish(summary.causes)
    except Refusal as refusal:
        return refusal.format_message()
    document = {name: value for name, value in summary.document().items() if name != "rows"}
    return LogReport(document, tuple(lines(summary)), summary.exit_code())


def tabulated(
    logs: Sequence[LogFiles], options: ReplayOptions, out: Path, cluster: Cluster | None, workers: int
) -> list[LogReport]:
    """Replay logs into tables of `out`, on a cluster or so many processes; raises Refusal, and Interrupted."""
    with results("--out", out) as place:
        ask, parts = functools.partial(_all_replayed, options, place), _parts(logs)
        executor = processes(min(workers, len(parts))) if cluster is None else cluster.executor(quiet=True)
        found = [answer for _, answers in fan_out(executor, ask, parts, "logs", quiet=True) for answer in answers]
        if len(found) < len(logs):
            raise Interrupted(f"stopped after {len(found)} of {len(logs)} logs")
        if refused := sorted(one for one in found if isinstance(one, str)):
            more = f" (and {len(refused) - 1} logs more)" if len(refused) > 1 else ""
            raise Refusal(refused[0] + more)
        return [one for one in found if isinstance(one, LogReport)]
