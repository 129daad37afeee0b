"""Sessions from 4.0.0 on: who is heard of has one, fenced or not, and any that is over is ended next."""

from __future__ import annotations

import pytest
from attrs import evolve

from kraftcheck.model.controller.brokers import (
    RegistrationContext,
    RegistrationRequest,
    expire_session,
    expired_heartbeat,
    fence_stale_broker,
    heard,
    heartbeat,
    in_session,
    register_broker,
    taken_over,
    unregister,
)
from kraftcheck.model.controller.commits import replay_record
from kraftcheck.model.controller.errors import RequestError
from kraftcheck.model.controller.heartbeat import Contacts, contact
from kraftcheck.model.controller.state import SESSION_TIMEOUT, Controller, Outcome
from kraftcheck.model.records.records import BrokerRegistrationChangeRecord, Feature, RegisterBrokerRecord
from kraftcheck.model.rules.ruleset import parse
from tests.model.controller.controllers import beat, cluster, directory, play, with_topic

OLD, FIRST, NEW = parse("kafka-3.9.2"), parse("kafka-4.0.2"), parse("kafka-4.4.0")
LATE = SESSION_TIMEOUT + 1


def after(controller: Controller, milliseconds: int) -> Controller:
    """The same controller later."""
    return evolve(controller, soft=controller.soft.after(milliseconds))


def register(controller: Controller, broker: int, rules=NEW) -> Outcome[int]:
    """Another process registers with the id of a broker."""
    ranges = (Feature("metadata.version", 1, 30),)
    request = RegistrationRequest("cluster", broker, "another", features=ranges, dirs=(directory(broker),))
    return register_broker(controller, request, RegistrationContext(), rules)


def waiting(rules=NEW) -> Controller:
    """Broker 0 is fenced, and has just sent a heartbeat that it does not want to be unfenced by."""
    return play(base := cluster(3, fenced=(0,)), heartbeat(base, beat(0, fence=True), rules), rules)


def test_a_fenced_broker_that_is_heard_of_bars_its_id() -> None:
    """From 4.0.0 on its id is taken while it sends heartbeats; until 3.9 it is not."""
    with pytest.raises(RequestError, match="DUPLICATE_BROKER_REGISTRATION"):
        register(waiting(), 0)
    assert isinstance(register(waiting(OLD), 0, OLD).records[-1], RegisterBrokerRecord)
    assert isinstance(register(after(waiting(), LATE), 0).records[-1], RegisterBrokerRecord)


def test_a_heartbeat_that_is_too_late_to_be_processed_is_heard() -> None:
    """It counts as contact, of a fenced broker too."""
    base = cluster(3, fenced=(0,))
    with pytest.raises(RequestError, match="DUPLICATE_BROKER_REGISTRATION"):
        register(play(base, expired_heartbeat(base, beat(0), NEW), NEW), 0)


def test_nobody_is_in_session_who_was_not_heard_of() -> None:
    """A registration is no contact: until its first heartbeat another process may take the id of a live broker."""
    base = cluster(3)
    assert isinstance(register(base, 1).records[-1], RegisterBrokerRecord)
    with pytest.raises(RequestError, match="DUPLICATE_BROKER_REGISTRATION"):
        register(base, 1, OLD)


def test_a_session_is_of_one_epoch() -> None:
    """Contact in another epoch keeps no session alive, although the heartbeat is heard of before it is refused."""
    base = cluster(3)
    soft = heard(base.soft, 0, 7, NEW.controller)
    assert not in_session(soft, base.registration(0), NEW.controller)
    assert in_session(heard(soft, 0, 100, NEW.controller), base.registration(0), NEW.controller)
    assert heard(base.soft, 0, 7, OLD.controller) == base.soft


def test_a_silent_fenced_broker_is_fenced_again() -> None:
    """Its session ends like any other, and the registration change is written once more."""
    outcome = fence_stale_broker(after(waiting(), LATE), NEW)
    assert outcome.records == (BrokerRegistrationChangeRecord(0, 100, fenced=1),)
    assert outcome.response is True
    assert fence_stale_broker(play(after(waiting(), LATE), outcome, NEW), NEW).response is False
    assert fence_stale_broker(after(waiting(OLD), LATE), OLD).records[0].broker_id == 1


def test_a_session_of_an_unknown_epoch_takes_one_check() -> None:
    """A check that finds the session of an earlier incarnation, or of no broker, writes nothing and is repeated."""
    base = cluster(2)
    soft = base.soft
    for broker, epoch in ((0, 7), (9, 100), (1, 101)):
        soft = heard(soft, broker, epoch, NEW.controller)
    now, written = after(evolve(base, soft=soft), LATE), []
    for _ in range(3):
        outcome = fence_stale_broker(now, NEW)
        assert outcome.response is True
        written += outcome.records
        now = play(now, outcome, NEW)
    assert [record.broker_id for record in written] == [1]
    assert fence_stale_broker(now, NEW).response is False


@pytest.mark.parametrize(("rules", "first"), [(FIRST, 0), (NEW, 1)])
def test_the_order_of_expiry_is_that_of_a_table(rules, first: int) -> None:
    """Which of two silent brokers is fenced first is a matter of their ids, epochs and the release, not of time."""
    for order in ((0, 1), (1, 0)):
        now = Controller()
        for broker, epoch in ((0, 15), (1, 2)):
            now = replay_record(now, RegisterBrokerRecord(broker, epoch, "process", fenced=False), rules)
        for broker in order:
            now = after(now, 1)
            now = play(now, heartbeat(now, evolve(beat(broker), broker_epoch=(15, 2)[broker]), rules), rules)
        assert fence_stale_broker(after(now, LATE), rules).records[-1].broker_id == first


def test_an_expired_session_is_over() -> None:
    """Fencing a broker for its silence ends its session, so that it may register again at once."""
    base = play(cluster(3), heartbeat(cluster(3), beat(0), NEW), NEW)
    with pytest.raises(RequestError, match="DUPLICATE_BROKER_REGISTRATION"):
        register(base, 0)
    assert isinstance(register(play(base, expire_session(base, 0, NEW), NEW), 0).records[-1], RegisterBrokerRecord)


def test_a_session_outlives_its_broker() -> None:
    """An unregistered broker is heard of until its session ends; a registration of its id is not barred."""
    base = play(cluster(3), heartbeat(cluster(3), beat(0), NEW), NEW)
    gone = play(base, unregister(base, 0, NEW), NEW)
    assert gone.soft.contacts.times == {(0, 100): 0}
    assert isinstance(register(gone, 0).records[-1], RegisterBrokerRecord)
    ended = fence_stale_broker(after(gone, LATE), NEW)
    assert (ended.records, ended.response) == ((), True)
    assert 0 not in ended.soft.sessions.tracked


@pytest.mark.parametrize(("rules", "in_time"), [(FIRST, {0, 1}), (NEW, {1}), (OLD, set())])
def test_who_is_heard_of_when_a_controller_takes_over(rules, in_time: set[int]) -> None:
    """Of 4.0 every registered broker, from 4.1.0 on every unfenced one; until 3.9 contacts are not kept so."""
    now = taken_over(after(cluster(2, fenced=(0,)), 50), rules.controller)
    assert {broker for broker, _ in now.soft.contacts.times} == in_time
    assert set(now.soft.contacts.times.values()) <= {50}
    assert set(now.soft.sessions.tracked) == {0, 1}


def test_a_registration_of_many_records() -> None:
    """From 4.0.0 on it is several batches, the broker's record last; until 3.9 its controller resigns."""
    base = with_topic(cluster(3), "foo", (0, 1), (0, 1), (0, 2))
    small = after(evolve(base, settings=evolve(base.settings, max_records=2)), LATE)
    outcome = register(small, 0)
    assert not outcome.atomic
    assert register(small, 0, OLD).atomic
    assert len(outcome.records) == 4
    assert isinstance(outcome.records[-1], RegisterBrokerRecord)


def test_a_table_grows_with_its_entries() -> None:
    """Three quarters full, the table doubles; entries stay as they are, and none shrinks it."""
    known = Contacts()
    for broker in range(11):
        known = known.heard(contact(broker, 5, False), broker)
    assert len(known.bins) == 16
    known = known.heard(contact(11, 5, False), 11)
    assert len(known.bins) == 32
    for place, row in enumerate(known.bins):
        assert all(entry.hash % 32 == place for entry in row)
    assert sorted(entry.broker for row in known.bins for entry in row) == list(range(12))
    left = known.without(3, 5).without(3, 6)
    assert (len(left.bins), len(left.times)) == (32, 11)
    assert known.heard(contact(3, 5, False), 99).bins == known.bins
