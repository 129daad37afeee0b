"""What single changes, and events of brokers, come to in one situation: looked up by its shape, or asked once."""

from __future__ import annotations

from collections.abc import Callable

from attrs import frozen

from kraftcheck.model.language.words import NO_LEADER
from kraftcheck.model.partition.registration import PartitionChange
from kraftcheck.model.records.records import PartitionChangeRecord, ids
from kraftcheck.model.rules.ruleset import RuleSet
from kraftcheck.solvers.logs.explain.as_elections import with_broker
from kraftcheck.solvers.logs.explain.guess import spoken
from kraftcheck.solvers.logs.memo.ask import Answer, BrokerEvent, ask_change, ask_event, ask_going_on
from kraftcheck.solvers.logs.memo.ledger import Ledger
from kraftcheck.solvers.logs.memo.renaming import Form, Names, names_of
from kraftcheck.solvers.logs.memo.situation import (
    Guessed,
    Shape,
    Situation,
    Step,
    Told,
    localized,
    named,
    without_epochs,
)


@frozen
class _Learned:
    """An answer, and the shape behind it; None where not all names are left, or some are new."""

    answer: Answer
    after: Shape | None


def single(ledger: Ledger, at: Situation, record: PartitionChangeRecord, rules: RuleSet) -> Step:
    """What one change comes to; no step where it names brokers that the situation does not hold."""
    change = record.change
    if change.replicas.present or not _named(change) <= at.brokers():
        return Step(at, None)
    names, shape = at.names, at.shape
    if not names.place(shape.partition, change):
        names = names_of(at.partition, at.known.items(), change)
        shape = ledger.shape(names.to.partition(at.partition), at.context, names.to.registrations(at.known))
    to = names.to
    form = ("change", to.form_of_change(change))

    def ask() -> Answer | None:
        return ask_change(ledger.base, shape, to.change(localized(record)), rules)

    return _step(ledger, at, shape, names, form, ask)


def of_event(
    ledger: Ledger, at: Situation, event: BrokerEvent, change: PartitionChangeRecord | None, rules: RuleSet
) -> Step:
    """What an event of a broker comes to; no step where it does not write exactly this change here."""
    told = None if change is None else change.change
    if told is not None and not _named(told) <= at.brokers() | {event.broker}:
        return Step(at, None)
    names, shape = at.names, at.shape
    covered = names.cover(event.broker, event.before, event.after)
    if not covered or (told is not None and not names.place(shape.partition, told)):
        registered = (*at.known.items(), (event.broker, event.before), (event.broker, event.after))
        names = names_of(at.partition, registered, told)
        shape = ledger.shape(names.to.partition(at.partition), at.context, names.to.registrations(at.known))
    to = names.to
    form = ("event", event.form(to), None if told is None else to.form_of_change(told))

    def ask() -> Answer | None:
        local = None if change is None else to.change(localized(change))
        return ask_event(ledger.base, shape, event.renamed(to), local, rules)

    return _step(ledger, at, shape, names, form, ask)


def goes_on(ledger: Ledger, at: Situation, broker: int, rules: RuleSet) -> bool:
    """Whether a broker that is leaving would still change this partition, should the controller hear of it again."""
    known, shape = at.names.to.brokers[broker], at.shape
    found = shape.answers.get(("goes on", known))
    if found is None:
        found = shape.answers["goes on", known] = ask_going_on(ledger.base, shape, known, rules)
    return bool(found)


def _named(change: PartitionChange) -> set[int]:
    """Every broker that a change names."""
    lists = (change.replicas, change.isr, change.elr, change.last_known_elr, change.adding, change.removing)
    found = {broker for maybe in lists if maybe.present for broker in ids(maybe.value)}
    return (found | ({int(change.leader.value)} if change.leader.present else set())) - {NO_LEADER}


def _step(
    ledger: Ledger, at: Situation, shape: Shape, names: Names, form: Form, ask: Callable[[], Answer | None]
) -> Step:
    """The answer with this form, once it is known of the shape, told with the names of the situation."""
    if form not in shape.answers:
        shape.answers[form] = _learned(ledger, shape, names, ask())
    learned: _Learned | None = shape.answers[form]
    if learned is None:
        return Step(at, None)
    answer, back = learned.answer, names.back
    if learned.after is not None:
        after = ledger.named(learned.after, names)
    else:
        after = ledger.situation(back.partition(answer.end), at.context, back.registrations(answer.known))
    told = tuple(_told(violation, names) for violation in answer.violations)
    guessed = Guessed(spoken(back.words(answer.words)), answer.action)
    return Step(at, after, answer.end, answer.count, guessed, told)


def _learned(ledger: Ledger, shape: Shape, names: Names, answer: Answer | None) -> _Learned | None:
    """An answer with the situation behind it as a shape with the same names, where it has them all."""
    if answer is None:
        return None
    own = {broker: answer.known[broker] for broker in named(answer.end)}
    left = names.renamed and names_of(answer.end, own.items()) == names.plain()
    return _Learned(answer, ledger.shape(without_epochs(answer.end), shape.context, own) if left else None)


def _told(violation: Told, names: Names) -> Told:
    name, topic, partition, parts = violation
    return name, topic, partition, tuple(with_broker(part, names.back.brokers.__getitem__) for part in parts)


__all__ = ["goes_on", "of_event", "single"]
