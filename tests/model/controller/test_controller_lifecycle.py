"""Brokers: registration, heartbeats, fencing, leaving, stopping and failing directories."""

from __future__ import annotations

import pytest
from attrs import evolve

from kraftcheck.model.controller.brokers import (
    HeartbeatReply,
    RegistrationContext,
    RegistrationRequest,
    directories_offline,
    expire_session,
    expired_heartbeat,
    fence_stale_broker,
    heartbeat,
    register_broker,
    register_controller,
    taken_over,
    unclean_shutdown,
    unregister,
)
from kraftcheck.model.controller.commits import replay_all, replay_record
from kraftcheck.model.controller.errors import CODES, NotTracked, RequestError, Resignation
from kraftcheck.model.controller.heartbeat import Sessions
from kraftcheck.model.controller.state import Controller, RegisterControllerRecord, Soft, UnregisterControllerRecord
from kraftcheck.model.controller.topics import delete_topics
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


def test_a_new_incarnation_starts_fenced_with_a_new_epoch() -> None:
    """Its epoch is the next offset at the start of the event, its session is new."""
    leaving = cluster(4, fenced=(0,), leaving=(0,))
    outcome = register_broker(leaving, ask(features=SUPPORTED), FINALIZED, KAFKA)
    after = play(leaving, outcome)
    known = after.registration(0)
    assert outcome.response == known.epoch == leaving.image.next_offset
    assert (known.fenced, known.in_controlled_shutdown, known.incarnation) == (True, False, "another")
    assert after.soft.sessions.tracked[0].metadata_offset == -1


def test_the_same_incarnation_amends() -> None:
    """Epoch and flags stay, directories are replaced, in the code no partition is touched."""
    request = ask(1, incarnation="process-1", dirs=(directory(1, 1), directory(1, 2)), features=SUPPORTED)
    outcome = register_broker(BASE, request, FINALIZED, KAFKA)
    assert [type(record) for record in outcome.records] == [RegisterBrokerRecord]
    known = play(BASE, outcome).registration(1)
    assert (known.epoch, known.fenced, known.dirs) == (101, False, (directory(1, 1), directory(1, 2)))


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


def restarted(rules, previous: int | None, **features) -> Controller:
    """Broker 0 restarts before it was fenced, after its session ended; it led a partition and was in an ELR."""
    controller = with_topic(cluster(4, **features), "foo", (0, 1, 2), (1, 0, 2), min_insync_replicas="3")
    if features.get("elr_enabled"):
        controller = changed(controller, "foo", 1, isr=(1,), elr=(0,))
    controller = evolve(controller, soft=controller.soft.after(20000))
    request = ask(previous_epoch=previous)
    return play(controller, register_broker(controller, request, RegistrationContext(), rules))


@pytest.mark.parametrize("previous", [None, 100])
def test_every_restart_counts_as_unclean(previous: int | None) -> None:
    """In the code a restart leaves ISRs and ELRs whatever the broker says of its stop."""
    after = restarted(KAFKA, previous, elr_enabled=True)
    assert lists(partition(after)) == ([1, 2], [], 1)
    assert lists(partition(after, "foo", 1)) == ([1], [], 1)


def test_mended_a_clean_restart_stays_eligible() -> None:
    """Mended, a clean stop leaves the ISR but not the ELR; an unclean one leaves both."""
    clean = restarted(FIXED, 100, elr_enabled=True)
    assert lists(partition(clean)) == ([1, 2], [0], 1)
    assert lists(partition(clean, "foo", 1)) == ([1], [0], 1)
    assert lists(partition(restarted(FIXED, 99, elr_enabled=True), "foo", 1)) == ([1], [], 1)


def test_a_restart_below_elr_versions_stays_leader() -> None:
    """Without ELR the code leaves a fenced new incarnation in ISR and leadership; mended, it leaves them."""
    kept = restarted(KAFKA, None, elr_supported=False)
    assert lists(partition(kept)) == ([0, 1, 2], [], 0)
    assert kept.registration(0).fenced
    assert lists(partition(restarted(FIXED, None, elr_supported=False))) == ([1, 2], [], 1)


def test_controllers_register_where_that_exists() -> None:
    """Older metadata versions refuse controllers."""
    record = RegisterControllerRecord(3000)
    assert play(BASE, register_controller(BASE, record)).controllers == {3000: record}
    with pytest.raises(RequestError, match="UNSUPPORTED_VERSION"):
        register_controller(cluster(1, controller_registration=False), record)


def test_a_controller_is_unregistered_once() -> None:
    """The record takes the registration of one controller away; of one that is not registered it cannot be replayed."""
    both = replay_all(BASE, (RegisterControllerRecord(3000), RegisterControllerRecord(3001)), KAFKA)
    left = replay_record(both, UnregisterControllerRecord(3000), KAFKA)
    assert left.controllers == {3001: RegisterControllerRecord(3001)}
    assert left.image.next_offset == both.image.next_offset + 1
    with pytest.raises(ReplayError, match="there is no controller 3000"):
        replay_record(left, UnregisterControllerRecord(3000), KAFKA)


@pytest.mark.parametrize("request_", [beat(9), evolve(beat(0), broker_epoch=99)])
def test_heartbeats_of_strangers(request_) -> None:
    """A heartbeat must come from a registered broker with its epoch, in time or late."""
    for event in (heartbeat, expired_heartbeat):
        with pytest.raises(RequestError, match="STALE_BROKER_EPOCH"):
            event(BASE, request_, KAFKA)


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


def test_unfencing_writes_the_registration_first_and_elects() -> None:
    """A caught-up broker is unfenced, and leaderless partitions that it can lead get it."""
    alone = with_topic(cluster(4), "foo", (0,))
    fenced = play(alone, expire_session(alone, 0, KAFKA))
    assert lists(partition(fenced)) == ([0], [], -1)
    behind = heartbeat(fenced, beat(0, offset=-1), KAFKA)
    assert (behind.records, behind.response) == ((), HeartbeatReply(False, True, False, False))
    outcome = heartbeat(fenced, beat(0), KAFKA)
    assert [type(r) for r in outcome.records] == [BrokerRegistrationChangeRecord, PartitionChangeRecord]
    assert lists(partition(play(fenced, outcome))) == ([0], [], 0)


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


def test_a_controlled_shutdown_to_its_end() -> None:
    """A leader moves away, waits until the others have seen it, and may then go."""
    first = heartbeat(BASE, beat(0, shutdown=True), KAFKA)
    assert first.response == HeartbeatReply(True, False, True, False)
    assert isinstance(first.records[0], BrokerRegistrationChangeRecord)
    after = play(BASE, first)
    end = after.image.next_offset - 1
    assert after.soft.sessions.shutdown_offset(0) == end
    assert lists(partition(after)) == ([1, 2], [], 1)
    waiting = play(after, heartbeat(after, beat(0, shutdown=True), KAFKA))
    assert waiting.soft.sessions.shutdown_offset(0) == end
    assert waiting.registration(0).in_controlled_shutdown
    for broker in (1, 2, 3):
        waiting = play(waiting, heartbeat(waiting, beat(broker, offset=end), KAFKA))
    last = heartbeat(waiting, beat(0, shutdown=True), KAFKA)
    assert last.response == HeartbeatReply(True, True, False, True)
    assert play(waiting, last).registration(0).fenced


def test_a_failover_forgets_controlled_shutdowns() -> None:
    """A new controller takes a leaving broker for unfenced until its next heartbeat."""
    leaving = play(BASE, heartbeat(BASE, beat(0, shutdown=True), KAFKA))
    after = taken_over(evolve(leaving, soft=leaving.soft.after(70)), KAFKA.controller)
    assert after.soft.sessions.shutdown_offset(0) is None
    assert {session.last_contact for session in after.soft.sessions.tracked.values()} == {70}
    assert after.registration(0).in_controlled_shutdown


def test_the_session_check_fences_one_broker_at_a_time() -> None:
    """Only the longest silent broker is fenced, and only once its session has ended."""
    assert fence_stale_broker(BASE, KAFKA).records == ()
    late = evolve(BASE, soft=BASE.soft.after(9001))
    after = play(late, fence_stale_broker(late, KAFKA))
    assert [b for b, known in after.image.registrations.items() if known.fenced] == [0]
    with pytest.raises(Resignation):
        expire_session(BASE, 77, KAFKA)


@pytest.mark.parametrize(("rules", "elr"), [(KAFKA, [0, 1]), (FIXED, [1])])
def test_unregistering_a_broker(rules, elr: list[int]) -> None:
    """A removed broker leaves ISRs and leadership; in the code it enters the ELR, mended it does not."""
    controller = with_topic(cluster(3, elr_enabled=True), "foo", (0, 1, 2), min_insync_replicas="3")
    controller = changed(controller, isr=(0, 2), elr=(1,))
    after = play(controller, unregister(controller, 0, rules))
    assert lists(partition(after)) == ([2], elr, 2)
    assert after.registration(0) is None
    assert 0 not in after.soft.sessions.tracked
    with pytest.raises(RequestError, match="BROKER_ID_NOT_REGISTERED"):
        unregister(after, 0, rules)


def test_an_unclean_stop_is_known_with_elr_only() -> None:
    """The broker leaves ISRs and ELRs and stays as fenced as it was; without ELR nothing happens."""
    controller = with_topic(cluster(3, elr_enabled=True), "foo", (0, 1, 2), min_insync_replicas="3")
    controller = changed(controller, isr=(0, 2), elr=(1,))
    for broker, expected in ((1, ([0, 2], [], 0)), (0, ([2], [1], 2))):
        after = play(controller, unclean_shutdown(controller, broker, KAFKA))
        assert lists(partition(after)) == expected
        assert not after.registration(broker).fenced
    old = with_topic(cluster(3, elr_supported=False), "foo", (0, 1, 2))
    assert unclean_shutdown(old, 0, KAFKA).records == ()


def test_failed_directories_count_once() -> None:
    """Only directories still registered count; the last one to fail stays registered, as in the code."""
    two = cluster(2)
    both = evolve(two.image.registrations[0], dirs=(directory(0), directory(0, 1)))
    two = evolve(two, image=evolve(two.image, registrations={**two.image.registrations, 0: both}))
    two = changed(with_topic(two, "foo", (0, 1)), directories=(directory(0), directory(1)))
    outcome = directories_offline(two, 0, 100, (directory(0), directory(1)), KAFKA)
    after = play(two, outcome)
    assert lists(partition(after)) == ([1], [], 1)
    assert after.registration(0).dirs == (directory(0, 1),)
    assert directories_offline(after, 0, 100, (directory(0),), KAFKA).records == ()
    last = play(after, directories_offline(after, 0, 100, (directory(0, 1),), KAFKA))
    assert last.registration(0).dirs == (directory(0, 1),)
    with pytest.raises(RequestError, match="STALE_BROKER_EPOCH"):
        directories_offline(two, 0, 99, (), KAFKA)


def test_a_deleted_partition_without_isr_haunts_its_directories() -> None:
    """In the code the failure of such a directory makes the controller resign; mended, it is like any other."""
    controller = changed(with_topic(cluster(2, elr_enabled=True), "foo", (0, 1)), isr=(), leader=-1)
    gone = play(controller, delete_topics(controller, (controller.topic_id("foo"),)))
    with pytest.raises(Resignation):
        directories_offline(gone, 0, 100, (directory(0),), KAFKA)
    assert len(directories_offline(gone, 0, 100, (directory(0),), FIXED).records) == 1
    whole = with_topic(cluster(2), "foo", (0, 1))
    clean = play(whole, delete_topics(whole, (whole.topic_id("foo"),)))
    assert len(directories_offline(clean, 0, 100, (directory(0),), KAFKA).records) == 1


def test_heartbeats_report_directories_where_they_exist() -> None:
    """A heartbeat's failed directories are ignored by metadata versions without directories."""
    request = beat(0, failed=(directory(0),))
    assert len(heartbeat(BASE, request, KAFKA).records) == 3
    old = with_topic(cluster(3, directories=False), "foo", (0, 1))
    assert heartbeat(old, request, KAFKA).records == ()


def test_two_passes_of_a_heartbeat() -> None:
    """Unfenced with its directory gone, a broker is seated there by the code and left alone when mended."""
    controller = with_topic(cluster(2), "foo", (0,))
    controller = play(controller, expire_session(controller, 0, KAFKA))
    both = evolve(controller.registration(0), dirs=(directory(0), directory(0, 1)))
    controller = evolve(controller, image=evolve(controller.image, registrations={0: both}))
    request = beat(0, failed=(directory(0),))
    seated = play(controller, heartbeat(controller, request, KAFKA))
    assert lists(partition(seated)) == ([0], [], 0)
    left = play(controller, heartbeat(controller, request, FIXED))
    assert lists(partition(left)) == ([0], [], -1)
    assert directory(0) not in left.registration(0).dirs


def test_sessions_follow_the_log() -> None:
    """Every registration record counts as contact, and an unregistered broker is forgotten."""
    later = evolve(BASE, soft=BASE.soft.after(5))
    after = play(later, expire_session(later, 2, KAFKA))
    assert after.soft.sessions.tracked[2].last_contact == 5
    assert isinstance(after.soft.sessions, Sessions)
    assert 2 not in after.soft.sessions.live
