"""What a drawing of a replayed log shows: its batches, their events and changes, in compact columns.

A long log has few distinct events, states and partitions; each is kept once, and the columns hold its number.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Sequence
from typing import Any, TypeVar

from attrs import define, field

from kraftcheck.model.language.system import Arrow, event, sent
from kraftcheck.model.language.words import NO_LEADER
from kraftcheck.model.records.records import Ids, PartitionChangeRecord, PartitionRecord, ids
from kraftcheck.model.systems.elections.system import BROKER, CONTROLLER, CONTROLLER_ARROWS, OPERATOR
from kraftcheck.model.visible import visible
from kraftcheck.solvers.logs.explain.explain import Explanation, ReplayedBatch
from kraftcheck.solvers.logs.explain.state import ModelRecord, State, model_record
from kraftcheck.solvers.logs.memo.ledger import MemoisedBatch
from kraftcheck.solvers.logs.memo.situation import TOPIC, EventName

H = TypeVar("H", bound=Hashable)

PARTITION = "\0"
"""Stands in the text of an event for the partition that it is about."""

_SENDER = re.compile(r"\b(?:broker|leader) (\d+)\b")
"""The broker that an event's words name."""

_LOG_ARROWS = {
    **CONTROLLER_ARROWS,
    "elect_preferred": event(CONTROLLER),  # a log does not say whether an operator asked for it, or a timer ran out
    "elect_unclean": event(CONTROLLER),
    "directories_cordoned": sent(BROKER, CONTROLLER, "heartbeat: cordons directories"),
}
"""What an event draws, by what `elections` calls it."""

_REQUESTS = {
    "create topic ": "CreateTopics",
    "delete topic ": "DeleteTopics",
    "add ": "CreatePartitions",
    "alter configurations": "IncrementalAlterConfigs",
}
"""What an operator asks for in events that `elections` does not have, by their first words."""


class Numbers(dict[H, int]):
    """Values by the order in which they were first seen."""

    def __missing__(self, value: H) -> int:
        """The next number."""
        number = self[value] = len(self)
        return number


@define
class LogDrawing:
    """The drawing of a log; it grows by a batch at a time.

    Attributes:
        kind: what kind of event one is, by its words and by what `elections` calls it.
    """

    kind: Callable[[str, str], str]
    _partitions: Numbers[str] = field(factory=Numbers, init=False)
    _states: Numbers[tuple[int, Ids, Ids, Ids]] = field(factory=Numbers, init=False)
    _events: Numbers[tuple[str, str]] = field(factory=Numbers, init=False)
    _columns: dict[str, list[Any]] = field(
        factory=lambda: {name: [] for name in (
            "offsets", "records", "explanations", "places", "eventCounts", "events", "eventPartitions", "changeCounts",
            "changed", "states", "epochs",
        )},
        init=False,
    )  # fmt: skip
    _violations: list[tuple[int, str, int, str]] = field(factory=list, init=False)
    _problems: list[tuple[int, tuple[str, ...]]] = field(factory=list, init=False)

    def add(self, batch: ReplayedBatch | MemoisedBatch, problem: Sequence[str] = ()) -> None:
        """Add one batch; a memoised one before the next is replayed.

        Args:
            batch: the batch.
            problem: why it is not explained, for a reader; empty where it is.
        """
        number = len(self._columns["offsets"])
        if isinstance(batch, MemoisedBatch):
            self._add_memoised(batch)
        elif batch.explanation is None:
            self._add_as_it_is(batch)
        else:
            self._add_explained(batch.explanation)
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
        changes = [
            (partition, self._states[update[1][0].plain_values], update[1][1])
            for partition, update in zip(names, batch.updates, strict=True)
            if partition is not None and update is not None
        ]
        first, size = batch.batch.base_offset, len(batch.batch)
        self._add_row((first, size, batch.count, batch.batch.place), events, changes)

    def _add_explained(self, explanation: Explanation) -> None:
        batch = explanation.batch
        events = [(self._events[step.name, step.candidate.action], None) for step in explanation.steps]
        pairs = zip(explanation.records, explanation.states[1:], strict=False)
        changes = [change for record, state in pairs for change in self._changes(record, state)]
        size = len(explanation.records)
        self._add_row((batch.base_offset, size, explanation.count, batch.place), events, changes)

    def _add_as_it_is(self, replayed: ReplayedBatch) -> None:
        """Add what no event explains: a snapshot's records, what the quorum wrote for itself, what has not happened."""
        batch = replayed.batch
        kinds = visible(", ".join(dict.fromkeys(entry.type for entry in batch.entries)))
        events = [(self._events[f"{'quorum' if batch.control else 'snapshot'}: {kinds}", ""], None)]
        if replayed.undone is not None:
            undone = f"transaction {replayed.undone.fate}: {len(batch.entries)} records have not happened"
            events = [(self._events[undone, ""], None)]
        records = () if batch.control or replayed.undone is not None else map(model_record, batch.entries)
        changes = [change for record in records for change in self._changes(record, replayed.state)]
        self._add_row((batch.base_offset, len(batch.entries), 1, batch.place), events, changes)

    def _changes(self, record: ModelRecord, state: State) -> list[tuple[int, int, int]]:
        """The partition that a record changes, with what is shown of it and its leader epoch."""
        if not isinstance(record, PartitionChangeRecord | PartitionRecord):
            return []
        topic = state.controller.topic(record.topic_id)
        p = topic.partitions[record.partition_id]
        shown = self._states[int(p.leader), ids(p.replicas), ids(p.isr), ids(p.elr)]
        return [(self._partitions[f"{topic.name}-{record.partition_id}"], shown, int(p.leader_epoch))]

    def _add_row(
        self, batch: tuple[int, int, int, str], events: Sequence[tuple[int, int | None]],
        changes: Sequence[tuple[int, int, int]],
    ) -> None:  # fmt: skip
        columns = self._columns
        for name, value in zip(("offsets", "records", "explanations", "places"), batch, strict=True):
            columns[name].append(value)
        columns["eventCounts"].append(len(events))
        columns["events"] += (number for number, _ in events)
        columns["eventPartitions"] += (-1 if partition is None else partition for _, partition in events)
        columns["changeCounts"].append(len(changes))
        for name, values in zip(("changed", "states", "epochs"), zip(*changes, strict=True), strict=False):
            columns[name] += values

    def document(self) -> dict[str, Any]:
        """The drawing as plain values: tables of what is distinct, and columns of numbers."""
        arrows = [arrow_of(text, action) for text, action in self._events]
        named = {broker for leader, *lists in self._states for broker in (leader, *(b for part in lists for b in part))}
        senders = {int(number) for arrow in arrows for number in re.findall(r"^broker (\d+)$", arrow.source)}
        brokers = sorted((named | senders) - {int(NO_LEADER)})
        lanes = [OPERATOR, CONTROLLER, *(f"broker {broker}" for broker in brokers)]
        return {
            "lanes": lanes,
            "labels": ["leader", "ISR", "ELR", "replicas"],
            "partitions": list(self._partitions),
            "shown": [_texts(*shown) for shown in self._states],
            "words": [
                [*map(_shown, (text, self.kind(text, action))), *map(lanes.index, (arrow.source, arrow.target)),
                 arrow.label]
                for (text, action), arrow in zip(self._events, arrows, strict=True)
            ],
            "violations": self._violations,
            "problems": self._problems,
            **self._columns,
            "places": list(map(visible, self._columns["places"])),
        }  # fmt: skip


def _shown(text: str) -> str:
    """The words of an event as they may be shown, but for what stands for the partition."""
    return PARTITION.join(map(visible, text.split(PARTITION)))


def arrow_of(text: str, action: str) -> Arrow:
    """What an event of a log draws.

    Args:
        text: the event in words.
        action: what `elections` calls it; empty where it has no name there.

    >>> arrow_of("leader 2 of orders-0 proposes ISR [2, 0]", "alter_partition").source
    'broker 2'
    """
    request = next((label for words, label in _REQUESTS.items() if text.startswith(words)), None)
    (arrow,) = _LOG_ARROWS.get(action) or (sent(OPERATOR, CONTROLLER, request) if request else event(CONTROLLER))
    sender = _SENDER.search(text)
    if sender is None:
        return arrow if not arrow.placeholders() else Arrow(CONTROLLER, CONTROLLER)
    source, target = arrow.ends({"broker": sender[1], "leader": sender[1]})
    return Arrow(source, target, arrow.label)


def _texts(leader: int, replicas: Ids, isr: Ids, elr: Ids) -> list[str]:
    """What is shown of a partition, as traces show it."""
    sets = ("{" + ",".join(map(str, sorted(brokers))) + "}" for brokers in (isr, elr))
    return ["none" if leader == NO_LEADER else str(leader), *sets, "[" + ",".join(map(str, replicas)) + "]"]
