"""Runs of batches that compiled code replays, because each change of theirs is one that was explained before.

What `quick` knows, by situation and by the bytes of a change, is numbered here
and put in tables. The ledger stays what it is: it is brought up to date before
anything else reads it, and read again where something else has written it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
from attrs import frozen

from solvers.logs.ledger import Ledger
from solvers.logs.locality import Situation, Step
from solvers.logs.runkernel import HIGH, NONE, Places, Rows, Steps, advance, put, refill
from solvers.logs.stretches import Names, Stretch

_FIRST = 1 << 12


@frozen(eq=False)
class Run:
    """Batches that follow each other, each of changes that are the work of one event each.

    Attributes:
        stretch: where they are.
        first, last: the first batch, and the one that comes next.
        rows: of each own change what became of it; views, which hold until the next run.
        tables: what the numbers stand for.
        ledger: names the partitions; asked before the next batch is replayed.
        judged: how many properties were checked.
    """

    stretch: Stretch
    first: int
    last: int
    rows: Rows
    tables: Tables
    ledger: Ledger
    judged: int = 0

    @property
    def last_offset(self) -> int:
        """Of the last batch."""
        return int(self.stretch.bases[self.last]) - 1


class Tables:
    """Situations and steps by number; none is ever taken away.

    Attributes:
        situations: by number.
        steps: by number.
        arrays: for compiled code.
    """

    def __init__(self) -> None:
        self.situations: list[Situation] = []
        self.steps: list[Step] = []
        self._numbers: dict[Situation, int] = {}
        self._noted: set[int] = set()
        self.arrays = _steps(_FIRST, _FIRST)

    def number(self, at: Situation) -> int:
        """Of a situation."""
        found = self._numbers.setdefault(at, len(self.situations))
        if found == len(self.situations):
            self.situations.append(at)
        return found

    def note(self, at: int, body: int, step: Step) -> None:
        """That this change comes to this step in this situation."""
        assert step.after is not None
        pair, arrays, number = at << HIGH | body, self.arrays, len(self.steps)
        if pair in self._noted:
            return
        if number == len(arrays.after) or 2 * len(self._noted) >= len(arrays.pairs):
            self._grow()
            arrays = self.arrays
        self.steps.append(step)
        arrays.after[number] = self.number(step.after)
        arrays.leader[number], arrays.partition[number] = step.leader_epoch, step.partition_epoch
        put(arrays, pair, number)
        self._noted.add(pair)

    def forget(self) -> None:
        """What changes come to, as when rules or features are others."""
        self.arrays.pairs[:] = NONE
        self._noted.clear()

    def _grow(self) -> None:
        old = self.arrays
        count = len(self.steps)
        self.arrays = _steps(2 * len(old.pairs), 2 * len(old.after))
        for name in ("after", "leader", "partition"):
            getattr(self.arrays, name)[:count] = getattr(old, name)[:count]
        refill(old, self.arrays)


def _steps(pairs: int, steps: int) -> Steps:
    return Steps(
        np.full(pairs, NONE, np.int64), np.zeros(pairs, np.int32), np.zeros(steps, np.int32),
        np.zeros(steps, np.int64), np.zeros(steps, np.int64),
    )  # fmt: skip


class Runner:
    """Replays what is known of stretches.

    Args:
        owns: whether a partition's changes are replayed.
    """

    def __init__(self, owns: Callable[[bytes], bool]) -> None:
        self._owns = owns
        self.tables = Tables()
        self._names: Names | None = None
        self._index: dict[bytes, int] = {}
        self._places = _places(0)
        self._rows = _rows(0)
        self._ledger: Ledger | None = None
        self._dirty = False

    def run(self, ledger: Ledger, stretch: Stretch, first: int, judged: int) -> Run:
        """The batches of a stretch from one on that are known; maybe none."""
        self._look(ledger, stretch)
        if len(stretch.keys) > len(self._rows.record):
            self._rows = _rows(len(stretch.keys))
        last, count = advance(
            first, stretch.bases, stretch.starts, stretch.keys, stretch.bodies, self._places, self.tables.arrays,
            self._rows,
        )  # fmt: skip
        self._dirty |= count > 0
        rows = Rows(*(column[:count] for column in self._rows))
        return Run(stretch, first, last, rows, self.tables, ledger, judged)

    def learn(self, ledger: Ledger, stretch: Stretch, place: int) -> None:
        """Take over what `quick` now knows of the changes of a batch, from the states before it."""
        if ledger is not self._ledger:
            return
        span = slice(*stretch.starts[place : place + 2].tolist())
        known, places, tables = stretch.names.bodies, self._places, self.tables
        for key, body in zip(stretch.keys[span].tolist(), stretch.bodies[span].tolist(), strict=True):
            at = int(places.at[key]) if key >= 0 and places.own[key] else NONE
            step = None if at == NONE else tables.situations[at].changes.get(known[body])
            if step is not None and step.after is not None and not step.violations:
                tables.note(at, body, step)

    def settle(self) -> None:
        """Tell the ledger of what has changed since it was last told."""
        if not self._dirty:
            return
        assert self._ledger is not None
        assert self._names is not None
        places, keys, situations = self._places, self._names.keys, self.tables.situations
        moved = np.flatnonzero(places.moved)
        columns = (places.at[moved], places.leader[moved], places.partition[moved])
        rows = zip(moved.tolist(), *(column.tolist() for column in columns), strict=True)
        self._ledger.take((keys[key], (situations[at], leader, partition)) for key, at, leader, partition in rows)
        places.moved[moved] = False
        self._dirty = False

    def _look(self, ledger: Ledger, stretch: Stretch) -> None:
        """Read what others have written in the ledger, and what is new in the stretch."""
        if stretch.names is not self._names:
            self._names, self._index, self._places, self._ledger = stretch.names, {}, _places(0), None
            self.tables.forget()
        if ledger is not self._ledger:
            self._ledger = ledger
            self.tables.forget()
            self._read(self._index)
        elif ledger.touched:
            self._read(key for key in ledger.touched if key in self._index)
        ledger.touched.clear()
        known = len(self._index)
        if known < len(self._names.keys):
            new = self._names.keys[known:]
            self._index.update((key, number) for number, key in enumerate(new, known))
            if len(self._index) > len(self._places.at):
                self._places = _places(2 * len(self._index), self._places)
            self._read(new)

    def _read(self, keys: Iterable[bytes]) -> None:
        """Read partitions from the ledger."""
        assert self._ledger is not None
        listed = list(keys)
        slots, places = self._ledger.slots, self._places
        numbers = np.array([self._index[key] for key in listed], np.int64)
        found = [slots.get(key) for key in listed]
        places.own[numbers] = [self._owns(key) for key in listed]
        places.at[numbers] = [NONE if slot is None else self.tables.number(slot[0]) for slot in found]
        places.leader[numbers] = [0 if slot is None else slot[1] for slot in found]
        places.partition[numbers] = [0 if slot is None else slot[2] for slot in found]


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


__all__ = ["Run", "Runner", "Tables"]
