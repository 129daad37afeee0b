"""Replaying records: the only way in which a cluster's state changes.

Source: the `replay` methods of `ReplicationControlManager` and
`ClusterControlManager`. The image holds topics, partitions and brokers;
configurations and the active controller's soft state are not part of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from attrs import evolve, field, frozen

from kraftcheck.model.partition.directories import DirectoryMismatch
from kraftcheck.model.partition.registration import Partition, merge
from kraftcheck.model.records.brokers import (
    Registration,
    RegistrationChange,
    StaleEpochError,
    UnknownFlagError,
    changed,
    registration_of,
)
from kraftcheck.model.records.records import (
    BrokerRegistrationChangeRecord,
    FenceBrokerRecord,
    PartitionChangeRecord,
    PartitionRecord,
    Record,
    RegisterBrokerRecord,
    RemoveTopicRecord,
    TopicRecord,
    UnfenceBrokerRecord,
    UnregisterBrokerRecord,
    partition_of,
)
from kraftcheck.model.records.timelinemap import FEWEST_SLOTS, first_key, keys_in_order, slots_after_put, slots_of
from kraftcheck.model.rules.groups import PartitionRules
from kraftcheck.model.rules.ruleset import RIGHT

K = TypeVar("K")
V = TypeVar("V")


class ReplayError(ValueError):
    """A record that the state does not admit; a controller that meets one halts.

    Attributes:
        kind: the kind of Kafka's exception.
    """

    def __init__(self, message: str, kind: str = "INTERNAL") -> None:
        super().__init__(message)
        self.kind = kind


@frozen
class Topic:
    """A topic.

    Attributes:
        name: its name.
        partitions: its partitions by index, in the order in which they came.
        slots: how many slots Kafka's map of them has, which also depends on when they changed.
    """

    name: str
    partitions: Mapping[int, Partition] = field(factory=dict)
    slots: int = field(eq=False)

    @slots.default
    def _slots_of_new_ones(self) -> int:
        return slots_of(len(self.partitions))

    def with_partitions(self, partitions: Mapping[int, Partition]) -> Topic:
        """The topic after records of these partitions, the new ones in their order."""
        slots, known = self.slots, len(self.partitions)
        for index in partitions:
            slots = slots_after_put(slots, known)
            known += index not in self.partitions
        return evolve(self, partitions={**self.partitions, **partitions}, slots=slots)

    def first_partition(self) -> Partition:
        """The partition that Kafka's map of them lists first."""
        return self.partitions[first_key(self.partitions, self.slots)]


@frozen
class ClusterImage:
    """What the records replayed so far add up to.

    Attributes:
        topics: by topic id.
        registrations: by broker id.
        registration_offsets: offset of each registered broker's last registration record.
        next_offset: offset of the next record.
        registration_slots: how many slots Kafka's map of the registrations has.
    """

    topics: Mapping[str, Topic] = field(factory=dict)
    registrations: Mapping[int, Registration] = field(factory=dict)
    registration_offsets: Mapping[int, int] = field(factory=dict)
    next_offset: int = 0
    registration_slots: int = field(default=FEWEST_SLOTS, eq=False)

    def registrations_in_order(self) -> tuple[Registration, ...]:
        """The registrations as a controller visits them that has replayed the whole log."""
        order = keys_in_order(self.registrations, self.registration_slots)
        return tuple(self.registrations[broker] for broker in order)

    def partition(self, topic_id: str, partition_id: int) -> Partition | None:
        """A partition, or None where there is none."""
        topic = self.topics.get(topic_id)
        return None if topic is None else topic.partitions.get(partition_id)

    def directory_owner(self, directory: int) -> int | None:
        """The broker that registered a directory, or None."""
        return next((broker for broker, known in self.registrations.items() if directory in known.dirs), None)


def replay(image: ClusterImage, record: Record, rules: PartitionRules = RIGHT.partition) -> ClusterImage:
    """The image after one more record.

    Raises:
        ReplayError: in one line that names the record, when the state does not admit it.
    """
    rule = _RULES.get(type(record))
    if rule is None:
        raise TypeError(f"{record!r} is not a record")
    try:
        after = rule(image, record, rules)
    except (DirectoryMismatch, StaleEpochError, _RefusalError) as reason:
        raise ReplayError(f"cannot replay {record!r}: {reason}") from None
    except (UnknownFlagError, _TakenDirectoryError) as reason:
        raise ReplayError(f"cannot replay {record!r}: {reason}", "ILLEGAL_STATE") from None
    return evolve(after, next_offset=image.next_offset + 1)


class _RefusalError(Exception):
    """Why a record does not fit; becomes a `ReplayError`."""


class _TakenDirectoryError(Exception):
    """A record registers a directory that another broker has; becomes a `ReplayError`."""


def _with(mapping: Mapping[K, V], key: K, value: V) -> dict[K, V]:
    return {**mapping, key: value}


def _without(mapping: Mapping[K, V], key: K) -> dict[K, V]:
    return {known: value for known, value in mapping.items() if known != key}


def _topic(image: ClusterImage, record: TopicRecord, rules: PartitionRules) -> ClusterImage:
    for topic_id, topic in image.topics.items():
        if topic.name == record.name:
            raise _RefusalError(f"a topic of that name exists with id {topic_id}")
    return evolve(image, topics=_with(image.topics, record.topic_id, Topic(record.name)))


def _remove_topic(image: ClusterImage, record: RemoveTopicRecord, rules: PartitionRules) -> ClusterImage:
    _existing_topic(image, record.topic_id)
    return evolve(image, topics=_without(image.topics, record.topic_id))


def _partition(image: ClusterImage, record: PartitionRecord, rules: PartitionRules) -> ClusterImage:
    return _with_partition(image, record.topic_id, record.partition_id, partition_of(record))


def _partition_change(image: ClusterImage, record: PartitionChangeRecord, rules: PartitionRules) -> ClusterImage:
    before = _existing_topic(image, record.topic_id).partitions.get(record.partition_id)
    if before is None:
        raise _RefusalError(f"topic {record.topic_id} has no partition {record.partition_id}")
    return _with_partition(image, record.topic_id, record.partition_id, merge(before, record.change, rules))


def _with_partition(image: ClusterImage, topic_id: str, partition_id: int, p: Partition) -> ClusterImage:
    topic = _existing_topic(image, topic_id)
    return evolve(image, topics=_with(image.topics, topic_id, topic.with_partitions({partition_id: p})))


def _existing_topic(image: ClusterImage, topic_id: str) -> Topic:
    if topic_id not in image.topics:
        raise _RefusalError(f"there is no topic with id {topic_id}")
    return image.topics[topic_id]


def _register(image: ClusterImage, record: RegisterBrokerRecord, rules: PartitionRules) -> ClusterImage:
    after = _with_registration(image, registration_of(record))
    offsets = _with(image.registration_offsets, record.broker_id, image.next_offset)
    return evolve(after, registration_offsets=offsets)


def _unregister(image: ClusterImage, record: UnregisterBrokerRecord, rules: PartitionRules) -> ClusterImage:
    known = _existing_registration(image, record.broker_id)
    if known.epoch != record.broker_epoch:
        raise _RefusalError(f"epoch {record.broker_epoch} but broker {known.id} has {known.epoch}")
    return evolve(
        image,
        registrations=_without(image.registrations, record.broker_id),
        registration_offsets=_without(image.registration_offsets, record.broker_id),
    )


def _change_registration(image: ClusterImage, record: RegistrationChange, rules: PartitionRules) -> ClusterImage:
    return _with_registration(image, changed(_existing_registration(image, record.broker_id), record, rules))


def _with_registration(image: ClusterImage, registration: Registration) -> ClusterImage:
    for directory in registration.dirs:
        owner = image.directory_owner(directory)
        if owner not in (None, registration.id):
            raise _TakenDirectoryError(f"directory {directory} belongs to broker {owner}")
    known = image.registrations
    if known.get(registration.id) == registration:
        return image
    slots = slots_after_put(image.registration_slots, len(known))
    return evolve(image, registrations=_with(known, registration.id, registration), registration_slots=slots)


def _existing_registration(image: ClusterImage, broker: int) -> Registration:
    if broker not in image.registrations:
        raise _RefusalError(f"broker {broker} is not registered")
    return image.registrations[broker]


_RULES: Mapping[type, Callable[[ClusterImage, Any, PartitionRules], ClusterImage]] = {
    TopicRecord: _topic,
    RemoveTopicRecord: _remove_topic,
    PartitionRecord: _partition,
    PartitionChangeRecord: _partition_change,
    RegisterBrokerRecord: _register,
    UnregisterBrokerRecord: _unregister,
    BrokerRegistrationChangeRecord: _change_registration,
    FenceBrokerRecord: _change_registration,
    UnfenceBrokerRecord: _change_registration,
}
