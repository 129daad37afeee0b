"""Brokers: registration, heartbeats, sessions, fencing, leaving, stopping, failing and cordoned directories."""

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from kraftcheck.model.controller.brokers import (
    HeartbeatReply,
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
from kraftcheck.model.controller.commits import replay_all, replay_record
from kraftcheck.model.controller.errors import CODES, NotTracked, RequestError, Resignation
from kraftcheck.model.controller.heartbeat import BrokerState, Contacts, Sessions, Wish, contact
from kraftcheck.model.controller.state import (
    SESSION_TIMEOUT,
    Controller,
    Outcome,
    RegisterControllerRecord,
    Soft,
    UnregisterControllerRecord,
)
from kraftcheck.model.records.records import (
    BrokerRegistrationChangeRecord,
    Feature,
    FenceBrokerRecord,
    Ids,
    PartitionChangeRecord,
    RegisterBrokerRecord,
    UnfenceBrokerRecord,
)
from kraftcheck.model.records.replay import ReplayError
from kraftcheck.model.rules.ruleset import parse
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


FENCED, UNFENCED = BrokerState.FENCED, BrokerState.UNFENCED
LEAVING, GONE = BrokerState.CONTROLLED_SHUTDOWN, BrokerState.SHUTDOWN_NOW
REGISTERED = 50


def sessions(state: BrokerState, others: int = 100) -> Sessions:
    """Broker 0 in this state, broker 1 live at an offset."""
    known = Sessions(10).register(0, True, 0).register(1, True, 0).touch(1, False, others, 0)
    if state is not FENCED:
        known = known.touch(0, False, 90, 0)
    return known.begin_shutdown(0, 95) if state is LEAVING else known


@pytest.mark.parametrize(
    ("current", "fence", "shutdown", "offset", "leads", "after"),
    [
        (FENCED, False, True, 0, False, GONE),
        (FENCED, True, True, 99, True, GONE),
        (FENCED, False, False, REGISTERED, False, UNFENCED),
        (FENCED, False, False, REGISTERED - 1, False, FENCED),
        (FENCED, True, False, 99, False, FENCED),
        (UNFENCED, True, True, 0, True, GONE),
        (UNFENCED, True, False, 99, True, FENCED),
        (UNFENCED, False, True, 99, True, LEAVING),
        (UNFENCED, False, True, 99, False, GONE),
        (UNFENCED, False, False, 0, True, UNFENCED),
        (LEAVING, False, True, 99, True, LEAVING),
        (LEAVING, True, False, 99, False, GONE),
        (LEAVING, False, False, 0, False, GONE),
    ],
)
def test_each_row_of_the_table(
    current: BrokerState, fence: bool, shutdown: bool, offset: int, leads: bool, after: BrokerState
) -> None:
    """The state after a heartbeat is the one that the table names, first condition first."""
    known = sessions(current)
    assert known.state(0) is current
    assert known.next_state(0, Wish(fence, shutdown, offset), REGISTERED, leads) is after


@pytest.mark.parametrize(("others", "after"), [(94, LEAVING), (95, GONE), (96, GONE)])
def test_shutdown_waits_for_the_others(others: int, after: BrokerState) -> None:
    """A broker may go once every active broker has applied the end of its shutdown event."""
    assert sessions(LEAVING, others).next_state(0, Wish(False, True, 0), REGISTERED, False) is after


def test_shutdown_without_others_is_immediate() -> None:
    """With no active broker left there is nobody to wait for."""
    known = sessions(LEAVING, 0).fence(1)
    assert known.lowest_active_offset() is None
    assert known.next_state(0, Wish(False, True, 0), REGISTERED, False) is GONE


def test_only_the_first_shutdown_offset_counts() -> None:
    """A second end of shutdown is ignored; being fenced forgets the first."""
    known = sessions(LEAVING).begin_shutdown(0, 120)
    assert known.shutdown_offset(0) == 95
    assert known.touch(0, True, 90, 1).shutdown_offset(0) is None
    assert known.touch(0, False, 90, 1).shutdown_offset(0) == 95


def test_unknown_and_fenced_brokers_are_refused() -> None:
    """The soft state knows nothing of brokers that are not tracked; a fenced one cannot begin to leave."""
    for ask in (
        lambda: Sessions(10).touch(0, False, 0, 0),
        lambda: Sessions(10).begin_shutdown(0, 0),
        lambda: Sessions(10).next_state(0, Wish(False, False, 0), 0, False),
    ):
        with pytest.raises(NotTracked):
            ask()
    with pytest.raises(Resignation):
        sessions(FENCED).begin_shutdown(0, 95)


def test_a_registration_change_forgets_the_offset() -> None:
    """Replaying a registration keeps the reported offset only where the fencing state changes."""
    live = sessions(UNFENCED)
    assert live.register(0, False, 5).tracked[0].metadata_offset == -1
    assert live.register(0, True, 5).tracked[0].metadata_offset == 90
    assert live.register(0, True, 5).tracked[0].last_contact == 5


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["register", "touch", "fence", "remove", "shutdown"]),
        st.integers(0, 3),
        st.booleans(),
        st.integers(0, 9),
    ),
    max_size=25,
)


@given(STEPS)
def test_live_brokers_are_tracked_and_in_order(steps: list[tuple[str, int, bool, int]]) -> None:
    """Whatever happens, the live list holds tracked brokers once each, longest silent first."""
    known, now = Sessions(10), 0
    for op, broker, fenced, number in steps:
        now += number % 3
        try:
            if op == "register":
                known = known.register(broker, fenced, now)
            elif op == "touch":
                known = known.touch(broker, fenced, number, now)
            elif op == "shutdown":
                known = known.begin_shutdown(broker, number)
            else:
                known = known.fence(broker) if op == "fence" else known.remove(broker)
        except Resignation:
            assert broker not in known.live
        assert set(known.live) <= set(known.tracked)
        assert len(set(known.live)) == len(known.live)
        contacts = [known.tracked[b].last_contact for b in known.live]
        assert contacts == sorted(contacts)
        assert known == evolve(known)
        stale = known.stale(now)
        assert stale is None or stale == known.live[0]


SNAPSHOT, FIRST, NEW = parse("kafka-3.9.2"), parse("kafka-4.0.2"), parse("kafka-4.4.0")
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
    assert isinstance(register(waiting(SNAPSHOT), 0, SNAPSHOT).records[-1], RegisterBrokerRecord)
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
        register(base, 1, SNAPSHOT)


def test_a_session_is_of_one_epoch() -> None:
    """Contact in another epoch keeps no session alive, although the heartbeat is heard of before it is refused."""
    base = cluster(3)
    soft = heard(base.soft, 0, 7, NEW.controller)
    assert not in_session(soft, base.registration(0), NEW.controller)
    assert in_session(heard(soft, 0, 100, NEW.controller), base.registration(0), NEW.controller)
    assert heard(base.soft, 0, 7, SNAPSHOT.controller) == base.soft


def test_a_silent_fenced_broker_is_fenced_again() -> None:
    """Its session ends like any other, and the registration change is written once more."""
    outcome = fence_stale_broker(after(waiting(), LATE), NEW)
    assert outcome.records == (BrokerRegistrationChangeRecord(0, 100, fenced=1),)
    assert outcome.response is True
    assert fence_stale_broker(play(after(waiting(), LATE), outcome, NEW), NEW).response is False
    assert fence_stale_broker(after(waiting(SNAPSHOT), LATE), SNAPSHOT).records[0].broker_id == 1


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


@pytest.mark.parametrize(("rules", "in_time"), [(FIRST, {0, 1}), (NEW, {1}), (SNAPSHOT, set())])
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
    assert register(small, 0, SNAPSHOT).atomic
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


ONE, OTHER = directory(0), directory(1)


@pytest.mark.parametrize(
    ("on_file", "named", "written"),
    [
        (None, None, None),
        (None, (), ()),
        (None, (ONE,), (ONE,)),
        ((), (), None),
        ((ONE, OTHER), (OTHER, ONE), None),
        ((ONE,), None, None),
        ((ONE,), (), ()),
        ((ONE,), (OTHER,), (OTHER,)),
    ],
)
def test_the_registration_changes_when_others_are_named(
    on_file: Ids | None, named: Ids | None, written: Ids | None
) -> None:
    """Another set than is on file is written as it was named; the same set, or none named, writes nothing."""
    controller = cluster(2)
    if on_file is not None:
        controller = play(controller, heartbeat(controller, evolve(beat(0), cordoned_dirs=on_file), KAFKA))
    assert registered(controller) == on_file
    outcome = heartbeat(controller, evolve(beat(0), cordoned_dirs=named), KAFKA)
    expected = () if written is None else (BrokerRegistrationChangeRecord(0, 100, cordoned=written),)
    assert outcome.records == expected
    assert registered(play(controller, outcome)) == (on_file if written is None else written)


def registered(controller: Controller) -> Ids | None:
    """The cordoned directories on file of broker 0."""
    registration = controller.registration(0)
    assert registration is not None
    return registration.cordoned


def test_what_is_cordoned_comes_last() -> None:
    """A heartbeat that unfences its broker and names cordoned directories writes the unfencing first."""
    controller = cluster(2, fenced=(0,))
    records = heartbeat(controller, evolve(beat(0), cordoned_dirs=()), KAFKA).records
    assert [r for r in records if isinstance(r, BrokerRegistrationChangeRecord)] == [
        BrokerRegistrationChangeRecord(0, 100, fenced=-1), BrokerRegistrationChangeRecord(0, 100, cordoned=())
    ]  # fmt: skip
    assert records[-1] == BrokerRegistrationChangeRecord(0, 100, cordoned=())


def test_older_metadata_has_no_cordoned_directories() -> None:
    """Below the metadata version that has them, a heartbeat that names some changes nothing."""
    controller = cluster(2, cordoning=False)
    assert heartbeat(controller, evolve(beat(0), cordoned_dirs=(ONE,)), KAFKA).records == ()
