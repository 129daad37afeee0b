"""Brokers: registration, heartbeats, fencing, leaving, stopping and failing directories."""

from __future__ import annotations

import pytest
from attrs import evolve

from kraftcheck.model.controller.brokers import (
    HeartbeatReply,
    RegistrationContext,
    RegistrationRequest,
    expire_session,
    expired_heartbeat,
    heartbeat,
    register_broker,
    taken_over,
)
from kraftcheck.model.controller.commits import replay_all, replay_record
from kraftcheck.model.controller.errors import CODES, NotTracked, RequestError
from kraftcheck.model.controller.state import RegisterControllerRecord, Soft, UnregisterControllerRecord
from kraftcheck.model.records.records import (
    BrokerRegistrationChangeRecord,
    Feature,
    FenceBrokerRecord,
    PartitionChangeRecord,
    RegisterBrokerRecord,
    UnfenceBrokerRecord,
)
from kraftcheck.model.records.replay import ReplayError
from tests.model.controller.controllers import (
    FIXED,
    KAFKA,
    beat,
    changed,
    cluster,
    directory,
    lists,
    partition,
    play,
    with_topic,
)

STEADY = FIXED.switched(one_directory_awaits_nothing=True)
"""The mended rules, with the document's reading of steady state."""

BASE = with_topic(cluster(4), "foo", (0, 1, 2), (1, 2, 0))


def ask(broker: int = 0, **fields) -> RegistrationRequest:
    """A registration of a new process, right unless said otherwise."""
    wanted = {"incarnation": "another", "dirs": (directory(broker),), **fields}
    return RegistrationRequest(cluster_id=wanted.pop("cluster_id", "cluster"), broker=broker, **wanted)


FINALIZED = RegistrationContext(finalized={"metadata.version": 5, "kraft.version": 1, "off": 0})
SUPPORTED = (Feature("metadata.version", 1, 9), Feature("kraft.version", 0, 1))
OLD = cluster(4, fenced=(0,))

WRONG = [
    ({"cluster_id": "other"}, "INCONSISTENT_CLUSTER_ID", ""),
    ({"broker": 1}, "DUPLICATE_BROKER_REGISTRATION", ""),
    ({"is_migrating_zk_broker": True}, "BROKER_ID_NOT_REGISTERED", "zookeeper_mode"),
    ({"dirs": ()}, "INVALID_REGISTRATION", "no_directories"),
    ({"dirs": (1, 1)}, "INVALID_REGISTRATION", "reserved_directory"),
    ({"dirs": (directory(2), directory(2))}, "INVALID_REGISTRATION", "duplicate_directory"),
    ({"dirs": (directory(2),)}, "INVALID_REGISTRATION", "directory_owned_by_other_broker"),
    ({"features": (Feature("metadata.version", 6, 7),)}, "UNSUPPORTED_VERSION", ""),
]
"""What breaks each check of a registration, in the order of the checks."""


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_the_first_check_of_a_registration_answers(number: int) -> None:
    """With a check and every later one broken, the refusal is that check's."""
    broken: dict[str, object] = {}
    for breaks, _, _ in WRONG[number:]:
        broken = {**breaks, **broken}
    request = ask(broken.pop("broker", 0), **broken)
    with pytest.raises(RequestError) as refusal:
        register_broker(OLD, request, FINALIZED, KAFKA)
    assert (refusal.value.error, refusal.value.reason) == WRONG[number][1:]
    assert refusal.value.error in CODES


@pytest.mark.parametrize(
    ("features", "feature", "level", "accepted"),
    [
        ((), "metadata.version", 5, [1, 1]),
        ((Feature("metadata.version", 6, 9),), "metadata.version", 5, [6, 9]),
        ((Feature("metadata.version", 1, 9),), "kraft.version", 1, [0, 0]),
        ((*SUPPORTED, Feature("unknown", 1, 2)), "unknown", 0, [1, 2]),
    ],
)
def test_unsupported_features(features, feature: str, level: int, accepted: list[int]) -> None:
    """Every finalized level must be in the broker's range; what it does not name has a range of its own."""
    with pytest.raises(RequestError) as refusal:
        register_broker(OLD, ask(features=features), FINALIZED, KAFKA)
    expected = {"feature": feature, "finalized": level, "accepted_range": accepted}
    assert refusal.value.details == expected


@pytest.mark.parametrize(("rules", "leader", "isr"), [(KAFKA, 1, [0, 1, 2]), (FIXED, 2, [0, 2])])
def test_an_amendment_and_the_leaders_on_other_directories(rules, leader: int, isr: list[int]) -> None:
    """Found: a directory told of no more keeps its leader, and nothing finds that later; mended, the leader moves."""
    request = ask(1, incarnation="process-1", dirs=(directory(1, 1),), features=SUPPORTED)
    after = play(BASE, register_broker(BASE, request, FINALIZED, rules))
    p = partition(after, "foo", 1)
    assert (p.leader, sorted(p.isr), p.directories.of(1)) == (leader, isr, directory(1))
    # Reporting the directory as failed changes nothing: it is not registered.
    again = play(after, heartbeat(after, beat(1, failed=(directory(1),)), rules))
    assert lists(partition(again, "foo", 1)) == lists(p)
    kept = register_broker(BASE, evolve(request, dirs=(directory(1), directory(1, 1))), FINALIZED, rules)
    assert [type(record) for record in kept.records] == [RegisterBrokerRecord]


def test_before_directories_none_are_kept() -> None:
    """A metadata version without directories asks for none and keeps none."""
    old = cluster(2, fenced=(0,), directories=False)
    after = play(old, register_broker(old, ask(dirs=()), RegistrationContext(), KAFKA))
    assert after.registration(0).dirs == ()
    assert after.registration(0).features == (Feature("metadata.version", 1, 1),)


def test_a_controller_is_unregistered_once() -> None:
    """The record takes the registration of one controller away; of one that is not registered it cannot be replayed."""
    both = replay_all(BASE, (RegisterControllerRecord(3000), RegisterControllerRecord(3001)), KAFKA)
    left = replay_record(both, UnregisterControllerRecord(3000), KAFKA)
    assert left.controllers == {3001: RegisterControllerRecord(3001)}
    assert left.image.next_offset == both.image.next_offset + 1
    with pytest.raises(ReplayError, match="there is no controller 3000"):
        replay_record(left, UnregisterControllerRecord(3000), KAFKA)


def test_a_heartbeat_without_a_session_is_no_request() -> None:
    """A controller that tracks no session resigns rather than answers."""
    with pytest.raises(NotTracked):
        heartbeat(evolve(BASE, soft=Soft()), beat(0), KAFKA)


def test_a_late_heartbeat_is_contact_only() -> None:
    """Contact and offset count; what it asks for does not."""
    later = evolve(BASE, soft=BASE.soft.after(50))
    outcome = expired_heartbeat(later, beat(0, shutdown=True, offset=7), KAFKA)
    session = play(later, outcome).soft.sessions.tracked[0]
    assert outcome.records == ()
    assert (session.last_contact, session.metadata_offset) == (50, 7)


def test_fencing_writes_the_registration_last() -> None:
    """Partitions change first, each decided on the state before the event."""
    outcome = heartbeat(BASE, beat(0, fence=True), KAFKA)
    assert [type(r) for r in outcome.records] == [PartitionChangeRecord] * 2 + [BrokerRegistrationChangeRecord]
    after = play(BASE, outcome)
    assert outcome.response == HeartbeatReply(True, True, False, False)
    assert lists(partition(after)) == ([1, 2], [], 1)
    assert after.registration(0).fenced
    assert 0 not in after.soft.sessions.live


def test_an_expired_session_is_gone() -> None:
    """Who is fenced for its silence is no longer among those that are in touch, and is fenced once only."""
    outcome = expire_session(BASE, 0, KAFKA)
    assert 0 in BASE.soft.sessions.live
    assert 0 not in outcome.soft.sessions.live
    assert play(BASE, outcome).registration(0).fenced


@pytest.mark.parametrize("placed", [0, 1], ids=["MIGRATING", "UNASSIGNED"])
@pytest.mark.parametrize(
    ("rules", "dirs", "stays"),
    [(FIXED, 2, True), (FIXED, 1, True), (STEADY, 2, True), (STEADY, 1, False), (FIXED, 0, False), (KAFKA, 2, False)],
)
def test_a_broker_is_fenced_until_its_directories_are_known(rules, dirs: int, stays: bool, placed: int) -> None:
    """With a replica in no known directory it stays fenced, in steady state with several only; no release asks."""
    again = RegisterBrokerRecord(0, 100, "process-0", fenced=True, log_dirs=(1000, 1001)[:dirs])
    controller = changed(replay_record(BASE, again, rules), isr=(1, 2), leader=1, directories=(placed, 1010, 1020))
    outcome = heartbeat(controller, beat(0), rules)
    assert (outcome.response.caught_up, outcome.response.fenced, not outcome.records) == (True, stays, stays)
    known = changed(controller, directories=(1000, 1010, 1020))
    assert not heartbeat(known, beat(0), rules).response.fenced


def test_old_versions_have_records_of_their_own() -> None:
    """Before registration changes had a record, fencing and unfencing had one each."""
    old = with_topic(cluster(2, registration_changes=False, controlled_shutdown=False), "foo", (0,))
    outcome = expire_session(old, 0, KAFKA)
    assert isinstance(outcome.records[-1], FenceBrokerRecord)
    assert isinstance(heartbeat(play(old, outcome), beat(0), KAFKA).records[0], UnfenceBrokerRecord)
    assert not any(
        isinstance(r, BrokerRegistrationChangeRecord) for r in heartbeat(old, beat(0, shutdown=True), KAFKA).records
    )


def test_a_failover_forgets_controlled_shutdowns() -> None:
    """A new controller takes a leaving broker for unfenced until its next heartbeat."""
    leaving = play(BASE, heartbeat(BASE, beat(0, shutdown=True), KAFKA))
    after = taken_over(evolve(leaving, soft=leaving.soft.after(70)), KAFKA.controller)
    assert after.soft.sessions.shutdown_offset(0) is None
    assert {session.last_contact for session in after.soft.sessions.tracked.values()} == {70}
    assert after.registration(0).in_controlled_shutdown


def test_heartbeats_report_directories_where_they_exist() -> None:
    """A heartbeat's failed directories are ignored by metadata versions without directories."""
    request = beat(0, failed=(directory(0),))
    assert len(heartbeat(BASE, request, KAFKA).records) == 3
    old = with_topic(cluster(3, directories=False), "foo", (0, 1))
    assert heartbeat(old, request, KAFKA).records == ()
