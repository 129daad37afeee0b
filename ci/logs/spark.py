"""The datasets of a replay: column by column, one Parquet file of each for a log.

A memoised batch costs a few appends to lists. Its words, and the states of its
partitions, are few different ones; they are numbered, and put into the columns
at once for many batches.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from kraftcheck.ci.dataset.store.commits import NAME, lease_on
from kraftcheck.ci.logs.format.read import LogFiles
from kraftcheck.ci.logs.report import LogReport, ReplayOptions, Summary, lines
from kraftcheck.ci.spark.explore import ship_sources
from kraftcheck.ci.spark.session import job_error, parse_conf, start_session, stopped_at_the_end
from kraftcheck.ci.terminal.files import folder
from kraftcheck.ci.terminal.machine import sync
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


OUTCOMES = pa.schema([("log", pa.int32()), ("refused", pa.bool_()), ("text", pa.string())])
"""The outcome of one log: its number, and its report as JSON, or the reason for which it is refused."""

Task = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def task(logs: Sequence[LogFiles], options: ReplayOptions, out: Path) -> Task:
    """The work of one partition of the job: the logs whose numbers it is given.

    Args:
        logs: all logs.
        replaying: how they are replayed.
        out: the folder of the datasets.
    """

    def work(numbers: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in numbers:
            for number in batch.column(0).to_pylist():
                try:
                    refused, text = False, _outcome_json(_replay(logs[number], number, options, out))
                except Refusal as refusal:
                    refused, text = True, refusal.format_message()
                yield pa.RecordBatch.from_pylist([{"log": number, "refused": refused, "text": text}], OUTCOMES)

    return work


def start_worker(numbers: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The work of a task that does nothing, but for what it imports."""
    yield from numbers


def _replay(log: LogFiles, number: int, options: ReplayOptions, out: Path) -> Summary:
    """Replay a log, and write its rows as they come."""
    with datasets(out, number, log.name) as files:
        return options.replay(log, files.add, detailed=False)


def _outcome_json(summary: Summary) -> str:
    document = {name: value for name, value in summary.document().items() if name != "rows"}
    outcome = {"document": document, "lines": lines(summary), "code": summary.exit_code()}
    return json.dumps(outcome, default=str)


UNFINISHED = ".unfinished"
LOG = "spark.log"
SOURCES = "sources.zip"

_LEFTOVERS = frozenset({UNFINISHED, NAME, LOG, "spark.log4j2.properties", SOURCES})
"""What a run that ended early may leave."""


@contextlib.contextmanager
def filled_folder(out: Path) -> Iterator[Path]:
    """A hidden folder to fill, whose content is then moved into `out`; after an error it is removed.

    Raises:
        Refusal: when `out` holds anything but what a run left that ended early, or another driver fills it.
    """
    if out.exists() and not out.is_dir():
        raise Refusal(f"{out} is a file; choose another --out")
    with lease_on(folder(out)):
        foreign = sorted(path.name for path in out.iterdir() if path.name not in _LEFTOVERS)
        if foreign:
            raise Refusal(f"{out} is not empty: it holds {foreign[0]}; choose another --out")
        place = out / UNFINISHED
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        try:
            yield place
            _write_through(place)
            for path in sorted(place.iterdir()):
                os.rename(path, out / path.name)
            sync(out)
        finally:
            shutil.rmtree(place, ignore_errors=True)


def _write_through(place: Path) -> None:
    for path in (*place.rglob("*"), place):
        sync(path)


def replay_with_spark(
    logs: list[LogFiles], options: ReplayOptions, out: Path, conf: tuple[str, ...], workers: int,
    ready: Callable[[], None] = lambda: None,
) -> list[LogReport]:  # fmt: skip
    """Replay logs under Spark; `out` gets the folders `batches`, `violations`, `timelines`.

    Every worker must see the logs, and `out`, under the names given.

    Args:
        ready: called once session and workers have started, before anything is read.

    Raises:
        Refusal: when `out` holds anything, a log cannot be read, or Spark does not start or fails.
    """
    with filled_folder(out) as place:
        session = start_session(None, workers, parse_conf(conf), out / LOG)
        try:
            with stopped_at_the_end(session, out / LOG):
                ship_sources(session, out / SOURCES)
                _start_workers(session, int(session.sparkContext.defaultParallelism))
                ready()
                return _collect_reports(session, logs, task(logs, options, place.absolute()))
        except Refusal:
            raise
        except Exception as error:
            raise job_error(error, out / LOG) from error
        finally:
            (out / SOURCES).unlink(missing_ok=True)


def _start_workers(session: Any, count: int) -> None:
    """Start a worker for each task that runs at a time, with what it imports; workers are used again."""
    session.range(0, count, 1, count).mapInArrow(start_worker, "id bigint").collect()


def _collect_reports(session: Any, logs: list[LogFiles], work: Task) -> list[LogReport]:
    """Replay the logs, each in a task; raises Refusal for logs that cannot be read."""
    from pyspark.sql.pandas.types import from_arrow_schema

    outcomes = session.range(0, len(logs), 1, len(logs)).mapInArrow(work, from_arrow_schema(OUTCOMES)).collect()
    refusals = sorted(row.text for row in outcomes if row.refused)
    if refusals:
        more = f" (and {len(refusals) - 1} logs more)" if len(refusals) > 1 else ""
        raise Refusal(refusals[0] + more)
    values = {row.log: json.loads(row.text) for row in outcomes}
    return [LogReport(t["document"], tuple(t["lines"]), t["code"]) for t in (values[n] for n in range(len(logs)))]
