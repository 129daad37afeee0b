"""What single changes, and events of brokers, come to in one situation: asked of the code that looks nothing up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from attrs import evolve, field, frozen

from model.brokers import Registration
from model.controller.errors import RequestError, Resignation
from model.controller.lifecycle import leaving
from model.records import (
    BrokerRegistrationChangeRecord,
    FenceBrokerRecord,
    PartitionChangeRecord,
    RegisterBrokerRecord,
    UnfenceBrokerRecord,
    UnregisterBrokerRecord,
    ids,
)
from model.replay import ReplayError
from model.rules import RuleSet
from solvers.logs.explain import explain_records, predicted
from solvers.logs.guesses import BrokerRecord, guesses
from solvers.logs.image import Known, State
from solvers.logs.judge import judge
from solvers.logs.ledger import Ledger
from solvers.logs.locality import (
    EPOCH,
    Guessed,
    Situation,
    Step,
    Told,
    local_batch,
    localized,
    named,
    partition_in,
    plain_registration,
)
from solvers.logs.matching import plain, same
from solvers.logs.refusals import Guess
from solvers.logs.replay import judged

BROKER_RECORDS = (
    BrokerRegistrationChangeRecord, FenceBrokerRecord, RegisterBrokerRecord, UnfenceBrokerRecord,
    UnregisterBrokerRecord,
)  # fmt: skip
"""Records of one broker."""

RECORD_FIRST = ("unfence", "controlled_shutdown")
"""Events whose broker record comes before the changes of partitions."""


@frozen
class BrokerEvent:
    """An event that writes one record of a broker, and changes of partitions before or after it.

    Attributes:
        name: in words, as its guess has it.
        broker: the broker.
        record: its record, with the epochs of a situation.
        before, after: its plain registration, None where there is none.
        first: whether its record is the first.
    """

    name: str
    action: str
    broker: int
    record: BrokerRecord
    before: Registration | None
    after: Registration | None
    first: bool
    identity: tuple[object, ...] = field(eq=False, default=())


def single(ledger: Ledger, at: Situation, record: PartitionChangeRecord, rules: RuleSet) -> Step:
    """What one change comes to; no step where it names brokers that the situation does not hold."""
    local = localized(record)
    if record.change.replicas.present or not _named(record) <= at.known.keys():
        return Step(at, None)
    found = explain_records(at.state(ledger.base, {}), local_batch((local,)), (local,), rules)
    if not found.explained:
        return Step(at, None)
    told = tuple((v.property, v.topic, v.partition, v.parts) for v in judged(found, rules))
    end = partition_in(found.after)
    guess = found.steps[0].guess
    after = ledger.situation(end, at.context, at.known)
    return Step(at, after, end, found.count, Guessed(guess.name, guess.action), told)


def _named(record: PartitionChangeRecord) -> set[int]:
    change = record.change
    lists = (change.isr, change.elr, change.last_known_elr, change.adding, change.removing)
    found = {broker for maybe in lists if maybe.present for broker in ids(maybe.value)}
    return (found | ({int(change.leader.value)} if change.leader.present else set())) - {-1}


def broker_events(base: State, record: BrokerRecord, changes_first: bool, rules: RuleSet) -> Iterator[BrokerEvent]:
    """The events that write exactly this record of a broker, whatever else they write of partitions."""
    registration = base.controller.registration(record.broker_id)
    try:
        after = base.after(record, rules).controller.registration(record.broker_id)
    except ReplayError:
        return
    before = plain_registration(registration)
    for guess in guesses(base, (record,), rules):
        if changes_first and guess.action in RECORD_FIRST:
            continue
        wrote, refusal = predicted(guess)
        if refusal or not same([plain(r) for r in wrote], [plain(record)]):
            continue
        local, first = _local(record, registration), not changes_first
        plain_after = plain_registration(after)
        identity = (guess.name, before, plain_after, first)
        yield BrokerEvent(guess.name, guess.action, record.broker_id, local, before, plain_after, first, identity)


def _local(record: BrokerRecord, known: Registration | None) -> BrokerRecord:
    """The record with the epochs of a situation, and its incarnation the known one's or another."""
    if not isinstance(record, RegisterBrokerRecord):
        return evolve(record, broker_epoch=EPOCH)
    again = known is not None and known.incarnation == record.incarnation
    return evolve(record, broker_epoch=EPOCH, incarnation="" if again else "another")


def of_event(
    ledger: Ledger, at: Situation, event: BrokerEvent, change: PartitionChangeRecord | None, rules: RuleSet
) -> Step:
    """What an event of a broker comes to; no step where it does not write exactly this change here."""
    if change is not None and not _named(change) <= at.known.keys() | {event.broker}:
        return Step(at, None)
    state = at.state(ledger.base, {event.broker: event.before})
    changes = () if change is None else (localized(change),)
    records: tuple[Known, ...] = (event.record, *changes) if event.first else (*changes, event.record)
    guess = _matching(state, event, records, rules)
    if guess is None:
        return Step(at, None)
    after = state
    for record in records:
        after = after.after(record, rules)
    end = partition_in(after)
    registrations = {**at.known, event.broker: event.after}
    if not set(named(end)) <= registrations.keys():
        return Step(at, None)
    told = _violations(state, after, records, guess, rules)
    target = ledger.situation(end, at.context, registrations)
    return Step(at, target, end, 1, Guessed(guess.name, guess.action), told)


def _matching(state: State, event: BrokerEvent, records: Sequence[Known], rules: RuleSet) -> Guess | None:
    """The guess of the same name, if it writes these records."""
    for guess in guesses(_at_epoch(state, event), records, rules):
        if guess.name != event.name:
            continue
        wrote, refusal = predicted(guess)
        if not refusal and same([plain(r) for r in wrote], [plain(r) for r in records]):
            return guess
    return None


def _at_epoch(state: State, event: BrokerEvent) -> State:
    """The state in which a registration gets the epoch that its record has in a situation."""
    return state.at(EPOCH) if isinstance(event.record, RegisterBrokerRecord) else state


def _violations(
    before: State, after: State, records: Sequence[Known], guess: Guess, rules: RuleSet
) -> tuple[Told, ...]:
    found = judge(before.controller, after.controller, records, guess, rules)
    return tuple(dict.fromkeys((v.property, v.topic, v.partition, v.parts) for v in found))


def goes_on(ledger: Ledger, at: Situation, broker: int, rules: RuleSet) -> bool:
    """Whether a broker that is leaving would still change this partition, should the controller hear of it again."""
    try:
        return bool(leaving(at.state(ledger.base, {}).controller, broker, rules))
    except (RequestError, Resignation):
        return True


__all__ = ["BROKER_RECORDS", "BrokerEvent", "broker_events", "goes_on", "of_event", "single"]
