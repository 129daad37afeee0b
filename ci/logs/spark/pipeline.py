"""`kraftcheck replay --engine spark`: logs as one dataset keyed by cluster and partition, results as Parquet.

Many logs are spread over tasks by cluster, each replayed by the code that
replays it without Spark. A log that is large beside the others is spread by
partition: each task replays a share of its partitions in order, and what the
shares find is put together batch by batch. The verdicts are the same.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
from attrs import frozen

from kraftcheck.ci.logs.format.read import LogFiles
from kraftcheck.ci.logs.output import LOG, SOURCES, filled
from kraftcheck.ci.logs.replaying import Replaying
from kraftcheck.ci.logs.spark.join import Counted
from kraftcheck.ci.logs.spark.merge import Noted, noted
from kraftcheck.ci.logs.spark.rows import COLUMNS, NOTES, REFUSAL, SCHEMA, SUMMARY, TIMELINES
from kraftcheck.ci.logs.spark.stored import Store
from kraftcheck.ci.logs.spark.tasks import Block, Piece, Task, joining, merging, pieces, started_worker, task
from kraftcheck.ci.spark.errors import explained
from kraftcheck.ci.spark.session import parse_conf, started
from kraftcheck.ci.spark.shipping import ship_sources
from kraftcheck.ci.terminal.refusal import Refusal

LARGE = 16 << 20
"""Bytes from which on a log may be spread by partition, about a quarter of a million records."""

_ROUNDS = 4
"""So many tasks, one after the other on each core, put blocks together: each takes Spark a while to prepare."""


@frozen
class Told:
    """What one log came to: the document without its rows, the lines for a reader, the exit code."""

    document: dict[str, Any]
    lines: tuple[str, ...]
    code: int


def replay_with_spark(
    logs: list[LogFiles], replaying: Replaying, out: Path, conf: tuple[str, ...], workers: int, large: int = LARGE,
    ready: Callable[[], None] = lambda: None,
) -> list[Told]:  # fmt: skip
    """Replay logs under Spark; `out` gets the folders `batches`, `violations`, `timelines`.

    Every worker must see the logs under the names given.

    Args:
        ready: called once session and workers have started, before anything is read.

    Raises:
        Refusal: when `out` holds anything, a log cannot be read, or Spark does not start or fails.
    """
    with filled(out) as place:
        session = started(None, workers, parse_conf(conf), out / LOG)
        try:
            ship_sources(session, out / SOURCES)
            run = _Run(session, logs, replaying, place)
            run.start_workers()
            ready()
            return run.told(pieces(logs, run.tasks, large))
        except Refusal:
            raise
        except Exception as error:
            raise explained(error, out / LOG) from error
        finally:
            session.stop()
            (out / SOURCES).unlink(missing_ok=True)


class _Run:
    """The jobs of one run, and the rows that they keep until it ends."""

    def __init__(self, session: Any, logs: list[LogFiles], replaying: Replaying, out: Path) -> None:
        self._session, self._logs, self._replaying, self._out = session, logs, replaying, out
        self._store = Store(out)
        self._kept: list[Any] = []
        self.tasks = int(session.sparkContext.defaultParallelism)

    def start_workers(self) -> None:
        """Start a worker for each task that runs at a time, with what it imports; workers are used again."""
        self._session.range(0, self.tasks, 1, self.tasks).mapInArrow(started_worker, "id bigint").collect()

    def told(self, listed: list[Piece]) -> list[Told]:
        """Replay the pieces, put them together, and write the datasets."""
        try:
            frames = [self._job(listed, task(self._logs, listed, self._replaying, self._store))]
            found = self._noted(frames[0], listed)
            again = [Piece(number) for number, (notes, _) in found.items() if notes.gave_up is not None]
            for piece in again:
                self._store.drop(piece.log)
                del found[piece.log]
            if again:
                frames.append(self._job(again, task(self._logs, again, self._replaying, self._store)))
            if found:
                joined = self._joined(found)
                put = [(number, notes, joined[number]) for number, (notes, _) in found.items()]
                frames.append(self._job(put, merging(self._logs, put, self._replaying)))
            ends = self._ends(frames)
            self._write(frames)
        finally:
            self._store.tidy()
            for frame in self._kept:
                frame.unpersist()
        return [Told(t["document"], tuple(t["lines"]), t["code"]) for t in (ends[n] for n in range(len(self._logs)))]

    def _job(self, listed: Sequence[Any], work: Task, tasks: int | None = None) -> Any:
        """The rows of tasks, one for each of these, or so many."""
        from pyspark.sql.pandas.types import from_arrow_schema
        from pyspark.storagelevel import StorageLevel

        numbers = self._session.range(0, len(listed), 1, min(len(listed), tasks or len(listed)))
        rows = numbers.mapInArrow(work, from_arrow_schema(SCHEMA)).persist(StorageLevel.DISK_ONLY)
        self._kept.append(rows)
        return rows

    def _noted(self, rows: Any, listed: list[Piece]) -> dict[int, tuple[Noted, int]]:
        """By its number what the shares of each log noted that has some, and their number."""
        shares = {piece.log: piece.shares for piece in listed if piece.shares}
        texts: dict[int, list[str]] = {number: [] for number in shares}
        for row in rows.where(rows.kind == NOTES).select("log", "text").collect() if shares else ():
            texts[row.log].append(row.text)
        return {number: (noted(texts[number], count), count) for number, count in shares.items()}

    def _joined(self, found: dict[int, tuple[Noted, int]]) -> dict[int, Counted]:
        """What was counted while the batches of logs were put together."""
        blocks = [
            Block(number, block, shares, np.array(sorted(notes.whole), np.int64))
            for number, (notes, shares) in found.items()
            for block in notes.blocks
        ]
        rows = self._job(blocks, joining(blocks, self._store), _ROUNDS * self.tasks)
        counted = {number: Counted() for number in found}
        for row in rows.select("log", "text").collect():
            actions, ambiguous = json.loads(row.text)
            counted[row.log].add(Counted({a: (n, first) for a, (n, first) in actions.items()}, dict(ambiguous)))
        return counted

    def _ends(self, frames: list[Any]) -> dict[int, Any]:
        """What each log came to, by its number.

        Raises:
            Refusal: for logs that cannot be read.
        """
        ends = (f.where(f.kind.isin(SUMMARY, REFUSAL)).select("kind", "log", "text") for f in frames)
        rows = [row for end in ends for row in end.collect()]
        refused = sorted(row.text for row in rows if row.kind == REFUSAL)
        if refused:
            more = f" (and {len(refused) - 1} logs more)" if len(refused) > 1 else ""
            raise Refusal(refused[0] + more)
        return {row.log: json.loads(row.text) for row in rows}

    def _write(self, frames: list[Any]) -> None:
        """The rest of the datasets, keyed by cluster, the timelines by cluster and partition."""
        rows = reduce(lambda one, other: one.union(other), frames)

        def write(kind: str) -> None:
            keys = ["cluster", "topic", "partition"] if kind == TIMELINES else ["cluster"]
            placed = rows.where(rows.kind == kind).select(*COLUMNS[kind]).repartition(self.tasks, *keys)
            placed.sortWithinPartitions(*keys, "offset").write.mode("append").parquet(str(self._out / kind))

        with ThreadPoolExecutor(len(COLUMNS)) as pool:  # small jobs, whose time is Spark's preparation
            list(pool.map(write, COLUMNS))


__all__ = ["COLUMNS", "LARGE", "Told", "replay_with_spark"]
