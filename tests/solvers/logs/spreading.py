"""A log spread over shares as Spark's tasks do it, without Spark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from attrs import frozen

from kraftcheck.ci.logs.format.read import LogFiles, find
from kraftcheck.ci.logs.replaying import Replaying
from kraftcheck.ci.logs.spark.join import Counted, join
from kraftcheck.ci.logs.spark.merge import Merge, Noted, noted
from kraftcheck.ci.logs.spark.rows import BATCHES, COLUMNS, SCHEMA, TIMELINES, in_batches, rows_of
from kraftcheck.ci.logs.spark.shares import share_notes
from kraftcheck.ci.logs.summary import Summary, lines

Rows = list[dict[str, Any]]


@frozen
class Outcome:
    """What a replay came to: document, lines, exit code and the rows of each dataset, in order."""

    document: dict[str, Any]
    lines: list[str]
    code: int
    datasets: dict[str, list[tuple[Any, ...]]]


def outcome(summary: Summary, rows: Rows) -> Outcome:
    """The outcome of a replay with these rows."""
    datasets = {
        kind: sorted(tuple(map(str, (row[name] for name in names))) for row in rows if row["kind"] == kind)
        for kind, names in COLUMNS.items()
    }
    return Outcome(summary.document(), lines(summary), summary.exit_code(), datasets)


def alone(log: LogFiles, replaying: Replaying) -> Outcome:
    """The replay by one task."""
    ended: list[Summary] = []

    def followed() -> Iterator[Any]:
        ended.append((yield from replaying.stepwise(log, detailed=False)))

    found = pa.Table.from_batches(in_batches(r for one in followed() for r in rows_of(log.name, one)), SCHEMA)
    return outcome(ended[0], found.to_pylist())


def spread(log: LogFiles, replaying: Replaying, shares: int) -> tuple[Outcome | None, Noted]:
    """The replay by so many shares; no outcome where a share gave up."""
    blocks: list[tuple[int, pa.Table]] = []
    notes = [
        note for share in range(shares)
        for note in share_notes(log, replaying.share(share, shares), share, lambda *block: blocks.append(block))
    ]  # fmt: skip
    told = noted(notes, shares)
    if told.gave_up is not None:
        return None, told
    records = pa.concat_tables([table for _, table in blocks])
    counted, joined, whole = Counted(), [], np.array(sorted(told.whole), np.int64)
    for number in {number for number, _ in blocks}:
        tables = [table.filter(table.column("event").is_valid()) for block, table in blocks if block == number]
        batches, also = join(tables, whole)
        counted.add(also)
        joined += [row | {"kind": BATCHES} for row in batches.to_pylist()]
    summary = Summary(log.name, replaying.rules, detailed=False)
    rest = pa.Table.from_batches(in_batches(Merge(log, summary, told, counted).rows(replaying.follow)), SCHEMA)
    replaying.name_rules(summary, told.totals["level"])
    moved = [row | {"kind": TIMELINES} for row in records.to_pylist() if row["partition"] is not None]
    return outcome(summary, [*joined, *rest.to_pylist(), *moved]), told


def log_of(place: Path) -> LogFiles:
    """The one log in a folder or file."""
    (log,) = find((place,))
    return log


__all__ = ["Outcome", "alone", "log_of", "spread"]
