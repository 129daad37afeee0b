"""State of the `replication` system.

The controller is the `elections` system itself, with leader epochs counted: its
triggers are reused, none is restated. Around it: what each broker has applied
of the metadata, its log, and the AlterPartition messages in flight.

Messages. Each leader, stale ones included, may have a request and an answer in
flight; both may be late, lost or delivered again. What can have no effect any more
is not kept, and so neither message names an epoch:

* A request of an older leader epoch is refused with FENCED_LEADER_EPOCH, one of an
  older partition epoch with INVALID_UPDATE_VERSION; nothing is written, and on
  either answer its leader waits for metadata, as it does anyway. So a request is
  dropped when the partition epoch rises, and only the current leader has one.
* An answer counts only while its proposal is pending, in the same leader epoch. So
  each broker has at most one, dropped with the proposal. Until then the leader's
  partition epoch and its proposal are those of the request: an accepting answer
  brings the proposed ISR and the next partition epoch.

Partition epochs are therefore only compared, never counted: a leader knows the
controller's registration of the current leader epoch, or an older one.
"""

from __future__ import annotations

from attrs import evolve, field, frozen

from kraftcheck.model.language.anynumber import brokers_where, record_of, rewritten_records, with_record
from kraftcheck.model.language.brokersets import BrokerSet
from kraftcheck.model.language.system import Outcome
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import NO_LEADER, all_of, any_of, choose, negate
from kraftcheck.model.rules.groups import DataPlaneRules
from kraftcheck.model.systems.elections.state import Elections, outsider_leads
from kraftcheck.model.systems.replication.log import (
    VACANT,
    Log,
    first_kept,
    isr_kept_at,
    isrs_rewritten,
    kept_at,
    rewritten,
)
from kraftcheck.model.triggers.leadership import current_checks

RUNNING = 0  # the process runs; registered anew since its last stop
STOPPED_CLEAN = 1  # the process ended after a controlled shutdown, its log flushed
STOPPED_UNCLEAN = 2  # the process died; what was not flushed is gone

NONE, ACCEPTED, OVERTAKEN, INELIGIBLE = 0, 1, 2, 3
"""The answer to AlterPartition under way: none; accepted; accepted, and the registration has changed since; refused."""

UNKNOWN = -1  # log end offset of a follower that has not fetched in this epoch


@frozen
class Broker:
    """One broker: process, log, applied metadata, and its state as a leader.

    Everything from `current` on is used only while it leads; else it has no meaning,
    and `settle` gives it one value.
    """

    status: Word  # RUNNING or how it stopped
    # log, high_watermark: its replica
    log: Log
    high_watermark: Word
    epoch: Word  # the leader epoch of the metadata it has applied
    current: Truth  # whether it knows the controller's partition epoch, in the current leader epoch
    unseen: Truth  # whether it knows its partition epoch from an answer only (kept for defect B18)
    isr: BrokerSet  # the ISR of its partition epoch
    min_isr: Word  # the effective min ISR it goes by: configuration and replica count of the same metadata
    proposed: BrokerSet  # the ISR it has asked for; empty when no change is pending
    answer: Word  # the answer to that, if one is under way
    ends: tuple[Word, ...]  # for each broker, the log end offset of its last fetch in this epoch
    stale: BrokerSet  # followers whose last fetch was made by an earlier incarnation
    empty_epoch: Word = VACANT  # the entry of an epoch that it led without a record (kept for the defect KAFKA-10706)

    def running(self) -> Truth:
        """Whether the process runs."""
        return self.status == RUNNING

    def pending(self) -> Truth:
        """Whether an ISR change is in flight."""
        return negate(self.proposed.is_empty())

    def maximal_isr(self) -> BrokerSet:
        """Everyone who may be in the ISR as far as this leader knows: committed and proposed (KIP-497)."""
        return self.isr.plus(self.proposed)

    def fetchers(self) -> BrokerSet:
        """The followers whose log end offset this leader knows."""
        found: BrokerSet = brokers_where(self.ends, lambda b: record_of(self.ends, b) >= 0)
        return found

    def end_of(self, follower: Word) -> Word:
        """The log end offset this leader knows of a follower."""
        found: Word = record_of(self.ends, follower)
        return found

    def without_proposal(self) -> Broker:
        """The broker with no change pending."""
        return evolve(self, proposed=self.proposed.none(), answer=NONE)

    def without_ends(self) -> Broker:
        """The broker that knows nothing of its followers' logs."""
        return evolve(self, ends=rewritten_records(self.ends, lambda *_: UNKNOWN), stale=self.stale.none())


@frozen
class Request:
    """The current leader's AlterPartition request; empty ISR: none. It may be late, lost or delivered again."""

    isr: BrokerSet  # the ISR it asks for
    stated: BrokerSet  # members whose broker epoch it states; the others have not fetched since its leader was elected
    stale: Truth  # whether a stated broker epoch is no longer current

    def gone(self) -> Request:
        """No request in flight."""
        return Request(self.isr.none(), self.stated.none(), False)


def no_request() -> Request:
    """No request in flight."""
    return Request(BrokerSet(), BrokerSet(), False)


@frozen
class Reply:
    """A reply to a fetch that is late; no follower: there is none."""

    # follower, leader: to whom, and from whom
    follower: Word
    leader: Word
    # epoch, offset: of the fetch: its leader epoch, and where the follower's log ended
    epoch: Word
    offset: Word
    # cut_epoch, cut_end: where the logs diverge, the leader's largest epoch up to the follower's last, as an entry, and
    # its end; UNKNOWN: they do not
    cut_epoch: Word
    cut_end: Word
    watermark: Word  # the leader's
    sent: Log  # the leader's log when it served the fetch

    def is_under_way(self) -> Truth:
        """Whether there is one."""
        return self.follower >= 0


def no_reply(room: int = 0) -> Reply:
    """No reply under way, in a scope where logs have that much room."""
    return Reply(NO_LEADER, NO_LEADER, 0, 0, UNKNOWN, cut_end=0, watermark=0, sent=Log((VACANT,) * room))


@frozen
class ReplicationBudgets:
    """What may still go wrong; each counts down. Healing has no budget."""

    records: Word
    unclean_stops: Word
    clean_stops: Word
    fences: Word
    shrinks: Word
    reassignments: Word
    unclean_elections: Word
    config_changes: Word
    late_replies: Word = 0


@frozen
class Replication:
    """The whole state."""

    controller: Elections  # the active controller's registration of partition and brokers
    leader_epoch: Word  # of that registration
    leaders: tuple[Word, ...]  # leader of each leader epoch, as the metadata log has it
    # isrs, minimums: last ISR and last effective min ISR of each past leader epoch
    isrs: tuple[BrokerSet, ...]
    minimums: tuple[Word, ...]
    brokers: tuple[Broker, ...]  # the brokers
    request: Request  # the current leader's AlterPartition in flight
    committed: Log  # ghost: every record ever below a leader's high watermark
    acknowledged: Word  # ghost: how many of them were acknowledged with acks=all
    # ghost: the newest leader epoch in which a leader has committed; kept where epochs have no bound
    commit_epoch: Word
    lossy: Truth  # ghost: a broker from outside ISR and ELR was elected, by the registrations before and after
    lag: Word  # how many leader epochs a running broker is behind; counted where the scope limits it
    left: ReplicationBudgets  # budgets
    deaths: Word = 0  # ghost: how many processes have died; counted where they have no bound, as else the budget tells
    reply: Reply = field(factory=no_reply)  # a late reply to a follower's fetch

    def leader_at(self, epoch: Word) -> Word:
        """The leader of a leader epoch."""
        found: Word = kept_at(self.leaders, epoch, NO_LEADER)
        return found

    def isr_at(self, epoch: Word) -> BrokerSet:
        """The last ISR of a leader epoch."""
        past = isr_kept_at(self.isrs, epoch)
        return choose(epoch == self.leader_epoch, self.controller.isr, past)

    def minimum_at(self, epoch: Word) -> Word:
        """The last effective min ISR of a leader epoch."""
        past: Word = kept_at(self.minimums, epoch, first_kept(self.minimums))
        return choose(epoch == self.leader_epoch, self.controller.effective_min_isr(), past)

    def broker(self, number: Word) -> Broker:
        """A broker."""
        found: Broker = record_of(self.brokers, number)
        return found

    def with_broker(self, number: Word, broker: Broker) -> Replication:
        """The state with one broker replaced."""
        return evolve(self, brokers=with_record(self.brokers, number, broker))

    def leads(self, number: Word, broker: Broker) -> Truth:
        """Whether a running broker believes that it leads."""
        return all_of(broker.running(), self.leader_at(broker.epoch) == number)


def decided(
    state: Replication, outcome: Outcome, rules: DataPlaneRules, proposed: BrokerSet | None = None
) -> Replication:
    """The state after a controller event: registration, leader epoch and history, and what is out of date.

    `proposed` is the ISR that the event was asked for.
    """
    after: Elections = outcome.state
    past, at = state.controller, state.leader_epoch
    ended = outcome.event.leader_epoch_bumps > 0
    written = any_of(ended, outcome.event.partition_epoch_bumps > 0)
    # Only epochs that rise are told apart: a request from before the event knows the partition at 0.
    latest = evolve(
        past.partition(),
        leader_epoch=outcome.event.leader_epoch_bumps, partition_epoch=outcome.event.partition_epoch_bumps,
    )  # fmt: skip
    refused = negate(all_of(*current_checks(latest, 0, 0, rules).values()))
    epoch = at + outcome.event.leader_epoch_bumps
    return evolve(
        state,
        # Brokers have one directory, always online: where a replica lies says nothing.
        controller=evolve(after, directories=past.directories),
        leader_epoch=epoch,
        leaders=rewritten(state.leaders, lambda e, old: choose(epoch == e, after.leader, old)),
        isrs=isrs_rewritten(state.isrs, lambda e, old: choose(all_of(ended, at == e), past.isr, old)),
        minimums=rewritten(
            state.minimums, lambda e, old: choose(all_of(ended, at == e), past.effective_min_isr(), old)
        ),
        brokers=rewritten_records(state.brokers, lambda _, b: choose(written, outdated(b), b)),
        request=choose(refused, state.request.gone(), state.request),
        lossy=any_of(state.lossy, outsider_leads(past, after, past.isr.none() if proposed is None else proposed)),
    )


def outdated(broker: Broker) -> Broker:
    """A broker after the registration has changed: it knows an older one, and so does an answer under way."""
    answer = choose(broker.answer == ACCEPTED, OVERTAKEN, broker.answer)
    return evolve(broker, current=False, answer=answer)
