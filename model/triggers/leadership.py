"""The leader test: the brokers that may lead a partition, as a set or as a list.

Source: `LeaderAcceptor`, `ClusterControlManager.isActive`, `DirectoryId.isOnline`.
"""

from __future__ import annotations

from typing import Protocol

from attrs import frozen

from kraftcheck.model.language.brokersets import Brokers
from kraftcheck.model.language.rule import rule
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import all_of, any_of, negate
from kraftcheck.model.partition.directories import is_online
from kraftcheck.model.partition.election import Election
from kraftcheck.model.rules.groups import PartitionRules


class Cluster(Protocol):
    """The brokers by their registrations; one that is not registered is in no other collection."""

    @property
    def registered(self) -> Brokers:
        """Brokers that are registered."""

    @property
    def fenced(self) -> Brokers:
        """Brokers that must not lead or be in an ISR."""

    @property
    def shutting_down(self) -> Brokers:
        """Brokers in controlled shutdown."""


@frozen
class Registered:
    """A cluster as three collections of one family; attributes as of `Cluster`."""

    registered: Brokers
    fenced: Brokers
    shutting_down: Brokers


@rule("leader.active", source="semantics 3; KIP-841; ClusterControlManager.isActive",
      says="A broker is active when it is registered, not fenced and not in controlled shutdown.")  # fmt: skip
def active(cluster: Cluster) -> Brokers:
    """Brokers that are registered, unfenced and not shutting down."""
    return cluster.registered.minus(cluster.fenced).minus(cluster.shutting_down)


@rule("leader.unfenced", source="KIP-631; semantics 3; LeaderAcceptor", switches=("fenced-leader-acceptable",),
      says="Only an active broker on an online directory is elected.")  # fmt: skip
@rule("unfence.not-active-while-shutting-down", source="B19; KIP-841",
      switches=("unfence-ignores-controlled-shutdown",),
      says="A broker in controlled shutdown does not count as active while it is being unfenced.")  # fmt: skip
def may_lead(cluster: Cluster, offline: Brokers, barred: Brokers, counted: Brokers, rules: PartitionRules) -> Brokers:
    """Brokers that pass the leader test.

    An active broker that is no replica has no directory to look up: Kafka
    throws there. Such brokers are kept, so that the election of one shows that
    the lookup was reached; see `lookup_failed`.

    Args:
        cluster: the brokers.
        offline: replicas of the partition that are in no online directory.
        barred: brokers that may not lead, whatever their status.
        counted: brokers that count as active although still fenced.
        rules: the rule set.
    """
    able = active(cluster)
    if rules.fenced_leader_acceptable:
        able = cluster.registered.minus(cluster.shutting_down)
    if not rules.unfence_ignores_controlled_shutdown:
        counted = counted.minus(cluster.shutting_down)
    return able.plus(counted).minus(barred).minus(offline)


@rule("directory.unknown-is-online", source="KIP-858; semantics 6.1; DirectoryId.isOnline",
      switches=("unknown-directory-is-offline",),
      says="A replica whose directory is not known yet counts as online; by the letter of the document it is offline "
           "where its broker registers several.")  # fmt: skip
@rule("directory.last-one-hides-none", source="KIP-858; semantics 9; catalogue 30",
      switches=("one-directory-means-all-online",),
      says="A replica in an unknown directory is offline, also where its broker registers one "
           "directory only.")  # fmt: skip
def replica_online(
    directory: Word, registered: Truth, count: Word, untold: Truth, listed: Truth, rules: PartitionRules
) -> Truth:
    """Whether the controller takes a replica to be in an online directory.

    Args:
        directory: the replica's directory.
        registered: whether its broker is registered.
        count: how many directories the registration lists.
        untold: whether it lists none because the broker does not tell.
        listed: whether it lists this directory.
        rules: the rule set.
    """
    none_known = count <= 1 if rules.one_directory_means_all_online else untold
    online = is_online(directory, registered, none_known, listed)
    if not rules.unknown_directory_is_offline:
        return online
    return all_of(online, any_of(count <= 1, listed))


@rule("election.outsider-lookup-resigns", source="B1; B4; PartitionRegistration.directory; semantics 3",
      says="The controller resigns when an election asks for the directory of a broker that is no "
           "replica.")  # fmt: skip
def lookup_failed(election: Election, replicas: Brokers, eligible: Brokers) -> Truth:
    """Whether an election asked for the directory of a broker that is no replica; the controller resigns over it."""
    outsider = all_of(election.leader >= 0, negate(replicas.has(election.leader)))
    return all_of(outsider, any_of(negate(election.last_known), eligible.has(election.leader)))
