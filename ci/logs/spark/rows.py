"""What a replay under Spark hands over: rows in Arrow batches, and the datasets that they become."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from kraftcheck.model.records.records import Ids, PartitionChangeRecord, PartitionRecord, ids
from kraftcheck.solvers.logs.explain.judge import Violation
from kraftcheck.solvers.logs.explain.replay import Replayed
from kraftcheck.solvers.logs.memo.lookup import Quick

BATCHES, VIOLATIONS, TIMELINES, SUMMARY, REFUSAL = "batches", "violations", "timelines", "summary", "refusal"
NOTES, COUNTS = "notes", "counts"
"""What a row is. Tasks of a log that is spread over them hand over notes and counts, and keep the rest in files."""

ROWS_AT_ONCE = 4096
"""Rows of one Arrow batch that a task hands over."""

_BROKERS = pa.list_(pa.int32())
SCHEMA = pa.schema([
    ("kind", pa.string()), ("cluster", pa.string()), ("offset", pa.int64()), ("text", pa.string()),
    ("records", pa.int32()), ("explanations", pa.int64()), ("events", pa.list_(pa.string())),
    ("property", pa.string()), ("topic", pa.string()), ("partition", pa.int32()),
    ("leader", pa.int32()), ("leader_epoch", pa.int32()), ("partition_epoch", pa.int32()),
    ("replicas", _BROKERS), ("isr", _BROKERS), ("elr", _BROKERS),
    ("log", pa.int32()),
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


def rows_of(cluster: str, replayed: Replayed | Quick, timelines: bool = True) -> Iterator[Row]:
    """The rows of one batch, with or without the states of its partitions."""
    if isinstance(replayed, Quick):
        yield from _quick_rows(cluster, replayed)
        return
    found = replayed.explanation
    if found is None:
        return
    offset = found.batch.base_offset
    miss = "" if found.miss is None else f"nearest: {found.miss.name} {found.miss.refusal}".strip()
    names = [step.name for step in found.steps]
    yield batch_row(cluster, offset, found.broken or miss, len(found.records), found.count, names)
    yield from violation_rows(cluster, offset, replayed.violations)
    for place, (record, state) in enumerate(zip(found.records, found.states[1:], strict=False) if timelines else ()):
        if isinstance(record, PartitionChangeRecord | PartitionRecord):
            topic = state.controller.topic(record.topic_id)
            p = topic.partitions[record.partition_id]
            shown = int(p.leader), ids(p.replicas), ids(p.isr), ids(p.elr)
            epochs = int(p.leader_epoch), int(p.partition_epoch)
            yield _timeline_row(cluster, offset + place, (topic.name, record.partition_id), shown, epochs)


def _quick_rows(cluster: str, quick: Quick) -> Iterator[Row]:
    """The rows of a batch that was looked up."""
    offset = quick.batch.base_offset
    yield batch_row(cluster, offset, "", len(quick.batch), quick.count, quick.names())
    if quick.violations:
        yield from violation_rows(cluster, offset, quick.violations)
    for place, move in enumerate(quick.moves):
        if move is not None:
            key, (at, leader_epoch, partition_epoch) = move
            epochs = leader_epoch, partition_epoch
            yield _timeline_row(cluster, offset + place, quick.partition(key), at.shown, epochs)


def batch_row(cluster: str, offset: int, text: str, records: int, count: int, names: Sequence[str]) -> Row:
    """What became of a batch."""
    return BATCHES, cluster, offset, text, records, count, names, *(None,) * 10


def violation_rows(cluster: str, offset: int, violations: Iterable[Violation]) -> Iterator[Row]:
    """What does not hold after a batch."""
    for v in violations:
        text = ", ".join(v.parts)
        named = v.property, v.topic, v.partition
        yield VIOLATIONS, cluster, offset, text, None, None, None, *named, *(None,) * 7


def _timeline_row(
    cluster: str, offset: int, named: tuple[str, int], shown: tuple[int, Ids, Ids, Ids], epochs: tuple[int, int]
) -> Row:
    """A partition after a record: its topic and index, leader and lists, leader epoch and partition epoch."""
    return TIMELINES, cluster, offset, *(None,) * 5, *named, shown[0], *epochs, *shown[1:], None


def text_row(kind: str, cluster: str, text: str, log: int | None = None) -> Row:
    """A row that only says something."""
    return kind, cluster, None, text, *(None,) * 12, log


def in_batches(rows: Iterator[Row]) -> Iterator[pa.RecordBatch]:
    """Rows as Arrow batches."""
    while waiting := list(itertools.islice(rows, ROWS_AT_ONCE)):
        columns = zip(*waiting, strict=True)
        arrays = [pa.array(column, field.type) for column, field in zip(columns, SCHEMA, strict=True)]
        yield pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)
