"""A partition's registration, the change record that evolves it, and the log directories of its replicas."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, Protocol, cast, runtime_checkable

from attrs import fields, frozen

from kraftcheck.model.language.brokersets import Brokers
from kraftcheck.model.language.idlists import IdList
from kraftcheck.model.language.symbolic import described
from kraftcheck.model.language.terms import Term, Truth, Word
from kraftcheck.model.language.words import (
    NO_LEADER,
    Maybe,
    absent,
    all_of,
    any_of,
    choose,
    concrete,
    negate,
    none_of,
    rule,
    word,
)
from kraftcheck.model.rules.groups import PartitionRules
from kraftcheck.model.rules.ruleset import RIGHT

MIGRATING = 0  # placed somewhere, not known where: the state during migration
UNASSIGNED = 1  # not placed yet
LOST = 2  # in some directory that is offline
FIRST_LOCAL = 3  # explored systems number each broker's own directories from here
RESERVED = 100  # ids below this are never drawn for a directory


class DirectoryMismatch(ValueError):
    """Replicas and directories that do not correspond one to one."""


@rule("directory-id.first-hundred-reserved", source="KIP-858; semantics 6.1; DirectoryId.reserved",
      says="The first hundred directory ids are reserved.")  # fmt: skip
def is_reserved(directory: int) -> bool:
    """Whether an id is one of the first hundred.

    The code compares the low 64 bits as a signed number, so ids with a zero
    high half and a negative low half are reserved too.
    """
    high, low = directory >> 64, directory & (1 << 64) - 1
    return high == 0 and (low < RESERVED or low >= 1 << 63)


@rule("directory.online-when-registered", source="KIP-858; semantics 6.1; DirectoryId.isOnline",
      says="A directory is online when its broker's registration lists it, lists none at all, or the "
           "id says only that it is unknown.")  # fmt: skip
def is_online(directory: Word, registered: Truth, none_known: Truth, listed: Truth) -> Truth:
    """Whether a replica's directory counts as online.

    Args:
        registered: whether its broker is registered.
        none_known: whether the registration lists no directory at all, which
            means that the broker's version does not tell.
        listed: whether the registration lists this directory.

    Source: `DirectoryId.isOnline`, `BrokerRegistration.hasOnlineDir`.
    """
    unknown = any_of(directory == UNASSIGNED, directory == MIGRATING)
    return all_of(registered, any_of(unknown, all_of(directory != LOST, any_of(none_known, listed))))


@runtime_checkable
class Directories(Protocol):
    """The directory of each replica of a partition."""

    def of(self, broker: Word) -> Word:
        """The directory of a replica."""

    def for_replicas(self, replicas: Brokers, wanted: Callable[[Word], Word]) -> Directories:
        """Directories of a new replica list, each asked of `wanted`."""

    def same(self, other: Directories) -> Truth:
        """Equality."""


@frozen
class DirectoryList:
    """Directories in the order of the replicas, as records keep them; concrete only."""

    concrete_only: ClassVar[bool] = True
    replicas: tuple[int, ...]  # the brokers
    ids: tuple[int, ...]  # their directories; records may disagree in length, `of` then raises

    def of(self, broker: Word) -> int:
        """The directory of a replica; raises DirectoryMismatch for a broker that is not a replica."""
        if broker not in self.replicas:
            raise DirectoryMismatch(f"broker {broker} is not a replica")
        return self.ids[self.replicas.index(int(broker))]

    def for_replicas(self, replicas: Brokers, wanted: Callable[[Word], Word]) -> DirectoryList:
        """See `Directories.for_replicas`."""
        if not isinstance(replicas, IdList):
            raise TypeError("a directory list belongs to an ordered replica list")
        return DirectoryList(replicas.ids, tuple(int(wanted(b)) for b in replicas))

    def moved(self, broker: Word, directory: Word) -> DirectoryList:
        """The same with one replica in another directory."""
        pairs = zip(self.replicas, self.ids, strict=True)
        return DirectoryList(self.replicas, tuple(int(directory) if b == broker else old for b, old in pairs))

    def same(self, other: Directories) -> bool:
        """Equality of the id lists, as the records compare them."""
        return isinstance(other, DirectoryList) and self.ids == other.ids


@frozen
class DirectoryMap:
    """The directory of each broker 0..n-1; UNASSIGNED for brokers that are not replicas."""

    slots: tuple[Word, ...]

    def __str__(self) -> str:
        """As traces print it: `0:UNASSIGNED 1:dir0`."""
        return " ".join(f"{broker}:{local_name(concrete(slot))}" for broker, slot in enumerate(self.slots))

    def of(self, broker: Word) -> Word:
        """The directory of a replica; of another broker UNASSIGNED."""
        if not isinstance(broker, Term) and 0 <= broker < len(self.slots):
            return self.slots[broker]
        result: Word = UNASSIGNED
        for position, slot in enumerate(self.slots):
            result = choose(broker == position, slot, result)
        return result

    def for_replicas(self, replicas: Brokers, wanted: Callable[[Word], Word]) -> DirectoryMap:
        """See `Directories.for_replicas`."""
        return DirectoryMap(tuple(choose(replicas.has(b), wanted(b), UNASSIGNED) for b in range(len(self.slots))))

    def moved(self, broker: Word, directory: Word) -> DirectoryMap:
        """The same with one replica in another directory."""
        return DirectoryMap(tuple(choose(broker == b, directory, old) for b, old in enumerate(self.slots)))

    def same(self, other: Directories) -> Truth:
        """Equality of every entry."""
        if not isinstance(other, DirectoryMap):
            raise TypeError(f"a directory map is compared with {described(other)}")
        return all_of(*(a == b for a, b in zip(self.slots, other.slots, strict=True)))


def local_name(directory: int) -> str:
    """A reserved id, or a broker's own directory of an explored system, in words.

    >>> local_name(LOST), local_name(FIRST_LOCAL + 1)
    ('LOST', 'dir1')
    """
    names = {MIGRATING: "MIGRATING", UNASSIGNED: "UNASSIGNED", LOST: "LOST"}
    return names.get(directory, f"dir{directory - FIRST_LOCAL}")


def assignment_map(replicas: Sequence[int], directories: Sequence[int]) -> dict[int, int]:
    """Replica to directory.

    Raises:
        DirectoryMismatch: when the lists differ in length or a replica repeats.

    Source: `DirectoryId.createAssignmentMap`.
    """
    if len(replicas) != len(directories):
        raise DirectoryMismatch(f"{len(replicas)} replicas but {len(directories)} directories")
    if len(set(replicas)) != len(replicas):
        raise DirectoryMismatch(f"a replica repeats in {list(replicas)}")
    return dict(zip(replicas, directories, strict=True))


@frozen
class Partition:
    """The controller's knowledge of one partition."""

    replicas: Brokers  # assigned replicas in preference order
    directories: Directories  # the directory of each replica
    isr: Brokers  # in-sync replicas
    elr: Brokers  # eligible leader replicas (KIP-966)
    last_known_elr: Brokers  # in balanced mode at most the last known leader
    # removing, adding: the reassignment in progress; both empty if none
    removing: Brokers
    adding: Brokers
    leader: Word  # a broker, or NO_LEADER
    recovering: Truth  # leader recovery state; true is RECOVERING
    # leader_epoch, partition_epoch: ints from 0
    leader_epoch: Word
    partition_epoch: Word

    def reassigning(self) -> Truth:
        """Whether a reassignment is in progress."""
        return negate(all_of(self.adding.is_empty(), self.removing.is_empty()))


@frozen
class PartitionChange:
    """A PartitionChangeRecord: the fields to change; absent fields stay.

    `leader` present with the current leader is not absent: it raises the
    leader epoch.
    """

    replicas: Maybe[Brokers]
    directories: Maybe[Directories]
    isr: Maybe[Brokers]
    elr: Maybe[Brokers]
    last_known_elr: Maybe[Brokers]
    removing: Maybe[Brokers]
    adding: Maybe[Brokers]
    leader: Maybe[Word]
    recovering: Maybe[Truth]

    def is_noop(self) -> Truth:
        """Whether no field is present, so that no record is written."""
        return none_of(*(getattr(self, field.name).present for field in fields(PartitionChange)))


def no_change(p: Partition) -> PartitionChange:
    """The change without fields, shaped for this partition."""
    return PartitionChange(**{field.name: absent(getattr(p, field.name)) for field in fields(PartitionChange)})


@rule("partition-epoch.rises-with-each-record",
      source="KIP-497; semantics 1.1; invariant 28; PartitionRegistration.merge",
      switches=("partition-epoch-follows-leader",),
      says="The partition epoch rises by one with every record of the partition.")  # fmt: skip
def merge(p: Partition, change: PartitionChange, rules: PartitionRules = RIGHT.partition) -> Partition:
    """The partition after its change record is replayed.

    The partition epoch always rises by one; the leader epoch iff the leader
    field is present, even when it names the current leader.

    Raises:
        DirectoryMismatch: when replicas and directories end up unequal in number.

    Source: `PartitionRegistration.merge`.
    """
    return Partition(
        replicas=change.replicas.or_else(p.replicas),
        directories=_merged_directories(p, change),
        isr=change.isr.or_else(p.isr),
        elr=change.elr.or_else(p.elr),
        last_known_elr=change.last_known_elr.or_else(p.last_known_elr),
        removing=change.removing.or_else(p.removing),
        adding=change.adding.or_else(p.adding),
        leader=change.leader.or_else(p.leader),
        recovering=change.recovering.or_else(p.recovering),
        leader_epoch=p.leader_epoch + _leader_epoch_rise(change, rules),
        partition_epoch=p.partition_epoch
        + (word(change.leader.present) if rules.partition_epoch_follows_leader else 1),
    )


@rule("leader-epoch.rises-with-leader-field",
      source="KIP-101; semantics 1.1; invariant 29; PartitionRegistration.merge",
      switches=("leader-epoch-rises-twice", "leader-change-keeps-epoch"),
      says="The leader epoch rises by one when a record has the leader field, even where it names the "
           "current leader.")  # fmt: skip
def _leader_epoch_rise(change: PartitionChange, rules: PartitionRules) -> Word:
    if rules.leader_change_keeps_epoch:
        return 0
    return choose(change.leader.present, 2 if rules.leader_epoch_rises_twice else 1, 0)


@rule("directories.migrating-lists-made-anew", source="KIP-858; semantics 1.1; PartitionRegistration.merge",
      says="A list of directories that are all MIGRATING is made anew for the new number of replicas.")  # fmt: skip
def _merged_directories(p: Partition, change: PartitionChange) -> Directories:
    """All-MIGRATING lists (an empty one included) are re-made for the new replica count."""
    directories = change.directories.or_else(p.directories)
    if not isinstance(directories, DirectoryList):
        return directories
    replicas = tuple(cast(IdList, change.replicas.or_else(p.replicas)))
    both = all_of(change.replicas.present, change.directories.present)
    if both and directories.ids and len(directories.ids) != len(replicas):
        raise DirectoryMismatch(f"{len(replicas)} replicas but {len(directories.ids)} directories in the change")
    if all(directory == MIGRATING for directory in directories.ids):
        return DirectoryList(replicas, (MIGRATING,) * len(replicas))
    if len(directories.ids) != len(replicas):
        raise DirectoryMismatch(f"{len(replicas)} replicas but {len(directories.ids)} directories after the change")
    return DirectoryList(replicas, directories.ids)


@rule("election.clean.from-previous-isr", source="PartitionRegistration.electionWasClean",
      says="A new leader from the previous ISR was elected cleanly.")  # fmt: skip
def election_was_clean(new_leader: Word, previous_isr: Brokers) -> Truth:
    """Whether a new leader came from the previous ISR; having no leader counts as clean.

    Source: `PartitionRegistration.electionWasClean`.
    """
    return any_of(new_leader == NO_LEADER, previous_isr.has(new_leader))
