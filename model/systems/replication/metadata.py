"""Metadata on brokers: applied in order, when a broker chooses, up to any leader epoch of the log."""

from __future__ import annotations

from attrs import evolve, frozen

from kraftcheck.model.language.anynumber import brokers_where, rewritten_records
from kraftcheck.model.language.brokersets import BrokerSet
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import all_of, any_of, choose, negate, rule
from kraftcheck.model.systems.replication.dataplane import DataPlane
from kraftcheck.model.systems.replication.log import smaller
from kraftcheck.model.systems.replication.state import UNKNOWN, Broker, Replication


@frozen
class Metadata:
    """The effects of the metadata log on brokers; becoming leader re-evaluates the high watermark."""

    data: DataPlane

    @rule("follower.truncates-by-epoch", source="KIP-101; semantics 7", switches=("truncate-to-high-watermark",),
          says="A new leader epoch does not make a follower cut its log to its high watermark.")  # fmt: skip
    def take(self, state: Replication, broker: Word, epoch: Word) -> Replication:
        """Apply the metadata log up to a leader epoch: become leader or follower, or refresh the ISR."""
        b = state.broker(broker)
        newest = epoch == state.leader_epoch
        changes = epoch > b.epoch
        # A change of configuration alone has no partition epoch: a pending proposal stays.
        supersedes = any_of(changes, negate(b.current), b.unseen)
        isr = state.isr_at(epoch)
        kept = self._kept(state, broker, epoch, isr)
        log = b.log
        if self.data.rules.data_plane.truncate_to_high_watermark:
            log = choose(changes, log.truncate(b.high_watermark), log)
        # A broker that is no replica any more deletes its log.
        log = choose(all_of(newest, negate(state.controller.replicas.has(broker))), log.truncate(0), log)
        kept_on = choose(supersedes, b.without_proposal(), b)
        fresh = evolve(
            kept_on,
            log=log,
            high_watermark=smaller(b.high_watermark, log.end()),
            epoch=epoch,
            current=newest,
            unseen=False,
            isr=isr,
            min_isr=state.minimum_at(epoch),
            ends=rewritten_records(b.ends, lambda n, end: choose(all_of(changes, negate(kept.has(n))), UNKNOWN, end)),
            stale=choose(changes, b.stale.keep(kept), b.stale),
        )
        if self.data.rules.data_plane.noop_truncation_keeps_epochs:
            begins = all_of(changes, state.leader_at(epoch) == broker)
            fresh = evolve(fresh, empty_epoch=choose(begins, epoch + 1, fresh.empty_epoch))
        after = state.with_broker(broker, fresh)
        return choose(state.leader_at(epoch) == broker, self.data.advance(state, broker, fresh), after)

    @rule("leader.forgets-ends-of-earlier-epoch", source="Replica.resetReplicaState; catalogue 35",
          switches=("reelected-leader-keeps-ends", "leader-keeps-every-end"),
          says="A leader of a new epoch knows no follower's log end.")  # fmt: skip
    def _kept(self, state: Replication, broker: Word, epoch: Word, isr: BrokerSet) -> BrokerSet:
        """Followers whose log end offset a leader still believes in a new epoch: nobody.

        As found, a leader that leads again keeps those of ISR members, even where
        it never saw that another broker led in between.
        """
        rules = self.data.rules.data_plane
        if not (rules.reelected_leader_keeps_ends or rules.leader_keeps_every_end):
            return isr.none()
        if rules.leader_keeps_every_end:
            isr = brokers_where(state.brokers, lambda _: True)
        again = all_of(state.leader_at(state.broker(broker).epoch) == broker, state.leader_at(epoch) == broker)
        return choose(again, isr, isr.none())

    @rule("metadata.only-newer", source="semantics 4; catalogue 33; catalogue 34; KAFKA-15109",
          switches=("metadata-needs-new-epoch",),
          says="Metadata of an older partition epoch is skipped, and no other.")  # fmt: skip
    def may_take(self, state: Replication, broker: Word, epoch: Word) -> dict[str, Truth]:
        """Metadata is applied in order; what is not newer is skipped, and says nothing to a follower in its epoch."""
        b = state.broker(broker)
        configured = negate(b.min_isr == state.controller.effective_min_isr())
        newer = all_of(epoch == state.leader_epoch, state.leads(broker, b), any_of(negate(b.current), configured))
        if self.data.rules.data_plane.metadata_needs_new_epoch:
            newer = False
        return {
            "broker runs": b.running(),
            "epoch exists": epoch <= state.leader_epoch,
            "metadata is newer": any_of(epoch > b.epoch, all_of(epoch == b.epoch, newer)),
        }


    def may_take_equal(self, state: Replication, broker: Word) -> dict[str, Truth]:
        """The metadata of a partition epoch that the leader knows from an answer is still to come."""
        b = state.broker(broker)
        return {"broker believes it leads": state.leads(broker, b), "it has only the answer": b.unseen}

    @rule("metadata.known-epoch-keeps-proposal", source="B18; semantics 4", switches=("equal-epoch-ends-proposal",),
          says="Metadata of a partition epoch that the leader knows does not end its proposal.")  # fmt: skip
    def take_equal(self, state: Replication, broker: Word) -> Replication:
        """The defect B18: metadata that says nothing new ends the proposal made since."""
        b = state.broker(broker)
        return self.data.advance(state, broker, evolve(b.without_proposal(), unseen=False))


def forget_incarnation(state: Replication, broker: Word) -> Replication:
    """A broker got a new epoch: what leaders and the request know of it is of an earlier incarnation."""

    def outdated(_: Word, leader: Broker) -> Broker:
        return evolve(leader, stale=leader.stale.plus(leader.fetchers().keep(leader.stale.just(broker))))

    request = state.request
    return evolve(
        state,
        brokers=rewritten_records(state.brokers, outdated),
        request=evolve(request, stale=any_of(request.stale, request.stated.has(broker))),
    )

