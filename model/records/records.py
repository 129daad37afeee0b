"""The metadata records that carry every change of controller state.

Records are concrete and hold what the log holds: an optional field that is
None was not written, which is neither empty nor "the same value again".

Source: the record schemas of KRaft (`metadata/src/main/resources/common/metadata`).
"""

from __future__ import annotations

from typing import Protocol, TypeAlias

from attrs import evolve, field, fields_dict, frozen

from kraftcheck.model.language.brokersets import Brokers
from kraftcheck.model.language.idlists import IdList
from kraftcheck.model.language.words import NO_LEADER, rule
from kraftcheck.model.partition.registration import (
    MIGRATING,
    DirectoryList,
    DirectoryMismatch,
    Partition,
    PartitionChange,
)
from kraftcheck.model.rules.groups import PartitionRules
from kraftcheck.model.rules.ruleset import RIGHT
from kraftcheck.model.triggers.leadership import replica_online, takes_replicas

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
    """A topic comes into being."""

    name: str  # unique among the topics that exist
    topic_id: str  # never used again


@frozen
class RemoveTopicRecord:
    """A topic and all its partitions go."""

    topic_id: str


@frozen
class PartitionRecord:
    """The full state of a partition; replaces what was known of it."""

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
    directories: Ids | None = None  # in the order of `replicas`; absent before version 1
    # elr, last_known_elr: absent before version 2 and when empty
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


def highest(features: tuple[Feature, ...], name: str) -> int | None:
    """The highest level of a feature among those that a broker supports; None where it names none."""
    return next((one.max_level for one in features if one.name == name), None)


@frozen
class RegisterBrokerRecord:
    """A broker registers; replaces what was known of it."""

    broker_id: int
    broker_epoch: int  # epoch of this registration: the offset of its record
    incarnation: str  # identity of the broker process
    # listeners, features: in the order of their names
    listeners: tuple[Listener, ...] = field(default=(), converter=by_name)
    features: tuple[Feature, ...] = field(default=(), converter=by_name)
    rack: str | None = None
    fenced: bool = True
    in_controlled_shutdown: bool = False
    is_migrating_zk_broker: bool = False
    log_dirs: Ids = ()  # ids of the directories that are online
    cordoned: Ids | None = None  # ids of the directories that take no new replica; None until the broker has said which


@frozen
class UnregisterBrokerRecord:
    """A broker's registration goes."""

    broker_id: int
    broker_epoch: int


@frozen
class BrokerRegistrationChangeRecord:
    """Some fields of a broker's registration change."""

    broker_id: int
    broker_epoch: int
    fenced: int = 0  # 1 fence, -1 unfence, 0 keep
    in_controlled_shutdown: int = 0  # 1 set, 0 keep; nothing clears it
    # the directories online now; absent keeps them, and so does empty in the code (defect X6)
    log_dirs: Ids | None = None
    # the directories that take no new replica now; absent keeps them, and empty says that there is none
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


RegistrationChange = BrokerRegistrationChangeRecord | FenceBrokerRecord | UnfenceBrokerRecord


class StaleEpochError(ValueError):
    """A record that names another epoch than the broker's."""


class UnknownFlagError(ValueError):
    """A change record whose flag has no meaning."""


def directory_order(directory: int) -> tuple[int, int]:
    """The sort key of directory ids: two 64-bit halves, each read as a signed number.

    Source: `Uuid.compareTo`.
    """
    return _signed(directory >> 64), _signed(directory & (1 << 64) - 1)


def _signed(half: int) -> int:
    return half - (1 << 64) if half >= 1 << 63 else half


def in_order(directories: Ids) -> Ids:
    """The directories as registrations keep them."""
    return tuple(sorted(directories, key=directory_order))


@frozen
class Node:
    """A broker as clients see it through one listener."""

    id: int
    host: str
    port: int
    rack: str | None


@frozen
class Registration:
    """The controller's knowledge of one broker."""

    id: int  # broker id
    epoch: int  # offset of the record of the current incarnation's registration
    incarnation: str  # identity of the broker process
    # listeners, features: in the order of their names
    listeners: tuple[Listener, ...] = field(default=(), converter=by_name)
    features: tuple[Feature, ...] = field(default=(), converter=by_name)
    rack: str | None = None  # None when the broker names none
    fenced: bool = False  # whether it must not lead or be in an ISR
    in_controlled_shutdown: bool = False  # whether it is leaving; only a new incarnation clears it
    is_migrating_zk_broker: bool = False  # whether it still runs in ZooKeeper mode
    # ids of its online directories, in `directory_order`; none where the metadata version knows none
    dirs: Ids = field(default=(), converter=in_order)
    no_dir_left: bool = False  # whether there is none because the last one failed
    # ids of its directories that take no new replica, in the order given; None until it has said which
    cordoned: Ids | None = None

    def is_active(self) -> bool:
        """Whether the broker may lead: neither fenced nor leaving."""
        return not self.fenced and not self.in_controlled_shutdown

    def knows_no_dirs(self) -> bool:
        """Whether its directories are unknown, so that each counts as online."""
        return not self.dirs and not self.no_dir_left

    def has_online_dir(self, directory: int, rules: PartitionRules = RIGHT.partition) -> bool:
        """Whether a replica in this directory is online."""
        listed = directory in self.dirs
        return bool(replica_online(directory, True, len(self.dirs), self.knows_no_dirs(), listed, rules))

    def takes_replicas(self) -> bool:
        """Whether new replicas may be placed on the broker, as far as its directories go."""
        uncordoned = bool(self.directory_difference(self.cordoned or ()))
        return bool(takes_replicas(not self.dirs or self.cordoned is None, uncordoned))

    def directory_intersection(self, directories: Ids) -> Ids:
        """The registered directories that are among some."""
        return tuple(directory for directory in self.dirs if directory in directories)

    def directory_difference(self, directories: Ids) -> Ids:
        """The registered directories that are not among some."""
        return tuple(directory for directory in self.dirs if directory not in directories)

    def node_for_listener(self, listener: str) -> Node | None:
        """The broker's address through a listener; None when it has no such listener."""
        found = next((known for known in self.listeners if known.name == listener), None)
        return None if found is None else Node(self.id, found.host, found.port, self.rack)


@rule("registration.overwrites-everything", source="semantics 1.2; BrokerRegistration",
      says="A registration replaces all that was registered of the broker.")  # fmt: skip
def registration_of(record: RegisterBrokerRecord) -> Registration:
    """The registration that a record describes."""
    return Registration(
        id=record.broker_id,
        epoch=record.broker_epoch,
        dirs=record.log_dirs,
        **{name: getattr(record, name) for name in _SHARED},
    )


_SHARED = tuple(name for name in fields_dict(Registration) if name in fields_dict(RegisterBrokerRecord))


def register_record(
    registration: Registration,
    *,
    controlled_shutdown: bool = True,
    migration: bool = True,
    directories: bool = True,
    cordoning: bool = True,
) -> RegisterBrokerRecord:
    """The record that describes a registration.

    That the last directory failed has no form in it: read back, the directories are unknown.

    Args:
        controlled_shutdown, migration, directories, cordoning: whether the metadata
            version knows these fields; what it does not know is lost.

    Source: `BrokerRegistration.toRecord`.
    """
    return RegisterBrokerRecord(
        broker_id=registration.id,
        broker_epoch=registration.epoch,
        incarnation=registration.incarnation,
        listeners=registration.listeners,
        features=registration.features,
        rack=registration.rack,
        fenced=registration.fenced,
        in_controlled_shutdown=registration.in_controlled_shutdown and controlled_shutdown,
        is_migrating_zk_broker=registration.is_migrating_zk_broker and migration,
        log_dirs=registration.dirs if directories else (),
        cordoned=registration.cordoned if cordoning else None,
    )


@rule("registration.empty-directory-list-is-none-left",
      source="X6; KAFKA-16162; BrokerRegistration.cloneWith; semantics 6.3",
      switches=("empty-directory-list-means-no-change",),
      says="A registration change with an empty list of directories says that none is left.")  # fmt: skip
def changed(
    registration: Registration, record: RegistrationChange, rules: PartitionRules = RIGHT.partition
) -> Registration:
    """The registration after a change record.

    An empty list of directories says that none is left, an absent one nothing;
    the code takes both for the latter (defect X6).

    Raises:
        StaleEpochError: when the record names another epoch.
        UnknownFlagError: when a flag has no meaning.

    Source: `ClusterControlManager.replayRegistrationChange`, `BrokerRegistration.cloneWith`.
    """
    if record.broker_epoch != registration.epoch:
        raise StaleEpochError(f"epoch {record.broker_epoch} but broker {registration.id} has {registration.epoch}")
    if isinstance(record, FenceBrokerRecord | UnfenceBrokerRecord):
        return evolve(registration, fenced=isinstance(record, FenceBrokerRecord))
    if record.fenced not in (-1, 0, 1):
        raise UnknownFlagError(f"fenced is {record.fenced}, not -1, 0 or 1")
    if record.in_controlled_shutdown not in (0, 1):
        raise UnknownFlagError(f"in_controlled_shutdown is {record.in_controlled_shutdown}, not 0 or 1")
    dirs, none_left = registration.dirs, registration.no_dir_left
    if record.log_dirs is not None and (record.log_dirs or not rules.empty_directory_list_means_no_change):
        dirs, none_left = record.log_dirs, not record.log_dirs
    return evolve(
        registration,
        fenced=registration.fenced if record.fenced == 0 else record.fenced == 1,
        in_controlled_shutdown=registration.in_controlled_shutdown or record.in_controlled_shutdown == 1,
        dirs=dirs,
        no_dir_left=none_left,
        cordoned=registration.cordoned if record.cordoned is None else record.cordoned,
    )
