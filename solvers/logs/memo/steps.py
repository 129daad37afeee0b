"""Memoised results of partition changes and broker events, keyed by situation and computed once for each shape."""

from __future__ import annotations

from collections.abc import Callable

from attrs import frozen

from kraftcheck.model.language.words import NO_LEADER
from kraftcheck.model.partition.registration import PartitionChange
from kraftcheck.model.records.records import PartitionChangeRecord, ids
from kraftcheck.model.rules.ruleset import RuleSet
from kraftcheck.solvers.logs.explain.as_elections import with_broker
from kraftcheck.solvers.logs.explain.guess import words_text
from kraftcheck.solvers.logs.memo.ask import BrokerEvent, QueryResult, query_change, query_event, query_shutdown
from kraftcheck.solvers.logs.memo.ledger import Ledger
from kraftcheck.solvers.logs.memo.renaming import Form, ShapeNames, names_of
from kraftcheck.solvers.logs.memo.situation import (
    EventName,
    PartitionStep,
    Shape,
    ShapeViolation,
    Situation,
    brokers_of,
    local_change,
    without_epochs,
)


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
        names = names_of(at.partition, at.registrations.items(), change, ledger.elr_enabled)
        shape = ledger.shape(
            names.to_shape.partition(at.partition), at.context, names.to_shape.registrations(at.registrations)
        )
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
        names = names_of(at.partition, registrations, partition_change, ledger.elr_enabled)
        shape = ledger.shape(
            names.to_shape.partition(at.partition), at.context, names.to_shape.registrations(at.registrations)
        )
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
    violations = tuple(_renamed_violation(violation, names) for violation in result.violations)
    event = EventName(words_text(to_ids.words(result.words)), result.action)
    return PartitionStep(at, after, result.end, result.count, event, violations)


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


def _renamed_violation(violation: ShapeViolation, names: ShapeNames) -> ShapeViolation:
    name, topic, partition, parts = violation
    return name, topic, partition, tuple(with_broker(part, names.to_ids.brokers.__getitem__) for part in parts)


__all__ = ["change_step", "continues_shutdown", "event_step"]
