"""A second partition on the same brokers and disks: its registration, and where its replicas are; no records.

It shares with the first partition what belongs to brokers: registration, fencing, directories on file, processes,
disks, heartbeats, and the one request of assignments that a broker has in flight.
"""

from __future__ import annotations

from attrs import evolve, fields, frozen

from kraftcheck.model.language.brokersets import BrokerSet, Replicas
from kraftcheck.model.language.idlists import AtMostOne
from kraftcheck.model.language.layout import ints
from kraftcheck.model.language.system import Setting
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import NO_LEADER, choose
from kraftcheck.model.partition.registration import FIRST_LOCAL, UNASSIGNED, DirectoryMap
from kraftcheck.model.rules.groups import ControllerRules
from kraftcheck.model.systems.directories import state as directories
from kraftcheck.model.systems.directories.state import ABSENT, IDLE, NEW, NOTHING, Host, Placement, Slots
from kraftcheck.model.systems.elections.state import Elections
from kraftcheck.model.triggers.table import effective_min_isr

OF_PARTITION = ("replicas", "directories", "isr", "elr", "last_known_elr", "leader", "recovering")
"""What the controller keeps of a partition; brokers, ELR and the topic's configuration are the cluster's."""

OF_REPLICA = ("logs", "replica", "known", "leads", "behind", "moved", "ready", "sent")
"""What a broker keeps of a replica; processes, disks and heartbeats are the broker's."""


@frozen
class Replica:
    """What one broker has of the second partition; attributes as of `Host`."""

    logs: Slots
    replica: Word
    known: Word
    leads: Truth
    behind: Truth
    moved: Truth
    ready: Word
    sent: Word


@frozen
class Second:
    """The second partition; attributes as of `Elections`. A deleted one has no replicas."""

    replicas: Replicas
    directories: DirectoryMap
    isr: BrokerSet
    elr: BrokerSet
    last_known_elr: AtMostOne
    leader: Word
    recovering: Truth
    min_insync_replicas: Word  # the topic's configuration, which never changes
    hosts: tuple[Replica, ...]  # what each broker has of it

    def placement(self, first: Placement) -> Placement:
        """The state as `directories` sees the second partition; a log that is made lacks nothing."""
        none = BrokerSet()
        own = {name: getattr(self, name) for name in (*OF_PARTITION, "min_insync_replicas")}
        controller = evolve(first.controller, removing=none, adding=none, **own)
        hosts = tuple(_seen(host, replica) for host, replica in zip(first.hosts, self.hosts, strict=True))
        return Placement(controller, hosts, False, False, first.left)

    def after(self, placed: Placement) -> Second:
        """The second partition of a later state."""
        hosts = tuple(Replica(**{name: getattr(host, name) for name in OF_REPLICA}) for host in placed.hosts)
        return evolve(self, hosts=hosts, **{name: getattr(placed.controller, name) for name in OF_PARTITION})

    def deleted(self, rules: ControllerRules) -> Second:
        """The second partition after its topic is gone: every broker hears of it.

        B7: while the ISR is empty the code forgets to take it out of the index by directory.
        """
        slots = (UNASSIGNED,) * len(self.directories.slots)
        gone = DirectoryMap(slots)
        if rules.deleted_partition_stays_indexed:
            gone = choose(self.isr.is_empty(), self.directories, gone)
        empty = BrokerSet()
        return evolve(
            self, replicas=Replicas((NO_LEADER,) * len(slots)), directories=gone, isr=empty, elr=empty,
            last_known_elr=AtMostOne(), leader=NO_LEADER, recovering=False,
            hosts=tuple(evolve(replica, behind=True) for replica in self.hosts),
        )  # fmt: skip

    def exists(self) -> Truth:
        """Whether it is not deleted."""
        return self.replicas.slots[0] >= 0

    def lists(self, broker: Word, failed: BrokerSet) -> Truth:
        """Whether the index has it in one of a broker's failed directories."""
        return failed.has(self.directories.of(broker) - FIRST_LOCAL)


@frozen
class Capped(Elections):
    """The registration of a partition whose min ISR is at most the replicas of the topic's first one (X7)."""

    first: Replicas  # the first partition's replicas

    def effective_min_isr(self) -> Word:
        """The smaller of the configured minimum and the first partition's replication factor."""
        return effective_min_isr(self.min_insync_replicas, self.first.size())


def capped(placed: Placement, first: Replicas) -> Placement:
    """The second partition as the snapshot decides about it."""
    known = placed.controller
    own = {field.name: getattr(known, field.name) for field in fields(Elections)}
    return evolve(placed, controller=Capped(**own, first=first))


def _seen(host: Host, replica: Replica) -> Host:
    own = {name: getattr(replica, name) for name in OF_REPLICA}
    return evolve(
        host, **own, whole=replica.logs, future=NOTHING, copied=False, promotion=IDLE, late=NOTHING, late_stale=False
    )


def layout(setting: Setting) -> tuple[Second, ...]:
    """The domain of each field; nothing where the scope has one partition."""
    if not setting["second"]:
        return ()
    placed = directories.layout(setting)
    goes, members = setting["deletions"] > 0, setting["second"]
    numbers = (b if b < members else NO_LEADER for b in range(setting["brokers"]))
    slots = tuple(ints(NO_LEADER if goes else number, number) for number in numbers)
    known = {name: getattr(placed.controller, name) for name in OF_PARTITION}
    replica = Replica(**{name: getattr(placed.hosts[0], name) for name in OF_REPLICA})
    least = setting["min-isr"]
    return (
        Second(
            **{**known, "replicas": Replicas(slots)}, min_insync_replicas=ints(least, least),
            hosts=(replica,) * len(placed.hosts),
        ),
    )  # fmt: skip


def initial(setting: Setting) -> tuple[Second, ...]:
    """A new partition on the first brokers, led by the first of them; no broker has heard of it."""
    if not setting["second"]:
        return ()
    brokers = range(setting["brokers"])
    members = BrokerSet.of(range(setting["second"]))
    hosts = tuple(
        Replica(
            logs=Slots(), replica=ABSENT, known=NEW if members.has(b) else NOTHING, leads=False,
            behind=bool(members.has(b)), moved=False, ready=NOTHING, sent=NOTHING,
        )
        for b in brokers
    )  # fmt: skip
    return (
        Second(
            replicas=Replicas.of(range(setting["second"]), setting["brokers"]),
            directories=DirectoryMap((UNASSIGNED,) * len(brokers)), isr=members, elr=BrokerSet(),
            last_known_elr=AtMostOne(), leader=0, recovering=False, min_insync_replicas=setting["min-isr"], hosts=hosts,
        ),
    )  # fmt: skip
