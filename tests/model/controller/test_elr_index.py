"""The index of ELR members: what ClearElrRecord and deletions leave in it, and what the controller makes of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraftcheck.model.controller.alter_configs import alter_config
from kraftcheck.model.controller.brokers import (
    RegistrationContext,
    RegistrationRequest,
    expire_session,
    register_broker,
    unregister,
)
from kraftcheck.model.controller.commits import replay_all, replay_record
from kraftcheck.model.controller.errors import Resignation
from kraftcheck.model.controller.partitions import in_elr
from kraftcheck.model.controller.state import MIN_ISR, TOPIC, UNCLEAN_ELECTION, ClearElrRecord, ConfigRecord, Controller
from kraftcheck.model.controller.topics import delete_topics
from kraftcheck.model.records.records import Feature, PartitionChangeRecord, RemoveTopicRecord
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
