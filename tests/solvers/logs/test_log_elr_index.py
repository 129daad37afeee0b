"""Logs in which the index of ELR members shows: each controller may have its own, and the memo leaves them alone."""

from collections.abc import Callable, Sequence
from random import Random

import pytest
from attrs import evolve

from kraftcheck.model.controller.alter_configs import alter_config
from kraftcheck.model.controller.brokers import (
    RegistrationContext,
    RegistrationRequest,
    fenced,
    register_broker,
    unfenced,
    unregister,
)
from kraftcheck.model.controller.elections import PREFERRED, elect_leaders
from kraftcheck.model.controller.errors import RequestError, Resignation
from kraftcheck.model.controller.partitions import UNCHECKED, AlterPartitionRequest, Proposal, alter_partition
from kraftcheck.model.controller.state import MIN_ISR, TOPIC, ClearElrRecord, ConfigRecord, Controller, LogRecord
from kraftcheck.model.controller.topics import delete_topics
from kraftcheck.model.records.codecs import encode
from kraftcheck.model.records.records import Feature, PartitionChangeRecord, Record, ids
from kraftcheck.model.records.replay import ElrIndex
from kraftcheck.model.rules.ruleset import parse
from kraftcheck.solvers.logs.explain.explain import Explanation, explain
from kraftcheck.solvers.logs.explain.state import Batch, LogEntry, State
from kraftcheck.solvers.logs.memo.ledger import MemoisedBatch, compact
from kraftcheck.solvers.logs.memo.replay import MemoisedReplay
from tests.model.controller.controllers import changed, cluster, configured, directory, with_topic
from tests.solvers.logs.test_log_quick_cases import batch

RULES = parse("kafka-4.1.2")
LEVELS = {"metadata.version": 27, "eligible.leader.replicas.version": 1}


def twice_indexed() -> Controller:
    """Broker 1 is in the ELR for the second time, and so twice in the index."""
    controller = with_topic(cluster(3, elr_enabled=True, clear_elr=True), "foo", (0, 1), min_insync_replicas="2")
    controller = changed(controller, isr=(0,), elr=(1,))
    state = State(controller, LEVELS).after(ClearElrRecord("foo"), RULES)
    return changed(state.controller, isr=(0,), elr=(1,))


def registration(controller: Controller) -> list[Record]:
    """What a controller writes as broker 1 registers after an unclean stop."""
    expired = evolve(controller, soft=evolve(controller.soft, now=10**6))
    features = tuple(Feature(name, 0, level) for name, level in LEVELS.items())
    request = RegistrationRequest("cluster", 1, "another", features=features, dirs=(directory(1),))
    return list(register_broker(expired, request, RegistrationContext({}), RULES).records)  # type: ignore[arg-type]


def explanation(controller: Controller, records: Sequence[Record]) -> Explanation:
    """The explanation of a batch, which a replay with a memo gives too, unless it looks the batch up."""
    state, log_batch = State(controller, LEVELS), batch(controller, records)
    replay = MemoisedReplay(lambda level: RULES)
    replay.restart_at(state)
    (replayed,) = replay.replay([compact(log_batch)])
    plain = explain(state, log_batch, RULES)
    if isinstance(replayed, MemoisedBatch):
        assert (plain.count, names(plain)) == (replayed.count, replayed.names())
    else:
        assert replayed.explanation is not None
        assert (plain.count, names(plain)) == (replayed.explanation.count, names(replayed.explanation))
    assert replay.state.controller.elr_index == plain.after.controller.elr_index
    return plain


def names(found: Explanation) -> list[str]:
    """The events of an explanation."""
    return [step.name for step in found.steps]


def test_a_broker_that_is_listed_twice_leaves_twice() -> None:
    """The two equal changes of a partition whose ELR member is listed twice are one event."""
    before = twice_indexed()
    records = registration(before)
    assert sum(isinstance(record, PartitionChangeRecord) for record in records) == 2
    found = explanation(before, records)
    assert (found.count, names(found)) == (1, ["broker 1 registers after an unclean stop"])


def test_a_controller_with_a_snapshot_has_no_leftovers() -> None:
    """What a controller without leftovers in its index writes is explained, and says which controller that was."""
    before = twice_indexed()
    records = registration(evolve(before, elr_index=ElrIndex()))
    assert sum(isinstance(record, PartitionChangeRecord) for record in records) == 1
    found = explanation(before, records)
    assert found.count == 1
    assert names(found) == ["broker 1 registers after an unclean stop, by a controller that has loaded a snapshot"]


def test_a_broker_of_a_deleted_topic_returns_under_another_controller() -> None:
    """A broker that is listed for a deleted topic registers only at a controller that has loaded a snapshot."""
    before = twice_indexed()
    before = evolve(before, image=evolve(before.image, topics={}))
    found = explanation(before, registration(evolve(before, elr_index=ElrIndex())))
    assert names(found) == ["broker 1 registers after an unclean stop, by a controller that has loaded a snapshot"]


@pytest.mark.parametrize("partitions", [1, 2])
def test_an_unregistered_broker_is_taken_out_of_what_it_left(partitions: int) -> None:
    """An unregistration that elects in a partition without the broker is explained by the index, not by the ELR."""
    lists = [(0, 1)] * partitions
    controller = with_topic(cluster(3, elr_enabled=True, clear_elr=True), "foo", *lists, min_insync_replicas="2")
    for index in range(partitions):
        controller = changed(controller, index=index, isr=(), elr=(1,), leader=-1)
    state = State(configured(controller, "foo", "unclean.leader.election.enable", "true"), LEVELS)
    before = state.after(ClearElrRecord("foo"), RULES).controller
    records = list(unregister(before, 1, RULES).records)
    assert len(records) == partitions + 1
    found = explanation(before, records)  # type: ignore[arg-type]
    assert names(found) == ["unregister broker 1"]


def test_a_partition_of_another_topic_is_looked_up() -> None:
    """Leftovers of one topic leave changes of other topics to the memo."""
    before = with_topic(twice_indexed(), "bar", (0, 2), min_insync_replicas="1")
    before = changed(before, "bar", leader=2)
    replay = MemoisedReplay(lambda level: RULES)
    replay.restart_at(State(before, LEVELS))
    elected = elect_leaders(before, PREFERRED, (("bar", 0),), RULES).records
    change: list[Record] = list(elected)  # type: ignore[arg-type]
    (replayed,) = replay.replay([compact(batch(before, change))])
    assert isinstance(replayed, MemoisedBatch)
    assert replay.state.controller.elr_index == before.elr_index != ElrIndex()


def entry(offset: int, record: LogRecord) -> LogEntry:
    """A record as a log holds it."""
    if isinstance(record, ClearElrRecord):
        return LogEntry(offset, "CLEAR_ELR_RECORD", 0, {"topicName": record.topic})
    if isinstance(record, ConfigRecord):
        data = {"resourceType": 2, "resourceName": record.name, "name": record.key, "value": record.value}
        return LogEntry(offset, "CONFIG_RECORD", 0, data)
    form = encode(record)  # type: ignore[arg-type]
    return LogEntry(offset, form["type"], form["version"], form["data"])


WEIGHTS = (20, 40, 6, 1, 12, 40, 1)
"""How often each kind of event is drawn: most bring brokers back, so that ELRs fill and empty again."""


def event(controller: Controller, random: Random) -> tuple[LogRecord, ...]:
    """The records of a drawn event; none where the controller refuses it or resigns."""
    broker, topic = random.randrange(4), random.choice(["foo", "bar"])
    registration, topic_id = controller.registration(broker), controller.topic_id(topic)
    features = tuple(Feature(name, 0, level) for name, level in LEVELS.items())
    expired = evolve(controller, soft=evolve(controller.soft, now=10**9))
    request = RegistrationRequest("cluster", broker, f"{random.random()}", features=features, dirs=(directory(broker),))
    value = str(random.randrange(1, 4))
    draws: list[Callable[[], Sequence[LogRecord]]] = [
        lambda: fenced(controller, broker, RULES) if registration and not registration.fenced else (),
        lambda: unfenced(controller, broker, RULES) if registration and registration.fenced else (),
        lambda: register_broker(expired, request, RegistrationContext({}), RULES).records,
        lambda: unregister(controller, broker, RULES).records,
        lambda: alter_config(controller, ConfigRecord(TOPIC, topic, MIN_ISR, value), RULES).records,
        lambda: grown(controller, random),
        lambda: delete_topics(controller, (topic_id,)).records if topic_id else (),
    ]
    try:
        return tuple(random.choices(draws, WEIGHTS)[0]())
    except (RequestError, Resignation):
        return ()


def grown(controller: Controller, random: Random) -> Sequence[LogRecord]:
    """What a leader's proposal writes that takes another live replica into the ISR, where there is one."""
    found = [
        (place, broker)
        for place in controller.places()
        for broker in ids(place.partition.replicas)
        if place.partition.leader >= 0 and not place.partition.isr.has(broker) and controller.is_active(broker)
    ]
    if not found:
        return ()
    place, broker = random.choice(found)
    p, leader = place.partition, int(place.partition.leader)
    members = tuple((member, UNCHECKED) for member in (*ids(p.isr), broker))
    proposal = Proposal(place.topic_id, place.index, int(p.leader_epoch), int(p.partition_epoch), members)
    request = AlterPartitionRequest(leader, controller.image.registrations[leader].epoch, (proposal,))
    return alter_partition(controller, request, RULES).records


@pytest.mark.parametrize("seed", [0, 5])
def test_a_log_with_leftovers_is_replayed_alike(seed: int) -> None:
    """Over drawn events, a replay with a memo has the explanations, the state and the index of one without."""
    random = Random(seed)
    controller = with_topic(cluster(4, elr_enabled=True, clear_elr=True), "foo", (0, 1, 2), (1, 2, 3), (2, 0, 1))
    state = State(with_topic(controller, "bar", (3, 1), (0, 3)), LEVELS)
    replay = MemoisedReplay(lambda level: RULES)
    replay.restart_at(state)
    differing = written = 0
    while written < 80:
        records = event(state.controller, random)
        if not records:
            continue
        first = state.controller.image.next_offset
        entries = tuple(entry(first + number, record) for number, record in enumerate(records))
        log_batch = Batch(first, first + len(entries) - 1, 1, entries, "here")
        (replayed,) = replay.replay([compact(log_batch)])
        plain = explain(state, log_batch, RULES)
        assert plain.explained
        if isinstance(replayed, MemoisedBatch):
            assert (plain.count, names(plain)) == (replayed.count, replayed.names())
        else:
            assert replayed.explanation is not None
            assert (plain.count, names(plain)) == (replayed.explanation.count, names(replayed.explanation))
        state = plain.after
        assert replay.state.controller.elr_index == state.controller.elr_index
        assert replay.state.controller.image.topics == state.controller.image.topics
        differing, written = differing + bool(state.controller.elr_index.differing), written + 1
    assert differing > 10
    assert replay.memo_hits > 5
