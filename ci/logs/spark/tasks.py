"""What the tasks of a replay under Spark do: a log, a share of one, a block of its batches, the rest of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import pyarrow as pa
from attrs import frozen

from kraftcheck.ci.logs.format import segments
from kraftcheck.ci.logs.format.bodies import HEADER
from kraftcheck.ci.logs.format.read import BINARY, LogFiles, Skipped
from kraftcheck.ci.logs.format.scan import Scanner
from kraftcheck.ci.logs.replaying import Replaying
from kraftcheck.ci.logs.spark.join import Counted, join
from kraftcheck.ci.logs.spark.merge import Merge, Noted
from kraftcheck.ci.logs.spark.rows import COUNTS, NOTES, REFUSAL, SUMMARY, Row, in_batches, rows_of, text_row
from kraftcheck.ci.logs.spark.shares import share_notes
from kraftcheck.ci.logs.spark.stored import Store
from kraftcheck.ci.logs.summary import Summary, lines
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.solvers.logs.explain.replay import Replayed
from kraftcheck.solvers.logs.memo.lookup import Quick


@frozen
class Piece:
    """The work of one task: a share of a log, or with no shares all of it."""

    log: int
    share: int = 0
    shares: int = 0


@frozen
class Block:
    """The work of another task: a block of records of a log, of which some batches are left out."""

    log: int
    number: int
    shares: int
    whole: Any


def pieces(logs: Sequence[LogFiles], tasks: int, large: int) -> list[Piece]:
    """How the logs are spread over tasks; one that is large has as many shares as it takes of all bytes.

    Args:
        logs: the logs.
        tasks: how many run at a time.
        large: bytes from which on a log is spread by partition, where its files are segments.
    """
    sizes = [sum(path.stat().st_size for path in log.files) for log in logs]
    found = []
    for number, (log, size) in enumerate(zip(logs, sizes, strict=True)):
        binary = all(path.suffix in BINARY for path in log.files)
        shares = max(1, -(-tasks * size // max(1, sum(sizes)))) if binary and size >= large else 0
        found += [Piece(number, share, shares) for share in range(shares)] or [Piece(number)]
    return found


Task = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def task(logs: Sequence[LogFiles], listed: Sequence[Piece], replaying: Replaying, store: Store) -> Task:
    """The work of one partition of the job: the pieces whose numbers it is given."""

    def work(numbers: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in numbers:
            for number in batch.column(0).to_pylist():
                piece = listed[number]
                log = logs[piece.log]
                if not piece.shares:
                    yield from in_batches(_log_rows(log, piece.log, replaying))
                else:
                    yield from in_batches(_share_rows(log, piece, replaying, store))

    return work


def started_worker(numbers: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The work of a task that does nothing, but for what it imports, and the compiled code that reads a segment."""
    list(segments.batches(bytes(HEADER.size), "", Skipped(0).problem, scanner=Scanner()))
    yield from numbers


def _share_rows(log: LogFiles, piece: Piece, replaying: Replaying, store: Store) -> Iterator[Row]:
    """What is to be told of a share; its records go to files."""
    replay = replaying.share(piece.share, piece.shares)
    put = partial(store.put_records, piece.log, piece.share)
    yield from (text_row(NOTES, log.name, n, piece.log) for n in share_notes(log, replay, piece.share, put))


def joining(blocks: Sequence[Block], store: Store) -> Task:
    """The work of one partition of the job that puts blocks of records together."""

    def work(numbers: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in numbers:
            for number in batch.column(0).to_pylist():
                block = blocks[number]
                batches, counted = join(store.records(block.log, block.number, block.shares), block.whole)
                store.put_batches(block.log, block.number, batches)
                row = text_row(COUNTS, "", json.dumps([counted.actions, list(counted.ambiguous.items())]), block.log)
                yield from in_batches(iter((row,)))

    return work


def _log_rows(log: LogFiles, number: int, replaying: Replaying) -> Iterator[Row]:
    """The rows of a log as it is replayed, and at its end what it came to."""
    ended: list[Summary] = []

    def followed() -> Iterator[Replayed | Quick]:
        ended.append((yield from replaying.stepwise(log, detailed=False)))

    try:
        for replayed in followed():
            yield from rows_of(log.name, replayed)
    except Refusal as refusal:
        yield text_row(REFUSAL, log.name, refusal.format_message(), number)
        return
    yield _end(ended[0], number)


def _end(summary: Summary, number: int) -> Row:
    document = {name: value for name, value in summary.document().items() if name != "rows"}
    told = {"document": document, "lines": lines(summary), "code": summary.exit_code()}
    return text_row(SUMMARY, summary.name, json.dumps(told, default=str), number)


def merging(logs: Sequence[LogFiles], found: Sequence[tuple[int, Noted, Counted]], replaying: Replaying) -> Task:
    """The work of one partition of the job that puts together logs of several shares."""

    def work(numbers: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in numbers:
            for place in batch.column(0).to_pylist():
                number, told, counted = found[place]
                yield from in_batches(_merged_rows(logs[number], number, told, counted, replaying))

    return work


def _merged_rows(log: LogFiles, number: int, told: Noted, counted: Counted, replaying: Replaying) -> Iterator[Row]:
    summary = Summary(log.name, replaying.rules, detailed=False)
    yield from Merge(log, summary, told, counted).rows(replaying.follow)
    replaying.name_rules(summary, told.totals["level"])
    yield _end(summary, number)
