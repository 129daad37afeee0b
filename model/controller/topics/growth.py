"""CreatePartitions: a topic gets more partitions.

Source: `ReplicationControlManager.createPartitions`.
"""

from __future__ import annotations

from collections.abc import Sequence

from attrs import evolve, frozen

from kraftcheck.model.controller.assignments import check_assignment, new_partition
from kraftcheck.model.controller.errors import NONE, RequestError, Resignation
from kraftcheck.model.controller.state import Controller, Outcome
from kraftcheck.model.controller.topics.placement import place
from kraftcheck.model.controller.topics.streams import RandomStream
from kraftcheck.model.language.rule import rule
from kraftcheck.model.records.records import Ids, PartitionRecord
from kraftcheck.model.records.replay import Topic
from kraftcheck.model.rules.groups import ControllerRules
from kraftcheck.model.rules.ruleset import RuleSet


@frozen
class Growth:
    """More partitions for a topic.

    Attributes:
        topic: its name.
        count: how many partitions it is to have.
        assignments: replicas of the added ones; None where the controller places them.
    """

    topic: str
    count: int
    assignments: tuple[Ids, ...] | None = None


@frozen
class Grown:
    """The answer for one topic."""

    topic: str
    error: str


def create_partitions(
    controller: Controller, growths: tuple[Growth, ...], rules: RuleSet, quota_exceeded: bool = False
) -> Outcome[tuple[Grown, ...]]:
    """Each topic succeeds or fails for itself.

    A topic fails at the first partition whose placed replicas are all inactive,
    or that exceeds the records of one request; the code has then written the
    partitions before it.

    Raises:
        RequestError: POLICY_VIOLATION when all together are too many partitions.
    """
    results: list[Grown] = []
    records: list[PartitionRecord] = []
    stream = controller.soft.random
    names = [growth.topic for growth in growths]
    _check_added(controller, [growth for growth in growths if names.count(growth.topic) == 1], rules.controller)
    for growth in growths:
        try:
            if names.count(growth.topic) > 1:
                raise RequestError("INVALID_REQUEST", "named_twice")
            lists, stream = _lists(controller, growth, quota_exceeded, stream, rules.controller)
            if isinstance(lists, RequestError):
                raise lists
            _add(controller, growth, lists, records, rules)
        except (RequestError, Resignation) as refusal:
            results.append(Grown(growth.topic, refusal.error))
            continue
        results.append(Grown(growth.topic, NONE))
    return Outcome(tuple(records), tuple(results), evolve(controller.soft, random=stream), atomic=True)


@rule("topic.growth.partitions-are-limited", source="ReplicationControlManager.validateTotalNumberOfPartitions",
      switches=("added-partitions-uncounted",),
      says="From 4.4.0 on a request to add more than 10,000 partitions is refused before any topic is "
           "looked at.")  # fmt: skip
def _check_added(controller: Controller, growths: Sequence[Growth], rules: ControllerRules) -> None:
    """Refuse a request for too many partitions; of unknown topics, and where nothing is added, none counts."""
    if rules.added_partitions_uncounted:
        return
    ids = ((growth, controller.topic_id(growth.topic)) for growth in growths)
    existing = ((growth, len(controller.topic(topic_id).partitions)) for growth, topic_id in ids if topic_id)
    total = sum(max(growth.count - count, 0) for growth, count in existing)
    if total > controller.settings.max_partitions:
        raise RequestError("POLICY_VIOLATION", "too_many_partitions")


@rule("topic.growth.factor-of-first-in-map", source="ReplicationControlManager.createPartitions; semantics 8",
      says="New partitions have as many replicas as the partition that Kafka's hash map lists first, which need not "
           "be partition 0.")  # fmt: skip
def _lists(
    controller: Controller, growth: Growth, quota_exceeded: bool, stream: RandomStream, rules: ControllerRules
) -> tuple[tuple[Ids, ...] | RequestError, RandomStream]:
    """The replicas of the added partitions."""
    topic = _checked_topic(controller, growth)
    if quota_exceeded:
        raise RequestError("THROTTLING_QUOTA_EXCEEDED")
    if not topic.partitions:
        raise Resignation(f"topic {growth.topic} has no partition")
    factor = int(topic.first_partition().replicas.size())
    if growth.assignments is None:
        additional = growth.count - len(topic.partitions)
        return place(controller.usable_brokers(), additional, factor, stream)
    for replicas in growth.assignments:
        check_assignment(controller, replicas, rules, factor)
        if not any(controller.is_active(broker) for broker in replicas):
            raise RequestError("INVALID_REPLICA_ASSIGNMENT", "all_inactive")
    return growth.assignments, stream


def _checked_topic(controller: Controller, growth: Growth) -> Topic:
    topic_id = controller.topic_id(growth.topic)
    if topic_id is None:
        raise RequestError("UNKNOWN_TOPIC_OR_PARTITION")
    topic = controller.topic(topic_id)
    if growth.count <= len(topic.partitions):
        raise RequestError("INVALID_PARTITIONS", "no_increase")
    if growth.assignments is not None and len(growth.assignments) != growth.count - len(topic.partitions):
        raise RequestError("INVALID_REPLICA_ASSIGNMENT", "number_of_assignments")
    return topic


@rule("topic.growth.all-or-nothing", source="ReplicationControlManager.createPartitions; semantics 8",
      switches=("refused-growth-keeps-partitions",),
      says="A topic grows by all the partitions of a request, or by none.")  # fmt: skip
def _add(
    controller: Controller,
    growth: Growth,
    lists: tuple[Ids, ...],
    records: list[PartitionRecord],
    rules: RuleSet,
) -> None:
    topic_id = controller.topic_id(growth.topic) or ""
    first = len(controller.topic(topic_id).partitions)
    added: list[PartitionRecord] = []
    try:
        for index, replicas in enumerate(lists, first):
            partition = new_partition(controller, topic_id, index, replicas, rules.partition)
            if partition is None:
                raise RequestError("INVALID_REPLICATION_FACTOR", "all_fenced_or_in_controlled_shutdown")
            if len(records) + len(added) >= controller.settings.max_records:
                raise Resignation("too many records for one request")
            added.append(partition)
    except (RequestError, Resignation):
        records += added if rules.controller.refused_growth_keeps_partitions else []
        raise
    records += added
