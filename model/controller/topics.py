"""Topics: their names, their creation, growth and end."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from attrs import evolve, field, frozen

from kraftcheck.model.controller.alter_configs import clearing
from kraftcheck.model.controller.errors import NONE, RequestError, Resignation, TooManyRecords
from kraftcheck.model.controller.partitions import check_assignment, new_partition
from kraftcheck.model.controller.placement import RandomStream, place
from kraftcheck.model.controller.state import TOPIC, ConfigRecord, Controller, LogRecord, Outcome, as_stored, is_valid
from kraftcheck.model.language.words import rule
from kraftcheck.model.records.records import Ids, PartitionRecord, RemoveTopicRecord, TopicRecord
from kraftcheck.model.records.replay import Topic
from kraftcheck.model.rules.groups import ControllerRules, PartitionRules
from kraftcheck.model.rules.ruleset import RuleSet

LONGEST_NAME = 249
UNSET = -1  # a number that a request leaves to the defaults

_LEGAL = re.compile(r"[a-zA-Z0-9._-]+")


@frozen
class NewTopic:
    """A topic to be created."""

    name: str
    partitions: int = UNSET
    replication_factor: int = UNSET
    assignments: tuple[tuple[int, Ids], ...] = ()  # pairs of index and replicas; empty where the controller places them
    config: Mapping[str, str | None] = field(factory=dict)  # a value of None is refused


def any_topic(topic: NewTopic) -> str:
    """The policy that allows every topic."""
    return NONE


@frozen
class CreateTopicsRequest:
    """Topics to be created."""

    topics: tuple[NewTopic, ...]  # a name given twice is refused
    validate_only: bool = False  # whether nothing is to be written
    quota_exceeded: bool = False  # whether the caller may change no more partitions for now
    # the error that it refuses a topic with, its numbers filled in, or NONE; Resignation.error stands for an exception
    # that is no answer
    policy: Callable[[NewTopic], str] = any_topic


@frozen
class Created:
    """The answer for one topic; the numbers are given where it succeeded."""

    name: str
    error: str
    partitions: int | None = None
    replication_factor: int | None = None


@frozen
class NameFault:
    """The fault of a topic's name; `collides_with` names the topic it collides with."""

    reason: str
    collides_with: str | None = None


def normalized(name: str) -> str:
    """The name as metrics write it, which dots and underscores share."""
    return name.replace(".", "_")


def name_fault(name: str, existing: Mapping[str, Sequence[str]]) -> NameFault | None:
    """The fault of a new topic's name, or None.

    Args:
        existing: the topics with a dot or underscore, by their normalized names.
    """
    colliding = existing.get(normalized(name), ()) if "." in name or "_" in name else ()
    if colliding:
        return NameFault("collision", colliding[0])
    if name in ("", ".", ".."):
        return NameFault("empty" if not name else "dots")
    if len(name) > LONGEST_NAME:
        return NameFault("too_long")
    return None if _LEGAL.fullmatch(name) else NameFault("illegal_character")


def by_normalized_name(controller: Controller) -> dict[str, list[str]]:
    """The topics whose names may collide, by normalized name."""
    found: dict[str, list[str]] = {}
    for topic in controller.image.topics.values():
        if "." in topic.name or "_" in topic.name:
            found.setdefault(normalized(topic.name), []).append(topic.name)
    return found


@rule("topic.creation.rows-are-independent", source="semantics 8; ReplicationControlManager.createTopics",
      says="Each topic of a request is created or refused for itself.")  # fmt: skip
def create_topics(controller: Controller, request: CreateTopicsRequest, rules: RuleSet) -> Outcome[tuple[Created, ...]]:
    """Each topic succeeds or fails for itself; those that succeed are written together.

    A placement spends random draws even if its topic fails or nothing is to be written.

    Raises:
        RequestError: POLICY_VIOLATION when all together are too many partitions or records.
        Resignation: for an exception of the policy, where that is fatal.
    """
    existing, names = by_normalized_name(controller), [topic.name for topic in request.topics]
    _check_total(controller, [topic for topic in request.topics if names.count(topic.name) == 1], rules.controller)
    results: list[Created] = []
    records: tuple[LogRecord, ...] = ()
    stream = controller.soft.random
    for topic in request.topics:
        try:
            if names.count(topic.name) > 1:
                raise RequestError("INVALID_REQUEST", "named_twice")
            _check_topic(controller, topic, existing, rules.controller)
            placed, stream = _placed(controller, topic, stream)
            if isinstance(placed, RequestError):
                raise placed
            topic_id = f"id:{controller.image.next_offset + len(records)}"
            made = _partitions(controller, topic, topic_id, placed, rules.partition)
            _check_allowed(request, topic, made, rules.controller)
        except RequestError as refusal:
            results.append(Created(topic.name, refusal.error))
            continue
        results.append(Created(topic.name, NONE, len(made), len(made[0].replicas)))
        created = TopicRecord(topic.name, topic_id)
        records = (*records, *_written(created, _configs(controller, topic, rules), rules), *made)
        if len(records) > controller.settings.max_records:
            raise TooManyRecords
    soft = evolve(controller.soft, random=stream)
    return Outcome(() if request.validate_only else records, tuple(results), soft, atomic=True)


@rule("topic.creation.partitions-are-limited", source="ReplicationControlManager.validateTotalNumberOfPartitions",
      switches=("created-partitions-uncounted",),
      says="From 3.9.2 on a request to create more than 10,000 partitions is refused before any topic is "
           "looked at.")  # fmt: skip
def _check_total(controller: Controller, topics: Sequence[NewTopic], rules: ControllerRules) -> None:
    """Refuse a request for too many partitions; rows that would fail count as well.

    Until 4.3 Kafka adds the numbers up in 32 bits, which overflow: that is left out.
    """
    if rules.created_partitions_uncounted:
        return
    by_default = controller.settings.partitions
    wanted = (by_default if topic.partitions == UNSET else max(topic.partitions, 0) for topic in topics)
    total = sum(len(topic.assignments) or count for topic, count in zip(topics, wanted, strict=True))
    if total > controller.settings.max_partitions:
        raise RequestError("POLICY_VIOLATION", "too_many_partitions")


def _check_topic(
    controller: Controller, topic: NewTopic, existing: Mapping[str, Sequence[str]], rules: ControllerRules
) -> None:
    """What is checked before replicas are placed; an existing topic outweighs a bad name."""
    if controller.topic_id(topic.name) is not None:
        raise RequestError("TOPIC_ALREADY_EXISTS")
    fault = name_fault(topic.name, existing)
    if fault is not None:
        raise RequestError("INVALID_TOPIC_EXCEPTION", fault.reason)
    if any(value is None for value in topic.config.values()):
        raise RequestError("INVALID_CONFIG", "null_value")
    if not all(is_valid(key, str(value)) for key, value in topic.config.items()):
        raise RequestError("INVALID_CONFIG", "bad_value")
    if topic.assignments:
        if (topic.replication_factor, topic.partitions) != (UNSET, UNSET):
            raise RequestError("INVALID_REQUEST", "assignment_and_numbers")
        _check_assignments(controller, topic, rules)
    elif topic.replication_factor < UNSET or topic.replication_factor == 0:
        raise RequestError("INVALID_REPLICATION_FACTOR", "not_positive")
    elif topic.partitions < UNSET or topic.partitions == 0:
        raise RequestError("INVALID_PARTITIONS", "not_positive")


def _check_assignments(controller: Controller, topic: NewTopic, rules: ControllerRules) -> None:
    factor: int | None = None
    seen: set[int] = set()
    for index, replicas in topic.assignments:
        if index in seen:
            raise RequestError("INVALID_REPLICA_ASSIGNMENT", "duplicate_partition")
        check_assignment(controller, replicas, rules, factor)
        if not any(controller.is_active(broker) for broker in replicas):
            raise RequestError("INVALID_REPLICA_ASSIGNMENT", "all_inactive")
        factor, seen = len(replicas), {*seen, index}
    if seen != set(range(len(seen))):
        raise RequestError("INVALID_REPLICA_ASSIGNMENT", "partitions_not_consecutive")


def _placed(
    controller: Controller, topic: NewTopic, stream: RandomStream
) -> tuple[tuple[tuple[int, Ids], ...] | RequestError, RandomStream]:
    """Pairs of index and replicas: as given, or as the controller places them."""
    if topic.assignments:
        return topic.assignments, stream
    settings = controller.settings
    partitions = settings.partitions if topic.partitions == UNSET else topic.partitions
    factor = settings.replication_factor if topic.replication_factor == UNSET else topic.replication_factor
    placed, stream = place(controller.usable_brokers(), partitions, factor, stream)
    return placed if isinstance(placed, RequestError) else tuple(enumerate(placed)), stream


def _partitions(
    controller: Controller, topic: NewTopic, topic_id: str, placed: tuple[tuple[int, Ids], ...], rules: PartitionRules
) -> tuple[PartitionRecord, ...]:
    made = []
    for index, replicas in sorted(placed):
        partition = new_partition(controller, topic_id, index, replicas, rules)
        if partition is None:
            raise RequestError("INVALID_REPLICATION_FACTOR", "all_fenced_or_in_controlled_shutdown")
        made.append(partition)
    return tuple(made)


@rule("topic.creation.policy-answers-for-its-row", source="ReplicationControlManager.createTopics",
      switches=("policy-exception-is-fatal",),
      says="Whatever the policy for topics throws is the answer to the topic's row, from 4.2.0 on also what is no "
           "answer of Kafka's.")  # fmt: skip
def _check_allowed(
    request: CreateTopicsRequest, topic: NewTopic, made: tuple[PartitionRecord, ...], rules: ControllerRules
) -> None:
    filled = topic
    if not topic.assignments:
        filled = evolve(topic, partitions=len(made), replication_factor=len(made[0].replicas))
    refusal = request.policy(filled)
    if refusal == Resignation.error and rules.policy_exception_is_fatal:
        raise Resignation("the policy for topics fails")
    if refusal != NONE:
        raise RequestError(refusal, "policy")
    if request.quota_exceeded:
        raise RequestError("THROTTLING_QUOTA_EXCEEDED")


@rule("topic.creation.topic-before-its-configs", source="ReplicationControlManager.createTopics",
      switches=("topic-configs-written-first",),
      says="The configurations of a new topic are written after the topic; until 3.3 ahead of it.")  # fmt: skip
def _written(topic: TopicRecord, configs: tuple[LogRecord, ...], rules: RuleSet) -> tuple[LogRecord, ...]:
    """The records that say what a topic is; its partitions follow."""
    return (*configs, topic) if rules.controller.topic_configs_written_first else (topic, *configs)


def _configs(controller: Controller, topic: NewTopic, rules: RuleSet) -> tuple[LogRecord, ...]:
    """The configurations that differ from what is set under the topic's name already, and what they bring about."""
    known = controller.configs.of(TOPIC, topic.name)
    wanted = {key: as_stored(key, str(value), rules.controller) for key, value in topic.config.items()}
    differing = {key: value for key, value in wanted.items() if known.get(key) != value}
    records = tuple(ConfigRecord(TOPIC, topic.name, key, value) for key, value in differing.items())
    return (*records, *(cleared for record in records for cleared in clearing(controller, record, rules.partition)))


@rule("topic.deletion.removes-partitions", source="semantics 3; ReplicationControlManager.deleteTopics",
      says="A deleted topic loses all its partitions and its configuration by one record.")  # fmt: skip
def delete_topics(
    controller: Controller, topic_ids: tuple[str, ...], quota_exceeded: bool = False
) -> Outcome[tuple[tuple[str, str], ...]]:
    """Topics and all their partitions go; the reply pairs ids with errors.

    What exceeds the records of one request fails for itself, and with the
    error of an exception: the code takes it for one.
    """
    results: list[tuple[str, str]] = []
    records: list[RemoveTopicRecord] = []
    for topic_id in topic_ids:
        if topic_ids.count(topic_id) > 1:
            results.append((topic_id, "INVALID_REQUEST"))
        elif topic_id not in controller.image.topics:
            results.append((topic_id, "UNKNOWN_TOPIC_ID"))
        elif quota_exceeded:
            results.append((topic_id, "THROTTLING_QUOTA_EXCEEDED"))
        elif len(records) >= controller.settings.max_records:
            results.append((topic_id, Resignation.error))
        else:
            results.append((topic_id, NONE))
            records.append(RemoveTopicRecord(topic_id))
    return Outcome(tuple(records), tuple(results), controller.soft, atomic=True)


@frozen
class Growth:
    """More partitions for a topic."""

    topic: str  # its name
    count: int  # how many partitions it is to have
    assignments: tuple[Ids, ...] | None = None  # replicas of the added ones; None where the controller places them


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
    controller: Controller, growth: Growth, lists: tuple[Ids, ...], records: list[PartitionRecord], rules: RuleSet
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
