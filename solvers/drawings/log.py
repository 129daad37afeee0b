"""What a drawing of a replayed log shows: its batches, their events and changes, in compact columns.

A long log has few distinct events, states and partitions; each is kept once, and the columns hold its number.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, TypeVar

from attrs import define, field

from kraftcheck.model.controller.state import Controller
from kraftcheck.model.partition.registration import Partition
from kraftcheck.model.records.records import Ids, PartitionChangeRecord, PartitionRecord, Registration, ids
from kraftcheck.model.rules.ruleset import RuleSet
from kraftcheck.model.visible import visible
from kraftcheck.solvers.logs.explain.explain import Explanation, ReplayedBatch
from kraftcheck.solvers.logs.explain.state import ModelRecord, State, model_record
from kraftcheck.solvers.logs.memo.ledger import MemoisedBatch
from kraftcheck.solvers.logs.memo.situation import TOPIC, EventName
from kraftcheck.solvers.logs.whatif import PartitionKey, acks_needed, changed_brokers, changed_partitions

H = TypeVar("H", bound=Hashable)

PARTITION = "\0"  # stands in the text of an event for the partition that it is about
GONE = -1  # stands for the state of a partition that is deleted
_BROKER = re.compile(r"\b(?:broker|leader) (\d+)\b")  # the broker that an event's words name

BROKER_STATES = ("live", "fenced", "shut down", "starting", "shutting down", "gone")
"""What a broker does, by the number that stands for it."""

Shown = tuple[int, Ids, Ids, Ids, int]
"""Of a partition leader, replicas, ISR and ELR, and how many its leader needs in sync for acks=all."""

Change = tuple[int, int, int, int]
"""A partition, what is shown of it, its leader epoch, and the place of the record in its batch: all as numbers."""


class Numbers(dict[H, int]):
    """Values by the order in which they were first seen."""

    def __missing__(self, value: H) -> int:
        """The next number."""
        number = self[value] = len(self)
        return number


@define
class LogDrawing:
    """The drawing of a log; it grows by a batch at a time."""

    kind: Callable[[str, str], str]  # what kind of event one is, by its words and by what `elections` calls it
    _partitions: Numbers[str] = field(factory=Numbers, init=False)
    _states: Numbers[Shown] = field(factory=Numbers, init=False)
    _events: Numbers[tuple[str, str]] = field(factory=Numbers, init=False)
    _columns: dict[str, list[Any]] = field(
        factory=lambda: {name: [] for name in (
            "offsets", "records", "explanations", "places", "times", "eventCounts", "events", "eventPartitions",
            "changeCounts", "changed", "states", "epochs", "within",
        )},
        init=False,
    )  # fmt: skip
    _violations: list[tuple[int, str, int, str]] = field(factory=list, init=False)
    _problems: list[tuple[int, tuple[str, ...]]] = field(factory=list, init=False)
    _brokers: list[tuple[int, int, int]] = field(factory=list, init=False)
    _doing: dict[int, int] = field(factory=dict, init=False)
    _last: Controller = field(factory=Controller, init=False)
    _seen: Controller = field(factory=Controller, init=False)

    def add(self, batch: ReplayedBatch | MemoisedBatch, problem: Sequence[str] = ()) -> None:
        """Add one batch; a memoised one before the next is replayed.

        Args:
            problem: why it is not explained, for a reader; empty where it is.
        """
        number = len(self._columns["offsets"])
        if isinstance(batch, MemoisedBatch):
            self._add_memoised(batch)
        elif batch.explanation is None:
            self._add_as_it_is(batch)
        else:
            self._add_explained(batch.explanation, batch.rules)
        self._follow_brokers(number, batch.controller)
        for found in batch.violations:
            partition = self._partitions[f"{found.topic}-{found.partition}"]
            self._violations.append((number, found.property, partition, ", ".join(found.parts)))
        if problem:
            self._problems.append((number, tuple(map(visible, problem))))

    def _add_memoised(self, batch: MemoisedBatch) -> None:
        names = [None if key is None else self._partitions["-".join(map(str, batch.partition(key)))]
                 for key in batch.batch.keys]  # fmt: skip
        whole = isinstance(batch.steps, EventName)
        events = [
            (self._events[one.name.replace(f"{TOPIC}-0", PARTITION), one.action], partition)
            for one, partition in zip(batch.events(), [None] if whole else names, strict=True)
        ]
        changes = []
        for place, (partition, update) in enumerate(zip(names, batch.updates, strict=True)):
            if partition is not None and update is not None:
                situation, leader_epoch, _ = update[1]
                topic_id = batch.topic_id(update[0])
                least = acks_needed(batch.controller, topic_id, situation.partition, batch.rules)
                shown = self._states[(*situation.plain_values, least)]
                changes.append((partition, shown, leader_epoch, place))
        first, size = batch.batch.base_offset, len(batch.batch)
        self._add_row((first, size, batch.count, batch.batch.place, batch.batch.time), events, changes)

    def _add_explained(self, explanation: Explanation, rules: RuleSet) -> None:
        batch = explanation.batch
        events = [(self._events[step.name, step.candidate.action], None) for step in explanation.steps]
        pairs = enumerate(zip(explanation.records, explanation.states[1:], strict=False))
        changes = [change for place, (record, state) in pairs for change in self._changes(record, state, place, rules)]
        changes += self._besides(explanation.states[0].controller, explanation.states[-1].controller,
                                 explanation.records, rules)  # fmt: skip
        size = len(explanation.records)
        self._add_row((batch.base_offset, size, explanation.count, batch.place, batch.time), events, changes)

    def _add_as_it_is(self, replayed: ReplayedBatch) -> None:
        """Add what no event explains: a snapshot's records, what the quorum wrote for itself, what has not happened."""
        batch = replayed.batch
        kinds = visible(", ".join(dict.fromkeys(entry.type for entry in batch.entries)))
        events = [(self._events[f"{'quorum' if batch.control else 'snapshot'}: {kinds}", ""], None)]
        if replayed.undone is not None:
            undone = f"transaction {replayed.undone.fate}: {len(batch.entries)} records have not happened"
            events = [(self._events[undone, ""], None)]
        records = () if batch.control or replayed.undone is not None else [*map(model_record, batch.entries)]
        changes = [
            change
            for place, record in enumerate(records)
            for change in self._changes(record, replayed.state, place, replayed.rules)
        ]
        if records:
            changes += self._besides(self._last, replayed.state.controller, records, replayed.rules)
        self._last = replayed.state.controller
        row = batch.base_offset, len(batch.entries), 1, batch.place, batch.time
        self._add_row(row, events, changes)

    def _changes(self, record: ModelRecord, state: State, place: int, rules: RuleSet) -> list[Change]:
        """The partition that a record changes."""
        if not isinstance(record, PartitionChangeRecord | PartitionRecord):
            return []
        return [self._change(state.controller, (record.topic_id, record.partition_id), place, rules)]

    def _change(self, controller: Controller, key: PartitionKey, place: int, rules: RuleSet) -> Change:
        topic = controller.topic(key[0])
        p: Partition = topic.partitions[key[1]]
        lists = ids(p.replicas), ids(p.isr), ids(p.elr)
        shown = self._states[(int(p.leader), *lists, acks_needed(controller, key[0], p, rules))]
        return self._partitions[f"{topic.name}-{key[1]}"], shown, int(p.leader_epoch), place

    def _besides(
        self, before: Controller, after: Controller, records: Sequence[ModelRecord], rules: RuleSet
    ) -> Iterator[Change]:
        """Partitions that other records than those of partitions deleted, or gave another min ISR."""
        told = [record for record in records if isinstance(record, PartitionChangeRecord | PartitionRecord)]
        if len(told) == len(records):
            return
        known = {(record.topic_id, record.partition_id) for record in told}
        for key in changed_partitions(before, after):
            if key in known:
                continue
            if after.image.partition(*key) is None:
                yield self._partitions[f"{before.topic(key[0]).name}-{key[1]}"], GONE, 0, 0
            else:
                yield self._change(after, key, 0, rules)

    def _follow_brokers(self, number: int, after: Controller) -> None:
        """Note what brokers do after a batch, where it is otherwise than before it."""
        for broker in sorted(changed_brokers(self._seen, after)):
            doing = self._doing_of(self._seen.registration(broker), after.registration(broker))
            if doing != self._doing.get(broker, GONE):
                self._brokers.append((number, broker, doing))
                self._doing[broker] = doing
        self._seen = after

    def _doing_of(self, before: Registration | None, now: Registration | None) -> int:
        if now is None:
            return BROKER_STATES.index("gone")
        if not now.fenced:
            return BROKER_STATES.index("shutting down" if now.in_controlled_shutdown else "live")
        if before is None or before.epoch != now.epoch:
            return BROKER_STATES.index("starting")
        if before.fenced and self._doing.get(now.id) == BROKER_STATES.index("starting"):
            return BROKER_STATES.index("starting")
        return BROKER_STATES.index("shut down" if now.in_controlled_shutdown else "fenced")

    def _add_row(
        self, batch: tuple[int, int, int, str, int | None], events: Sequence[tuple[int, int | None]],
        changes: Sequence[Change],
    ) -> None:  # fmt: skip
        columns = self._columns
        for name, value in zip(("offsets", "records", "explanations", "places", "times"), batch, strict=True):
            columns[name].append(value)
        columns["eventCounts"].append(len(events))
        columns["events"] += (number for number, _ in events)
        columns["eventPartitions"] += (-1 if partition is None else partition for _, partition in events)
        columns["changeCounts"].append(len(changes))
        for name, values in zip(("changed", "states", "epochs", "within"), zip(*changes, strict=True), strict=False):
            columns[name] += values

    def document(self) -> dict[str, Any]:
        """The drawing as plain values: tables of what is distinct, and columns of numbers."""
        return {
            "partitions": list(self._partitions),
            "shown": [[leader, *map(list, (isr, elr, replicas)), least]
                      for leader, replicas, isr, elr, least in self._states],
            "words": [[_visible(text), _visible(self.kind(text, action)), _broker(text)]
                      for text, action in self._events],
            "brokers": self._brokers,
            "violations": self._violations,
            "problems": self._problems,
            **self._columns,
            "places": list(map(visible, self._columns["places"])),
        }  # fmt: skip


def _visible(text: str) -> str:
    """The words of an event as they may be shown, but for what stands for the partition."""
    return PARTITION.join(map(visible, text.split(PARTITION)))


def _broker(text: str) -> int:
    """The broker that an event is about; -1 where it names none."""
    found = _BROKER.search(text)
    return -1 if found is None else int(found[1])
