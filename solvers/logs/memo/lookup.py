"""A batch whose explanation came from the memo, with the step of each record."""

from __future__ import annotations

from kraftcheck.model.rules.ruleset import RuleSet
from kraftcheck.solvers.logs.explain.entries import CompactBatch
from kraftcheck.solvers.logs.explain.judge import LogViolation
from kraftcheck.solvers.logs.memo.ledger import Ledger, PartitionSlot
from kraftcheck.solvers.logs.memo.situation import TOPIC, EventName, PartitionStep

UNREAD_EVENT = EventName("not read by replica logic", "")
"""The event of a record that replica logic does not read."""

SlotUpdate = tuple[bytes, PartitionSlot]
"""The key of a partition, and its slot after a record."""


class MemoisedBatch:
    """The replay of one batch whose explanation came from the memo.

    Attributes:
        batch: the batch.
        count: how many shortest explanations there are.
        steps: of each record its step, None for one that is not read; of a broker event the event.
        updates: of each record the partition that it changes and its state after it, None of others.
        violations: the properties that do not hold after it.
        rules: the rule set.
    """

    __slots__ = ("_ledger", "batch", "count", "rules", "steps", "updates", "violations")

    def __init__(
        self, batch: CompactBatch, count: int, steps: list[PartitionStep | None] | EventName,
        updates: list[SlotUpdate | None], violations: tuple[LogViolation, ...], rules: RuleSet, ledger: Ledger,
    ) -> None:  # fmt: skip
        self.batch, self.count, self.steps, self.updates = batch, count, steps, updates
        self.violations, self.rules, self._ledger = violations, rules, ledger

    def events(self) -> list[EventName]:
        """The events of the first explanation, with TOPIC where a topic is named."""
        if isinstance(self.steps, EventName):
            return [self.steps]
        return [UNREAD_EVENT if step is None or step.event is None else step.event for step in self.steps]

    def names(self) -> list[str]:
        """The events in words."""
        events = self.events()
        if isinstance(self.steps, EventName):
            return [events[0].name]
        keys = (None if update is None else update[0] for update in self.updates)
        pairs = zip(events, keys, strict=True)
        return [event.name if key is None else event_text(event, self.partition(key)) for event, key in pairs]

    def partition(self, key: bytes) -> tuple[str, int]:
        """Topic and index of a partition; valid until the next batch is replayed."""
        return self._ledger.topic(key), self._ledger.place(key)[1]


def event_text(event: EventName, place: tuple[str, int]) -> str:
    """An event with the topic and index that it is about."""
    return event.name.replace(f"{TOPIC}-0", f"{place[0]}-{place[1]}")
