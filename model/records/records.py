"""The metadata records that carry every change of controller state.

Records are concrete and hold what the log holds: an optional field that is
None was not written, which is neither empty nor "the same value again".

Source: the record schemas of KRaft (`metadata/src/main/resources/common/metadata`).
"""

from __future__ import annotations

from typing import Protocol, TypeAlias

from attrs import field, frozen

from kraftcheck.model.language.brokersets import Brokers
from kraftcheck.model.language.idlists import IdList
from kraftcheck.model.language.words import NO_LEADER
from kraftcheck.model.partition.directories import MIGRATING, DirectoryList, DirectoryMismatch
from kraftcheck.model.partition.registration import Partition, PartitionChange

Ids: TypeAlias = tuple[int, ...]


class Named(Protocol):
    """A thing with a name."""

    @property
    def name(self) -> str:
        """The name."""


def by_name(items: tuple[Named, ...]) -> tuple[Named, ...]:
    """The items in the order of their names, so that equality forgets the order given."""
    return tuple(sorted(items, key=lambda item: item.name))


@frozen
class TopicRecord:
    """A topic comes into being.

    Attributes:
        name: unique among the topics that exist.
        topic_id: never used again.
    """

    name: str
    topic_id: str


@frozen
class RemoveTopicRecord:
    """A topic and all its partitions go."""

    topic_id: str


@frozen
class PartitionRecord:
    """The full state of a partition; replaces what was known of it.

    Attributes:
        directories: in the order of `replicas`; absent before version 1.
        elr, last_known_elr: absent before version 2 and when empty.
    """

    topic_id: str
    partition_id: int
    replicas: Ids
    isr: Ids
    removing: Ids = ()
    adding: Ids = ()
    leader: int = NO_LEADER
    recovering: bool = False
    leader_epoch: int = -1
    partition_epoch: int = -1
    directories: Ids | None = None
    elr: Ids | None = None
    last_known_elr: Ids | None = None


@frozen
class PartitionChangeRecord:
    """Some fields of a partition change."""

    topic_id: str
    partition_id: int
    change: PartitionChange


@frozen
class Listener:
    """Where a broker can be reached."""

    name: str
    host: str
    port: int
    protocol: str = "PLAINTEXT"


@frozen
class Feature:
    """The levels of a feature that a broker supports."""

    name: str
    min_level: int
    max_level: int


@frozen
class RegisterBrokerRecord:
    """A broker registers; replaces what was known of it.

    Attributes:
        broker_epoch: epoch of this registration: the offset of its record.
        incarnation: identity of the broker process.
        listeners, features: in the order of their names.
        log_dirs: ids of the directories that are online.
        cordoned: ids of the directories that take no new replica; None until the broker has said which.
    """

    broker_id: int
    broker_epoch: int
    incarnation: str
    listeners: tuple[Listener, ...] = field(default=(), converter=by_name)
    features: tuple[Feature, ...] = field(default=(), converter=by_name)
    rack: str | None = None
    fenced: bool = True
    in_controlled_shutdown: bool = False
    is_migrating_zk_broker: bool = False
    log_dirs: Ids = ()
    cordoned: Ids | None = None


@frozen
class UnregisterBrokerRecord:
    """A broker's registration goes."""

    broker_id: int
    broker_epoch: int


@frozen
class BrokerRegistrationChangeRecord:
    """Some fields of a broker's registration change.

    Attributes:
        fenced: 1 fence, -1 unfence, 0 keep.
        in_controlled_shutdown: 1 set, 0 keep; nothing clears it.
        log_dirs: the directories online now; absent keeps them, and so does empty in the code (defect X6).
        cordoned: the directories that take no new replica now; absent keeps them, and empty says that there is none.
    """

    broker_id: int
    broker_epoch: int
    fenced: int = 0
    in_controlled_shutdown: int = 0
    log_dirs: Ids | None = None
    cordoned: Ids | None = None


@frozen
class FenceBrokerRecord:
    """A broker is fenced: the form of metadata versions before 3.3-IV2."""

    broker_id: int
    broker_epoch: int


@frozen
class UnfenceBrokerRecord:
    """A broker is unfenced: the form of metadata versions before 3.3-IV2."""

    broker_id: int
    broker_epoch: int


Record: TypeAlias = (
    TopicRecord
    | RemoveTopicRecord
    | PartitionRecord
    | PartitionChangeRecord
    | RegisterBrokerRecord
    | UnregisterBrokerRecord
    | BrokerRegistrationChangeRecord
    | FenceBrokerRecord
    | UnfenceBrokerRecord
)


def partition_of(record: PartitionRecord) -> Partition:
    """The partition that a record describes.

    Directories that are absent, empty or all MIGRATING become one MIGRATING a replica.

    Raises:
        DirectoryMismatch: when replicas and directories differ in number.

    Source: `PartitionRegistration`, constructor from a record.
    """
    directories = record.directories or ()
    if directories and len(directories) != len(record.replicas):
        raise DirectoryMismatch(f"{len(record.replicas)} replicas but {len(directories)} directories")
    if all(directory == MIGRATING for directory in directories):
        directories = (MIGRATING,) * len(record.replicas)
    return Partition(
        replicas=IdList(record.replicas),
        directories=DirectoryList(record.replicas, directories),
        isr=IdList(record.isr),
        elr=IdList(record.elr or ()),
        last_known_elr=IdList(record.last_known_elr or ()),
        removing=IdList(record.removing),
        adding=IdList(record.adding),
        leader=record.leader,
        recovering=record.recovering,
        leader_epoch=record.leader_epoch,
        partition_epoch=record.partition_epoch,
    )


def ids(brokers: Brokers) -> Ids:
    """The members of a concrete collection in its order."""
    return tuple(brokers)  # type: ignore[arg-type]


def partition_record(
    p: Partition, topic_id: str, partition_id: int, *, directories: bool = True, elr: bool = True
) -> PartitionRecord:
    """The record that describes a concrete partition.

    Args:
        p: a partition of ordered lists.
        topic_id, partition_id: its name in the log.
        directories, elr: whether the metadata version knows these fields;
            `loses_directories` tells whether their omission loses something.

    Source: `PartitionRegistration.toRecord`.
    """
    return PartitionRecord(
        topic_id=topic_id,
        partition_id=partition_id,
        replicas=ids(p.replicas),
        isr=ids(p.isr),
        removing=ids(p.removing),
        adding=ids(p.adding),
        leader=int(p.leader),
        recovering=bool(p.recovering),
        leader_epoch=int(p.leader_epoch),
        partition_epoch=int(p.partition_epoch),
        directories=_directory_ids(p) if directories else None,
        elr=(ids(p.elr) or None) if elr else None,
        last_known_elr=(ids(p.last_known_elr) or None) if elr else None,
    )


def loses_directories(p: Partition) -> bool:
    """Whether a record without directories forgets where a replica is."""
    return any(directory != MIGRATING for directory in _directory_ids(p))


def _directory_ids(p: Partition) -> Ids:
    return tuple(int(p.directories.of(b)) for b in ids(p.replicas))
