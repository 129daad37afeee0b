"""Runs of batches that compiled code replays, because each step of theirs is one that was explained before.

What `quick` knows, by situation and by the bytes of a change, is numbered here
and put in tables. The ledger stays what it is: it is brought up to date before
anything else reads its partitions, and read again where something else has
written them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from attrs import frozen

from kraftcheck.solvers.logs.memo.ledger import Ledger
from kraftcheck.solvers.logs.memo.situation import Situation, Step
from kraftcheck.solvers.logs.runs.kernel import ABSENT, NONE, Places, Rows, advance, move, visit
from kraftcheck.solvers.logs.runs.stretches import OTHER, UNREAD, Names, Stretch
from kraftcheck.solvers.logs.runs.tables import Tables

Ask = Callable[[Situation, int], Step]
"""What a change comes to in a situation, by its place among the records of the stretch; NONE: without a change."""


@frozen(eq=False)
class Run:
    """Batches that follow each other, each of changes that are the work of one event each; or one event of a broker.

    Attributes:
        stretch: where they are.
        first, last: the first batch, and the one that comes next.
        rows: of each own change what became of it; views, which hold until the next run.
        keys: partitions by number.
        tables: situations and steps by number.
        ledger: names the partitions; asked before the next batch is replayed.
        fits: names and actions of the events that fit, where it is a broker's.
        judged: how many properties were checked.
    """

    stretch: Stretch
    first: int
    last: int
    rows: Rows
    keys: list[bytes]
    tables: Tables
    ledger: Ledger
    fits: tuple[tuple[str, str], ...] = ()
    judged: int = 0

    @property
    def last_offset(self) -> int:
        """Of the last batch."""
        return int(self.stretch.bases[self.last]) - 1


@frozen(eq=False)
class Visit:
    """What an event comes to: the partitions that it visits, and the step of each."""

    partitions: Any
    steps: Any


class Runner:
    """Replays what is known of stretches.

    Args:
        owns: whether a partition's changes are replayed.
    """

    def __init__(self, owns: Callable[[bytes], bool]) -> None:
        self._owns = owns
        self.tables = Tables()
        self._keys: list[bytes] = []
        self._index: dict[bytes, int] = {}
        self._names: Names | None = None
        self._numbers = np.array([OTHER, UNREAD], np.int32)
        self._places, self._rows = _places(1), _rows(0)
        self._hosted: dict[int, Any] = {}
        self._going: dict[int, Any] = {}
        self._ledger: Ledger | None = None
        self._dirty = False
        self._turn = 0

    def run(self, ledger: Ledger, stretch: Stretch, first: int, judged: int) -> Run:
        """The batches of a stretch from one on that are known; maybe none."""
        keys = self.look(ledger, stretch)
        last, count = first, 0
        if self.tables.fits(0, len(stretch.names.bodies)):
            last, count = advance(
                first, self._turn, stretch.starts, keys, stretch.bodies, self._places, self.tables.arrays, self._rows
            )
            self._turn += len(stretch)
        self._dirty |= count > 0
        return self._run(stretch, first, last, count, (), judged)

    def learn(self, stretch: Stretch, batch: int, ask: Ask) -> bool:
        """Ask what is not known of a batch; whether it is known then, and was not before."""
        keys, new = self._numbers[stretch.keys], False
        for record in range(*stretch.starts[batch : batch + 2].tolist()):
            key = int(keys[record])
            if key < 0 or not self._places.own[key]:
                continue
            at = int(self._places.at[key])
            body, before = int(stretch.bodies[record]), len(self.tables.steps)
            if at == NONE or not self.tables.note(at, 0, body, ask(self.tables.situations[at], record)):
                return False
            new |= len(self.tables.steps) > before
        return new

    def visit(self, stretch: Stretch, broker: int, event: int, leaderless: bool, every: bool, ask: Ask) -> Visit | None:
        """What an event comes to in each partition that it visits; None where it does not write exactly this.

        Args:
            stretch: one batch; it was looked at.
            broker: whose event it is; all partitions are visited that name it, or change.
            event: its number, not 0.
            leaderless, every: whether all partitions without leader are visited too, or all.
            ask: asked for what is not known.

        Raises:
            LookupError: where that cannot be kept, so that the event has to be looked up in another way.
        """
        places, tables = self._places, self.tables
        keys = self._numbers[stretch.keys]
        records = np.flatnonzero(keys >= 0)
        records = records[places.own[keys[records]]]
        observed = np.full(len(places.at), ABSENT, np.int32)
        observed[keys[records]] = stretch.bodies[records]
        wanted = np.full(len(places.at), True) if every else self._hosting(broker).copy()
        if leaderless:
            wanted |= tables.leaderless[places.at] & (places.at != NONE)
        wanted[keys[records]] = True
        visited = np.flatnonzero(wanted & (places.at != NONE))
        if not tables.fits(event, len(stretch.names.bodies)) or len(np.unique(keys[records])) < len(records):
            raise LookupError
        if (places.at[keys[records]] == NONE).any():
            raise LookupError
        steps = np.zeros(len(visited), np.int32)
        unknown, unfit = visit(visited, observed, event, places, tables.arrays, steps)
        if unknown and not unfit:
            record_of = dict(zip(keys[records].tolist(), records.tolist(), strict=True))
            for key in visited[steps == NONE].tolist():
                at, body = int(places.at[key]), int(observed[key])
                step = ask(tables.situations[at], record_of.get(key, NONE))
                if not tables.note(at, event, body, step):
                    raise LookupError
                if step.after is None:
                    return None
            unknown, unfit = visit(visited, observed, event, places, tables.arrays, steps)
            assert not unknown
        return None if unfit else Visit(visited, steps)

    def happen(self, stretch: Stretch, chosen: Visit, fits: tuple[tuple[str, str], ...], judged: int) -> Run:
        """The event of a visit, carried out."""
        places, rows = self._places, self._rows
        move(chosen.partitions, chosen.steps, places, self.tables.arrays)
        self._dirty = True
        step_of = np.zeros(len(places.at), np.int32)
        step_of[chosen.partitions] = chosen.steps
        keys = self._numbers[stretch.keys]
        records = np.flatnonzero(keys >= 0)
        records = records[places.own[keys[records]]]
        count, moved = len(records), keys[records]
        columns = (records, moved, step_of[moved], places.leader[moved], places.partition[moved])
        for column, values in zip(rows, columns, strict=True):
            column[:count] = values
        return self._run(stretch, 0, 1, count, fits, judged)

    def goes_on(self, broker: int, ask: Callable[[Situation], bool]) -> bool:
        """Whether something holds for the situation of some partition that names a broker.

        Args:
            broker: the broker.
            ask: asked once a situation.
        """
        at = self._places.at[self._hosting(broker) & (self._places.at != NONE)]
        known = self._going.get(broker, np.zeros(0, np.int8))
        if len(known) < len(self.tables.situations):
            known = np.append(known, np.full(2 * len(self.tables.situations) - len(known), NONE, np.int8))
            self._going[broker] = known
        for number in np.unique(at[known[at] == NONE]).tolist():
            known[number] = ask(self.tables.situations[number])
        return bool((known[at] > 0).any())

    def settle(self) -> None:
        """Tell the ledger of what has changed since it was last told."""
        if not self._dirty:
            return
        assert self._ledger is not None
        places, keys, situations = self._places, self._keys, self.tables.situations
        moved = np.flatnonzero(places.moved)
        columns = (places.at[moved], places.leader[moved], places.partition[moved])
        rows = zip(moved.tolist(), *(column.tolist() for column in columns), strict=True)
        self._ledger.take((keys[key], (situations[at], leader, partition)) for key, at, leader, partition in rows)
        places.moved[moved] = False
        self._dirty = False

    def look(self, ledger: Ledger, stretch: Stretch) -> Any:
        """Read what others have written in the ledger, and what is new in a stretch, whose partitions it numbers."""
        if stretch.names is not self._names:
            self._names, self._numbers = stretch.names, np.array([OTHER, UNREAD], np.int32)
            self.tables.forget()
        if ledger is not self._ledger:
            self._ledger = ledger
            self.tables.forget()
            self._going.clear()
            self._read({**self._index, **dict.fromkeys(ledger.slots)})
        elif ledger.touched:
            self._read(ledger.touched)
        ledger.touched.clear()
        new = stretch.names.keys[len(self._numbers) - 2 :]
        if new:
            self._read([key for key in new if key not in self._index])
            numbers = [self._index[key] for key in new]
            self._numbers = np.concatenate([self._numbers[:-2], numbers, self._numbers[-2:]]).astype(np.int32)
        if len(stretch.keys) > len(self._rows.record):
            self._rows = _rows(len(stretch.keys))
        return self._numbers[stretch.keys]

    def _run(self, stretch: Stretch, first: int, last: int, count: int, fits: Any, judged: int) -> Run:
        rows = Rows(*(column[:count] for column in self._rows))
        assert self._ledger is not None
        return Run(stretch, first, last, rows, self._keys, self.tables, self._ledger, fits, judged)

    def _hosting(self, broker: int) -> Any:
        """Of each partition whether it names a broker; maybe of some that no longer do."""
        known, size = self._hosted.get(broker, np.zeros(0, np.bool_)), len(self._places.at)
        if len(known) < size:
            known = self._hosted[broker] = np.append(known, np.zeros(size - len(known), np.bool_))
        return known

    def _read(self, keys: Iterable[bytes]) -> None:
        """Read partitions from the ledger."""
        assert self._ledger is not None
        listed, slots = list(keys), self._ledger.slots
        for key in listed:
            if self._index.setdefault(key, len(self._keys)) == len(self._keys):
                self._keys.append(key)
        if len(self._keys) > len(self._places.at):
            self._places = _places(2 * len(self._keys), self._places)
        numbers = np.array([self._index[key] for key in listed], np.int64)
        found, places = [slots.get(key) for key in listed], self._places
        places.own[numbers] = [self._owns(key) for key in listed]
        places.at[numbers] = [NONE if slot is None else self.tables.number(slot[0]) for slot in found]
        places.leader[numbers] = [0 if slot is None else slot[1] for slot in found]
        places.partition[numbers] = [0 if slot is None else slot[2] for slot in found]
        for number, slot in zip(numbers.tolist(), found, strict=True):
            for broker in () if slot is None else slot[0].brokers():
                self._hosting(broker)[number] = True


def _places(size: int, before: Places | None = None) -> Places:
    """Room for so many partitions, with those that were there before."""
    new = Places(
        np.zeros(size, np.bool_), np.full(size, NONE, np.int32), np.zeros(size, np.int64), np.zeros(size, np.int64),
        np.full(size, NONE, np.int64), np.zeros(size, np.bool_),
    )  # fmt: skip
    for column, old in zip(new, before or (), strict=False):
        column[: len(old)] = old
    return new


def _rows(size: int) -> Rows:
    return Rows(
        np.zeros(size, np.int64), np.zeros(size, np.int32), np.zeros(size, np.int32), np.zeros(size, np.int64),
        np.zeros(size, np.int64),
    )  # fmt: skip


__all__ = ["Run", "Runner", "Visit"]
