"""State of the `replication` system.

The controller is the `elections` system itself, with epochs counted: its
triggers are reused, none is restated. Around it: what each broker has applied
of the metadata, its log, and one AlterPartition request and reply in flight.
"""

from __future__ import annotations

from attrs import evolve, frozen

from model.brokersets import BrokerSet
from model.layout import ints, subset_of, truth
from model.system import Outcome, Setting
from model.systems.elections import state as elections
from model.systems.elections.state import Elections
from model.systems.replication.log import VACANT, Log
from model.terms import Truth, Word
from model.words import NO_LEADER, all_of, any_of, choose, pick

RUNNING = 0
"""The process runs; registered anew since its last stop."""
STOPPED_CLEAN = 1
"""The process ended after a controlled shutdown, its log flushed."""
STOPPED_UNCLEAN = 2
"""The process died; what was not flushed is gone."""

NONE, ACCEPTED, INELIGIBLE = 0, 1, 2
"""What a reply to AlterPartition says."""

UNKNOWN = -1
"""Log end offset of a follower that has not fetched in this epoch."""


@frozen
class Broker:
    """One broker: process, log, applied metadata, and its state as a leader.

    Attributes:
        status: RUNNING or how it stopped.
        log, high_watermark: its replica.
        epoch: the leader epoch of the metadata it has applied.
        partition_epoch, isr: the same for partition epoch and ISR; used while it leads.
        min_isr: the effective min ISR it goes by: configuration and replica count of the same metadata.
        proposed: the ISR it has asked for; empty when no change is pending.
        ends: for each broker, the log end offset of its last fetch in this epoch.
        stale: followers whose last fetch was made by an earlier incarnation.
    """

    status: Word
    log: Log
    high_watermark: Word
    epoch: Word
    partition_epoch: Word
    isr: BrokerSet
    min_isr: Word
    proposed: BrokerSet
    ends: tuple[Word, ...]
    stale: BrokerSet

    def running(self) -> Truth:
        """Whether the process runs."""
        return self.status == RUNNING

    def pending(self) -> Truth:
        """Whether an ISR change is in flight."""
        return self.proposed.size() > 0

    def maximal_isr(self) -> BrokerSet:
        """Everyone who may be in the ISR as far as this leader knows: committed and proposed (KIP-497)."""
        return self.isr.plus(self.proposed)

    def fetchers(self) -> BrokerSet:
        """The followers whose log end offset this leader knows."""
        known: Word = 0
        for number, end in enumerate(self.ends):
            known = known | choose(end >= 0, 1 << number, 0)
        return BrokerSet(known)

    def end_of(self, follower: Word) -> Word:
        """The log end offset this leader knows of a follower."""
        return pick(self.ends, follower, UNKNOWN)


@frozen
class Request:
    """The AlterPartition request in flight; empty ISR: none. It may be late, lost or delivered again.

    Attributes:
        sender: the leader that sent it.
        epoch, partition_epoch, isr: what it says.
        stated: members whose broker epoch it states; the others have not fetched since its leader was elected.
        stale: members whose stated broker epoch is no longer current.
    """

    sender: Word
    epoch: Word
    partition_epoch: Word
    isr: BrokerSet
    stated: BrokerSet
    stale: BrokerSet


@frozen
class Reply:
    """The reply in flight; it may be late or lost.

    Attributes:
        kind: NONE, ACCEPTED or INELIGIBLE.
        to: the leader it goes to.
        epoch, partition_epoch, isr: the registration after the change.
    """

    kind: Word
    to: Word
    epoch: Word
    partition_epoch: Word
    isr: BrokerSet


@frozen
class Budgets:
    """What may still go wrong; each counts down. Healing has no budget."""

    records: Word
    unclean_stops: Word
    clean_stops: Word
    fences: Word
    shrinks: Word
    reassignments: Word
    unclean_elections: Word
    config_changes: Word


@frozen
class Replication:
    """The whole state.

    Attributes:
        controller: the active controller's registration of partition and brokers.
        leader_epoch, partition_epoch: of that registration.
        leaders, isrs, minimums: leader, last ISR and last effective min ISR of each leader
            epoch, as the metadata log has them.
        brokers: the brokers.
        request, reply: AlterPartition in flight.
        committed: ghost: every record ever below a leader's high watermark.
        acknowledged: ghost: how many of them were acknowledged with acks=all.
        lossy: an unclean election happened: loss is allowed, and no longer counted.
        left: budgets.
    """

    controller: Elections
    leader_epoch: Word
    partition_epoch: Word
    leaders: tuple[Word, ...]
    isrs: tuple[BrokerSet, ...]
    minimums: tuple[Word, ...]
    brokers: tuple[Broker, ...]
    request: Request
    reply: Reply
    committed: Log
    acknowledged: Word
    lossy: Truth
    left: Budgets

    def leader_at(self, epoch: Word) -> Word:
        """The leader of a leader epoch."""
        return pick(self.leaders, epoch, NO_LEADER)

    def isr_at(self, epoch: Word) -> BrokerSet:
        """The last ISR of a leader epoch."""
        return pick(self.isrs, epoch, self.isrs[0])

    def minimum_at(self, epoch: Word) -> Word:
        """The last effective min ISR of a leader epoch."""
        return pick(self.minimums, epoch, self.minimums[0])

    def broker(self, number: Word) -> Broker:
        """A broker."""
        return pick(self.brokers, number, self.brokers[0])

    def with_broker(self, number: Word, broker: Broker) -> Replication:
        """The state with one broker replaced."""
        brokers = tuple(choose(number == b, broker, old) for b, old in enumerate(self.brokers))
        return evolve(self, brokers=brokers)

    def leads(self, number: Word, broker: Broker) -> Truth:
        """Whether a running broker believes that it leads."""
        return all_of(broker.running(), self.leader_at(broker.epoch) == number)


def decided(state: Replication, outcome: Outcome) -> Replication:
    """The state after a controller event: registration, epochs, and their history."""
    after: Elections = outcome.state
    epoch = state.leader_epoch + outcome.event.leader_epoch_bumps
    return evolve(
        state,
        controller=after,
        leader_epoch=epoch,
        partition_epoch=state.partition_epoch + outcome.event.partition_epoch_bumps,
        leaders=tuple(choose(epoch == e, after.leader, old) for e, old in enumerate(state.leaders)),
        isrs=tuple(choose(epoch == e, after.isr, old) for e, old in enumerate(state.isrs)),
        minimums=tuple(choose(epoch == e, after.effective_min_isr(), old) for e, old in enumerate(state.minimums)),
        lossy=any_of(state.lossy, outcome.event.unclean),
    )


def layout(setting: Setting) -> Replication:
    """The domain of each field."""
    brokers, records, epochs = setting["brokers"], setting["records"], setting["epochs"]
    some, offset = BrokerSet(subset_of(brokers)), ints(0, records)
    epoch, version, someone = ints(0, epochs), ints(0, setting["versions"]), ints(NO_LEADER, brokers - 1)
    log = Log((ints(VACANT, epochs + 1),) * records)
    broker = Broker(
        status=ints(RUNNING, STOPPED_UNCLEAN), log=log, high_watermark=offset, epoch=epoch, partition_epoch=version,
        isr=some, min_isr=ints(1, brokers), proposed=some, ends=(ints(UNKNOWN, records),) * brokers, stale=some,
    )  # fmt: skip
    return Replication(
        controller=elections.layout(setting),
        leader_epoch=epoch, partition_epoch=version,
        leaders=(someone,) * (epochs + 1), isrs=(some,) * (epochs + 1),
        minimums=(ints(1, brokers),) * (epochs + 1),
        brokers=(broker,) * brokers,
        request=Request(someone, epoch, version, some, some, some),
        reply=Reply(ints(NONE, INELIGIBLE), someone, epoch, version, some),
        committed=log, acknowledged=offset, lossy=truth(),
        left=Budgets(**{name: ints(0, setting[name.replace("_", "-")]) for name in BUDGETS}),
    )  # fmt: skip


BUDGETS = (
    "records", "unclean_stops", "clean_stops", "fences", "shrinks", "reassignments", "unclean_elections",
    "config_changes",
)  # fmt: skip


def initial(setting: Setting) -> list[Replication]:
    """An empty partition on live brokers, everything applied everywhere."""
    brokers, epochs = setting["brokers"], setting["epochs"]
    empty = Log((VACANT,) * setting["records"])
    start = [s for s in elections.initial(setting) if s.min_insync_replicas == setting["min-isr"]]
    states = []
    for controller in start:
        if controller.replicas.size() != setting["replication"]:
            continue
        controller = evolve(controller, elr_enabled=bool(setting["elr"]) and setting.rules.elr_available)
        broker = Broker(
            RUNNING, empty, 0, 0, 0, controller.isr, controller.effective_min_isr(), BrokerSet(),
            (UNKNOWN,) * brokers, BrokerSet(),
        )  # fmt: skip
        states.append(
            Replication(
                controller=controller, leader_epoch=0, partition_epoch=0,
                leaders=(0, *(NO_LEADER,) * epochs), isrs=(controller.isr, *(BrokerSet(),) * epochs),
                minimums=(controller.effective_min_isr(), *(1,) * epochs),
                brokers=(broker,) * brokers, request=no_request(), reply=no_reply(), committed=empty,
                acknowledged=0, lossy=False,
                left=Budgets(**{name: setting[name.replace("_", "-")] for name in BUDGETS}),
            )
        )  # fmt: skip
    return states


def no_request() -> Request:
    """No request in flight."""
    return Request(NO_LEADER, 0, 0, BrokerSet(), BrokerSet(), BrokerSet())


def no_reply() -> Reply:
    """No reply in flight."""
    return Reply(NONE, NO_LEADER, 0, 0, BrokerSet())
