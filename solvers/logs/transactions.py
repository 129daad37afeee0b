"""Metadata transactions (KIP-868): what was aborted, and what has not ended, has not happened.

The records between a BeginTransactionRecord and its EndTransactionRecord take effect together, at the end. They may
fill many batches, with batches of the quorum between them. An AbortTransactionRecord, which the next controller may
write, takes all of them back.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import TypeAlias

from attrs import evolve, frozen

from kraftcheck.solvers.logs.explain.entries import Batch, CompactBatch, LogEntry
from kraftcheck.solvers.logs.explain.state import ABORT, BEGIN, END

FATES = ABORTED, UNENDED = "aborted", "not ended"
"""Why records have not happened."""

_MARKS = {BEGIN.type, END.type, ABORT.type}


@frozen
class Undone:
    """Records of one batch that have not happened.

    Attributes:
        batch: the records, as a batch of their own.
        fate: `ABORTED` or `UNENDED`.
        begins: whether the transaction begins with them.
    """

    batch: Batch
    fate: str
    begins: bool


Effective: TypeAlias = Batch | CompactBatch | Undone


@frozen
class _Void:
    """The offsets of a transaction that has not happened; `last` is None where it has not ended."""

    first: int
    last: int | None

    def has(self, offset: int) -> bool:
        return self.first <= offset and (self.last is None or offset <= self.last)


def effective(batches: Iterable[Batch | CompactBatch]) -> Iterator[Effective]:
    """The batches, with what has not happened taken out of them.

    An end without a beginning, and a beginning within a transaction, are left as they are: no controller replays them.
    """
    held: list[Batch | CompactBatch] = []
    voids: list[_Void] = []
    begun: int | None = None
    stream = iter(batches)
    for batch in stream:
        for entry in _marks(batch):
            if (entry.type == BEGIN.type) == (begun is not None):
                yield from _released([*held, batch], voids)
                yield from stream
                return
            if entry.type == ABORT.type and begun is not None:
                voids.append(_Void(begun, entry.offset))
            begun = entry.offset if entry.type == BEGIN.type else None
        if begun is None and not held and not voids:
            yield batch
            continue
        held.append(batch)
        if begun is None:
            yield from _released(held, voids)
            held, voids = [], []
    if begun is not None:
        yield from _released(held, [*voids, _Void(begun, None)])


def _marks(batch: Batch | CompactBatch) -> list[LogEntry]:
    """The records of a batch with which transactions begin and end."""
    if isinstance(batch, CompactBatch):
        return [batch.other] if batch.other is not None and batch.other.type in _MARKS else []
    return [entry for entry in batch.entries if entry.type in _MARKS]


def _released(held: Iterable[Batch | CompactBatch], voids: list[_Void]) -> Iterator[Effective]:
    for batch in held:
        touched = any(void.has(batch.last_offset) or batch.base_offset <= void.first for void in voids)
        if batch.control or not touched:
            yield batch
        else:
            yield from _pieces(batch.whole(), voids)


def _pieces(batch: Batch, voids: list[_Void]) -> Iterator[Batch | Undone]:
    """A batch, parted where a transaction that has not happened begins or ends in it."""

    def void_of(entry: LogEntry) -> _Void | None:
        return next((void for void in voids if void.has(entry.offset)), None)

    groups = [(void, tuple(entries)) for void, entries in groupby(batch.entries, void_of)]
    if all(void is None for void, _ in groups):
        yield batch
        return
    for void, entries in groups:
        first, last = entries[0].offset, entries[-1].offset
        part = evolve(batch, base_offset=first, last_offset=last, entries=entries)
        if void is None:
            yield part
        else:
            yield Undone(part, UNENDED if void.last is None else ABORTED, first == void.first)
