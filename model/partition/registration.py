"""A partition's registration and the change record that evolves it.

Source: `PartitionRegistration`, `PartitionChangeRecord` (KRaft metadata).
"""

from __future__ import annotations

from typing import cast

from attrs import fields, frozen

from kraftcheck.model.language.brokersets import Brokers
from kraftcheck.model.language.idlists import IdList
from kraftcheck.model.language.rule import rule
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import NO_LEADER, Maybe, absent, all_of, any_of, choose, negate, none_of, word
from kraftcheck.model.partition.directories import MIGRATING, Directories, DirectoryList, DirectoryMismatch
from kraftcheck.model.rules.groups import PartitionRules
from kraftcheck.model.rules.ruleset import RIGHT


@frozen
class Partition:
    """What the controller knows of one partition.

    Attributes:
        replicas: assigned replicas in preference order.
        directories: the directory of each replica.
        isr: in-sync replicas.
        elr: eligible leader replicas (KIP-966).
        last_known_elr: in balanced mode at most the last known leader.
        removing, adding: the reassignment in progress; both empty if none.
        leader: a broker, or NO_LEADER.
        recovering: leader recovery state; true is RECOVERING.
        leader_epoch, partition_epoch: ints from 0.
    """

    replicas: Brokers
    directories: Directories
    isr: Brokers
    elr: Brokers
    last_known_elr: Brokers
    removing: Brokers
    adding: Brokers
    leader: Word
    recovering: Truth
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
