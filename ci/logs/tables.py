"""The tables of a replay: column by column, one Parquet file of each for a log.

A memoised batch costs a few appends to lists. Its words, and the states of its
partitions, are few different ones; they are numbered, and put into the columns
at once for many batches.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from datetime import datetime
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from kraftcheck.ci.logs.releases import HIGHEST, line_of, rules_of
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.language.words import NO_LEADER
from kraftcheck.model.partition.registration import DirectoryList, Partition
from kraftcheck.model.records.fields import CODE
from kraftcheck.model.records.records import (
    BrokerRegistrationChangeRecord,
    FenceBrokerRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    Registration,
    RemoveTopicRecord,
    UnfenceBrokerRecord,
    UnregisterBrokerRecord,
    ids,
)
from kraftcheck.model.rules.ruleset import RuleSet
from kraftcheck.solvers.drawings.log import Numbers
from kraftcheck.solvers.logs.explain.explain import Difference, Explanation, ReplayedBatch
from kraftcheck.solvers.logs.explain.state import Batch, CompactBatch, ModelRecord, State, model_record
from kraftcheck.solvers.logs.memo.ledger import MemoisedBatch, SlotUpdate, event_text
from kraftcheck.solvers.logs.memo.situation import EventName, Situation

BATCHES, VIOLATIONS, TIMELINES = "batches", "violations", "timelines"
BROKERS, FINDINGS, UNEXPLAINED = "brokers", "findings", "unexplained"

ROWS_AT_ONCE = 1 << 16  # rows of one group of a file; of batches, their events

UPDATES_AT_ONCE = 1 << 8
"""Changes that are put into columns at once; more would outlive a young generation of the garbage collector."""

_NAME = pa.dictionary(pa.int32(), pa.string())  # a text of which there are few; in the files it is a plain string
_TIME = pa.timestamp("ms", tz="UTC")
_NAMES, _IDS = pa.list_(pa.string()), pa.list_(pa.int32())

_OF_LOG = [("cluster", _NAME), ("cluster_id", _NAME)]
_PLACE = [("topic", _NAME), ("topic_id", _NAME), ("partition", pa.int32())]
_WHEN = [("offset", pa.int64()), ("time", _TIME)]
_LISTS = ("replicas", "isr", "elr", "last_known_elr", "adding", "removing")

SCHEMAS = {
    BATCHES: pa.schema([
        *_OF_LOG, *_WHEN, ("rules", _NAME), ("records", pa.int32()), ("explanations", pa.int64()), ("events", _NAMES),
    ]),
    UNEXPLAINED: pa.schema([
        *_OF_LOG, *_WHEN, ("rules", _NAME), ("records", pa.int32()), ("explained", pa.int32()),
        ("nearest", pa.string()), ("refused", pa.string()), ("differences", _NAMES), ("cannot_replay", pa.string()),
    ]),
    VIOLATIONS: pa.schema([*_OF_LOG, *_WHEN, ("property", pa.string()), *_PLACE, ("parts", _NAMES)]),
    FINDINGS: pa.schema([
        *_OF_LOG, *_WHEN, ("until", _TIME), ("until_offset", pa.int64()), ("finding", pa.string()),
        ("choice", pa.string()), ("report", pa.string()), ("title", pa.string()), ("mended_in", pa.string()),
        ("proven", pa.bool_()), ("deliberate", pa.bool_()), ("properties", _NAMES), ("event", pa.string()),
        ("partitions", _NAMES),
    ]),
    TIMELINES: pa.schema([
        *_OF_LOG, *_PLACE, *_WHEN, ("until", _TIME), ("leader", pa.int32()), ("leader_epoch", pa.int32()),
        ("partition_epoch", pa.int32()), *((name, _IDS) for name in _LISTS), ("directories", _NAMES),
        ("recovering", pa.bool_()),
    ]),
    BROKERS: pa.schema([
        *_OF_LOG, ("broker", pa.int32()), *_WHEN, ("until", _TIME), ("registered", pa.bool_()),
        ("broker_epoch", pa.int64()), ("incarnation", pa.string()), ("rack", pa.string()), ("fenced", pa.bool_()),
        ("in_controlled_shutdown", pa.bool_()), ("directories", _NAMES), ("cordoned", _NAMES),
    ]),
}  # fmt: skip
"""The columns of each table."""

_MAX_COUNT = (1 << 63) - 1
_NO_TIME = -1
_DELETED = -1
"""The number of what is shown of a partition that is no more: such a row ends the one before, and is not written."""

_BROKER_RECORDS = (
    RegisterBrokerRecord, UnregisterBrokerRecord, BrokerRegistrationChangeRecord, FenceBrokerRecord,
    UnfenceBrokerRecord,
)  # fmt: skip

_Shown = tuple[Any, ...]  # of a partition: its leader, the lists, the directories, and whether it recovers
_Place = tuple[str, str, int]  # of a partition: topic, topic id and index


def _shown(p: Partition) -> _Shown:
    assert isinstance(p.directories, DirectoryList)
    leader = None if p.leader == NO_LEADER else int(p.leader)
    lists = (ids(getattr(p, name)) for name in _LISTS)
    return leader, *lists, tuple(map(CODE.text, p.directories.ids)), bool(p.recovering)


def _texts(directories: Sequence[int] | None) -> list[str] | None:
    return None if directories is None else [CODE.text(directory) for directory in directories]


def _times(times: np.ndarray[Any, Any]) -> pa.Array:
    """Milliseconds since 1970 as times; null where there is none."""
    return pa.array(times, pa.int64(), mask=times == _NO_TIME).cast(_TIME)


class _States(dict[Situation, int]):
    """Situations by the number of what is shown of them."""

    def __init__(self, shown: Numbers[_Shown]) -> None:
        super().__init__()
        self._shown = shown

    def __missing__(self, situation: Situation) -> int:
        """The number of what is shown."""
        number = self[situation] = self._shown[_shown(situation.partition)]
        return number


class _Timelines:
    """The states of partitions, as they come."""

    def __init__(self) -> None:
        self._offsets, self._times = array("q"), array("q")
        self._partitions, self._states = array("i"), array("i")
        self._leader_epochs, self._partition_epochs = array("i"), array("i")
        self._partition_of: Numbers[_Place] = Numbers()
        self._state_of: Numbers[_Shown] = Numbers()
        self.places: dict[bytes, _Place] = {}  # partitions by their keys
        self._updates: list[SlotUpdate] = []
        self._keys: dict[bytes, int] = {}
        self._situations = _States(self._state_of)

    def add_memoised(self, memoised: MemoisedBatch) -> None:
        """Add the states after the records of a batch that was explained from the memo."""
        base, keys, places = memoised.batch.base_offset, memoised.batch.keys, self.places
        passed = 0
        for key in keys:
            if key is None:
                passed += 1
            elif key not in places:
                topic, index = memoised.partition(key)
                places[key] = place = topic, memoised.topic_id(key), index
                self._keys[key] = self._partition_of[place]
        if not passed:
            self._offsets.extend(range(base, base + len(keys)))
            self._updates += memoised.updates  # type: ignore[arg-type]
        elif passed < len(keys):
            self._offsets.extend(base + n for n, key in enumerate(keys) if key is not None)
            self._updates += (update for update in memoised.updates if update is not None)
        time = _NO_TIME if memoised.batch.time is None else memoised.batch.time
        self._times.extend(repeat(time, len(keys) - passed))
        if len(self._updates) >= UPDATES_AT_ONCE:
            self._flush_updates()

    def _flush_updates(self) -> None:
        if not self._updates:
            return
        keys, slots = zip(*self._updates, strict=True)
        situations, leader_epochs, partition_epochs = zip(*slots, strict=True)
        self._partitions.extend(map(self._keys.__getitem__, keys))
        self._states.extend(map(self._situations.__getitem__, situations))
        self._leader_epochs.extend(leader_epochs)
        self._partition_epochs.extend(partition_epochs)
        self._updates.clear()

    def add(self, offset: int, time: int | None, record: ModelRecord, before: State, after: State) -> None:
        """Add what one record of a batch that was explained as a whole, or of a snapshot, makes of partitions."""
        self._flush_updates()
        if isinstance(record, RemoveTopicRecord):
            topic = before.controller.topic(record.topic_id)
            for index in topic.partitions:
                self._append(offset, time, (topic.name, record.topic_id, index), None)
        elif isinstance(record, PartitionChangeRecord | PartitionRecord):
            topic = after.controller.topic(record.topic_id)
            place = topic.name, record.topic_id, record.partition_id
            self._append(offset, time, place, topic.partitions[record.partition_id])

    def _append(self, offset: int, time: int | None, place: _Place, p: Partition | None) -> None:
        self._offsets.append(offset)
        self._times.append(_NO_TIME if time is None else time)
        self._partitions.append(self._partition_of[place])
        self._states.append(_DELETED if p is None else self._state_of[_shown(p)])
        self._leader_epochs.append(0 if p is None else int(p.leader_epoch))
        self._partition_epochs.append(0 if p is None else int(p.partition_epoch))

    def columns(self) -> Iterator[list[Any]]:
        """The columns behind the log's, some rows at a time, by partition in the order of offsets."""
        self._flush_updates()
        places = sorted(self._partition_of)
        rank = np.zeros(len(places), np.int32)
        rank[[self._partition_of[place] for place in places]] = np.arange(len(places))
        topics, topic_ids = Numbers[str](), Numbers[str]()
        names = np.array([(topics[topic], topic_ids[id_], index) for topic, id_, index in places], np.int32)
        names = names.reshape(-1, 3)
        values = [pa.array(column, field.type) for column, field in zip(self._columns(), _VALUES, strict=True)]
        arrays = (self._offsets, self._times, self._partitions, self._states, self._leader_epochs)
        offsets, times, partitions, states, leader_epochs = map(np.asarray, arrays)
        partition_epochs, partitions = np.asarray(self._partition_epochs), rank[partitions]
        order = np.lexsort((offsets, partitions))
        follows = np.append(partitions[order][1:] == partitions[order][:-1], False)
        until = np.where(follows, np.append(times[order][1:], _NO_TIME), _NO_TIME)
        is_state = states[order] != _DELETED
        order, until = order[is_state], until[is_state]
        for first in range(0, len(order), ROWS_AT_ONCE):
            rows = order[first : first + ROWS_AT_ONCE]
            leader, *others = (column.take(pa.array(states[rows])) for column in values)
            named, known = names[partitions[rows]], (list(topics), list(topic_ids))
            yield [
                *(pa.DictionaryArray.from_arrays(named[:, n], pa.array(of, pa.string())) for n, of in enumerate(known)),
                named[:, 2], offsets[rows], _times(times[rows]), _times(until[first : first + ROWS_AT_ONCE]), leader,
                leader_epochs[rows], partition_epochs[rows], *others,
            ]  # fmt: skip

    def _columns(self) -> list[Sequence[Any]]:
        return list(zip(*self._state_of, strict=True)) if self._state_of else [()] * len(_VALUES)


_VALUES = [SCHEMAS[TIMELINES].field(name) for name in ("leader", *_LISTS, "directories", "recovering")]


class _Brokers:
    """The registrations of brokers, as they come."""

    def __init__(self) -> None:
        self._rows: list[list[Any]] = []
        self._last: dict[int, list[Any]] = {}

    def add(self, offset: int, time: int | None, record: ModelRecord, after: Mapping[int, Registration]) -> None:
        """Add what a record makes of a broker."""
        if not isinstance(record, _BROKER_RECORDS):
            return
        broker = record.broker_id
        if (last := self._last.get(broker)) is not None:
            last[3] = time
        self._last[broker] = row = [broker, offset, time, None, *_registration(after.get(broker))]
        self._rows.append(row)

    def columns(self) -> list[Sequence[Any]]:
        """The columns behind the log's, by broker in the order of offsets."""
        rows = sorted(self._rows, key=lambda row: (row[0], row[1]))
        return list(zip(*rows, strict=True)) or [()] * (len(SCHEMAS[BROKERS]) - len(_OF_LOG))


def _registration(r: Registration | None) -> tuple[Any, ...]:
    if r is None:
        return False, None, None, None, None, None, None, None
    directories = None if r.knows_no_dirs() else _texts(r.dirs)
    shutdown = r.in_controlled_shutdown
    return True, r.epoch, r.incarnation, r.rack, r.fenced, shutdown, directories, _texts(r.cordoned)


class Tables:
    """The files of one log; see `tables`."""

    def __init__(
        self, of_log: tuple[str, str | None], files: Mapping[str, pq.ParquetWriter], rules: str | None
    ) -> None:
        self._of_log, self._files, self._rules = of_log, files, rules
        self.finished = False
        self._spelled: dict[int, str] = {}
        self._timelines, self._brokers = _Timelines(), _Brokers()
        self._violations: list[tuple[Any, ...]] = []
        self._unexplained: list[tuple[Any, ...]] = []
        self._reset()

    def _reset(self) -> None:
        self._rows: list[tuple[int, int | None, str, int, int]] = []
        self._events: list[EventName] = []
        self._event_keys: list[bytes | None] = []
        self._ends = [0]

    def add(self, replayed: ReplayedBatch | MemoisedBatch) -> None:
        """Add the rows of one batch; for a memoised batch, before the next one is replayed."""
        batch = replayed.batch
        if isinstance(replayed, MemoisedBatch):
            self._add_memoised(replayed)
        elif replayed.explanation is not None:
            self._add_explained(replayed.explanation, replayed.rules)
        elif replayed.undone is None and not batch.control:
            self._add_snapshot(replayed)
        for v in replayed.violations:
            topic_id = replayed.controller.topic_id(v.topic)
            row = (batch.last_offset, batch.time, v.property, v.topic, topic_id, v.partition, list(v.parts))
            self._violations.append(row)
        if len(self._events) >= ROWS_AT_ONCE:
            self._flush()

    def _add_memoised(self, memoised: MemoisedBatch) -> None:
        batch = memoised.batch
        self._events += memoised.events()
        self._event_keys += (None,) if isinstance(memoised.steps, EventName) else batch.keys
        self._add_batch(batch, len(batch.keys), memoised.count, memoised.rules)
        self._timelines.add_memoised(memoised)
        if batch.other is not None:
            registrations = memoised.controller.image.registrations
            self._brokers.add(batch.other.offset, batch.time, model_record(batch.other), registrations)

    def _add_explained(self, explanation: Explanation, rules: RuleSet) -> None:
        batch, records, states = explanation.batch, explanation.records, explanation.states
        self._events += (EventName(step.name, "") for step in explanation.steps)
        self._event_keys += (None,) * len(explanation.steps)
        self._add_batch(batch, len(records), explanation.count, rules)
        for place, record in enumerate(records[: len(states) - 1]):
            self._add_record(batch.base_offset + place, batch.time, record, states[place], states[place + 1])
        if not explanation.explained:
            nearest = explanation.nearest
            told = (None, None, []) if nearest is None else (
                nearest.name, nearest.refusal or None, [*map(_difference, nearest.differences)]
            )  # fmt: skip
            when = batch.base_offset, batch.time, self._spelling(rules), len(records), explanation.prefix
            self._unexplained.append((*when, *told, explanation.replay_error or None))

    def _add_snapshot(self, replayed: ReplayedBatch) -> None:
        """Add what a part of a snapshot holds, which is taken as it is."""
        for entry in replayed.batch.entries:
            self._add_record(entry.offset, replayed.batch.time, model_record(entry), replayed.state, replayed.state)

    def _add_record(self, offset: int, time: int | None, record: ModelRecord, before: State, after: State) -> None:
        self._timelines.add(offset, time, record, before, after)
        self._brokers.add(offset, time, record, after.controller.image.registrations)

    def _add_batch(self, batch: Batch | CompactBatch, records: int, count: int, rules: RuleSet) -> None:
        self._rows.append((batch.base_offset, batch.time, self._spelling(rules), records, count))
        self._ends.append(len(self._events))

    def _spelling(self, rules: RuleSet) -> str:
        """How a rule set is spelled: as it was asked for, else the preset of the log's metadata version."""
        known = self._spelled.get(id(rules))
        if known is None:
            known = self._rules or next(line_of(n).preset for n in range(HIGHEST + 1) if rules_of(n) == rules)
            self._spelled[id(rules)] = known
        return known

    def _flush(self) -> None:
        offsets, times, rules, records, counts = zip(*self._rows, strict=True) if self._rows else ((),) * 5
        if max(counts, default=0) > _MAX_COUNT:
            offset = next(row[0] for row in self._rows if row[-1] > _MAX_COUNT)
            raise Refusal(f"{self._of_log[0]}: the batch at offset {offset} has more explanations than 64 bits count")
        events = pa.ListArray.from_arrays(pa.array(self._ends, pa.int32()), pa.array(self._event_texts(), pa.string()))
        self._write(BATCHES, [offsets, times, rules, records, counts, events])
        self._reset()

    def _event_texts(self) -> list[str]:
        words, by_name, places = [], dict[str, dict[bytes, str]](), self._timelines.places
        for event, key in zip(self._events, self._event_keys, strict=True):
            name = event.name
            if key is None:
                words.append(name)
                continue
            text = by_name.setdefault(name, {}).get(key)
            if text is None:
                topic, _, index = places[key]
                text = by_name[name][key] = event_text(event, (topic, index))
            words.append(text)
        return words

    def finish(self, causes: Sequence[Mapping[str, Any]]) -> None:
        """Write all that is not yet written, and what broke the properties, as `known.by_cause` has it."""
        self._flush()
        for kind, rows in (
            (VIOLATIONS, self._violations), (UNEXPLAINED, self._unexplained), (FINDINGS, list(_findings(causes)))
        ):  # fmt: skip
            self._write(kind, list(zip(*rows, strict=True)) or [()] * (len(SCHEMAS[kind]) - len(_OF_LOG)))
        self._write(BROKERS, self._brokers.columns())
        for columns in self._timelines.columns():
            self._write(TIMELINES, columns)
        self.finished = True

    def _write(self, kind: str, columns: Sequence[Any]) -> None:
        schema, rows = SCHEMAS[kind], len(columns[0])
        of_log = [pa.repeat(pa.scalar(name, pa.string()), rows).dictionary_encode() for name in self._of_log]
        arrays = [
            column if isinstance(column, pa.Array) else _array(column, field.type)
            for column, field in zip(columns, list(schema)[len(of_log) :], strict=True)
        ]
        self._files[kind].write_table(pa.Table.from_arrays([*of_log, *arrays], schema=schema))


def _array(column: Sequence[Any], kind: pa.DataType) -> pa.Array:
    return pa.array(column, pa.string()).dictionary_encode() if kind == _NAME else pa.array(column, kind)


def _difference(difference: Difference) -> str:
    return f"{difference.field}: observed {difference.observed}, required {difference.prediction}"


def _findings(causes: Sequence[Mapping[str, Any]]) -> Iterator[tuple[Any, ...]]:
    """A row for each spell and each choice that is, or may be, its cause; one row where no choice is."""
    for row in causes:
        properties = [one["id"] for one in row["properties"]]
        for spell in row["spells"]:
            for one in row["causes"] or [{}]:
                yield (
                    spell["from"], _read(spell["time"]), _read(spell["ended"]), spell["until"],
                    one.get("finding"), one.get("choice"), one.get("reported") or None, one.get("title"),
                    one.get("mended_in"), row["proven"], row["deliberate"], properties, spell["event"],
                    spell["partitions"],
                )  # fmt: skip


def _read(time: str | None) -> datetime | None:
    return None if time is None else datetime.fromisoformat(time)


@contextmanager
def tables(out: Path, number: int, of_log: tuple[str, str | None], rules: str | None) -> Iterator[Tables]:
    """The files of a log, by number, in the folders of the tables, named once finished, also by a second attempt."""
    targets = {kind: out / kind / f"part-{number:05}.parquet" for kind in SCHEMAS}
    temporary = {kind: path.with_name(f".{path.name}.{os.getpid()}") for kind, path in targets.items()}
    for path in targets.values():
        path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with ExitStack() as opened:
            files = {
                kind: opened.enter_context(
                    pq.ParquetWriter(opened.enter_context(path.open("wb")), SCHEMAS[kind], store_schema=False)
                )
                for kind, path in temporary.items()
            }
            yield (rows := Tables(of_log, files, rules))
        for kind, path in temporary.items() if rows.finished else ():
            path.replace(targets[kind])
    finally:
        for path in temporary.values():
            path.unlink(missing_ok=True)
