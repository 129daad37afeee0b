"""Replaying records: the only way in which a cluster's state changes.

Source: the `replay` methods of `ReplicationControlManager` and
`ClusterControlManager`. The image holds topics, partitions and brokers;
configurations and the active controller's soft state are not part of it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeVar

from attrs import evolve, field, frozen

from kraftcheck.model.partition.registration import DirectoryMismatch, Partition, merge
from kraftcheck.model.records.records import (
    BrokerRegistrationChangeRecord,
    FenceBrokerRecord,
    Ids,
    PartitionChangeRecord,
    PartitionRecord,
    Record,
    RegisterBrokerRecord,
    Registration,
    RegistrationChange,
    RemoveTopicRecord,
    StaleEpochError,
    TopicRecord,
    UnfenceBrokerRecord,
    UnknownFlagError,
    UnregisterBrokerRecord,
    changed,
    ids,
    partition_of,
    registration_of,
)
from kraftcheck.model.rules.groups import PartitionRules
from kraftcheck.model.rules.ruleset import RIGHT

FEWEST_SLOTS = 2

_FACTOR = 0x9E3779B97F4A7C15
_WORD = 64


def slots_after_put(slots: int, keys: int) -> int:
    """How many slots a map has after a put.

    Args:
        slots: how many before.
        keys: how many keys before, the one that is put among them where it is replaced.
    """
    return 2 * slots if 3 * (keys + 1) > 4 * slots else slots


def slots_of(keys: int) -> int:
    """How many slots a map has into which this many keys were put, each once."""
    return functools.reduce(slots_after_put, range(keys), FEWEST_SLOTS)


def keys_in_order(keys: Collection[int], slots: int) -> tuple[int, ...]:
    """The keys as a map lists them; see `first_key`."""
    last_first = tuple(keys)[::-1]
    return tuple(sorted(last_first, key=lambda key: _slot(key, slots)))


def first_key(keys: Collection[int], slots: int) -> int:
    """The key that a map lists first.

    Args:
        keys: its keys in the order in which they were put first.
        slots: how many it has.
    """
    return min(reversed(tuple(keys)), key=lambda key: _slot(key, slots))


def _slot(key: int, slots: int) -> int:
    return (key * _FACTOR & (1 << _WORD) - 1) >> _WORD + 1 - slots.bit_length()


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
    """A topic."""

    name: str  # its name
    # its partitions by index, in the order in which they came
    partitions: Mapping[int, Partition] = field(factory=dict)
    slots: int = field(eq=False)  # how many slots Kafka's map of them has, which also depends on when they changed

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
    """The sum of the records replayed so far."""

    topics: Mapping[str, Topic] = field(factory=dict)  # by topic id
    registrations: Mapping[int, Registration] = field(factory=dict)  # by broker id
    # offset of each registered broker's last registration record
    registration_offsets: Mapping[int, int] = field(factory=dict)
    next_offset: int = 0  # offset of the next record
    # how many slots Kafka's map of the registrations has
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
        raise ReplayError(f"cannot replay {_named(record)}: {reason}") from None
    except (UnknownFlagError, _TakenDirectoryError) as reason:
        raise ReplayError(f"cannot replay {_named(record)}: {reason}", "ILLEGAL_STATE") from None
    return evolve(after, next_offset=image.next_offset + 1)


def _named(record: Record) -> str:
    """A record by its kind and whom it concerns, in words."""
    words = {"topic_id": "topic", "partition_id": "partition", "broker_id": "broker", "name": "name"}
    about = (f" {word} {getattr(record, key)}" for key, word in words.items() if hasattr(record, key))
    return f"{type(record).__name__} of{','.join(about)}"


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


Topics = Mapping[str, Topic]


@frozen
class ElrIndex:
    """The lists of the index that differ from the ELRs."""

    # by broker and topic id the partitions listed, some twice, some without the broker in their ELR
    differing: Mapping[tuple[int, str], Ids] = field(factory=dict)

    def topics_of(self, broker: int) -> tuple[str, ...]:
        """The topics for which a broker's list differs from the ELRs."""
        return tuple(topic_id for listed, topic_id in self.differing if listed == broker)

    def partitions(self, broker: int, topic_id: str, topic: Topic | None) -> Ids:
        """The partitions of one topic that are listed for a broker; `topic` is None where it is deleted."""
        return self.differing.get((broker, topic_id), in_elrs(broker, topic))

    def without(self, broker: int) -> ElrIndex:
        """The index in which a broker's lists are those of the ELRs, as after a snapshot is loaded."""
        return evolve(self, differing={key: listed for key, listed in self.differing.items() if key[0] != broker})

    def cleared(self, topic_id: str, topic: Topic) -> ElrIndex:
        """The index once the topic's ELRs are emptied: its lists stay.

        Args:
            topic: as it was before.
        """
        members = {broker for p in topic.partitions.values() for broker in ids(p.elr)}
        kept = {(broker, topic_id): self.partitions(broker, topic_id, topic) for broker in members}
        return evolve(self, differing={**self.differing, **kept}) if kept else self

    def after(self, record: Record, before: Topics, after: Topics) -> ElrIndex:
        """The index after one more record, with the topics before and after it."""
        if not self.differing:
            return self
        if isinstance(record, RemoveTopicRecord):
            return self._without(record.topic_id, before[record.topic_id])
        if isinstance(record, PartitionRecord | PartitionChangeRecord):
            return self._changed(record.topic_id, record.partition_id, before, after)
        return self

    def _without(self, topic_id: str, topic: Topic) -> ElrIndex:
        """The index after a deletion: only brokers that are in an ELR of the topic then lose their list."""
        members = {broker for p in topic.partitions.values() for broker in ids(p.elr)}
        left = {key: listed for key, listed in self.differing.items() if key[1] != topic_id or key[0] not in members}
        return evolve(self, differing=left)

    def _changed(self, topic_id: str, partition: int, before: Topics, after: Topics) -> ElrIndex:
        old, topic = before[topic_id].partitions.get(partition), after[topic_id]
        left, entered = (() if old is None else ids(old.elr)), ids(topic.partitions[partition].elr)
        differing = dict(self.differing)
        for broker in {*left, *entered}:
            listed = differing.pop((broker, topic_id), None)
            if listed is None:
                continue
            if broker not in entered:
                listed = _removed(listed, partition)
            elif broker not in left:
                listed = tuple(sorted((*listed, partition)))
            if listed != in_elrs(broker, topic):
                differing[broker, topic_id] = listed
        return evolve(self, differing=differing)


def in_elrs(broker: int, topic: Topic | None) -> Ids:
    """The partitions of a topic whose ELR a broker is in, in order: what the index ought to list."""
    partitions = () if topic is None else topic.partitions.items()
    return tuple(sorted(index for index, p in partitions if p.elr.has(broker)))


def _removed(listed: Ids, partition: int) -> Ids:
    """A list without a partition.

    Kafka copies the other entries into an array that is one shorter. Where the partition is listed more than once,
    what is left of that array stays zero, which reads as partition 0.
    """
    kept = tuple(other for other in listed if other != partition)
    return tuple(sorted((*kept, *((0,) * (len(listed) - 1 - len(kept))))))
