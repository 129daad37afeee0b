"""State of the `zk-controller` system: what ZooKeeper holds, brokers, and the memory of the controller.

Source: the early controller design (ZooKeeper paths leaderAndISR and ZKQueue).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from attrs import evolve, frozen

from kraftcheck.model.language.brokersets import BrokerSet
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import NO_LEADER, all_of, any_of, choose, negate, none_of, pick

T = TypeVar("T")

UNREAD = -1
"""Version of a node that the controller has not read."""

STARTING = 0
"""The broker does not run, or has not read the decisions since its session began."""
READ = 1
"""It has read the decisions, and does not watch its queue yet."""
DEAF = 2
"""It has emptied its queue, and does not watch it yet."""
WATCHING = 3
"""Its watch is set: the next entry wakes it."""
AWAKE = 4
"""The watch has fired: it reads its queue."""


RESTING = 0
"""The controller has not looked at a reassignment of the partition."""
STARTED = 1
"""It has sent StartReplica, and looks at the ISR from time to time."""
SHRUNK = 2
"""It has written the ISR of the new replicas, and sent StopReplica to the others."""
REPLACED = 3
"""It has made the new replicas the assigned ones."""


@frozen
class Decision:
    """Leader and ISR of a partition, as leaderAndISR, an entry of a queue, or what a process remembers.

    Attributes:
        version: of the ZooKeeper node; 0: there is no decision.
        leader: broker or NO_LEADER.
        isr: in-sync replicas.
    """

    version: Word
    leader: Word
    isr: BrokerSet


NOTHING = Decision(0, NO_LEADER, BrokerSet())
"""No decision."""


@frozen
class Replica:
    """A broker's replica of one partition.

    Attributes:
        role: the decision that it follows.
        fetching: its fetcher runs.
        entry: what waits in its broker's queue: the last published decision (version 0: nothing).
    """

    role: Decision
    fetching: Truth
    entry: Decision


@frozen
class Broker:
    """A broker: its process, its session, its replicas.

    Attributes:
        up: the process runs.
        registered: /brokers/ids/<id> exists; a process without it has lost its session.
        status: STARTING to AWAKE.
        replicas: by partition.
    """

    up: Truth
    registered: Truth
    status: Word
    replicas: tuple[Replica, ...]

    def has_entries(self) -> Truth:
        """Whether something waits in its queue."""
        return any_of(*(r.entry.version > 0 for r in self.replicas))

    def works(self) -> Truth:
        """Whether the process runs with a session."""
        return all_of(self.up, self.registered)


@frozen
class Partition:
    """A partition: its nodes, and what is true of its logs.

    Attributes:
        created: its topic exists.
        deleted: an operator has deleted its topic; the name is not used again.
        assigned: brokers with a replica, as the topic's node says.
        target: brokers that are to have a replica, as /brokers/partitions_reassigned says; empty: as it is.
        stopping: brokers whose queue has a StopReplica that they have not followed.
        node: leaderAndISR; version 0 before leaders are initialised.
        failed: brokers whose replica has failed while the broker lives.
        holds: ghost: brokers with every acknowledged record.
        last: ghost: the last ISR that was not empty.
        floor: ghost: version of the last decision for an outsider; what older leaders acknowledge is given up by it.
    """

    created: Truth
    deleted: Truth
    assigned: BrokerSet
    target: BrokerSet
    stopping: BrokerSet
    node: Decision
    failed: BrokerSet
    holds: BrokerSet
    last: BrokerSet
    floor: Word

    def replicas(self) -> BrokerSet:
        """Old and new replicas: who may lead, and has to be told."""
        return self.assigned.plus(self.target)

    def exists(self) -> Truth:
        """Whether its topic exists, and is not to be deleted."""
        return all_of(self.created, negate(self.deleted))


@frozen
class Controller:
    """Memory of the broker that is the controller.

    Attributes:
        present: /controller exists.
        unread: it has taken over, and not read the decisions yet.
        working: it has read the live brokers and changes leaders.
        wrote: it has written a decision since.
        live: the brokers that it read.
        seen: by partition the node as read for this change; version UNREAD otherwise.
        decided: by partition the decision that it knows.
        tell: by partition the brokers whose queue does not have that decision yet.
        checked: by partition the version of the node whose ISR lets its reassignment complete; otherwise UNREAD.
        moved: by partition how far its reassignment is: RESTING to REPLACED.
        host: the broker that it is, where that matters; else NO_LEADER.
    """

    present: Truth
    unread: Truth
    working: Truth
    wrote: Truth
    live: BrokerSet
    seen: tuple[Decision, ...]
    decided: tuple[Decision, ...]
    tell: tuple[BrokerSet, ...]
    checked: tuple[Word, ...]
    moved: tuple[Word, ...]
    host: Word = NO_LEADER

    def told_all(self) -> Truth:
        """Whether nothing is left to publish."""
        return all_of(*(brokers.is_empty() for brokers in self.tell))

    def idle(self) -> Truth:
        """Whether it is in no procedure: one thread does everything."""
        completing = [any_of(c >= 0, m >= SHRUNK) for c, m in zip(self.checked, self.moved, strict=True)]
        return all_of(self.present, none_of(self.unread, self.working, *completing), self.told_all())


@frozen
class ZkControllerBudgets:
    """What may still go wrong or change; a restart has no budget of its own."""

    stops: Word
    session_losses: Word
    controller_failures: Word
    replica_failures: Word
    isr_changes: Word
    depositions: Word
    reassignments: Word
    deletions: Word


@frozen
class ZkController:
    """The whole state.

    Attributes:
        partitions, brokers: by number.
        controller: the one that /controller names.
        deposed: one that lost its session and does not know it yet.
        changed: the controller's watches on brokers and topics have fired.
        left: budgets.
    """

    partitions: tuple[Partition, ...]
    brokers: tuple[Broker, ...]
    controller: Controller
    deposed: Controller
    changed: Truth
    left: ZkControllerBudgets

    def broker(self, number: Word) -> Broker:
        """A broker."""
        return pick(self.brokers, number, self.brokers[0])

    def partition(self, number: Word) -> Partition:
        """A partition."""
        return pick(self.partitions, number, self.partitions[0])

    def replica(self, broker: Word, partition: Word) -> Replica:
        """A broker's replica of a partition."""
        replicas = self.broker(broker).replicas
        return pick(replicas, partition, replicas[0])

    def registered(self) -> BrokerSet:
        """The children of /brokers/ids."""
        return members(b.registered for b in self.brokers)

    def some_broker_works(self) -> Truth:
        """Whether some broker runs with a session."""
        return any_of(*(b.works() for b in self.brokers))

    def leads(self, broker: Word, partition: Word) -> Truth:
        """Whether a broker acts as leader, whatever ZooKeeper says."""
        return all_of(
            self.broker(broker).up,
            self.replica(broker, partition).role.leader == broker,
            negate(self.partition(partition).failed.has(broker)),
        )

    def fetches_from(self, broker: Word, partition: Word, leader: Word) -> Truth:
        """Whether a broker's fetcher runs against a leader."""
        r = self.replica(broker, partition)
        return all_of(self.broker(broker).up, r.fetching, r.role.leader == leader)

    def with_broker(self, number: Word, broker: Broker) -> ZkController:
        """The state with one broker replaced."""
        return evolve(self, brokers=replaced(self.brokers, number, broker))

    def with_partition(self, number: Word, partition: Partition) -> ZkController:
        """The state with one partition replaced."""
        return evolve(self, partitions=replaced(self.partitions, number, partition))

    def with_replica(self, broker: Word, partition: Word, replica: Replica) -> ZkController:
        """The state with one replica replaced."""
        b = self.broker(broker)
        return self.with_broker(broker, evolve(b, replicas=replaced(b.replicas, partition, replica)))


def members(truths: Iterable[Truth]) -> BrokerSet:
    """The set of the brokers whose truth holds, in order of their numbers."""
    mask: Word = 0
    for number, held in enumerate(truths):
        mask = mask | choose(held, 1 << number, 0)
    return BrokerSet(mask)


def replaced(items: tuple[T, ...], index: Word, item: T) -> tuple[T, ...]:
    """The items with one of them replaced."""
    return tuple(choose(index == position, item, old) for position, old in enumerate(items))


def blank(partitions: int) -> Controller:
    """No controller: what it knew is gone."""
    return Controller(
        False, False, False, False, BrokerSet(), (not_read(),) * partitions, (NOTHING,) * partitions,
        (BrokerSet(),) * partitions, (UNREAD,) * partitions, (RESTING,) * partitions,
    )  # fmt: skip


def not_read() -> Decision:
    """What the controller knows of a node that it has not read."""
    return Decision(UNREAD, NO_LEADER, BrokerSet())
