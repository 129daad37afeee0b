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
            isr=choose(newest, state.controller.isr, state.isr_at(epoch)),
            min_isr=choose(newest, state.controller.effective_min_isr(), state.minimum_at(epoch)),
            proposed=BrokerSet(),
            ends=tuple(choose(changes, UNKNOWN, end) for end in b.ends),
            stale=BrokerSet(choose(changes, 0, b.stale.mask)),
        )
        after = state.with_broker(broker, fresh)
        return choose(state.leader_at(epoch) == broker, self.data.advance(state, broker, fresh), after)

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
        known: Word = 0
        for b, end in enumerate(leader.ends):
            known = known | choose(all_of(broker == b, end >= 0), 1 << b, 0)
        return evolve(leader, stale=leader.stale.plus(BrokerSet(known)))

    request = state.request
    return evolve(
        state,
        brokers=tuple(outdated(b) for b in state.brokers),
        request=evolve(request, stale=request.stale.plus(request.isr.keep(one))),
    )

