"""What single changes, and events of brokers, come to in one shape: asked of the code that looks nothing up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from attrs import evolve, field, frozen

from kraftcheck.model.controller.errors import RequestError, Resignation
from kraftcheck.model.controller.lifecycle import leaving
from kraftcheck.model.partition.registration import Partition
from kraftcheck.model.records.brokers import Registration
from kraftcheck.model.records.records import (
    BrokerRegistrationChangeRecord,
    FenceBrokerRecord,
    PartitionChangeRecord,
    RegisterBrokerRecord,
    UnfenceBrokerRecord,
    UnregisterBrokerRecord,
)
from kraftcheck.model.records.replay import ReplayError
from kraftcheck.model.rules.ruleset import RuleSet
from kraftcheck.solvers.logs.explain.explain import explain_records, predicted
from kraftcheck.solvers.logs.explain.guess import Guess, Words, spoken
from kraftcheck.solvers.logs.explain.guesses import BrokerRecord, guesses
from kraftcheck.solvers.logs.explain.judge import judge
from kraftcheck.solvers.logs.explain.matching import plain, same
from kraftcheck.solvers.logs.explain.replay import judged
from kraftcheck.solvers.logs.explain.state import Known as Record
from kraftcheck.solvers.logs.explain.state import State
from kraftcheck.solvers.logs.memo.renaming import Form, Known, Renaming
from kraftcheck.solvers.logs.memo.situation import (
    EPOCH,
    Shape,
    Told,
    local_batch,
    named,
    partition_in,
    plain_registration,
)

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
        words: the event, as its guess has it.
        broker: the broker.
        record: its record, with the epochs of a situation.
        before, after: its plain registration, None where there is none.
        first: whether its record is the first.
    """

    words: Words
    action: str
    broker: int
    record: BrokerRecord
    before: Registration | None
    after: Registration | None
    first: bool
    identity: tuple[object, ...] = field(eq=False, default=())

    @property
    def name(self) -> str:
        """The event in words."""
        return spoken(self.words)

    @property
    def visits_leaderless(self) -> bool:
        """Whether the controller goes through all partitions without leader too."""
        return self.action == "unfence"

    @property
    def visits_all(self) -> bool:
        """Whether the controller goes through all partitions."""
        return self.action == "directories_offline"

    def renamed(self, to: Renaming) -> BrokerEvent:
        """The event of a broker with another name."""
        return evolve(
            self, words=to.words(self.words), broker=to.brokers[self.broker], record=to.record(self.record),
            before=to.registration(self.before), after=to.registration(self.after),
        )  # fmt: skip

    def form(self, to: Renaming) -> Form:
        """All that tells this event from others, with another name, as plain values."""
        before, after = to.form_of_registration(self.before), to.form_of_registration(self.after)
        return to.words(self.words), to.brokers[self.broker], before, after, self.first


@frozen
class Answer:
    """What a change, or an event, comes to in a shape.

    Attributes:
        end: the partition behind it.
        known: the registrations behind it.
        count: how many events explain it.
        words, action: of the first of these events.
        violations: the properties that do not hold behind it.
    """

    end: Partition
    known: Known
    count: int
    words: Words
    action: str
    violations: tuple[Told, ...]


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
        identity = (guess.words, before, plain_after, first)
        yield BrokerEvent(guess.words, guess.action, record.broker_id, local, before, plain_after, first, identity)


def _local(record: BrokerRecord, known: Registration | None) -> BrokerRecord:
    """The record with the epochs of a situation, and its incarnation the known one's or another."""
    if not isinstance(record, RegisterBrokerRecord):
        return evolve(record, broker_epoch=EPOCH)
    again = known is not None and known.incarnation == record.incarnation
    return evolve(record, broker_epoch=EPOCH, incarnation="" if again else "another")


def ask_change(base: State, shape: Shape, record: PartitionChangeRecord, rules: RuleSet) -> Answer | None:
    """What one change comes to; None where nothing explains it."""
    found = explain_records(shape.state(base, {}), local_batch((record,)), (record,), rules)
    if not found.explained:
        return None
    told = tuple((v.property, v.topic, v.partition, v.parts) for v in judged(found, rules))
    guess = found.steps[0].guess
    return Answer(partition_in(found.after), shape.known, found.count, guess.words, guess.action, told)


def ask_event(
    base: State, shape: Shape, event: BrokerEvent, change: PartitionChangeRecord | None, rules: RuleSet
) -> Answer | None:
    """What an event of a broker comes to; None where it does not write exactly this change here."""
    before = shape.state(base, {event.broker: event.before})
    changes = () if change is None else (change,)
    records: tuple[Record, ...] = (event.record, *changes) if event.first else (*changes, event.record)
    guess = _matching(before, event, records, rules)
    if guess is None:
        return None
    after = before
    for record in records:
        after = after.after(record, rules)
    end = partition_in(after)
    known = {**shape.known, event.broker: event.after}
    if not set(named(end)) <= known.keys():
        return None
    found = judge(before.controller, after.controller, records, guess, rules)
    told = tuple(dict.fromkeys((v.property, v.topic, v.partition, v.parts) for v in found))
    return Answer(end, known, 1, guess.words, guess.action, told)


def _matching(state: State, event: BrokerEvent, records: Sequence[Record], rules: RuleSet) -> Guess | None:
    """The guess of the same name, if it writes these records."""
    for guess in guesses(_at_epoch(state, event), records, rules):
        if guess.words != event.words:
            continue
        wrote, refusal = predicted(guess)
        if not refusal and same([plain(r) for r in wrote], [plain(r) for r in records]):
            return guess
    return None


def _at_epoch(state: State, event: BrokerEvent) -> State:
    """The state in which a registration gets the epoch that its record has in a situation."""
    return state.at(EPOCH) if isinstance(event.record, RegisterBrokerRecord) else state


def ask_going_on(base: State, shape: Shape, broker: int, rules: RuleSet) -> bool:
    """Whether a broker that is leaving would still change this partition, should the controller hear of it again."""
    try:
        return bool(leaving(shape.state(base, {}).controller, broker, rules))
    except (RequestError, Resignation):
        return True


__all__ = ["BROKER_RECORDS", "Answer", "BrokerEvent", "ask_change", "ask_event", "ask_going_on", "broker_events"]
