"""Memoised results of partition changes and broker events, keyed by situation.

Each is computed once for each shape, by the code without a memo.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from attrs import evolve, field, frozen

from kraftcheck.model.controller.brokers import leaving
from kraftcheck.model.controller.errors import RequestError, Resignation
from kraftcheck.model.language.words import NO_LEADER
from kraftcheck.model.partition.registration import Partition, PartitionChange
from kraftcheck.model.records.records import (
    BrokerRegistrationChangeRecord,
    FenceBrokerRecord,
    PartitionChangeRecord,
    RegisterBrokerRecord,
    Registration,
    UnfenceBrokerRecord,
    UnregisterBrokerRecord,
    ids,
)
from kraftcheck.model.records.replay import ReplayError
from kraftcheck.model.rules.ruleset import RuleSet
from kraftcheck.solvers.logs.explain.explain import explain_model_records, plain_record, violations_of, writes
from kraftcheck.solvers.logs.explain.guesses import BrokerRecord, candidates
from kraftcheck.solvers.logs.explain.judge import LogViolation, judge
from kraftcheck.solvers.logs.explain.partition_guesses import Candidate, Words, words_text
from kraftcheck.solvers.logs.explain.state import ModelRecord, State
from kraftcheck.solvers.logs.memo.ledger import Ledger
from kraftcheck.solvers.logs.memo.situation import (
    EPOCH,
    EventName,
    Form,
    PartitionStep,
    Registrations,
    Renaming,
    Shape,
    ShapeNames,
    Situation,
    brokers_of,
    local_batch,
    local_change,
    names_of,
    partition_in,
    plain_registration,
    without_epochs,
)

BROKER_RECORDS = (
    BrokerRegistrationChangeRecord, FenceBrokerRecord, RegisterBrokerRecord, UnfenceBrokerRecord,
    UnregisterBrokerRecord,
)  # fmt: skip
"""Records of one broker."""

RECORD_FIRST = ("unfence", "controlled_shutdown")  # events whose broker record comes before the changes of partitions


@frozen
class BrokerEvent:
    """An event that writes one record of a broker, and changes of partitions before or after it."""

    words: Words  # the event, as its candidate has it
    action: str
    broker: int  # the broker
    record: BrokerRecord  # its record, with the epochs of a situation
    # before, after: its plain registration, None where there is none
    before: Registration | None
    after: Registration | None
    first: bool  # whether its record is the first
    identity: tuple[object, ...] = field(eq=False, default=())

    @property
    def name(self) -> str:
        """The event in words."""
        return words_text(self.words)

    def rename(self, renaming: Renaming) -> BrokerEvent:
        """The event with renamed brokers and directories."""
        return evolve(
            self, words=renaming.words(self.words), broker=renaming.brokers[self.broker],
            record=renaming.record(self.record), before=renaming.registration(self.before),
            after=renaming.registration(self.after),
        )  # fmt: skip

    def form(self, renaming: Renaming) -> Form:
        """The values that distinguish this event from others, with renamed brokers and directories."""
        before, after = renaming.form_of_registration(self.before), renaming.form_of_registration(self.after)
        return renaming.words(self.words), renaming.brokers[self.broker], before, after, self.first


@frozen
class QueryResult:
    """The result of a change, or of an event, in a shape."""

    end: Partition  # the partition after it
    registrations: Registrations  # the registrations after it
    count: int  # how many events explain it
    # words, action: of the first of these events
    words: Words
    action: str
    violations: tuple[LogViolation, ...]  # the properties that do not hold after it


def broker_events(base: State, record: BrokerRecord, changes_first: bool, rules: RuleSet) -> Iterator[BrokerEvent]:
    """The events that write exactly this record of a broker, whatever else they write of partitions."""
    registration = base.controller.registration(record.broker_id)
    try:
        after = base.after(record, rules).controller.registration(record.broker_id)
    except ReplayError:
        return
    before = plain_registration(registration)
    for candidate in candidates(base, (record,), rules):
        if changes_first and candidate.action in RECORD_FIRST:
            continue
        if not writes(candidate, [plain_record(record)]):
            continue
        local, record_first = _local_record(record, registration), not changes_first
        plain_after = plain_registration(after)
        identity = (candidate.words, before, plain_after, record_first)
        yield BrokerEvent(
            candidate.words, candidate.action, record.broker_id, local, before, plain_after, record_first, identity
        )


def _local_record(record: BrokerRecord, registration: Registration | None) -> BrokerRecord:
    """The record with the epochs of a situation; its incarnation says only whether it is the registered one."""
    if not isinstance(record, RegisterBrokerRecord):
        return evolve(record, broker_epoch=EPOCH)
    same_incarnation = registration is not None and registration.incarnation == record.incarnation
    return evolve(record, broker_epoch=EPOCH, incarnation="" if same_incarnation else "another")


def query_change(base: State, shape: Shape, record: PartitionChangeRecord, rules: RuleSet) -> QueryResult | None:
    """The result of one change; None where no event explains it."""
    explanation = explain_model_records(shape.state(base, {}), local_batch((record,)), (record,), rules)
    if not explanation.explained:
        return None
    candidate, violations = explanation.steps[0].candidate, tuple(violations_of(explanation, rules))
    end, count = partition_in(explanation.after), explanation.count
    return QueryResult(end, shape.registrations, count, candidate.words, candidate.action, violations)


def query_event(
    base: State, shape: Shape, event: BrokerEvent, change: PartitionChangeRecord | None, rules: RuleSet
) -> QueryResult | None:
    """The result of a broker event; None where it does not write exactly this change here."""
    before = shape.state(base, {event.broker: event.before})
    changes = () if change is None else (change,)
    records: tuple[ModelRecord, ...] = (event.record, *changes) if event.first else (*changes, event.record)
    candidate = _matching_candidate(before, event, records, rules)
    if candidate is None:
        return None
    after = before
    for record in records:
        after = after.after(record, rules)
    end = partition_in(after)
    registrations = {**shape.registrations, event.broker: event.after}
    if not set(brokers_of(end)) <= registrations.keys():
        return None
    broken = judge(before.controller, after.controller, records, candidate, rules)
    return QueryResult(end, registrations, 1, candidate.words, candidate.action, tuple(dict.fromkeys(broken)))


def _matching_candidate(
    state: State, event: BrokerEvent, records: Sequence[ModelRecord], rules: RuleSet
) -> Candidate | None:
    """The candidate with the same words, if it writes these records."""
    plain = [plain_record(record) for record in records]
    named = (one for one in candidates(_state_at_event(state, event), records, rules) if one.words == event.words)
    return next((candidate for candidate in named if writes(candidate, plain) == len(plain)), None)


def _state_at_event(state: State, event: BrokerEvent) -> State:
    """The state in which a registration gets the epoch that its record has in a situation."""
    return state.at(EPOCH) if isinstance(event.record, RegisterBrokerRecord) else state


def query_shutdown(base: State, shape: Shape, broker: int, rules: RuleSet) -> bool:
    """Whether another heartbeat of a broker that is shutting down would still change this partition."""
    try:
        return bool(leaving(shape.state(base, {}).controller, broker, rules))
    except (RequestError, Resignation):
        return True


@frozen
class _MemoEntry:
    """A result and the shape after it; the shape is None where the names of brokers or directories change."""

    result: QueryResult
    after: Shape | None


def change_step(ledger: Ledger, at: Situation, record: PartitionChangeRecord, rules: RuleSet) -> PartitionStep:
    """The step of one partition change; its `after` is None where it names a broker that the situation lacks."""
    change = record.change
    if change.replicas.present or not _brokers_of_change(change) <= at.brokers():
        return PartitionStep(at, None)
    names, shape = at.names, at.shape
    if not names.has_directories(shape.partition, change):
        names, shape = _named(ledger, at, at.registrations.items(), change)
    to_shape = names.to_shape
    form = ("change", to_shape.form_of_change(change))

    def query() -> QueryResult | None:
        return query_change(ledger.base, shape, to_shape.change(local_change(record)), rules)

    return _memoised_step(ledger, at, shape, names, form, query)


def event_step(
    ledger: Ledger, at: Situation, event: BrokerEvent, change: PartitionChangeRecord | None, rules: RuleSet
) -> PartitionStep:
    """The step of a broker event; its `after` is None where the event does not write exactly this change here."""
    partition_change = None if change is None else change.change
    if partition_change is not None and not _brokers_of_change(partition_change) <= at.brokers() | {event.broker}:
        return PartitionStep(at, None)
    names, shape = at.names, at.shape
    has_names = names.has_broker(event.broker, event.before, event.after)
    if not has_names or (partition_change is not None and not names.has_directories(shape.partition, partition_change)):
        registrations = (*at.registrations.items(), (event.broker, event.before), (event.broker, event.after))
        names, shape = _named(ledger, at, registrations, partition_change)
    to_shape = names.to_shape
    form = (
        "event",
        event.form(to_shape),
        None if partition_change is None else to_shape.form_of_change(partition_change),
    )

    def query() -> QueryResult | None:
        local = None if change is None else to_shape.change(local_change(change))
        return query_event(ledger.base, shape, event.rename(to_shape), local, rules)

    return _memoised_step(ledger, at, shape, names, form, query)


def _named(
    ledger: Ledger, at: Situation, registered: Iterable[tuple[int, Registration | None]], change: PartitionChange | None
) -> tuple[ShapeNames, Shape]:
    """The names of a situation, of brokers besides and of a change, and the shape with them."""
    names = names_of(at.partition, registered, change, ledger.elr_enabled)
    p, registrations = names.to_shape.partition(at.partition), names.to_shape.registrations(at.registrations)
    return names, ledger.shape(p, at.context, registrations)


def continues_shutdown(ledger: Ledger, at: Situation, broker: int, rules: RuleSet) -> bool:
    """Whether another heartbeat of a broker that is shutting down would still change this partition."""
    name, shape = at.names.to_shape.brokers[broker], at.shape
    result = shape.results.get(("goes on", name))
    if result is None:
        result = shape.results["goes on", name] = query_shutdown(ledger.base, shape, name, rules)
    return bool(result)


def _brokers_of_change(change: PartitionChange) -> set[int]:
    """Every broker that a change names."""
    lists = (change.replicas, change.isr, change.elr, change.last_known_elr, change.adding, change.removing)
    brokers = {broker for maybe in lists if maybe.present for broker in ids(maybe.value)}
    return (brokers | ({int(change.leader.value)} if change.leader.present else set())) - {NO_LEADER}


def _memoised_step(
    ledger: Ledger, at: Situation, shape: Shape, names: ShapeNames, form: Form, query: Callable[[], QueryResult | None]
) -> PartitionStep:
    """The memoised result for a form of the shape, computed on first use, with the names of the situation."""
    if form not in shape.results:
        shape.results[form] = _memo_entry(ledger, shape, names, query())
    entry: _MemoEntry | None = shape.results[form]
    if entry is None:
        return PartitionStep(at, None)
    result, to_ids = entry.result, names.to_ids
    if entry.after is not None:
        after = ledger.situation_of(entry.after, names)
    else:
        after = ledger.situation(to_ids.partition(result.end), at.context, to_ids.registrations(result.registrations))
    event = EventName(words_text(to_ids.words(result.words)), result.action)
    return PartitionStep(at, after, result.end, result.count, event, bool(result.violations))


def _memo_entry(ledger: Ledger, shape: Shape, names: ShapeNames, result: QueryResult | None) -> _MemoEntry | None:
    """A result with the shape after it, where that shape has the same names."""
    if result is None:
        return None
    registrations = {broker: result.registrations[broker] for broker in brokers_of(result.end)}
    names_after = names_of(result.end, registrations.items(), None, ledger.elr_enabled)
    names_remain = names.renamed and names_after == names.canonical()
    return _MemoEntry(
        result, ledger.shape(without_epochs(result.end), shape.context, registrations) if names_remain else None
    )
