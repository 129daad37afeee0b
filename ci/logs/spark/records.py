"""Records of a share as columns: numbers, and the values that they stand for once."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from kraftcheck.ci.logs.spark.rows import COLUMNS, ROWS_AT_ONCE, SCHEMA, TIMELINES
from kraftcheck.ci.logs.spark.stored import BLOCK
from kraftcheck.ci.logs.summary import called
from kraftcheck.solvers.logs.memo.lookup import NOT_READ, Quick
from kraftcheck.solvers.logs.memo.situation import TOPIC, Guessed, Step
from kraftcheck.solvers.logs.runs.runs import Run
from kraftcheck.solvers.logs.runs.shares import Part
from kraftcheck.solvers.logs.runs.stretches import UNREAD

ABSENT = -1
"""The number of a value that is not there."""

RECORD = {name: SCHEMA.field(name).type for name in (*COLUMNS[TIMELINES], "records", "explanations")} | {
    "base": pa.int64(), "event": pa.string(), "action": pa.string(),
}  # fmt: skip
"""The columns of a record.

Of one that was looked up, `explanations` is how many events explain it, `event` the first of them and `action` what
the summary calls it; `base` is the first offset of its batch and `records` the batch's length.
"""

_NUMBERS = ("offset", "base", "records", "explanations", "topic", "leader", "event", "leader_epoch", "partition_epoch")
"""What a record is until it is handed over: numbers, some of them of values that are listed.

An event is the number of its guess, and below it that of its partition.
"""

_PLACE, _SHOWN, _EVENT = (_NUMBERS.index(name) for name in ("topic", "leader", "event"))
_PLAIN = {name: place for place, name in enumerate(_NUMBERS) if place not in (_PLACE, _SHOWN, _EVENT)}
_OFFSET, _BASE = (_NUMBERS.index(name) for name in ("offset", "base"))

_HIGH = 32
_NOWHERE = (1 << _HIGH) - 1
"""What stands for the partition of an event that has none."""


class _Values:
    """Values by number, which records refer to."""

    def __init__(self) -> None:
        self.listed: list[Any] = []
        self.numbers: dict[Hashable, int] = {}

    def number(self, key: Hashable, value: Any) -> int:
        """Of the value that is known by this key, or else is this."""
        found = self.numbers.setdefault(key, len(self.listed))
        if found == len(self.listed):
            self.listed.append(value)
        return found


class Records:
    """Records of one share, until they are handed over: numbers, and the values that they stand for once."""

    def __init__(self, cluster: str) -> None:
        self._cluster = cluster
        self._places, self._shown, self._guesses = _Values(), _Values(), _Values()
        self._named: dict[int, tuple[str, str]] = {}
        self._waiting: list[tuple[int, ...]] = []
        self._chunks: list[Any] = []
        self._block = 0
        self._numbers = {name: np.zeros(0, np.int64) for name in ("place", "shown", "guess", "count")}

    def ran(self, run: Run, with_unread: bool) -> None:
        """Changes that are each the work of one event, of many batches; or those of an event of a broker.

        Args:
            run: the batches.
            with_unread: whether this share tells of the records that replica logic does not read.
        """
        self._look(run)
        rows, stretch, known = run.rows, run.stretch, self._numbers
        places, after = known["place"][rows.partition], run.tables.arrays.after[rows.step]
        values, epochs = (places, known["shown"][after]), (rows.leader_epoch, rows.partition_epoch)
        if run.fits:
            self._add(run, rows.record, 0, *values, ABSENT, *epochs, explained=False)
            return
        events = known["guess"][rows.step] << _HIGH | places
        self._add(run, rows.record, known["count"][rows.step], *values, events, *epochs)
        if with_unread:
            start, end = (int(stretch.starts[batch]) for batch in (run.first, run.last))
            unread = np.flatnonzero(stretch.keys[start:end] == UNREAD) + start
            if len(unread):
                self._add(run, unread, 1, ABSENT, ABSENT, self._event(NOT_READ, _NOWHERE), 0, 0)

    def looked_up(self, part: Part, quick: Quick, with_unread: bool) -> None:
        """Changes that are each the work of one event, of one batch.

        Args:
            part: the batch.
            quick: what it came to.
            with_unread: see `ran`.
        """
        batch, add = quick.batch, self._waiting.append
        base, size = batch.base_offset, len(batch)
        assert isinstance(quick.steps, list)
        for place, (step, move) in enumerate(zip(quick.steps, quick.moves, strict=True)):
            if step is None or move is None:
                if with_unread and isinstance(batch.bodies[place], str):
                    event = self._event(NOT_READ, _NOWHERE)
                    add((base + place, base, size, 1, ABSENT, ABSENT, event, 0, 0))
                continue
            key, (at, leader_epoch, partition_epoch) = move
            named = self._places.number(key, quick.partition(key))
            event = self._event(_guessed(step), named)
            shown = self._shown.number(at.shown, at.shown)
            add((base + place, base, size, step.count, named, shown, event, leader_epoch, partition_epoch))

    def moved(self, part: Part) -> None:
        """Partitions after records whose explanation is that of their whole batch."""
        base, quick = part.batch.base_offset, part.quick
        for place, move in enumerate(quick.moves if quick is not None else ()):
            if move is not None and quick is not None:
                key, (at, *epochs) = move
                self._move(base + place, base, self._places.number(key, quick.partition(key)), at.shown, epochs)
        for after in part.moves:
            named = self._places.number(after.named, after.named)
            self._move(after.offset, base, named, after.shown, after.epochs)

    def blocks(self, upto: int | None = None) -> Iterator[tuple[int, pa.Table]]:
        """Blocks that are complete, with their numbers; a batch is in the block of its first offset.

        Records are in the order of partitions, and then of offsets.

        Args:
            upto: the offset that comes next; None: nothing does.
        """
        if len(self._waiting) >= ROWS_AT_ONCE or upto is None:
            self._gather()
        due = None if upto is None else upto // BLOCK
        if due == self._block:
            return
        self._gather()
        table = np.concatenate([np.zeros((len(_NUMBERS), 0), np.int64), *self._chunks], axis=1)
        blocks = table[_BASE] // BLOCK
        for block in np.unique(blocks).tolist():
            if due is None or block < due:
                yield block, self._taken(self._in_order(table[:, blocks == block]))
        self._chunks = [] if due is None else [table[:, blocks >= due]]
        self._block = 0 if due is None else due

    def _in_order(self, table: Any) -> Any:
        """Records by topic, index and offset."""
        ranks = np.zeros(len(self._places.listed) + 1, np.int64)  # the last is that of no partition
        ranks[sorted(range(len(ranks) - 1), key=self._places.listed.__getitem__)] = np.arange(len(ranks) - 1)
        return table[:, np.lexsort((table[_OFFSET], ranks[table[_PLACE]]))]

    def _gather(self) -> None:
        self._chunks.append(np.array(self._waiting, np.int64).reshape(-1, len(_NUMBERS)).T)
        self._waiting.clear()

    def _look(self, run: Run) -> None:
        """Number what is new in a run."""
        known, tables = self._numbers, run.tables
        new = tables.steps[len(known["guess"]) :]
        if new:
            guesses = [self._guesses.number(guess, guess) for guess in map(_guessed, new)]
            known["guess"] = np.append(known["guess"], np.array(guesses, np.int64))
            known["count"] = np.append(known["count"], np.array([step.count for step in new], np.int64))
        for number in self._lacking("shown", len(tables.situations), tables.arrays.after[run.rows.step]):
            shown = tables.situations[number].shown
            known["shown"][number] = self._shown.number(shown, shown)
        for number in self._lacking("place", len(run.keys), run.rows.partition):
            key = run.keys[number]
            named = run.ledger.topic(key), run.ledger.place(key)[1]
            known["place"][number] = self._places.number(key, named)

    def _lacking(self, name: str, count: int, used: Any) -> list[int]:
        """Which of these have no number yet, where there may be so many."""
        room = count - len(self._numbers[name])
        if room > 0:
            self._numbers[name] = np.append(self._numbers[name], np.full(count + room, ABSENT))
        lacking: list[int] = np.unique(used[self._numbers[name][used] == ABSENT]).tolist()
        return lacking

    def _add(self, run: Run, records: Any, *columns: Any, explained: bool = True) -> None:
        """Rows of these records of a stretch: explanations, partition, values, event, epochs."""
        bases, starts = run.stretch.bases, run.stretch.starts
        batch = np.searchsorted(starts, records, side="right") - 1
        base = bases[batch]
        table = np.empty((len(_NUMBERS), len(records)), np.int64)
        rows = (base + records - starts[batch], base, bases[batch + 1] - base if explained else 0, *columns)
        for place, column in enumerate(rows):
            table[place] = column
        self._chunks.append(table)

    def _event(self, guess: Guessed, place: int) -> int:
        return self._guesses.number(guess, guess) << _HIGH | place

    def _move(self, offset: int, base: int, named: int, shown: tuple[Any, ...], epochs: Sequence[int]) -> None:
        self._waiting.append((offset, base, 0, 0, named, self._shown.number(shown, shown), ABSENT, *epochs))

    def _taken(self, table: Any) -> pa.Table:
        columns = {name: pa.array(table[place]).cast(RECORD[name]) for name, place in _PLAIN.items()}
        columns |= _referred(("topic", "partition"), self._places.listed.__getitem__, table[_PLACE])
        columns |= _referred(("leader", "replicas", "isr", "elr"), self._shown.listed.__getitem__, table[_SHOWN])
        columns |= _referred(("event", "action"), self._called, table[_EVENT])
        columns["cluster"] = pa.repeat(pa.scalar(self._cluster), table.shape[1])
        return pa.table({name: columns[name] for name in RECORD})

    def _called(self, event: int) -> tuple[str, str]:
        """An event in words, and what the summary calls it."""
        found = self._named.get(event)
        if found is None:
            guess, place = self._guesses.listed[event >> _HIGH], event & _NOWHERE
            words = guess.name
            if place != _NOWHERE:
                topic, index = self._places.listed[place]
                words = words.replace(f"{TOPIC}-0", f"{topic}-{index}")
            found = self._named[event] = words, called(guess.name, guess.action)
        return found


def _guessed(step: Step) -> Guessed:
    assert step.guessed is not None
    return step.guessed


def _referred(names: tuple[str, ...], listed: Callable[[int], tuple[Any, ...]], numbers: Any) -> dict[str, pa.Array]:
    """Columns whose values are referred to by number; those that are absent are null."""
    used, places = np.unique(numbers, return_inverse=True)
    absent = (None,) * len(names)
    values = zip(*(absent if n == ABSENT else listed(n) for n in used.tolist()), strict=True)
    at = pa.array(places.astype(np.int32))
    columns = (pa.array(column, RECORD[name]) for name, column in zip(names, values, strict=True))
    return {name: column.take(at) for name, column in zip(names, columns, strict=True)}


__all__ = ["ABSENT", "RECORD", "Records"]
