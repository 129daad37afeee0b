"""`kraftcheck replay --engine spark`: many logs as one dataset, one task a log, results as Parquet.

A log is replayed in order by the code that replays it without Spark, so the
verdicts are the same. What comes out is keyed by cluster (the log's name), the
timelines by cluster and partition.
"""

from __future__ import annotations

import itertools
import json
import shutil
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
from attrs import frozen

from ci.files import folder
from ci.logs.reading import LogFiles
from ci.logs.summary import Summary, lines
from ci.refusal import Refusal
from ci.spark.errors import explained
from ci.spark.session import parse_conf, started
from ci.spark.shipping import ship_sources
from model.records import Ids, PartitionChangeRecord, PartitionRecord, ids
from solvers.logs.judge import Violation
from solvers.logs.lookup import Quick
from solvers.logs.replay import Replayed

BATCHES, VIOLATIONS, TIMELINES, SUMMARY, REFUSAL = "batches", "violations", "timelines", "summary", "refusal"
"""What a row is."""

ROWS_AT_ONCE = 4096
"""Rows of one Arrow batch that a task hands over."""

_BROKERS = pa.list_(pa.int32())
SCHEMA = pa.schema([
    ("kind", pa.string()), ("cluster", pa.string()), ("offset", pa.int64()), ("text", pa.string()),
    ("records", pa.int32()), ("explanations", pa.int64()), ("events", pa.list_(pa.string())),
    ("property", pa.string()), ("topic", pa.string()), ("partition", pa.int32()),
    ("leader", pa.int32()), ("leader_epoch", pa.int32()), ("partition_epoch", pa.int32()),
    ("replicas", _BROKERS), ("isr", _BROKERS), ("elr", _BROKERS),
])  # fmt: skip
"""The columns of every kind of row; those that a kind has not are null."""

COLUMNS = {
    BATCHES: ("cluster", "offset", "records", "explanations", "events", "text"),
    VIOLATIONS: ("cluster", "offset", "property", "topic", "partition", "text"),
    TIMELINES: (
        "cluster", "topic", "partition", "offset", "leader", "leader_epoch", "partition_epoch", "replicas", "isr", "elr"
    ),
}  # fmt: skip
"""The columns of each dataset in the output folder."""

Row = tuple[Any, ...]
"""The values of a row, in the order of `SCHEMA`."""


@frozen
class Told:
    """What one log came to: the document without its rows, the lines for a reader, the exit code."""

    document: Mapping[str, Any]
    lines: tuple[str, ...]
    code: int


def rows_of(cluster: str, replayed: Replayed | Quick) -> Iterator[Row]:
    """The rows of one batch."""
    if isinstance(replayed, Quick):
        yield from _quick_rows(cluster, replayed)
        return
    found = replayed.explanation
    if found is None:
        return
    offset = found.batch.base_offset
    miss = "" if found.miss is None else f"nearest: {found.miss.name} {found.miss.refusal}".strip()
    names = [step.name for step in found.steps]
    yield _batch_row(cluster, offset, found.broken or miss, len(found.records), found.count, names)
    yield from _violation_rows(cluster, offset, replayed.violations)
    for place, (record, state) in enumerate(zip(found.records, found.states[1:], strict=False)):
        if isinstance(record, PartitionChangeRecord | PartitionRecord):
            topic = state.controller.topic(record.topic_id)
            p = topic.partitions[record.partition_id]
            shown = int(p.leader), ids(p.replicas), ids(p.isr), ids(p.elr)
            epochs = int(p.leader_epoch), int(p.partition_epoch)
            yield _timeline_row(cluster, offset + place, (topic.name, record.partition_id), shown, epochs)


def _quick_rows(cluster: str, quick: Quick) -> Iterator[Row]:
    """The rows of a batch that was looked up."""
    offset = quick.batch.base_offset
    yield _batch_row(cluster, offset, "", len(quick.batch), quick.count, quick.names())
    if quick.violations:
        yield from _violation_rows(cluster, offset, quick.violations)
    for place, move in enumerate(quick.moves):
        if move is not None:
            key, (at, leader_epoch, partition_epoch) = move
            epochs = leader_epoch, partition_epoch
            yield _timeline_row(cluster, offset + place, quick.partition(key), at.shown, epochs)


def _batch_row(cluster: str, offset: int, text: str, records: int, count: int, names: list[str]) -> Row:
    return BATCHES, cluster, offset, text, records, count, names, *(None,) * 9


def _violation_rows(cluster: str, offset: int, violations: tuple[Violation, ...]) -> Iterator[Row]:
    for v in violations:
        text = ", ".join(v.parts)
        yield VIOLATIONS, cluster, offset, text, None, None, None, v.property, v.topic, v.partition, *(None,) * 6


def _timeline_row(
    cluster: str, offset: int, named: tuple[str, int], shown: tuple[int, Ids, Ids, Ids], epochs: tuple[int, int]
) -> Row:
    """A partition after a record: its topic and index, leader and lists, leader epoch and partition epoch."""
    return TIMELINES, cluster, offset, *(None,) * 5, *named, shown[0], *epochs, *shown[1:]


def _end_row(kind: str, cluster: str, text: str) -> Row:
    return kind, cluster, None, text, *(None,) * 12


Replay = Callable[[LogFiles], Generator[Replayed | Quick, None, Summary]]
"""Replays one log batch by batch and returns what it came to; raises `Refusal`."""


def task(logs: list[LogFiles], replay: Replay) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The work of one partition of the job: the logs whose numbers it is given."""

    def work(numbers: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in numbers:
            for number in batch.column(0).to_pylist():
                yield from _in_batches(_log_rows(logs[number], replay))

    return work


def _log_rows(log: LogFiles, replay: Replay) -> Iterator[Row]:
    """The rows of a log as it is replayed, and at its end what it came to."""
    ended: list[Summary] = []

    def followed() -> Iterator[Replayed | Quick]:
        ended.append((yield from replay(log)))

    try:
        for replayed in followed():
            yield from rows_of(log.name, replayed)
    except Refusal as refusal:
        yield _end_row(REFUSAL, log.name, refusal.format_message())
        return
    (summary,) = ended
    document = {name: value for name, value in summary.document().items() if name != "rows"}
    told = {"document": document, "lines": lines(summary), "code": summary.exit_code()}
    yield _end_row(SUMMARY, log.name, json.dumps(told, default=str))


def _in_batches(rows: Iterator[Row]) -> Iterator[pa.RecordBatch]:
    while waiting := list(itertools.islice(rows, ROWS_AT_ONCE)):
        columns = zip(*waiting, strict=True)
        arrays = [pa.array(column, field.type) for column, field in zip(columns, SCHEMA, strict=True)]
        yield pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)


def replay_with_spark(
    logs: list[LogFiles], replay: Replay, out: Path, conf: tuple[str, ...], workers: int
) -> list[Told]:
    """Replay logs under Spark; `out` gets the folders `batches`, `violations`, `timelines`.

    Every worker must see the logs under the names given.

    Raises:
        Refusal: when `out` exists and is not empty, a log cannot be read, or Spark does not start or fails.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise Refusal(f"{out} is not empty; choose another --out")
    folder(out)
    session = started(None, workers, parse_conf(conf), out / "spark.log")
    try:
        ship_sources(session, out / "sources.zip")
        return _run(session, logs, replay, out)
    except Refusal:
        _cleared(out)
        raise
    except Exception as error:
        _cleared(out)
        raise explained(error, out / "spark.log") from error
    finally:
        session.stop()
        (out / "sources.zip").unlink(missing_ok=True)


def _run(session: Any, logs: list[LogFiles], replay: Replay, out: Path) -> list[Told]:
    from pyspark.sql.pandas.types import from_arrow_schema
    from pyspark.storagelevel import StorageLevel

    tasks = int(session.sparkContext.defaultParallelism)
    numbers = session.range(0, len(logs), 1, len(logs))
    rows = numbers.mapInArrow(task(logs, replay), from_arrow_schema(SCHEMA)).persist(StorageLevel.DISK_ONLY)
    try:
        ends = rows.where(rows.kind.isin(SUMMARY, REFUSAL)).select("kind", "cluster", "text").collect()
        refused = sorted(row.text for row in ends if row.kind == REFUSAL)
        if refused:
            more = f" (and {len(refused) - 1} logs more)" if len(refused) > 1 else ""
            raise Refusal(refused[0] + more)
        for kind, columns in COLUMNS.items():
            chosen = rows.where(rows.kind == kind).select(*columns)
            keys = ["cluster", "topic", "partition"] if kind == TIMELINES else ["cluster"]
            placed = chosen.repartition(tasks, *keys).sortWithinPartitions(*keys, "offset")
            placed.write.mode("overwrite").parquet(str(out / kind))
    finally:
        rows.unpersist()
    found = {row.cluster: json.loads(row.text) for row in ends}
    return [Told(t["document"], tuple(t["lines"]), t["code"]) for t in (found[log.name] for log in logs)]


def _cleared(out: Path) -> None:
    """Nothing half-written stays; Spark's own messages do."""
    for kind in COLUMNS:
        shutil.rmtree(out / kind, ignore_errors=True)
