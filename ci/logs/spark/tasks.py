"""The task of a replay under Spark: it replays a log, and writes its rows."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import pyarrow as pa

from kraftcheck.ci.logs.format.read import LogFiles
from kraftcheck.ci.logs.replaying import ReplayOptions
from kraftcheck.ci.logs.report import Summary, lines
from kraftcheck.ci.logs.spark.rows import datasets
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.solvers.logs.explain.replay import ReplayedBatch
from kraftcheck.solvers.logs.memo.lookup import MemoisedBatch

OUTCOMES = pa.schema([("log", pa.int32()), ("refused", pa.bool_()), ("text", pa.string())])
"""The outcome of one log: its number, and its report as JSON, or the reason for which it is refused."""

Task = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def task(logs: Sequence[LogFiles], options: ReplayOptions, out: Path) -> Task:
    """The work of one partition of the job: the logs whose numbers it is given.

    Args:
        logs: all logs.
        replaying: how they are replayed.
        out: the folder of the datasets.
    """

    def work(numbers: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in numbers:
            for number in batch.column(0).to_pylist():
                try:
                    refused, text = False, _outcome_json(_replay(logs[number], number, options, out))
                except Refusal as refusal:
                    refused, text = True, refusal.format_message()
                yield pa.RecordBatch.from_pylist([{"log": number, "refused": refused, "text": text}], OUTCOMES)

    return work


def start_worker(numbers: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The work of a task that does nothing, but for what it imports."""
    yield from numbers


def _replay(log: LogFiles, number: int, options: ReplayOptions, out: Path) -> Summary:
    """Replay a log, and write its rows as they come."""
    summaries: list[Summary] = []

    def batches() -> Iterator[ReplayedBatch | MemoisedBatch]:
        summaries.append((yield from options.replay_batches(log, detailed=False)))

    with datasets(out, number, log.name) as files:
        for batch in batches():
            files.add(batch)
    return summaries[0]


def _outcome_json(summary: Summary) -> str:
    document = {name: value for name, value in summary.document().items() if name != "rows"}
    outcome = {"document": document, "lines": lines(summary), "code": summary.exit_code()}
    return json.dumps(outcome, default=str)
