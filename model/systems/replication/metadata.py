"""Metadata on brokers: applied in order, when a broker chooses, up to any leader epoch of the log."""

from __future__ import annotations

from attrs import evolve, frozen

from model.brokersets import BrokerSet
from model.systems.replication.dataplane import DataPlane
from model.systems.replication.log import smaller
from model.systems.replication.state import UNKNOWN, Broker, Replication
from model.terms import Truth, Word
from model.words import all_of, any_of, choose, negate


@frozen
class Metadata:
    """The effects of the metadata log on brokers; becoming leader re-evaluates the high watermark."""

    data: DataPlane

    def take(self, state: Replication, broker: Word, epoch: Word) -> Replication:
        """Apply the metadata log up to a leader epoch: become leader or follower, or refresh the ISR."""
        b = state.broker(broker)
        newest = epoch == state.leader_epoch
        changes = epoch > b.epoch
        # A change of configuration alone has no partition epoch: a pending proposal stays.
        supersedes = any_of(changes, all_of(newest, state.partition_epoch > b.partition_epoch))
        isr = choose(newest, state.controller.isr, state.isr_at(epoch))
        kept = self._kept(state, broker, epoch, isr)
        log = b.log
        if self.data.rules.truncate_to_high_watermark:
            log = choose(changes, log.truncate(b.high_watermark), log)
        # A broker that is no replica any more deletes its log.
        log = choose(all_of(newest, negate(state.controller.replicas.has(broker))), log.truncate(0), log)
        fresh = Broker(
            status=b.status,
            log=log,
            high_watermark=smaller(b.high_watermark, log.end()),
            epoch=epoch,
            partition_epoch=choose(newest, state.partition_epoch, b.partition_epoch),
            isr=isr,
            min_isr=choose(newest, state.controller.effective_min_isr(), state.minimum_at(epoch)),
            proposed=BrokerSet(choose(supersedes, 0, b.proposed.mask)),
            ends=tuple(choose(all_of(changes, negate(kept.has(n))), UNKNOWN, end) for n, end in enumerate(b.ends)),
            stale=BrokerSet(choose(changes, b.stale.keep(kept).mask, b.stale.mask)),
        )
        after = state.with_broker(broker, fresh)
        return choose(state.leader_at(epoch) == broker, self.data.advance(state, broker, fresh), after)

    def _kept(self, state: Replication, broker: Word, epoch: Word, isr: BrokerSet) -> BrokerSet:
        """Followers whose log end offset a leader still believes in a new epoch: nobody.

        As found, a leader that leads again keeps those of ISR members, even where
        it never saw that another broker led in between.
        """
        if not self.data.rules.reelected_leader_keeps_ends:
            return BrokerSet()
        again = all_of(state.leader_at(state.broker(broker).epoch) == broker, state.leader_at(epoch) == broker)
        return BrokerSet(choose(again, isr.mask, 0))

    def may_take(self, state: Replication, broker: Word, epoch: Word) -> dict[str, Truth]:
        """Metadata is applied in order; what is not newer is skipped."""
        b = state.broker(broker)
        configured = negate(b.min_isr == state.controller.effective_min_isr())
        newer = all_of(epoch == state.leader_epoch, any_of(state.partition_epoch > b.partition_epoch, configured))
        return {
            "broker runs": b.running(),
            "epoch exists": epoch <= state.leader_epoch,
            "metadata is newer": any_of(epoch > b.epoch, all_of(epoch == b.epoch, newer)),
        }


def forget_incarnation(state: Replication, broker: Word) -> Replication:
    """A broker got a new epoch: what leaders and the request know of it is of an earlier incarnation."""
    one = BrokerSet().just(broker)

    def outdated(leader: Broker) -> Broker:
        return evolve(leader, stale=leader.stale.plus(leader.fetchers().keep(one)))

    request = state.request
    return evolve(
        state,
        brokers=tuple(outdated(b) for b in state.brokers),
        request=evolve(request, stale=request.stale.plus(request.stated.keep(one))),
    )

