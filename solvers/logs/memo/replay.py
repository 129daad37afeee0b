"""The replay of a whole log with memoised explanations.

The result is that of `kraftcheck.solvers.logs.explain.explain`. A batch of changes of different partitions, each the
work of one event, is the product of its records' explanations; an event of a broker is looked up partition by
partition. Whatever else a batch holds is explained as a whole, on the controller's whole state, and so is a batch after
which a property does not hold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from kraftcheck.model.controller.state import Controller, Settings
from kraftcheck.model.records.records import PartitionChangeRecord, RegisterBrokerRecord
from kraftcheck.model.rules.ruleset import RuleSet
from kraftcheck.solvers.logs.explain.explain import FOOTER, HEADER, ReplayedBatch, explain_model_records, violations_of
from kraftcheck.solvers.logs.explain.state import (
    Batch,
    CompactBatch,
    LogEntry,
    State,
    Undone,
    effective,
    elected,
    empty,
    load,
    model_record,
)
from kraftcheck.solvers.logs.memo.ledger import Ledger, MemoisedBatch, SlotUpdate
from kraftcheck.solvers.logs.memo.situation import EventName, PartitionStep, Situation
from kraftcheck.solvers.logs.memo.steps import (
    BROKER_RECORDS,
    BrokerEvent,
    broker_events,
    change_step,
    continues_shutdown,
    event_step,
)

EventMatch = tuple[BrokerEvent, dict[bytes, PartitionStep]]
"""A broker event, and its step in each partition that it visits."""

UNCHANGED = 0, None  # place and body of the change of a partition that has none


class MemoisedReplay:
    """The replay of one log.

    Attributes:
        memo_hits: how many batches were explained from the memo.
        unreplayed: how many batches follow the one with which the replay ended early.
    """

    def __init__(self, rules: Callable[[int | None], RuleSet], settings: Settings | None = None) -> None:
        self._rules_of = rules
        self._in_snapshot = False
        self._tokens: dict[object, int] = {}
        self._shutdowns: dict[int, set[bytes]] = {}
        self._changes: dict[Any, PartitionChangeRecord] = {}
        self.memo_hits = self.unreplayed = 0
        self._start(empty(Controller(settings=settings or Settings())))

    @property
    def state(self) -> State:
        """The state after the batches so far."""
        return self._ledger.state()

    def replay(self, batches: Iterable[Batch | CompactBatch]) -> Iterator[ReplayedBatch | MemoisedBatch]:
        """Replay each batch, to the end or to one that cannot be replayed."""
        stream = effective(batches)
        for batch in stream:
            if isinstance(batch, Undone):
                self._load(self._ledger.state().at(batch.batch.last_offset + 1))
                yield ReplayedBatch(batch.batch, None, (), self._ledger.state(), self._rules, batch)
                continue
            if isinstance(batch, CompactBatch):
                memoised = None if self._in_snapshot else self._from_memo(batch)
                if memoised is not None:
                    self.memo_hits += 1
                    yield memoised
                    continue
                batch = batch.whole()
            whole = self._explain_whole(batch)
            yield whole
            if whole.explanation is not None and whole.explanation.replay_error:
                self.unreplayed = sum(1 for _ in stream)
                return

    def restart_at(self, state: State) -> None:
        """Continue from another state of the same log; the memo stays."""
        self._load(state)

    def _start(self, state: State) -> None:
        """Begin with an empty memo: its results hold for one rule set and one set of features."""
        self._supported = state.supported_level()
        self._rules = self._rules_of(self._supported)
        self._ledger = Ledger(state, self._rules)
        self._tokens.clear()
        self._find_shutdowns()

    def _load(self, state: State) -> None:
        base = self._ledger.base
        levels = state.levels, state.supported_level()
        if levels != (base.levels, self._supported) or state.controller.features != base.controller.features:
            self._start(state)
        else:
            self._ledger.load(state)
            self._find_shutdowns()

    def _explain_whole(self, batch: Batch) -> ReplayedBatch:
        """The batch, explained as a whole."""
        state, rules = self._ledger.state(), self._rules
        explanation, violations = None, ()
        if batch.control:
            kinds = {entry.type for entry in batch.entries}
            self._in_snapshot = (self._in_snapshot or HEADER in kinds) and FOOTER not in kinds
            after = elected(state, batch)
        elif self._in_snapshot:
            after = load(state.at(batch.base_offset), batch, rules)
        else:
            records = tuple(model_record(entry) for entry in batch.entries)
            if any(isinstance(record, RegisterBrokerRecord) for record in records):
                rules = self._rules_of(state.supported_level(records))  # of the release that begins with it
            explanation = explain_model_records(state, batch, records, rules)
            after, violations = explanation.after, tuple(violations_of(explanation, rules))  # type: ignore[assignment]
        self._load(after)
        return ReplayedBatch(batch, explanation, violations, after, rules)

    def _from_memo(self, batch: CompactBatch) -> MemoisedBatch | None:
        """The batch explained from the memo; None where it must be explained as a whole."""
        if any(self._shutdowns.values()) or self._ledger.base.transaction is not None:
            return None
        keys = [key for key in batch.keys if key is not None]
        if len(keys) > 1 and len(set(keys)) < len(keys):
            return None
        if any(self._ledger.is_indexed_apart(key) for key in keys):
            return None
        if batch.other is None and len(keys) >= self._ledger.base.controller.settings.max_records:
            return None  # a full batch may be the part of one event
        return self._change_batch(batch) if batch.other is None else self._event_batch(batch)

    def _change_batch(self, batch: CompactBatch) -> MemoisedBatch | None:
        """Changes that are each the work of one event."""
        slots, count = self._ledger.slots, 1
        steps: list[PartitionStep | None] = []
        updates: list[SlotUpdate | None] = []
        situations: list[Situation | None] = []
        for place, (key, body) in enumerate(zip(batch.keys, batch.bodies, strict=True)):
            if key is None:
                steps.append(None)
                updates.append(None)
                situations.append(None)
                continue
            slot = slots.get(key)
            if slot is None:
                return None
            at = slot[0]
            situations.append(at)
            step = at.changes.get(body)
            if step is None:
                step = self._query_change(at, body, batch.entry, place)
            if (
                step.after is None
                or step.violates
                or (
                    place < len(batch) - 1 and any(self._continues_shutdown(step.after, one) for one in self._shutdowns)
                )
            ):
                return None
            count *= step.count
            steps.append(step)
            updates.append((key, (step.after, slot[1] + step.leader_epoch, slot[2] + step.partition_epoch)))
        self._apply(steps, updates)
        before = self._ledger.base.controller
        return MemoisedBatch(batch, count, steps, updates, situations, self._rules, before, self._ledger)

    def _apply(self, steps: list[PartitionStep | None], updates: list[SlotUpdate | None]) -> None:
        ledger = self._ledger
        for step, update in zip(steps, updates, strict=True):
            if step is None or update is None:
                continue
            key, slot = update
            ledger.slots[key] = slot
            ledger.stale_keys.add(key)
            if step.flips:
                ledger.put(key, slot)
            for broker, pending in self._shutdowns.items():
                self._update_shutdown(key, slot[0], broker, pending)

    def _event_batch(self, batch: CompactBatch) -> MemoisedBatch | None:
        """One event of a broker, with all that it changes."""
        matching = self._matching_events(batch)
        if not matching:
            return None
        assert batch.other is not None
        event, steps = matching[0]
        if any(step.violates for step in steps.values()):
            return None
        base = self._ledger.base.at(batch.base_offset)
        self._ledger.base = base.at(batch.other.offset).after(model_record(batch.other), self._rules)
        slots = self._ledger.slots
        situations = [None if key is None else slots[key][0] for key in batch.keys]
        self._ledger.step(steps)
        self._ledger.stale_keys.update(key for key in batch.keys if key is not None)
        updates = [None if key is None else (key, slots[key]) for key in batch.keys]
        self._find_shutdowns()
        name = EventName(event.name, event.action)
        was = base.controller
        return MemoisedBatch(batch, len(matching), name, updates, situations, self._rules, was, self._ledger)

    def _matching_events(self, batch: CompactBatch) -> list[EventMatch]:
        """The events of a broker that write exactly this batch; none that cordons, which no situation shows."""
        assert batch.other is not None
        record = model_record(batch.other)
        if (
            not isinstance(record, BROKER_RECORDS)
            or self._ledger.base.controller.elr_index.topics_of(record.broker_id)
            or getattr(record, "cordoned", None) is not None
            or self._ledger.incomplete
            or any(isinstance(b, str) for b in batch.bodies)
            or self._ledger.base.supported_level((record,)) != self._supported  # a broker of another release
        ):
            return []
        changes_first = len(batch) > 1 and not batch.other_first
        events = broker_events(self._ledger.base.at(batch.base_offset), record, changes_first, self._rules)
        visits = ((event, self._visit(batch, event)) for event in events)
        return [(event, steps) for event, steps in visits if steps is not None]

    def _visit(self, batch: CompactBatch, event: BrokerEvent) -> dict[bytes, PartitionStep] | None:
        """The step of the event in each partition that it visits; None where it does not write this batch."""
        ledger = self._ledger
        token = self._tokens.setdefault(event.identity, len(self._tokens))
        changes = {key: (place, batch.bodies[place]) for place, key in enumerate(batch.keys) if key is not None}
        visited: dict[bytes, None] = {**ledger.by_broker.get(event.broker, {}), **dict.fromkeys(changes)}
        if event.action == "unfence":  # the controller goes through all partitions without leader
            visited.update(dict.fromkeys(ledger.leaderless))
        elif event.action == "directories_offline":
            visited.update(dict.fromkeys(ledger.slots))
        result, slots = {}, ledger.slots
        for key in visited:
            slot = slots.get(key)
            if slot is None:
                return None
            steps = slot[0].events.get(token)
            if steps is None:
                steps = slot[0].events[token] = {}
            place, body = changes.get(key, UNCHANGED)
            step = steps.get(body)
            if step is None:
                step = steps[body] = self._query_event(slot[0], event, body, batch.entry, place)
            if step.after is None:
                return None
            result[key] = step
        return result

    def _query_change(self, at: Situation, body: Any, entry: Callable[[int], LogEntry], place: int) -> PartitionStep:
        """Compute the step of one change in a situation, and memoise it there; raises EntryError as `_decode`."""
        step = at.changes[body] = change_step(self._ledger, at, self._decode(body, entry, place), self._rules)
        return step

    def _query_event(
        self, at: Situation, event: BrokerEvent, body: Any, entry: Callable[[int], LogEntry], place: int
    ) -> PartitionStep:
        """Compute the step of an event in a situation, with a change or, where the body is None, without one.

        Raises:
            EntryError: see `_decode`.
        """
        change = None if body is None else self._decode(body, entry, place)
        return event_step(self._ledger, at, event, change, self._rules)

    def _decode(self, body: Any, entry: Callable[[int], LogEntry], place: int) -> PartitionChangeRecord:
        """A change, decoded; of all changes with the same body, which differ in their partition alone, the first.

        Raises:
            EntryError: when its fields are not those of its kind.
        """
        if body not in self._changes:
            record = model_record(entry(place))
            assert isinstance(record, PartitionChangeRecord)
            self._changes[body] = record
        return self._changes[body]

    def _find_shutdowns(self) -> None:
        """Find unfenced brokers in a controlled shutdown, and the partitions that their next heartbeat would change.

        Such a heartbeat writes partition changes only. While there are such partitions, batches are explained as a
        whole.
        """
        registrations = self._ledger.base.controller.image.registrations
        leaving = [b for b, r in registrations.items() if r.in_controlled_shutdown and not r.fenced]
        self._shutdowns = {broker: set() for broker in leaving}
        for broker, pending in self._shutdowns.items():
            for key in self._ledger.by_broker.get(broker, ()):
                if key in self._ledger.slots:
                    self._update_shutdown(key, self._ledger.slots[key][0], broker, pending)
            if self._ledger.incomplete:
                pending.add(b"")

    def _update_shutdown(self, key: bytes, at: Situation, broker: int, pending: set[bytes]) -> None:
        (pending.add if self._continues_shutdown(at, broker) else pending.discard)(key)

    def _continues_shutdown(self, at: Situation, broker: int) -> bool:
        if broker not in at.brokers():
            return False
        memo: Any = at.events.setdefault(("goes on", broker), {})
        if None not in memo:
            memo[None] = continues_shutdown(self._ledger, at, broker, self._rules)
        return bool(memo[None])
