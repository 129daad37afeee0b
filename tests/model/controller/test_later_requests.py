"""Requests and releases: what those before 3.9 did otherwise, what later ones ask, and the index of ELR members."""

from collections.abc import Mapping
from typing import Any

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from kraftcheck.model.controller.alter_configs import alter_config
from kraftcheck.model.controller.brokers import (
    RegistrationContext,
    RegistrationRequest,
    directories_offline,
    expire_session,
    register_broker,
    unregister,
)
from kraftcheck.model.controller.commits import replay_all, replay_record
from kraftcheck.model.controller.elections import elect_unclean
from kraftcheck.model.controller.errors import RequestError, Resignation
from kraftcheck.model.controller.partitions import Reassignment, in_elr, reassign
from kraftcheck.model.controller.state import (
    MIN_ISR,
    NODE,
    TOPIC,
    UNCLEAN_ELECTION,
    ClearElrRecord,
    ConfigRecord,
    Configs,
    Controller,
    Outcome,
    Settings,
)
from kraftcheck.model.controller.topics import (
    CreateTopicsRequest,
    Growth,
    NewTopic,
    create_partitions,
    create_topics,
    delete_topics,
)
from kraftcheck.model.records.records import (
    BrokerRegistrationChangeRecord,
    Feature,
    PartitionChangeRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    RemoveTopicRecord,
    TopicRecord,
)
from kraftcheck.model.records.replay import ElrIndex
from kraftcheck.model.rules.ruleset import RuleSet, parse
from tests.model.controller.controllers import (
    changed,
    cluster,
    configured,
    directory,
    lists,
    partition,
    play,
    with_topic,
)

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


LATER = parse("kafka-3.9.2")


def test_an_epoch_and_the_records_of_the_quorum_before_it() -> None:
    """Until 3.5 what the quorum wrote for itself just before a registration is not counted; what is older is."""
    base, old = cluster(1), parse("kafka-3.9.2+epoch-passes-over-quorum")
    end = base.image.next_offset
    request = RegistrationRequest(
        "cluster", 7, "first", features=(Feature("metadata.version", 1, 11),), dirs=(directory(7),)
    )

    def epoch(quorum: tuple[int, int], rules=old) -> int:
        taking = evolve(base, soft=evolve(base.soft, quorum=quorum))
        return register_broker(taking, request, RegistrationContext(), rules).response

    assert epoch((end - 2, end)) == end - 2
    assert epoch((end - 3, end - 1)) == end
    assert epoch((end - 2, end), LATER) == end


def test_configurations_of_a_new_topic_and_the_topic() -> None:
    """Until 3.3 they are written first, later the topic."""
    asked = CreateTopicsRequest((NewTopic("bar", 1, 1, config={"retention.ms": "1"}),))
    kinds = [type(one) for one in create_topics(cluster(1), asked, LATER).records[:2]]
    assert kinds == [TopicRecord, ConfigRecord]
    old = parse("kafka-3.9.2+topic-configs-written-first")
    assert [type(one) for one in create_topics(cluster(1), asked, old).records[:2]] == kinds[::-1]


def test_an_unclean_election_that_is_configured() -> None:
    """The timer holds it from 3.9 on; until 3.8 the setting is stored and not obeyed."""
    base = changed(with_topic(cluster(3, fenced=(0,)), "foo", (0, 1)), leader=-1, isr=(0,))
    base = evolve(base, configs=Configs({"foo": {"unclean.leader.election.enable": "true"}}))
    assert len(elect_unclean(base, LATER).records) == 1
    assert elect_unclean(base, parse("kafka-3.9.2+unclean-election-unconfigurable")).records == ()


RELEASED, MENDED = parse("kafka-4.1.2"), parse("kafka-4.1.2-cleared-elr-stays-indexed")


def small(*replicas: tuple[int, ...]) -> Controller:
    """Three brokers with ELR, and a topic that wants two replicas in sync."""
    return with_topic(cluster(3, elr_enabled=True, clear_elr=True), "foo", *replicas, min_insync_replicas="2")


def with_min_isr(controller: Controller, value: str, rules: RuleSet = RELEASED) -> Controller:
    """The controller after a change of the topic's min.insync.replicas, which empties its ELRs."""
    return play(controller, alter_config(controller, ConfigRecord(TOPIC, "foo", MIN_ISR, value), rules), rules)


def fenced(controller: Controller, broker: int, rules: RuleSet = RELEASED) -> Controller:
    """The controller once a broker's session has ended."""
    return play(controller, expire_session(controller, broker, rules), rules)


def returned(controller: Controller, broker: int, rules: RuleSet, previous: int | None = None) -> Controller:
    """The controller once a fenced broker has registered again."""
    outcome = register_broker(controller, request(broker, previous), RegistrationContext({}), rules)
    return play(controller, outcome, rules)


def request(broker: int, previous: int | None = None) -> RegistrationRequest:
    """Another process of a broker registers."""
    features = (Feature("metadata.version", 1, 29),)
    return RegistrationRequest(
        "cluster", broker, "another", features=features, dirs=(directory(broker),), previous_epoch=previous
    )


def cleared(rules: RuleSet = RELEASED) -> Controller:
    """Broker 1 was in the ELR until min.insync.replicas changed."""
    return with_min_isr(fenced(small((0, 1)), 1, rules), "3", rules)


def test_a_cleared_elr_stays_indexed() -> None:
    """ClearElrRecord empties the ELR and leaves its members in the index; mended, they leave both."""
    assert lists(partition(cleared())) == ([0], [], 0)
    assert [place.index for place in in_elr(cleared(), 1)] == [0]
    assert in_elr(cleared(MENDED), 1) == ()


def test_a_broker_that_was_cleared_is_still_taken_out() -> None:
    """An indexed broker that is unregistered changes a partition that it has no part in any more."""
    before, mended = (
        configured(changed(cleared(rules), leader=-1, isr=()), "foo", UNCLEAN_ELECTION, "true")
        for rules in (RELEASED, MENDED)
    )
    written = unregister(before, 1, RELEASED).records
    assert [type(record).__name__ for record in written] == ["PartitionChangeRecord", "UnregisterBrokerRecord"]
    assert [type(record).__name__ for record in unregister(mended, 1, MENDED).records] == ["UnregisterBrokerRecord"]


def test_a_broker_that_is_eligible_again_is_indexed_twice() -> None:
    """A broker that enters the ELR again is listed twice, so that its partition is changed twice by one event."""
    again = changed(cleared(), isr=(0, 1))
    again = fenced(again, 1)
    assert lists(partition(again)) == ([0], [1], 0)
    assert [place.index for place in in_elr(again, 1)] == [0, 0]
    written = register_broker(again, request(1), RegistrationContext({}), RELEASED).records
    changes = [record for record in written if isinstance(record, PartitionChangeRecord)]
    assert len(changes) == 2
    assert changes[0] == changes[1]


def test_a_deleted_topic_stays_indexed() -> None:
    """A broker that is listed for a deleted topic makes each controller resign when it returns from an unclean stop."""
    topic_id = cleared().topic_id("foo") or ""
    deleted = play(cleared(), delete_topics(cleared(), (topic_id,)), RELEASED)
    with pytest.raises(Resignation, match="not in the topics map"):
        returned(deleted, 1, RELEASED)
    with pytest.raises(Resignation, match="not in the topics map"):
        unregister(deleted, 1, RELEASED)
    epoch = deleted.image.registrations[1].epoch
    assert not returned(deleted, 1, RELEASED, previous=epoch).is_active(1)
    mended = play(cleared(MENDED), delete_topics(cleared(MENDED), (topic_id,)), MENDED)
    assert mended.elr_index == ElrIndex()
    assert mended.topic_id("foo") is None
    assert not returned(mended, 1, MENDED).is_active(1)


def test_a_deleted_topic_with_an_elr_leaves_the_index() -> None:
    """A deletion takes the lists of those out of the index that are in an ELR of the topic then."""
    again = fenced(changed(cleared(), isr=(0, 1)), 1)
    deleted = replay_record(again, RemoveTopicRecord(again.topic_id("foo") or ""), RELEASED)
    assert deleted.elr_index == ElrIndex()


def test_a_list_of_repeated_entries_ends_in_partition_zero() -> None:
    """Where a partition is listed twice and leaves, what is left over of Kafka's array reads as partition 0."""
    controller = small((0, 2), (0, 1))
    for value in ("3", "2"):
        controller = with_min_isr(changed(controller, index=1, isr=(0,), elr=(1,)), value)
        controller = changed(controller, index=1, isr=(0, 1), elr=())
    controller = changed(controller, index=1, isr=(0,), elr=(1,))
    assert [place.index for place in in_elr(controller, 1)] == [1, 1, 1]
    controller = changed(controller, index=1, isr=(0, 1), elr=())
    assert [place.index for place in in_elr(controller, 1)] == [0, 0]


class Arrays:
    """The index as Kafka's arrays are: entries in the order of their arrival, zeros at the end of shortened ones."""

    def __init__(self) -> None:
        self.lists: dict[tuple[int, str], list[int]] = {}

    def update(self, topic_id: str, partition: int, before: set[int], after: set[int]) -> None:
        """A change of one ELR."""
        for broker in sorted(after - before):
            self.lists.setdefault((broker, topic_id), []).append(partition)
        for broker in sorted(before - after):
            old = self.lists[broker, topic_id]
            new = [entry for entry in old if entry != partition]
            new += [0] * (len(old) - 1 - len(new))
            self.lists[broker, topic_id] = new

    def remove(self, topic_id: str, elrs: Mapping[int, set[int]]) -> None:
        """A deletion."""
        for members in elrs.values():
            for broker in members:
                self.lists.pop((broker, topic_id), None)

    def contents(self) -> dict[tuple[int, str], list[int]]:
        """The lists that have entries, sorted."""
        return {key: sorted(entries) for key, entries in self.lists.items() if entries}


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("elr"), st.integers(0, 2), st.sets(st.integers(0, 2))),
        st.tuples(st.just("clear"), st.just(0), st.just(frozenset())),
        st.tuples(st.just("delete"), st.just(0), st.just(frozenset())),
    ),
    max_size=12,
)


@given(STEPS)
def test_the_index_is_that_of_kafkas_arrays(steps: list[tuple[str, int, Any]]) -> None:
    """After any changes, clearings and deletions of a topic, the partitions listed are those of the arrays."""
    controller = with_topic(cluster(3, elr_enabled=True, clear_elr=True), "foo", (0, 1, 2), (0, 1, 2), (0, 1, 2))
    topic_id, arrays = controller.topic_id("foo") or "", Arrays()
    elrs: dict[int, set[int]] = {0: set(), 1: set(), 2: set()}
    for kind, index, members in steps:
        if kind == "elr":
            controller = changed(controller, index=index, elr=tuple(sorted(members)))
            arrays.update(topic_id, index, elrs[index], set(members))
            elrs[index] = set(members)
        elif kind == "clear":
            controller = replay_all(controller, [ClearElrRecord("foo")], RELEASED)
            elrs = {number: set() for number in elrs}
        else:
            controller = replay_record(controller, RemoveTopicRecord(topic_id), RELEASED)
            arrays.remove(topic_id, elrs)
            break
    topic = controller.image.topics.get(topic_id)
    listed = {(b, topic_id): list(controller.elr_index.partitions(b, topic_id, topic)) for b in range(3)}
    assert {key: entries for key, entries in listed.items() if entries} == arrays.contents()
