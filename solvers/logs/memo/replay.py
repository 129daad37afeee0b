"""A whole log, like `kraftcheck.solvers.logs.explain.replay`, but what is known of a situation is not asked again.

The result is the same. A batch of changes of different partitions, each the
work of one event, is the product of its records' explanations; an event of a
broker is looked up partition by partition. Whatever else a batch holds is
explained as a whole, by the slow code on the whole state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from kraftcheck.model.controller.state import Controller, Settings
from kraftcheck.model.records.records import PartitionChangeRecord
from kraftcheck.model.rules.ruleset import RuleSet
from kraftcheck.solvers.logs.explain.entries import Batch, Compact, Entry
from kraftcheck.solvers.logs.explain.explain import explain
from kraftcheck.solvers.logs.explain.judge import Violation
from kraftcheck.solvers.logs.explain.replay import FOOTER, HEADER, Replayed, judged
from kraftcheck.solvers.logs.explain.state import METADATA_VERSION, State, elected, empty, known, load
from kraftcheck.solvers.logs.memo.ask import BROKER_RECORDS, BrokerEvent, broker_events
from kraftcheck.solvers.logs.memo.ledger import Ledger
from kraftcheck.solvers.logs.memo.lookup import Move, Quick
from kraftcheck.solvers.logs.memo.situation import Guessed, Situation, Step
from kraftcheck.solvers.logs.memo.steps import goes_on, of_event, single

Fitting = tuple[BrokerEvent, dict[bytes, Step]]
"""An event of a broker, and what it comes to in each partition that it visits."""

UNCHANGED = 0, None
"""Place and body of the change of a partition that has none."""


class QuickReplay:
    """The replay of one log.

    Attributes:
        looked_up: batches that were not explained as a whole.
    """

    def __init__(self, rules: Callable[[int | None], RuleSet], settings: Settings | None = None) -> None:
        self._rules_of = rules
        self._in_snapshot = False
        self._tokens: dict[object, int] = {}
        self._leaving: dict[int, set[bytes]] = {}
        self._decoded: dict[Any, PartitionChangeRecord] = {}
        self.looked_up = 0
        self._start(empty(Controller(settings=settings or Settings())))

    @property
    def state(self) -> State:
        """The state after the batches so far."""
        return self._ledger.state()

    def replay(self, batches: Iterable[Batch | Compact]) -> Iterator[Replayed | Quick]:
        """See `replay_log`: what became of each batch, to the end or to one that cannot be replayed."""
        for batch in batches:
            if isinstance(batch, Compact):
                quick = None if self._in_snapshot else self._quick(batch)
                if quick is not None:
                    self.looked_up += 1
                    yield quick
                    continue
                batch = batch.whole()
            replayed = self._whole(batch)
            yield replayed
            if replayed.explanation is not None and replayed.explanation.broken:
                return

    def restart_at(self, state: State) -> None:
        """Go on from another state of the same log; what is known of situations stays."""
        self._load(state)

    def _start(self, state: State) -> None:
        """Begin with nothing known: what is known holds for one rule set and one set of features."""
        self._rules = self._rules_of(state.levels.get(METADATA_VERSION))
        self._ledger = Ledger(state, self._rules)
        self._tokens.clear()
        self._look_for_leaving()

    def _load(self, state: State) -> None:
        base = self._ledger.base
        if state.levels != base.levels or state.controller.features != base.controller.features:
            self._start(state)
        else:
            self._ledger.load(state)
            self._look_for_leaving()

    def _whole(self, batch: Batch) -> Replayed:
        """The batch, explained as a whole."""
        state, rules = self._ledger.state(), self._rules
        found, violations = None, ()
        if batch.control:
            kinds = {entry.type for entry in batch.entries}
            self._in_snapshot = (self._in_snapshot or HEADER in kinds) and FOOTER not in kinds
            after = elected(state, batch)
        elif self._in_snapshot:
            after = load(state.at(batch.base_offset), batch, rules)
        else:
            found = explain(state, batch, rules)
            after, violations = found.after, tuple(judged(found, rules))  # type: ignore[assignment]
        self._load(after)
        return Replayed(batch, found, violations, after, rules)

    def _quick(self, batch: Compact) -> Quick | None:
        """The batch looked up; None where it must be explained as a whole."""
        if any(self._leaving.values()):
            return None
        changed = [key for key in batch.keys if key is not None]
        if len(changed) > 1 and len(set(changed)) < len(changed):
            return None
        return self._changes(batch) if batch.other is None else self._event(batch)

    def _changes(self, batch: Compact) -> Quick | None:
        """Changes that are each the work of one event."""
        slots, count, told = self._ledger.slots, 1, []
        steps: list[Step | None] = []
        moves: list[Move | None] = []
        for place, (key, body) in enumerate(zip(batch.keys, batch.bodies, strict=True)):
            if key is None:
                steps.append(None)
                moves.append(None)
                continue
            slot = slots.get(key)
            if slot is None:
                return None
            at = slot[0]
            step = at.changes.get(body)
            if step is None:
                step = self._ask_single(at, body, batch.entry, place)
            if step.after is None or (self._leaving and self._would_go_on(step.after) and place < len(batch) - 1):
                return None
            count *= step.count
            steps.append(step)
            moves.append((key, (step.after, slot[1] + step.leader_epoch, slot[2] + step.partition_epoch)))
            if step.violations:
                told.append((key, step))
        self._move(steps, moves)
        return Quick(batch, count, steps, moves, self._violations(told), self._rules, self._ledger)

    def _move(self, steps: list[Step | None], moves: list[Move | None]) -> None:
        ledger = self._ledger
        for step, move in zip(steps, moves, strict=True):
            if step is None or move is None:
                continue
            key, slot = move
            ledger.slots[key] = slot
            ledger.changed.add(key)
            if step.flips:
                ledger.put(key, slot)
            for broker, pending in self._leaving.items():
                self._note_leaving(key, slot[0], broker, pending)

    def _event(self, batch: Compact) -> Quick | None:
        """One event of a broker, with all that it changes."""
        fitting = self._fitting(batch)
        if not fitting:
            return None
        assert batch.other is not None
        event, found = fitting[0]
        base = self._ledger.base.at(batch.base_offset)
        self._ledger.base = base.at(batch.other.offset).after(known(batch.other), self._rules)
        self._ledger.step(found)
        self._ledger.changed.update(key for key in batch.keys if key is not None)
        broken = ((key, step) for key, step in found.items() if step.violations)
        told = sorted(broken, key=lambda pair: self._ledger.rank(pair[0]))  # as the controller goes through them
        moves = [None if key is None else (key, self._ledger.slots[key]) for key in batch.keys]
        self._look_for_leaving()
        guessed = Guessed(event.name, event.action)
        return Quick(batch, len(fitting), guessed, moves, self._violations(told), self._rules, self._ledger)

    def _fitting(self, batch: Compact) -> list[Fitting]:
        """The events of a broker that write exactly this batch."""
        assert batch.other is not None
        record = known(batch.other)
        if not isinstance(record, BROKER_RECORDS) or self._ledger.odd or any(isinstance(b, str) for b in batch.bodies):
            return []
        changes_first = len(batch) > 1 and not batch.other_first
        events = broker_events(self._ledger.base.at(batch.base_offset), record, changes_first, self._rules)
        visits = ((event, self._visit(batch, event)) for event in events)
        return [(event, steps) for event, steps in visits if steps is not None]

    def _visit(self, batch: Compact, event: BrokerEvent) -> dict[bytes, Step] | None:
        """What the event comes to in each partition that it visits; None where it comes to something else."""
        ledger = self._ledger
        token = self._tokens.setdefault(event.identity, len(self._tokens))
        observed = {key: (place, batch.bodies[place]) for place, key in enumerate(batch.keys) if key is not None}
        visited: dict[bytes, None] = {**ledger.hosted.get(event.broker, {}), **dict.fromkeys(observed)}
        if event.visits_leaderless:
            visited.update(dict.fromkeys(ledger.leaderless))
        elif event.visits_all:
            visited.update(dict.fromkeys(ledger.slots))
        found, slots = {}, ledger.slots
        for key in visited:
            slot = slots.get(key)
            if slot is None:
                return None
            steps = slot[0].events.get(token)
            if steps is None:
                steps = slot[0].events[token] = {}
            place, body = observed.get(key, UNCHANGED)
            step = steps.get(body)
            if step is None:
                step = steps[body] = self._ask_event(slot[0], event, body, batch.entry, place)
            if step.after is None:
                return None
            found[key] = step
        return found

    def _ask_single(self, at: Situation, body: Any, entry: Callable[[int], Entry], place: int) -> Step:
        """What a change comes to by itself in a situation that does not know it, and does then.

        Raises:
            EntryError: see `_decode`.
        """
        step = at.changes[body] = single(self._ledger, at, self._decode(body, entry, place), self._rules)
        return step

    def _ask_event(
        self, at: Situation, event: BrokerEvent, body: Any, entry: Callable[[int], Entry], place: int
    ) -> Step:
        """What an event comes to in a situation, with a change or, where the body is None, without.

        Raises:
            EntryError: see `_decode`.
        """
        change = None if body is None else self._decode(body, entry, place)
        return of_event(self._ledger, at, event, change, self._rules)

    def _decode(self, body: Any, entry: Callable[[int], Entry], place: int) -> PartitionChangeRecord:
        """A change, decoded; of all changes with the same body, which differ in their partition alone, the first.

        Raises:
            EntryError: when its fields are not those of its kind.
        """
        if body not in self._decoded:
            record = known(entry(place))
            assert isinstance(record, PartitionChangeRecord)
            self._decoded[body] = record
        return self._decoded[body]

    def _violations(self, told: list[tuple[bytes, Step]]) -> tuple[Violation, ...]:
        return tuple(
            Violation(name, self._ledger.topic(key), self._ledger.place(key)[1], parts)
            for key, step in told
            for name, _, _, parts in step.violations
        )

    def _look_for_leaving(self) -> None:
        """Brokers in a controlled shutdown, with the partitions that would change if the controller heard of it again.

        No record tells of such an event but the changes; while there are any, each batch is explained as a whole.
        """
        self._leaving = {broker: set() for broker in self._shutting_down()}
        for broker, pending in self._leaving.items():
            for key in self._ledger.hosted.get(broker, ()):
                if key in self._ledger.slots:
                    self._note_leaving(key, self._ledger.slots[key][0], broker, pending)
            if self._ledger.odd:
                pending.add(b"")

    def _shutting_down(self) -> list[int]:
        """Unfenced brokers in a controlled shutdown."""
        registrations = self._ledger.base.controller.image.registrations
        return [b for b, r in registrations.items() if r.in_controlled_shutdown and not r.fenced]

    def _note_leaving(self, key: bytes, at: Situation, broker: int, pending: set[bytes]) -> None:
        (pending.add if self._goes_on(at, broker) else pending.discard)(key)

    def _would_go_on(self, at: Situation) -> bool:
        return any(self._goes_on(at, broker) for broker in self._leaving)

    def _goes_on(self, at: Situation, broker: int) -> bool:
        if broker not in at.brokers():
            return False
        found: Any = at.events.setdefault(("goes on", broker), {})
        if None not in found:
            found[None] = goes_on(self._ledger, at, broker, self._rules)
        return bool(found[None])
