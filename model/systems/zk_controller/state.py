"""State of the `zk-controller` system: what ZooKeeper holds, brokers, and the memory of the controller.

Source: the early controller design (ZooKeeper paths leaderAndISR and ZKQueue).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from attrs import evolve, frozen

from model.brokersets import BrokerSet
from model.layout import ints, subset_of, truth
from model.system import Setting
from model.terms import Truth, Word
from model.words import NO_LEADER, all_of, any_of, choose, negate, none_of, pick

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
    """A partition: its node, and what is true of its logs.

    Attributes:
        created: its topic exists; every broker is assigned.
        node: leaderAndISR; version 0 before leaders are initialised.
        failed: brokers whose replica has failed while the broker lives.
        holds: ghost: brokers with every acknowledged record.
        last: ghost: the last ISR that was not empty.
        floor: ghost: version of the last decision for an outsider; what older leaders acknowledge is given up by it.
    """

    created: Truth
    node: Decision
    failed: BrokerSet
    holds: BrokerSet
    last: BrokerSet
    floor: Word


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
    """

    present: Truth
    unread: Truth
    working: Truth
    wrote: Truth
    live: BrokerSet
    seen: tuple[Decision, ...]
    decided: tuple[Decision, ...]
    tell: tuple[BrokerSet, ...]

    def told_all(self) -> Truth:
        """Whether nothing is left to publish."""
        return all_of(*(brokers.is_empty() for brokers in self.tell))


@frozen
class Budgets:
    """What may still go wrong or change; a restart has no budget of its own."""

    stops: Word
    session_losses: Word
    controller_failures: Word
    replica_failures: Word
    isr_changes: Word


@frozen
class ZkController:
    """The whole state; `changed`: the controller's watches on brokers and topics have fired."""

    partitions: tuple[Partition, ...]
    brokers: tuple[Broker, ...]
    controller: Controller
    changed: Truth
    left: Budgets

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


BUDGETS = ("stops", "session_losses", "controller_failures", "replica_failures", "isr_changes")


def versions(setting: Setting) -> int:
    """The largest version: changes of the ISR, and two writes for each leader that can be lost."""
    losses = setting["stops"] + setting["session-losses"] + setting["replica-failures"]
    return 2 + setting["isr-changes"] + 2 * losses


def layout(setting: Setting) -> ZkController:
    """The domain of each field."""
    brokers, partitions, last = setting["brokers"], setting["partitions"], versions(setting)
    some, someone = BrokerSet(subset_of(brokers)), ints(NO_LEADER, brokers - 1)
    decision = Decision(ints(0, last), someone, some)
    replica = Replica(decision, truth(), decision)
    broker = Broker(truth(), truth(), ints(STARTING, AWAKE), (replica,) * partitions)
    return ZkController(
        partitions=(Partition(truth(), decision, some, some, some, ints(0, last)),) * partitions,
        brokers=(broker,) * brokers,
        controller=Controller(
            truth(), truth(), truth(), truth(), some, (Decision(ints(UNREAD, last), someone, some),) * partitions,
            (decision,) * partitions, (some,) * partitions,
        ),
        changed=truth(),
        left=Budgets(**{name: ints(0, setting[name.replace("_", "-")]) for name in BUDGETS}),
    )  # fmt: skip


def blank(partitions: int) -> Controller:
    """No controller: what it knew is gone."""
    return Controller(
        False, False, False, False, BrokerSet(), (not_read(),) * partitions, (NOTHING,) * partitions,
        (BrokerSet(),) * partitions,
    )  # fmt: skip


def not_read() -> Decision:
    """What the controller knows of a node that it has not read."""
    return Decision(UNREAD, NO_LEADER, BrokerSet())


def initial(setting: Setting) -> list[ZkController]:
    """Every broker lives and follows broker 0, which leads; with `new-topic` the last partition does not exist yet."""
    brokers, partitions = setting["brokers"], setting["partitions"]
    everyone = BrokerSet.of(range(brokers))
    led, new = Decision(1, 0, everyone), partitions - 1 if setting["new-topic"] else partitions
    nodes = tuple(NOTHING if p == new else led for p in range(partitions))
    listed = tuple(
        Broker(True, True, WATCHING, tuple(Replica(n, b > 0 and n is led, NOTHING) for n in nodes))
        for b in range(brokers)
    )
    return [
        ZkController(
            partitions=tuple(Partition(n is led, n, BrokerSet(), n.isr, n.isr, 0) for n in nodes),
            brokers=listed,
            controller=evolve(blank(partitions), present=True, decided=nodes),
            changed=False,
            left=Budgets(**{name: setting[name.replace("_", "-")] for name in BUDGETS}),
        )
    ]


def settled(state: ZkController) -> Truth:
    """Nobody has anything to do: brokers are gone or watch their queues, the controller waits for its watches."""
    resting = [any_of(none_of(b.up, b.registered), b.status == WATCHING) for b in state.brokers]
    c = state.controller
    idle = all_of(c.present, none_of(c.working, c.unread, state.changed), c.told_all())
    return all_of(*resting, any_of(idle, state.registered().is_empty()))
