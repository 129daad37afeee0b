"""One share of a log under Spark: its partitions' records with what explains them, and notes of the rest."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from attrs import asdict, define, field

from ci.logs.reading import LogFiles, Skipped, read_compact
from ci.logs.rows import COLUMNS, ROWS_AT_ONCE, SCHEMA, TIMELINES
from ci.logs.stored import BLOCK
from ci.logs.summary import called
from ci.refusal import Refusal
from model.replay import ReplayError
from solvers.logs.entries import Batch, Compact
from solvers.logs.image import METADATA_VERSION, EntryError
from solvers.logs.locality import TOPIC, Step
from solvers.logs.lookup import NOT_READ, Quick
from solvers.logs.shares import Part, ShareReplay

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
"""What a record is until it is handed over: numbers, some of them of values that are listed."""

_PLACE, _SHOWN, _EVENT = (_NUMBERS.index(name) for name in ("topic", "leader", "event"))
_PLAIN = {name: place for place, name in enumerate(_NUMBERS) if place not in (_PLACE, _SHOWN, _EVENT)}

Put = Callable[[int, pa.Table], None]
"""Takes one block of a share."""


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
        self._places, self._shown, self._events = _Values(), _Values(), _Values()
        self._waiting: list[tuple[int, ...]] = []
        self._chunks: list[Any] = []
        self._block = 0

    def looked_up(self, part: Part, quick: Quick, with_unread: bool) -> None:
        """Changes that are each the work of one event.

        Args:
            part: the batch.
            quick: what it came to.
            with_unread: whether this share tells of the records that replica logic does not read.
        """
        batch, add = quick.batch, self._waiting.append
        base, size = batch.base_offset, len(batch)
        places, shown_at, events = self._places.numbers, self._shown.numbers, self._events.numbers
        assert isinstance(quick.steps, list)
        for place, (step, move) in enumerate(zip(quick.steps, quick.moves, strict=True)):
            if step is None or move is None:
                if with_unread and isinstance(batch.bodies[place], str):
                    event = self._events.number(None, (NOT_READ.name, called(NOT_READ.name, "")))
                    add((base + place, base, size, 1, ABSENT, ABSENT, event, 0, 0))
                continue
            key, (at, leader_epoch, partition_epoch) = move
            named = places.get(key, ABSENT)
            if named == ABSENT:
                named = self._places.number(key, quick.partition(key))
            event = events.get((step, named), ABSENT)
            if event == ABSENT:
                event = self._events.number((step, named), _event(step, *self._places.listed[named]))
            shown = shown_at.get(at, ABSENT)
            if shown == ABSENT:
                shown = self._shown.number(at, at.shown)
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
        """Blocks that are complete, with their numbers.

        Args:
            upto: the offset that comes next; None: nothing does.
        """
        if len(self._waiting) >= ROWS_AT_ONCE or upto is None:
            self._chunks.append(np.array(self._waiting, np.int64).reshape(-1, len(_NUMBERS)))
            self._waiting.clear()
        if upto is not None and upto // BLOCK == self._block:
            return
        rows = [*self._chunks, np.array(self._waiting, np.int64).reshape(-1, len(_NUMBERS))]
        self._waiting.clear()
        self._chunks.clear()
        table = np.concatenate(rows).T
        if table.size:
            yield self._block, self._taken(table)
        self._block = 0 if upto is None else upto // BLOCK

    def _move(self, offset: int, base: int, named: int, shown: tuple[Any, ...], epochs: Sequence[int]) -> None:
        self._waiting.append((offset, base, 0, 0, named, self._shown.number(shown, shown), ABSENT, *epochs))

    def _taken(self, table: Any) -> pa.Table:
        columns = {name: pa.array(table[place]).cast(RECORD[name]) for name, place in _PLAIN.items()}
        columns |= _referred(("topic", "partition"), self._places.listed, table[_PLACE])
        columns |= _referred(("leader", "replicas", "isr", "elr"), self._shown.listed, table[_SHOWN])
        columns |= _referred(("event", "action"), self._events.listed, table[_EVENT])
        columns["cluster"] = pa.repeat(pa.scalar(self._cluster), table.shape[1])
        return pa.table({name: columns[name] for name in RECORD})


def _event(step: Step, topic: str, index: int) -> tuple[str, str]:
    """A step's event in words, and what the summary calls it."""
    assert step.guessed is not None
    name, action = step.guessed.name, step.guessed.action
    return name.replace(f"{TOPIC}-0", f"{topic}-{index}"), called(name, action)


def _referred(names: tuple[str, ...], listed: list[tuple[Any, ...]], numbers: Any) -> dict[str, pa.Array]:
    """Columns whose values are referred to by number; those that are absent are null."""
    used, places = np.unique(numbers, return_inverse=True)
    absent = (None,) * len(names)
    values = zip(*(absent if n == ABSENT else listed[n] for n in used.tolist()), strict=True)
    at = pa.array(places.astype(np.int32))
    columns = (pa.array(column, RECORD[name]) for name, column in zip(names, values, strict=True))
    return {name: column.take(at) for name, column in zip(names, columns, strict=True)}


@define
class Totals:
    """What the first share counts for the whole log."""

    batches: int = 0
    records: int = 0
    control: int = 0
    loaded: int = 0
    judged: int = 0
    level: int | None = None
    passed: Counter[str] = field(factory=Counter)

    def add(self, part: Part) -> None:
        """Count one more batch."""
        batch = part.batch
        size = len(batch) if isinstance(batch, Compact) else len(batch.entries)
        if part.taken:
            control = isinstance(batch, Batch) and batch.control
            self.control += control
            self.loaded += 0 if control else size
            return
        self.batches += 1
        self.records += size
        self.judged = self.judged or part.judged
        self.passed.update(part.passed)
        if part.quick is not None:
            self.passed.update(body for body in part.quick.batch.bodies if isinstance(body, str))


def share_notes(log: LogFiles, replay: ShareReplay, share: int, put: Put) -> Iterator[str]:
    """What is to be told of one share of a log; if it cannot be replayed, the log must be replayed in another way.

    Args:
        log: its files.
        replay: of the share.
        share: its number.
        put: takes the records, block by block.
    """
    records, notes, totals, blocks = Records(log.name), [], Totals(), []
    try:
        for part in replay.parts(read_compact(log, Skipped(0))):
            if share == 0:
                totals.add(part)
            if part.quick is not None and not part.fits:
                records.looked_up(part, part.quick, share == 0)
            else:
                records.moved(part)
                notes += _noted(part)
            notes += _violated(part)
            for block, table in records.blocks(part.batch.last_offset + 1):
                put(block, table)
                blocks.append(block)
    except (Refusal, EntryError, ReplayError) as reason:
        notes = [{"gave up": str(reason)}]
    totals.level = replay.state.levels.get(METADATA_VERSION)
    for block, table in records.blocks():
        put(block, table)
        blocks.append(block)
    end = {"end": share, "blocks": blocks, "totals": _plain(totals) if share == 0 else None}
    yield from (json.dumps(note) for note in (*notes, end))


def _plain(totals: Totals) -> dict[str, Any]:
    """The totals as plain values."""
    return asdict(totals) | {"passed": dict(totals.passed)}


def _noted(part: Part) -> list[dict[str, Any]]:
    """What is to be told of a batch that is more than changes by themselves."""
    if part.taken:
        return []
    batch = part.batch
    if part.quick is None:
        return [{"whole": batch.base_offset}]
    fits = [
        {"name": fit.name, "action": fit.action,
         "violations": [[*rank, v.property, v.topic, v.partition, v.parts] for rank, v in fit.violations]}
        for fit in part.fits
    ]  # fmt: skip
    return [{"event": batch.base_offset, "last": batch.last_offset, "place": batch.place, "fits": fits}]


def _violated(part: Part) -> list[dict[str, Any]]:
    quick = part.quick
    if quick is None or part.fits or not quick.violations:
        return []
    assert isinstance(quick.steps, list)
    told, batch = iter(quick.violations), quick.batch
    rows = [
        [place, v.property, v.topic, v.partition, v.parts]
        for place, step in enumerate(quick.steps)
        for _, v in zip(step.violations if step is not None else (), told, strict=False)
    ]
    return [{"violated": batch.base_offset, "last": batch.last_offset, "place": batch.place, "rows": rows}]
