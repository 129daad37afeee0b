"""State of the `zk-controller` system: what ZooKeeper holds, brokers, and the memory of the controller.

Source: the early controller design (ZooKeeper paths leaderAndISR and ZKQueue).

Initial states and layout of the `zk-controller` system.
"""

from __future__ import annotations

from typing import Any

from attrs import evolve, frozen

from kraftcheck.model.language.brokersets import BrokerSet
from kraftcheck.model.language.layout import Domain, Flag, Range, ints, leaves, rebuild, subset_of, truth
from kraftcheck.model.language.places import put
from kraftcheck.model.language.system import Setting
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import NO_LEADER, all_of, any_of, negate, none_of, pick
from kraftcheck.model.systems.parts import WithBudgets, budget_domains, budgets, members

UNREAD = -1  # version of a node that the controller has not read
STARTING = 0  # the broker does not run, or has not read the decisions since its session began
READ = 1  # it has read the decisions, and does not watch its queue yet
DEAF = 2  # it has emptied its queue, and does not watch it yet
WATCHING = 3  # its watch is set: the next entry wakes it
AWAKE = 4  # the watch has fired: it reads its queue


RESTING = 0  # the controller has not looked at a reassignment of the partition
STARTED = 1  # it has sent StartReplica, and looks at the ISR from time to time
SHRUNK = 2  # it has written the ISR of the new replicas, and sent StopReplica to the others
REPLACED = 3  # it has made the new replicas the assigned ones


@frozen
class Decision:
    """Leader and ISR of a partition, as leaderAndISR, an entry of a queue, or what a process remembers."""

    version: Word  # of the ZooKeeper node; 0: there is no decision
    leader: Word  # broker or NO_LEADER
    isr: BrokerSet  # in-sync replicas


NOTHING = Decision(0, NO_LEADER, BrokerSet())  # no decision


@frozen
class Replica:
    """A broker's replica of one partition."""

    role: Decision  # the decision that it follows
    fetching: Truth  # its fetcher runs
    entry: Decision  # what waits in its broker's queue: the last published decision (version 0: nothing)


@frozen
class Broker:
    """A broker: its process, its session, its replicas."""

    up: Truth  # the process runs
    registered: Truth  # /brokers/ids/<id> exists; a process without it has lost its session
    status: Word  # STARTING to AWAKE
    replicas: tuple[Replica, ...]  # by partition

    def has_entries(self) -> Truth:
        """Whether something waits in its queue."""
        return any_of(*(r.entry.version > 0 for r in self.replicas))

    def works(self) -> Truth:
        """Whether the process runs with a session."""
        return all_of(self.up, self.registered)


@frozen
class Partition:
    """A partition: its nodes, and what is true of its logs."""

    created: Truth  # its topic exists
    deleted: Truth  # an operator has deleted its topic; the name is not used again
    assigned: BrokerSet  # brokers with a replica, as the topic's node says
    target: BrokerSet  # brokers that are to have a replica, as /brokers/partitions_reassigned says; empty: as it is
    stopping: BrokerSet  # brokers whose queue has a StopReplica that they have not followed
    node: Decision  # leaderAndISR; version 0 before leaders are initialised
    failed: BrokerSet  # brokers whose replica has failed while the broker lives
    holds: BrokerSet  # ghost: brokers with every acknowledged record
    last: BrokerSet  # ghost: the last ISR that was not empty
    floor: Word  # ghost: version of the last decision for an outsider; what older leaders acknowledge is given up by it

    def replicas(self) -> BrokerSet:
        """Old and new replicas: who may lead, and has to be told."""
        return self.assigned.plus(self.target)

    def exists(self) -> Truth:
        """Whether its topic exists, and is not to be deleted."""
        return all_of(self.created, negate(self.deleted))


@frozen
class Controller:
    """Memory of the broker that is the controller."""

    present: Truth  # /controller exists
    unread: Truth  # it has taken over, and not read the decisions yet
    working: Truth  # it has read the live brokers and changes leaders
    wrote: Truth  # it has written a decision since
    live: BrokerSet  # the brokers that it read
    seen: tuple[Decision, ...]  # by partition the node as read for this change; version UNREAD otherwise
    decided: tuple[Decision, ...]  # by partition the decision that it knows
    tell: tuple[BrokerSet, ...]  # by partition the brokers whose queue does not have that decision yet
    # by partition the version of the node whose ISR lets its reassignment complete; otherwise UNREAD
    checked: tuple[Word, ...]
    moved: tuple[Word, ...]  # by partition how far its reassignment is: RESTING to REPLACED
    host: Word = NO_LEADER  # the broker that it is, where that matters; else NO_LEADER

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
class ZkController(WithBudgets):
    """The whole state."""

    # partitions, brokers: by number
    partitions: tuple[Partition, ...]
    brokers: tuple[Broker, ...]
    controller: Controller  # the one that /controller names
    deposed: Controller  # one that lost its session and does not know it yet
    changed: Truth  # the controller's watches on brokers and topics have fired
    left: ZkControllerBudgets  # budgets

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
        return evolve(self, brokers=put(self.brokers, number, broker))

    def with_partition(self, number: Word, partition: Partition) -> ZkController:
        """The state with one partition replaced."""
        return evolve(self, partitions=put(self.partitions, number, partition))

    def with_replica(self, broker: Word, partition: Word, replica: Replica) -> ZkController:
        """The state with one replica replaced."""
        b = self.broker(broker)
        return self.with_broker(broker, evolve(b, replicas=put(b.replicas, partition, replica)))


def blank(partitions: int) -> Controller:
    """No controller: what it knew is gone."""
    return Controller(
        False, False, False, False, BrokerSet(), seen=(not_read(),) * partitions, decided=(NOTHING,) * partitions,
        tell=(BrokerSet(),) * partitions, checked=(UNREAD,) * partitions, moved=(RESTING,) * partitions,
    )  # fmt: skip


def not_read() -> Decision:
    """The controller's knowledge of a node that it has not read."""
    return Decision(UNREAD, NO_LEADER, BrokerSet())


def only(value: Any) -> Any:
    """The domains of a value that nothing changes: each leaf has the one that it has.

    >>> only(3), only(False)
    (Range(lo=3, hi=3), Flag(lo=0, hi=0))
    """
    values = iter([leaf for _, leaf in leaves(value)])

    def alone() -> Domain:
        leaf = next(values)
        return Flag(int(leaf), int(leaf)) if isinstance(leaf, bool) else Range(leaf, leaf)

    return rebuild(value, alone)


def versions(setting: Setting) -> int:
    """The largest version.

    Changes of the ISR, and two writes for each leader that can be lost; where replicas are reassigned, also one for
    each time that a new replica joins, and for each controller that completes it.
    """
    losses = setting["stops"] + setting["session-losses"] + setting["replica-failures"]
    last = 2 + setting["isr-changes"] + 2 * losses
    joins = setting["brokers"] + setting["isr-changes"] + losses + setting["controller-failures"]
    return last + (joins if setting["reassignments"] else 0)


def layout(setting: Setting) -> ZkController:
    """The domain of each field; what no budget can change has one value."""
    brokers, partitions = setting["brokers"], setting["partitions"]
    some, moves = BrokerSet(subset_of(brokers)), bool(setting["reassignments"])
    decision = Decision(ints(0, versions(setting)), ints(NO_LEADER, brokers - 1, none=NO_LEADER), some)
    replica = Replica(decision, truth(), decision)
    broker = Broker(truth(), truth(), ints(STARTING, AWAKE), (replica,) * partitions)
    nobody, partition = only(BrokerSet()), Partition(
        created=truth(), deleted=truth() if setting["deletions"] else only(False),
        assigned=some if moves else only(_assigned(setting)), target=some if moves else only(BrokerSet()),
        stopping=some, node=decision, failed=some, holds=some, last=some, floor=decision.version,
    )  # fmt: skip
    if not moves and not setting["deletions"]:
        partition = evolve(partition, stopping=nobody)
    return ZkController(
        partitions=(partition,) * partitions, brokers=(broker,) * brokers, controller=_memory(setting),
        deposed=_memory(setting) if setting["depositions"] else _nobody(partitions), changed=truth(),
        left=budget_domains(ZkControllerBudgets, setting),
    )  # fmt: skip


def _nobody(partitions: int) -> Controller:
    """The domains of a controller that there never is."""
    never: Controller = only(blank(partitions))
    leader = ints(NO_LEADER, NO_LEADER, none=NO_LEADER)
    seen, decided = (tuple(evolve(one, leader=leader) for one in some) for some in (never.seen, never.decided))
    return evolve(never, seen=seen, decided=decided)


def _memory(setting: Setting) -> Controller:
    brokers, partitions, last = setting["brokers"], setting["partitions"], versions(setting)
    some, someone = BrokerSet(subset_of(brokers)), ints(NO_LEADER, brokers - 1, none=NO_LEADER)
    moves = bool(setting["reassignments"])
    return Controller(
        present=truth(), unread=truth(), working=truth(), wrote=truth(), live=some,
        seen=(Decision(ints(UNREAD, last), someone, some),) * partitions,
        decided=(Decision(ints(0, last), someone, some),) * partitions, tell=(some,) * partitions,
        checked=(ints(UNREAD, last) if moves else only(UNREAD),) * partitions,
        moved=(ints(RESTING, REPLACED) if moves else only(RESTING),) * partitions,
        host=someone if setting["controller-is-broker"] else only(NO_LEADER),
    )  # fmt: skip


def _assigned(setting: Setting) -> BrokerSet:
    """Everybody; where replicas are reassigned, everybody but the last broker."""
    brokers = setting["brokers"]
    return BrokerSet.of(range(brokers - 1 if setting["reassignments"] and brokers > 1 else brokers))


def _first_host(setting: Setting) -> int:
    return 0 if setting["controller-is-broker"] else NO_LEADER


def initial(setting: Setting) -> list[ZkController]:
    """Broker 0 leads, and who has a replica follows; with `new-topic` the last partition does not exist yet."""
    brokers, partitions, assigned = setting["brokers"], setting["partitions"], _assigned(setting)
    new = partitions - 1 if setting["new-topic"] else partitions
    nodes = tuple(NOTHING if p == new else Decision(1, 0, assigned) for p in range(partitions))
    listed = tuple(
        Broker(True, True, WATCHING, tuple(
            Replica(n, b > 0 and n.version > 0, NOTHING) if assigned.has(b) else Replica(NOTHING, False, NOTHING)
            for n in nodes
        ))
        for b in range(brokers)
    )  # fmt: skip
    return [
        ZkController(
            partitions=tuple(
                Partition(
                    n.version > 0,
                    False,
                    assigned,
                    BrokerSet(),
                    BrokerSet(),
                    node=n,
                    failed=BrokerSet(),
                    holds=n.isr,
                    last=n.isr,
                    floor=0,
                )
                for n in nodes
            ),
            brokers=listed,
            controller=evolve(blank(partitions), present=True, decided=nodes, host=_first_host(setting)),
            deposed=blank(partitions),
            changed=False,
            left=budgets(ZkControllerBudgets, setting),
        )
    ]


def settled(state: ZkController) -> Truth:
    """Nobody has anything to do: brokers are gone or watch their queues, the controller waits for its watches."""
    resting = [any_of(none_of(b.up, b.registered), b.status == WATCHING) for b in state.brokers]
    idle = all_of(state.controller.idle(), none_of(state.changed, state.deposed.present))
    return all_of(*resting, any_of(idle, state.registered().is_empty()))
