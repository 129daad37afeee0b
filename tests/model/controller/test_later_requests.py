"""What releases after the snapshot ask of requests: replication factors, numbers of partitions, policies, names."""

from __future__ import annotations

import pytest
from attrs import evolve

from kraftcheck.model.controller.alter_configs import alter_config
from kraftcheck.model.controller.brokers import directories_offline
from kraftcheck.model.controller.commits import replay_record
from kraftcheck.model.controller.errors import RequestError, Resignation
from kraftcheck.model.controller.partitions import Reassignment, reassign
from kraftcheck.model.controller.state import NODE, TOPIC, ConfigRecord, Controller, Outcome, Settings
from kraftcheck.model.controller.topics import CreateTopicsRequest, Growth, NewTopic, create_partitions, create_topics
from kraftcheck.model.records.records import (
    BrokerRegistrationChangeRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RegisterBrokerRecord,
)
from kraftcheck.model.rules.ruleset import RuleSet, parse
from tests.model.controller.controllers import changed, cluster, directory, play, with_topic

SNAPSHOT, NEW = parse("kafka-4.0"), parse("kafka-4.4.0")
BASE = with_topic(cluster(5), "foo", (0, 1, 2))


def errors(outcome: Outcome) -> list[str]:
    """The errors of the rows of a reply."""
    return [row.error for row in outcome.response]


def moved(controller: Controller, replicas: tuple[int, ...] | None, rules: RuleSet, **fields: bool) -> list[str]:
    """The answer to a reassignment."""
    return errors(reassign(controller, (Reassignment("foo", 0, replicas),), rules, **fields))


@pytest.mark.parametrize(("replicas", "error"), [
    ((2, 3, 4), "NONE"), ((0, 1), "INVALID_REPLICATION_FACTOR"), ((0, 1, 2, 3), "INVALID_REPLICATION_FACTOR"),
    ((0, 9), "INVALID_REPLICA_ASSIGNMENT"),
])  # fmt: skip
def test_a_reassignment_may_forbid_another_factor(replicas: tuple[int, ...], error: str) -> None:
    """From 4.1.0 on, where the list is good otherwise; it is forbidden to none that does not ask."""
    assert moved(BASE, replicas, NEW, factor_may_change=False) == [error]
    if error == "INVALID_REPLICATION_FACTOR":
        assert moved(BASE, replicas, NEW) == ["NONE"]
        assert moved(BASE, replicas, parse("kafka-4.0.2"), factor_may_change=False) == ["NONE"]


def test_the_factor_of_a_running_reassignment_is_that_of_its_end() -> None:
    """Replicas that are added count, those that are removed do not; cancelling is free."""
    running = changed(BASE, replicas=(3, 4, 0, 1, 2), adding=(3, 4), removing=(0, 1, 2), isr=(0, 1, 2))
    assert moved(running, (1, 2), NEW, factor_may_change=False) == ["NONE"]
    assert moved(running, (0, 1, 2), NEW, factor_may_change=False) == ["INVALID_REPLICATION_FACTOR"]
    assert moved(running, None, NEW, factor_may_change=False) == ["NONE"]


def few(most: int) -> Controller:
    """A controller whose requests may add so many partitions."""
    return evolve(BASE, settings=Settings("cluster", partitions=2, max_partitions=most))


def test_a_creation_of_too_many_partitions_is_refused_whole() -> None:
    """From 3.9.2 on rows that would fail count too, those of the default number by it; before, only records count."""
    topics = (NewTopic("a", 3, 1), NewTopic("foo", replication_factor=1), NewTopic("b", assignments=((0, (0,)),)))
    request = CreateTopicsRequest(topics)
    assert errors(create_topics(few(6), request, NEW)) == ["NONE", "TOPIC_ALREADY_EXISTS", "NONE"]
    with pytest.raises(RequestError, match=r"POLICY_VIOLATION \(too_many_partitions"):
        create_topics(few(5), request, NEW)
    assert errors(create_topics(few(5), request, SNAPSHOT)) == ["NONE", "TOPIC_ALREADY_EXISTS", "NONE"]
    beyond = evolve(request, topics=(*topics, NewTopic("c", -9, 1), *[NewTopic("twice", 9, 1)] * 2))
    assert errors(create_topics(few(6), beyond, NEW))[3:] == ["INVALID_PARTITIONS", *["INVALID_REQUEST"] * 2]


def test_a_growth_of_too_many_partitions_is_refused_whole() -> None:
    """From 4.4.0 on; unknown topics and topics that would shrink count nothing, and partitions there are not added."""
    growths = (Growth("foo", 4), Growth("none", 99), Growth("bar", 0))
    wider = with_topic(few(3), "bar", (0,), (0,))
    assert errors(create_partitions(wider, growths, NEW)) == [
        "NONE", "UNKNOWN_TOPIC_OR_PARTITION", "INVALID_PARTITIONS",
    ]  # fmt: skip
    with pytest.raises(RequestError, match=r"POLICY_VIOLATION \(too_many_partitions"):
        create_partitions(wider, (*growths[:2], Growth("bar", 3)), NEW)
    old = create_partitions(wider, (*growths[:2], Growth("bar", 3)), parse("kafka-4.1.2"))
    assert errors(old) == ["NONE", "UNKNOWN_TOPIC_OR_PARTITION", "NONE"]


def test_an_exception_of_the_policy() -> None:
    """From 4.2.0 on it fails its own topic; before, the controller resigns. An answer is always the row's."""
    answers = {"a": "UNKNOWN_SERVER_ERROR", "b": "NONE", "c": "INVALID_REQUEST"}
    topics = tuple(NewTopic(name, 1, 1) for name in answers)
    request = CreateTopicsRequest(topics, policy=lambda topic: answers[topic.name])
    assert errors(create_topics(BASE, request, NEW)) == list(answers.values())
    with pytest.raises(Resignation):
        create_topics(BASE, request, parse("kafka-4.1.2"))
    rest = evolve(request, topics=topics[1:])
    assert errors(create_topics(BASE, rest, parse("kafka-4.1.2"))) == ["NONE", "INVALID_REQUEST"]


@pytest.mark.parametrize(("scope", "name", "key"), [
    (TOPIC, "foo", "message.format.version"), (TOPIC, "foo", "retention.ms"), (NODE, "0", "message.format.version"),
])  # fmt: skip
def test_a_name_that_is_known_no_more_is_skipped_at_replay(scope: str, name: str, key: str) -> None:
    """From 4.2.1 on, for topics: removing it writes nothing then, as it is not there; before, it is removed."""
    record = ConfigRecord(scope, name, key, "3.0")
    kept = replay_record(BASE, record, parse("kafka-4.1.2"))
    assert kept.configs.of(scope, name) == {key: "3.0"}
    after = replay_record(BASE, record, NEW)
    assert after.image.next_offset == kept.image.next_offset
    assert after.configs.of(scope, name) == ({} if scope == TOPIC and key != "retention.ms" else {key: "3.0"})
    removal = evolve(record, value=None)
    assert alter_config(kept, removal, parse("kafka-4.1.2")).records == (removal,)
    skipped = not after.configs.of(scope, name)
    assert alter_config(after, removal, NEW).records == (() if skipped else (removal,))


def cordoned(controller: Controller, broker: int, *directories: int) -> Controller:
    """The controller once a broker has said which of its directories take no new replica."""
    return replay_record(controller, BrokerRegistrationChangeRecord(broker, 100 + broker, cordoned=directories), NEW)


def test_no_replica_is_placed_on_a_cordoned_broker() -> None:
    """It is as if the broker were not there, until one of its directories takes replicas again."""
    base = cordoned(cluster(3), 0, directory(0))
    wanted = CreateTopicsRequest((NewTopic("a", 4, 2), NewTopic("b", 1, 3)))
    outcome = create_topics(base, wanted, NEW)
    assert errors(outcome) == ["NONE", "INVALID_REPLICATION_FACTOR"]
    assert {b for r in outcome.records if isinstance(r, PartitionRecord) for b in r.replicas} == {1, 2}
    assert errors(create_partitions(play(base, outcome, NEW), (Growth("a", 9),), NEW)) == ["NONE"]
    assert errors(create_topics(cordoned(base, 0, directory(0, 1)), wanted, NEW)) == ["NONE", "NONE"]
    assert errors(create_topics(cordoned(base, 0), wanted, NEW)) == ["NONE", "NONE"]


def test_a_registration_forgets_what_was_cordoned() -> None:
    """A broker that registers has named none, so that it takes replicas until its next heartbeat says which."""
    base = cordoned(cluster(3), 0, directory(0))
    assert [known.id for known in base.usable_brokers()] == [1, 2]
    again = replay_record(base, RegisterBrokerRecord(0, 100, "process-0", log_dirs=(directory(0),)), NEW)
    assert [known.id for known in again.usable_brokers()] == [1, 2, 0]
    unknown = cordoned(cluster(3, directories=False), 0)
    assert len(unknown.usable_brokers()) == 3


@pytest.mark.parametrize("rules", ["kafka-4.3.1", "kafka-4.4.0"])
def test_a_list_given_by_hand_and_a_cordoned_broker(rules: str) -> None:
    """From 4.4.0 on it is refused, for a reassignment too that leaves a replica where it is; before, it is taken."""
    base, release = cordoned(BASE, 0, directory(0)), parse(rules)
    error = "NONE" if rules == "kafka-4.3.1" else "INVALID_REPLICA_ASSIGNMENT"
    topic = NewTopic("new", assignments=((0, (0, 1)),))
    assert errors(create_topics(base, CreateTopicsRequest((topic,)), release)) == [error]
    assert errors(create_partitions(base, (Growth("foo", 2, ((0, 1, 2),)),), release)) == [error]
    assert moved(base, (0, 1, 3), release) == [error]
    assert moved(base, (1, 2, 3), release) == ["NONE"]


def test_a_directory_lists_the_replicas_of_other_brokers_too() -> None:
    """A replica that is assigned to another broker's directory is decided when that fails: the index knows no brokers.

    Here a switch of ELR has left an ELR, which whatever is decided next takes away.
    """
    left = {"isr": (), "elr": (0,), "leader": -1}
    for placed, listed in ((directory(2), True), (directory(0), False)):
        controller = changed(with_topic(cluster(3), "foo", (0, 1)), directories=(placed, directory(1)), **left)
        records = directories_offline(controller, 2, 102, (directory(2),), NEW).records
        kinds = [PartitionChangeRecord] * listed + [BrokerRegistrationChangeRecord]
        assert [type(record) for record in records] == kinds
        assert [list(record.change.elr.value) for record in records[:-1]] == [[]] * listed
