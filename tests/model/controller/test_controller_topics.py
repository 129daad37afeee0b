"""Topics: names, creation, growth and deletion, each error where it belongs."""

from __future__ import annotations

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from kraftcheck.model.controller.alter_configs import alter_config
from kraftcheck.model.controller.brokers import expire_session
from kraftcheck.model.controller.errors import CODES, Resignation
from kraftcheck.model.controller.placement import RandomStream
from kraftcheck.model.controller.state import (
    CLUSTER,
    MIN_ISR,
    NODE,
    TOPIC,
    UNCLEAN_ELECTION,
    ConfigRecord,
    Configs,
    Controller,
    Settings,
)
from kraftcheck.model.controller.topics import (
    CreateTopicsRequest,
    Growth,
    NewTopic,
    create_partitions,
    create_topics,
    delete_topics,
    name_fault,
)
from kraftcheck.model.records.records import PartitionChangeRecord, TopicRecord
from kraftcheck.model.rules.ruleset import preset
from tests.model.controller.controllers import (
    FIXED,
    KAFKA,
    changed,
    cluster,
    configured,
    created,
    lists,
    partition,
    play,
    with_topic,
)

LIVE = cluster(4, fenced=(3,))


def create(topic: NewTopic, controller: Controller = LIVE, **request):
    """The outcome of creating one topic, and its error."""
    outcome = create_topics(controller, CreateTopicsRequest((topic,), **request), KAFKA)
    return outcome, outcome.response[0].error


@pytest.mark.parametrize(
    ("name", "existing", "reason"),
    [
        ("", {}, "empty"),
        (".", {}, "dots"),
        ("..", {}, "dots"),
        ("a" * 250, {}, "too_long"),
        ("a b", {}, "illegal_character"),
        ("é", {}, "illegal_character"),
        ("a\n", {}, "illegal_character"),
        ("a.b", {"a_b": ["a_b"]}, "collision"),
        ("a" * 249, {}, None),
        ("a.b_c-9Z", {}, None),
        ("ab", {"ab": ["never asked"]}, None),
    ],
)
def test_names(name: str, existing: dict, reason: str | None) -> None:
    """A name is refused when empty, dots, long, outside the letters, or like an existing one in metrics."""
    fault = name_fault(name, existing)
    assert (None if fault is None else fault.reason) == reason


@pytest.mark.parametrize(
    ("topic", "error"),
    [
        (NewTopic("a b", config={"k": None}), "INVALID_TOPIC_EXCEPTION"),
        (NewTopic("t", replication_factor=0, config={"k": None}), "INVALID_CONFIG"),
        (NewTopic("t", replication_factor=1, assignments=((0, (9,)),)), "INVALID_REQUEST"),
        (NewTopic("t", partitions=1, assignments=((0, (9,)),)), "INVALID_REQUEST"),
        (NewTopic("t", assignments=((0, (0,)), (0, (9,)))), "INVALID_REPLICA_ASSIGNMENT"),
        (NewTopic("t", assignments=((0, ()),)), "INVALID_REPLICA_ASSIGNMENT"),
        (NewTopic("t", assignments=((0, (0, 9)),)), "INVALID_REPLICA_ASSIGNMENT"),
        (NewTopic("t", assignments=((0, (0, 0)),)), "INVALID_REPLICA_ASSIGNMENT"),
        (NewTopic("t", assignments=((0, (0,)), (1, (0, 1)))), "INVALID_REPLICA_ASSIGNMENT"),
        (NewTopic("t", assignments=((0, (3,)),)), "INVALID_REPLICA_ASSIGNMENT"),
        (NewTopic("t", assignments=((1, (0,)),)), "INVALID_REPLICA_ASSIGNMENT"),
        (NewTopic("t", replication_factor=0, partitions=0), "INVALID_REPLICATION_FACTOR"),
        (NewTopic("t", replication_factor=-2), "INVALID_REPLICATION_FACTOR"),
        (NewTopic("t", partitions=0), "INVALID_PARTITIONS"),
        (NewTopic("t", partitions=-2), "INVALID_PARTITIONS"),
        (NewTopic("t", replication_factor=5), "INVALID_REPLICATION_FACTOR"),
    ],
)
def test_creation_errors(topic: NewTopic, error: str) -> None:
    """A topic that cannot be gets its error, writes nothing and leaves no trace but random draws."""
    outcome, found = create(topic)
    assert found == error
    assert error in CODES
    assert outcome.records == ()
    assert evolve(outcome.soft, random=LIVE.soft.random) == LIVE.soft


def test_policy_and_quota_come_last() -> None:
    """A topic that could be is refused by the policy first, then by the quota."""
    refuse = {"policy": lambda topic: "NONE" if topic.partitions != 2 else "POLICY_VIOLATION", "quota_exceeded": True}
    assert create(NewTopic("t", partitions=2), **refuse)[1] == "POLICY_VIOLATION"
    assert create(NewTopic("t", partitions=1), **refuse)[1] == "THROTTLING_QUOTA_EXCEEDED"
    assert create(NewTopic("t", partitions=0), **refuse)[1] == "INVALID_PARTITIONS"


def test_rows_fail_for_themselves() -> None:
    """In one request good topics are written, bad ones are not."""
    topics = (NewTopic("a"), NewTopic("b", partitions=0), NewTopic("c", partitions=2, replication_factor=1))
    outcome = create_topics(LIVE, CreateTopicsRequest(topics), KAFKA)
    assert [row.error for row in outcome.response] == ["NONE", "INVALID_PARTITIONS", "NONE"]
    assert [row.partitions for row in outcome.response] == [1, None, 2]
    assert [r.name for r in outcome.records if isinstance(r, TopicRecord)] == ["a", "c"]
    after = play(LIVE, outcome)
    assert after.topic_id("a") != after.topic_id("c")
    assert partition(after, "c", 1).replicas.size() == 1


def test_nothing_is_named_twice() -> None:
    """Topics named twice in one request are refused, whatever is wanted of them."""
    controller = with_topic(LIVE, "t", (0, 1))
    twice = create_topics(controller, CreateTopicsRequest((NewTopic("a"), NewTopic("b"), NewTopic("a"))), KAFKA)
    assert [row.error for row in twice.response] == ["INVALID_REQUEST", "NONE", "INVALID_REQUEST"]
    grown = create_partitions(controller, (Growth("t", 2), Growth("t", 3)), KAFKA)
    assert [row.error for row in grown.response] == ["INVALID_REQUEST"] * 2
    gone = delete_topics(controller, (controller.topic_id("t"),) * 2)
    assert [error for _, error in gone.response] == ["INVALID_REQUEST"] * 2
    assert (grown.records, gone.records) == ((), ())


def test_validating_writes_nothing() -> None:
    """Only the random draws are spent."""
    outcome, error = create(NewTopic("t"), validate_only=True)
    assert (error, outcome.records) == ("NONE", ())
    assert outcome.soft.random != LIVE.soft.random


@given(st.integers(1, 4), st.integers(1, 8), st.sets(st.integers(0, 3)), st.integers(0, 2**64 - 1))
def test_new_partitions_are_led_by_the_living(factor: int, number: int, leaving: set[int], seed: int) -> None:
    """Only active replicas are in sync, the first of them leads, directories follow the replicas."""
    controller = cluster(4, fenced=(3,), leaving=leaving - {3})
    controller = evolve(controller, soft=evolve(controller.soft, random=RandomStream(seed)))
    outcome, error = create(NewTopic("t", number, factor), controller)
    if error != "NONE":
        assert error == "INVALID_REPLICATION_FACTOR"
        assert outcome.records == ()
        return
    for record in created(outcome):
        active = [b for b in record.replicas if controller.is_active(b)]
        assert (list(record.isr), record.leader) == (active, active[0])
        assert [controller.image.directory_owner(d) for d in record.directories] == list(record.replicas)


@pytest.mark.parametrize(
    ("growth", "error"),
    [
        (Growth("none", 3), "UNKNOWN_TOPIC_OR_PARTITION"),
        (Growth("t", 2), "INVALID_PARTITIONS"),
        (Growth("t", 1), "INVALID_PARTITIONS"),
        (Growth("t", 4, ((0, 1),)), "INVALID_REPLICA_ASSIGNMENT"),
        (Growth("t", 3, ((0,),)), "INVALID_REPLICA_ASSIGNMENT"),
        (Growth("t", 3, ((0, 9),)), "INVALID_REPLICA_ASSIGNMENT"),
        (Growth("t", 3, ((3, 2),)), "INVALID_REPLICA_ASSIGNMENT"),
    ],
)
def test_growth_errors(growth: Growth, error: str) -> None:
    """Growth that cannot be gets its error and writes nothing."""
    controller = with_topic(cluster(4, fenced=(3,), leaving=(2,)), "t", (0, 1), (1, 0))
    outcome = create_partitions(controller, (growth,), KAFKA)
    assert [row.error for row in outcome.response] == [error]
    assert outcome.records == ()
    assert error in CODES


def test_a_refused_growth_may_leave_partitions_behind() -> None:
    """The code writes partitions placed before one without an active replica despite the error; mended, it does not."""
    controller = with_topic(cluster(2), "t", (0,))
    leaving = cluster(2, leaving=(1,))
    controller = evolve(controller, image=evolve(controller.image, registrations=leaving.image.registrations))
    seen = set()
    for seed in range(20):
        grown = evolve(controller, soft=evolve(controller.soft, random=RandomStream(seed)))
        outcome = create_partitions(grown, (Growth("t", 3),), KAFKA)
        assert outcome.response[0].error == "INVALID_REPLICATION_FACTOR"
        seen.add(len(outcome.records))
        assert create_partitions(grown, (Growth("t", 3),), FIXED).records == ()
    assert seen == {0, 1}


def test_configurations_are_asked_in_order() -> None:
    """The topic's own value counts, then its node's, the cluster's, the static one, the default."""
    records = [
        ConfigRecord(CLUSTER, "", "k", "cluster"),
        ConfigRecord(NODE, "1", "k", "other node"),
        ConfigRecord(NODE, "0", "k", "node"),
        ConfigRecord(TOPIC, "t", "k", "topic"),
    ]
    configs, found = Configs(), []
    for record in records:
        configs = configs.replay(record)
        found.append(configs.resolve("t", "k", "0", {"k": "static"}))
    assert Configs().resolve("t", "k", "0", {"k": "static"}) == "static"
    assert found == ["cluster", "cluster", "node", "topic"]
    assert configs.replay(ConfigRecord(TOPIC, "t", "k", None)).resolve("t", "k", "0", {}) == "node"
    assert Configs().resolve("t", MIN_ISR, "0", {}) == "1"


def test_min_isr_is_capped_by_replicas() -> None:
    """The code caps the effective min ISR by the replicas that partition 0 has now, other rules by the partition's."""
    controller = with_topic(LIVE, "t", (0, 1), (0, 1), min_insync_replicas="5")
    topic = controller.topic_id("t") or ""
    assert [controller.min_isr(topic, index, KAFKA.controller) for index in (0, 1)] == [2, 2]
    controller = changed(controller, "t", 0, replicas=(0,), isr=(0,))
    assert [controller.min_isr(topic, index, KAFKA.controller) for index in (0, 1)] == [1, 1]
    for rules in (FIXED, preset("kip")):
        assert [controller.min_isr(topic, index, rules.controller) for index in (0, 1)] == [1, 2]
        with pytest.raises(Resignation):
            controller.min_isr(topic, 2, rules.controller)
    with pytest.raises(Resignation):
        configured(controller, "t", MIN_ISR, "two").min_isr(topic, 0, KAFKA.controller)


@pytest.mark.parametrize(("first", "kafka", "fixed"), [((0,), [], [1]), ((0, 1, 2), [1], [1])])
def test_partition_zero_decides_who_is_eligible(first: tuple[int, ...], kafka: list[int], fixed: list[int]) -> None:
    """X7: where partition 0 has one replica, the code makes no ELR member of who leaves an ISR of two."""
    controller = with_topic(cluster(3, elr_enabled=True), "t", (0, 1), (0, 1), min_insync_replicas="2")
    controller = changed(controller, "t", 0, replicas=first, isr=first)
    for rules, elr in ((KAFKA, kafka), (FIXED, fixed), (preset("kip"), fixed)):
        after = play(controller, expire_session(controller, 1, rules), rules)
        assert lists(partition(after, "t", 1)) == ([0], elr, 0)


def test_a_raise_counts_for_the_partitions_it_raises() -> None:
    """X7: a min ISR raised from 1 to 2 is announced to a partition of two replicas, whatever partition 0 has."""
    controller = with_topic(cluster(3, elr_enabled=True), "t", (0, 1), (0, 1), min_insync_replicas="1")
    controller = changed(controller, "t", 0, replicas=(0,), isr=(0,))
    wanted = ConfigRecord(TOPIC, "t", MIN_ISR, "2")
    as_coded = FIXED.switched(min_isr_from_first_partition=True)
    told = [alter_config(controller, wanted, rules).records for rules in (FIXED, as_coded)]
    assert [[r.partition_id for r in one if isinstance(r, PartitionChangeRecord)] for one in told] == [[1], []]


@pytest.mark.parametrize(("value", "allowed"), [("true", True), ("TRUE", True), ("yes", False), ("", False)])
def test_unclean_election_is_a_word(value: str, allowed: bool) -> None:
    """Only the word true, in any case, allows unclean elections."""
    controller = evolve(LIVE, settings=Settings(static={UNCLEAN_ELECTION: value}))
    controller = with_topic(controller, "t", (0, 1))
    assert controller.unclean_election(controller.topic_id("t"), FIXED.partition) is allowed


def test_changing_min_isr_and_the_elr() -> None:
    """The snapshot keeps an ELR formed under another min ISR, the releases drop any, mended where the ISR suffices."""
    controller = with_topic(cluster(3, elr_enabled=True), "t", (0, 1, 2), min_insync_replicas="3")
    controller = changed(controller, "t", isr=(0,), elr=(1, 2))
    wanted = ConfigRecord(TOPIC, "t", MIN_ISR, "1")
    kept = play(controller, alter_config(controller, wanted, KAFKA))
    assert lists(partition(kept, "t")) == ([0], [1, 2], 0)
    dropped = play(controller, alter_config(controller, wanted, FIXED))
    assert lists(partition(dropped, "t")) == ([0], [], 0)
    assert alter_config(kept, wanted, KAFKA).records == ()
    beyond = ConfigRecord(TOPIC, "t", MIN_ISR, "7")  # above the replicas: as effective as 3 was, and yet a change
    assert lists(partition(play(controller, alter_config(controller, beyond, FIXED)), "t")) == ([0], [1, 2], 0)
    released = alter_config(controller, beyond, preset("kafka-4.4.0"))
    assert lists(partition(play(controller, released), "t")) == ([0], [], 0)
    other = ConfigRecord(TOPIC, "t", UNCLEAN_ELECTION, "true")
    assert alter_config(controller, other, FIXED).records == (other,)
