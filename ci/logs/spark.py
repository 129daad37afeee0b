"""The datasets of a replay: column by column, one Parquet file of each for a log.

A memoised batch costs a few appends to lists. Its words, and the states of its
partitions, are few different ones; they are numbered, and put into the columns
at once for many batches.
"""

from __future__ import annotations

import functools
import os
from array import array
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from kraftcheck.ci.logs.format.read import LogFiles
from kraftcheck.ci.logs.report import LogReport, ReplayOptions, lines
from kraftcheck.ci.run.fanout import Cluster, fan_out
from kraftcheck.ci.terminal.files import results
from kraftcheck.ci.terminal.interrupts import Interrupted
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.records.records import Ids, PartitionChangeRecord, PartitionRecord, ids
from kraftcheck.solvers.drawings.log import Numbers
from kraftcheck.solvers.logs.explain.explain import Explanation, ReplayedBatch
from kraftcheck.solvers.logs.memo.ledger import MemoisedBatch, SlotUpdate, event_text
from kraftcheck.solvers.logs.memo.situation import EventName, Situation

BATCHES, VIOLATIONS, TIMELINES = "batches", "violations", "timelines"

ROWS_AT_ONCE = 1 << 16  # rows of one group of a file; of batches, their events

UPDATES_AT_ONCE = 1 << 8
"""Changes that are put into columns at once; more would outlive a young generation of the garbage collector."""

_NAME = pa.dictionary(pa.int32(), pa.string())  # a text of which there are few; in the files it is a plain string

_BROKERS = pa.list_(pa.int32())

SCHEMAS = {
    BATCHES: pa.schema([
        ("cluster", _NAME), ("offset", pa.int64()), ("records", pa.int32()), ("explanations", pa.int64()),
        ("events", pa.list_(pa.string())), ("text", pa.string()),
    ]),
    VIOLATIONS: pa.schema([
        ("cluster", _NAME), ("offset", pa.int64()), ("property", pa.string()), ("topic", pa.string()),
        ("partition", pa.int32()), ("text", pa.string()),
    ]),
    TIMELINES: pa.schema([
        ("cluster", _NAME), ("topic", _NAME), ("partition", pa.int32()), ("offset", pa.int64()), ("leader", pa.int32()),
        ("leader_epoch", pa.int32()), ("partition_epoch", pa.int32()), ("replicas", _BROKERS), ("isr", _BROKERS),
        ("elr", _BROKERS),
    ]),
}  # fmt: skip
"""The columns of each dataset."""

_MAX_COUNT = (1 << 63) - 1


_State = tuple[int, Ids, Ids, Ids]  # what is shown of a partition: leader, replicas, ISR and ELR


class _States(dict[Situation, int]):
    """Situations by the number of what is shown of them."""

    def __init__(self, shown: Numbers[_State]) -> None:
        super().__init__()
        self._shown = shown

    def __missing__(self, situation: Situation) -> int:
        """The number of what is shown."""
        number = self[situation] = self._shown[situation.plain_values]
        return number


class _Timelines:
    """The states of partitions, as they come.

    Attributes:
        places: partitions by their keys: topic and index.
    """

    def __init__(self) -> None:
        self._offsets, self._partitions, self._states = array("q"), array("i"), array("i")
        self._leader_epochs, self._partition_epochs = array("i"), array("i")
        self._partition_of: Numbers[tuple[str, int]] = Numbers()
        self._state_of: Numbers[_State] = Numbers()
        self.places: dict[bytes, tuple[str, int]] = {}
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
                places[key] = place = memoised.partition(key)
                self._keys[key] = self._partition_of[place]
        if not passed:
            self._offsets.extend(range(base, base + len(keys)))
            self._updates += memoised.updates  # type: ignore[arg-type]
        elif passed < len(keys):
            self._offsets.extend(base + n for n, key in enumerate(keys) if key is not None)
            self._updates += (update for update in memoised.updates if update is not None)
        if len(self._updates) >= UPDATES_AT_ONCE:
            self._flush_updates()

    def _flush_updates(self) -> None:
        """Put the changes that wait into the columns."""
        if not self._updates:
            return
        keys, slots = zip(*self._updates, strict=True)
        situations, leader_epochs, partition_epochs = zip(*slots, strict=True)
        self._partitions.extend(map(self._keys.__getitem__, keys))
        self._states.extend(map(self._situations.__getitem__, situations))
        self._leader_epochs.extend(leader_epochs)
        self._partition_epochs.extend(partition_epochs)
        self._updates.clear()

    def add_explained(self, explanation: Explanation) -> None:
        """Add the states after the records of a batch that was explained as a whole."""
        self._flush_updates()
        for place, (record, state) in enumerate(zip(explanation.records, explanation.states[1:], strict=False)):
            if isinstance(record, PartitionChangeRecord | PartitionRecord):
                topic = state.controller.topic(record.topic_id)
                p = topic.partitions[record.partition_id]
                self._offsets.append(explanation.batch.base_offset + place)
                self._partitions.append(self._partition_of[topic.name, record.partition_id])
                self._states.append(self._state_of[int(p.leader), ids(p.replicas), ids(p.isr), ids(p.elr)])
                self._leader_epochs.append(int(p.leader_epoch))
                self._partition_epochs.append(int(p.partition_epoch))

    def columns(self) -> Iterator[list[Any]]:
        """The columns behind the cluster's, some rows at a time, by partition in the order of offsets."""
        self._flush_updates()
        partition_names = sorted(self._partition_of)
        rank = np.zeros(len(partition_names), np.int32)
        rank[[self._partition_of[name] for name in partition_names]] = np.arange(len(partition_names))
        topics: Numbers[str] = Numbers()
        topic_of = np.array([topics[topic] for topic, _ in partition_names], np.int32)
        index_of = np.array([index for _, index in partition_names], np.int32)
        leaders, *lists = zip(*self._state_of, strict=True) if self._state_of else ((), (), (), ())
        brokers = [pa.array(column, _BROKERS) for column in lists]
        arrays = (self._offsets, self._partitions, self._states, self._leader_epochs, self._partition_epochs)
        offsets, partitions, states, leader_epochs, partition_epochs = map(np.asarray, arrays)
        partitions = rank[partitions]
        order = np.lexsort((offsets, partitions))
        for first in range(0, len(order), ROWS_AT_ONCE):
            rows = order[first : first + ROWS_AT_ONCE]
            partition, state = partitions[rows], states[rows]
            names = pa.DictionaryArray.from_arrays(topic_of[partition], pa.array(list(topics), pa.string()))
            leader = np.array(leaders, np.int32)[state]
            numbers = (offsets[rows], leader, leader_epochs[rows], partition_epochs[rows])
            yield [names, index_of[partition], *numbers, *(column.take(pa.array(state)) for column in brokers)]


class Datasets:
    """The files of one log; see `datasets`."""

    def __init__(self, cluster: str, files: dict[str, pq.ParquetWriter]) -> None:
        self._cluster, self._files = cluster, files
        self._timelines = _Timelines()
        self._violations: list[tuple[int, str, str, int, str]] = []
        self._reset()

    def _reset(self) -> None:
        """Nothing waits to be written."""
        self._offsets, self._records, self._counts = list[int](), list[int](), list[int]()
        self._texts: list[str] = []
        self._events: list[EventName] = []
        self._event_keys: list[bytes | None] = []
        self._ends = [0]

    def add(self, batch: ReplayedBatch | MemoisedBatch) -> None:
        """Add the rows of one batch; for a memoised batch, before the next one is replayed."""
        if isinstance(batch, MemoisedBatch):
            self._add_memoised(batch)
        elif batch.explanation is not None:
            self._add_explained(batch.explanation)
        if batch.violations:
            offset = batch.batch.base_offset
            rows = ((offset, v.property, v.topic, v.partition, ", ".join(v.parts)) for v in batch.violations)
            self._violations += rows
        if len(self._events) >= ROWS_AT_ONCE:
            self._flush()

    def _add_memoised(self, memoised: MemoisedBatch) -> None:
        keys = memoised.batch.keys
        self._events += memoised.events()
        self._event_keys += (None,) if isinstance(memoised.steps, EventName) else keys
        self._add_batch(memoised.batch.base_offset, len(keys), memoised.count)
        self._timelines.add_memoised(memoised)

    def _add_explained(self, explanation: Explanation) -> None:
        nearest, batch = explanation.nearest, explanation.batch
        text = "" if nearest is None else f"nearest: {nearest.name} {nearest.refusal}".strip()
        self._events += (EventName(step.name, "") for step in explanation.steps)
        self._event_keys += (None,) * len(explanation.steps)
        text = explanation.replay_error or text
        self._add_batch(batch.base_offset, len(explanation.records), explanation.count, text)
        self._timelines.add_explained(explanation)

    def _add_batch(self, offset: int, records: int, count: int, text: str = "") -> None:
        self._offsets.append(offset)
        self._records.append(records)
        self._counts.append(count)
        self._texts.append(text)
        self._ends.append(len(self._events))

    def _flush(self) -> None:
        """Write what waits."""
        if max(self._counts, default=0) > _MAX_COUNT:
            offset = self._offsets[next(n for n, count in enumerate(self._counts) if count > _MAX_COUNT)]
            raise Refusal(f"{self._cluster}: the batch at offset {offset} has more explanations than 64 bits count")
        events = pa.ListArray.from_arrays(pa.array(self._ends, pa.int32()), pa.array(self._event_texts(), pa.string()))
        self._write(BATCHES, [self._offsets, self._records, self._counts, events, self._texts])
        self._reset()

    def _event_texts(self) -> list[str]:
        """The events of the batches that wait, in words."""
        words, by_name, places = [], dict[str, dict[bytes, str]](), self._timelines.places
        for event, key in zip(self._events, self._event_keys, strict=True):
            name = event.name
            if key is None:
                words.append(name)
                continue
            text = by_name.setdefault(name, {}).get(key)
            if text is None:
                text = by_name[name][key] = event_text(event, places[key])
            words.append(text)
        return words

    def finish(self) -> None:
        """Write all that is not yet written."""
        self._flush()
        self._write(VIOLATIONS, list(zip(*self._violations, strict=True)) or [()] * 5)
        for columns in self._timelines.columns():
            self._write(TIMELINES, columns)

    def _write(self, kind: str, columns: Sequence[Any]) -> None:
        schema, rows = SCHEMAS[kind], len(columns[0])
        cluster = pa.DictionaryArray.from_arrays(np.zeros(rows, np.int32), pa.array([self._cluster]))
        arrays = [
            column if isinstance(column, pa.Array) else pa.array(column, field.type)
            for column, field in zip(columns, list(schema)[1:], strict=True)
        ]
        self._files[kind].write_table(pa.Table.from_arrays([cluster, *arrays], schema=schema))


@contextmanager
def datasets(out: Path, number: int, cluster: str) -> Iterator[Datasets]:
    """The files of a log in the folders of the datasets; they get their names once they are whole.

    A task that is tried again replaces what it wrote before.

    Args:
        out: the folder of the datasets.
        number: of the log, among all.
        cluster: its name.
    """
    targets = {kind: out / kind / f"part-{number:05}.parquet" for kind in SCHEMAS}
    temporary = {kind: path.with_name(f".{path.name}.{os.getpid()}") for kind, path in targets.items()}
    for path in targets.values():
        path.parent.mkdir(parents=True, exist_ok=True)
    try:
        files = {kind: pq.ParquetWriter(path, SCHEMAS[kind], store_schema=False) for kind, path in temporary.items()}
        try:
            rows = Datasets(cluster, files)
            yield rows
            rows.finish()
        finally:
            for file in files.values():
                file.close()
        for kind, path in temporary.items():
            path.replace(targets[kind])
    finally:
        for path in temporary.values():
            path.unlink(missing_ok=True)


def _replayed(options: ReplayOptions, out: Path, part: tuple[int, LogFiles]) -> LogReport | str:
    """The report of one log, whose rows are written as they come; or why it is refused."""
    number, log = part
    try:
        with datasets(out, number, log.name) as files:
            summary = options.replay(log, files.add, detailed=False)
    except Refusal as refusal:
        return refusal.format_message()
    document = {name: value for name, value in summary.document().items() if name != "rows"}
    return LogReport(document, tuple(lines(summary)), summary.exit_code())


def replay_with_spark(
    logs: Sequence[LogFiles], options: ReplayOptions, out: Path, conf: tuple[str, ...], workers: int
) -> list[LogReport]:
    """Replay logs under Spark, each in a task; `out` gets the folders `batches`, `violations`, `timelines`.

    Every worker must see the logs, and `out`, under the names given.

    Raises:
        Refusal: when `out` holds what no run wrote, logs cannot be read, or Spark does not start or fails.
        Interrupted: when a signal stopped it.
    """
    with results("--out", out) as place:
        ask = functools.partial(_replayed, options, place)
        executor, parts = Cluster(None, conf, workers).executor(quiet=True), list(enumerate(logs))
        found = [answer for _, answer in fan_out(executor, ask, parts, "logs", quiet=True)]
        if len(found) < len(logs):
            raise Interrupted(f"stopped after {len(found)} of {len(logs)} logs")
        if refused := sorted(one for one in found if isinstance(one, str)):
            more = f" (and {len(refused) - 1} logs more)" if len(refused) > 1 else ""
            raise Refusal(refused[0] + more)
        return [one for one in found if isinstance(one, LogReport)]
