"""Leaders and followers: produce, fetch, truncate, high watermark, ISR proposals.

Source: semantics 4 (leader side); semantics 7; `Partition`, `ReplicaManager`, `AbstractFetcherThread`.

Where a follower's log diverges from its leader's, and how it is cut: by epochs and their ends.
Source: KIP-101, KIP-279, KIP-320; semantics 7; `LeaderEpochFileCache`, `AbstractFetcherThread`.
"""

from __future__ import annotations

from attrs import evolve, frozen

from kraftcheck.model.language.anynumber import rewritten_records, smallest
from kraftcheck.model.language.brokersets import BrokerSet
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import all_of, any_of, choose, negate, rule
from kraftcheck.model.rules.groups import DataPlaneRules
from kraftcheck.model.rules.ruleset import RuleSet
from kraftcheck.model.systems.replication.log import VACANT, larger, newest_of, smaller
from kraftcheck.model.systems.replication.state import ACCEPTED, NONE, OVERTAKEN, UNKNOWN, Broker, Replication, Request


@rule("follower.truncates-to-common-epoch",
      source="KIP-279; KAFKA-6361; AbstractFetcherThread.truncateOnFetchResponse",
      switches=("kip101-epoch-lookup",),
      says="A follower cuts its log to the end of the largest leader epoch that both logs have.")  # fmt: skip
@rule("leader.notes-start-of-its-epoch", source="KAFKA-7415; LeaderEpochFileCache.assign",
      switches=("no-epoch-entry-on-leadership",),
      says="A leader notes the start of its epoch as it becomes leader, before it appends.")  # fmt: skip
def diverging(rules: DataPlaneRules, f: Broker, ldr: Broker) -> tuple[Truth, Word, Word]:
    """Whether a follower's log diverges; the leader's largest epoch up to the follower's last one, and its end."""
    own = choose(f.empty_epoch > VACANT, f.empty_epoch, f.log.last())
    entry, end = ldr.log.largest_to(own), ldr.log.count_to(own)
    apart = any_of(entry < own, end < f.log.end())
    if rules.kip101_epoch_lookup:
        apart = end < f.log.end()
    if rules.no_epoch_entry_on_leadership:
        apart = all_of(apart, ldr.log.last() >= own)
    return apart, entry, end


@rule("follower.truncation-lowers-watermark", source="KAFKA-14704; semantics 7",
      switches=("truncation-keeps-watermark",),
      says="A follower that cuts its log below its high watermark lowers that too.")  # fmt: skip
@rule("follower.truncation-drops-empty-epochs", source="KAFKA-10706; catalogue 37; LeaderEpochFileCache",
      switches=("noop-truncation-keeps-epochs",),
      says="A follower that is told to cut at the end of its log forgets an epoch that begins there.")  # fmt: skip
def shortened(rules: DataPlaneRules, f: Broker, entry: Word, end: Word) -> Broker:
    """A follower that was told the leader's largest epoch up to its own last one, and its end."""
    shared = f.log.largest_to(entry)
    to = smaller(choose(shared == entry, end, f.log.count_to(shared)), f.log.count_to(entry))
    if rules.kip101_epoch_lookup:
        to = smaller(end, f.log.end())
    log = f.log.truncate(to)
    mark = f.high_watermark if rules.truncation_keeps_watermark else smaller(f.high_watermark, log.end())
    kept = f.empty_epoch
    if rules.noop_truncation_keeps_epochs:
        kept = choose(log.end() == f.log.end(), kept, VACANT)
    return evolve(f, log=log, high_watermark=mark, empty_epoch=kept)


@frozen
class DataPlane:
    """The effects of the data plane under one rule set."""

    rules: RuleSet

    @rule("watermark.frozen-below-min-isr",
          source="KAFKA-15583; KIP-966; semantics 7; Partition.maybeIncrementLeaderHW",
          switches=("hw-advances-under-min-isr", "gate-counts-maximal-isr"),
          says="The high watermark stands still while the committed ISR is below min ISR.")  # fmt: skip
    @rule("watermark.waits-for-maximal-isr", source="KIP-497; semantics 7; Partition.maybeIncrementLeaderHW",
          switches=("hw-uses-committed-isr-only", "hw-uses-proposed-isr"),
          says="The high watermark waits for every member of the ISR, committed or proposed.")  # fmt: skip
    @rule("watermark.ignores-ineligible",
          source="KAFKA-15021; catalogue 33; semantics 7; Partition.maybeIncrementLeaderHW",
          switches=("hw-waits-for-ineligible",),
          says="The high watermark does not wait for a follower that has left the ISR and may not return.")  # fmt: skip
    @rule("watermark.never-falls", source="KIP-101; invariant 39; semantics 7; Partition.maybeIncrementLeaderHW",
          switches=("watermark-may-fall",),
          says="A leader's high watermark never falls within its epoch.")  # fmt: skip
    def advance(self, state: Replication, number: Word, leader: Broker) -> Replication:
        """Put a leader back with its high watermark re-evaluated, and note what became committed.

        The watermark is frozen while the committed ISR is below min ISR (KAFKA-15583),
        and waits for every member of the maximal ISR (KIP-497).
        """
        rules, minimum = self.rules, self.minimum(leader)
        quorum = leader.maximal_isr()
        if rules.data_plane.hw_uses_committed_isr_only:
            quorum = leader.isr
        if rules.data_plane.hw_uses_proposed_isr:
            quorum = choose(leader.pending(), leader.proposed, leader.isr)
        if rules.data_plane.hw_waits_for_ineligible:
            quorum = quorum.plus(leader.fetchers())
        gate = leader.maximal_isr() if rules.data_plane.gate_counts_maximal_isr else leader.isr
        candidate = smallest(
            leader.ends, lambda b: all_of(quorum.has(b), negate(number == b)),
            lambda b, end: self._counted(state, leader, b, end), leader.log.end(),
        )  # fmt: skip
        free = True if rules.data_plane.hw_advances_under_min_isr else gate.size() >= minimum
        rises = all_of(free, candidate > leader.high_watermark)
        mark = choose(rises, candidate, leader.high_watermark)
        if rules.data_plane.watermark_may_fall:
            mark = choose(all_of(free, candidate >= 0), candidate, leader.high_watermark)
        acked = all_of(rises, leader.maximal_isr().size() >= minimum)
        committed = state.committed.extended(leader.log, mark, rises)
        after = state.with_broker(number, evolve(leader, high_watermark=mark))
        return evolve(
            after,
            committed=committed,
            acknowledged=choose(acked, larger(mark, state.acknowledged), state.acknowledged),
            commit_epoch=newest_of(state.commit_epoch, leader.epoch, rises),
        )

    @rule("watermark.counts-fetches-of-this-epoch", source="KIP-320; catalogue 24",
          switches=("hw-by-record-epoch-only",),
          says="A follower counts by what it has fetched in the leader's current epoch.")  # fmt: skip
    def _counted(self, state: Replication, leader: Broker, b: Word, end: Word) -> Word:
        """The follower's end as the watermark counts it; UNKNOWN holds it back."""
        if not self.rules.data_plane.hw_by_record_epoch_only:
            return end
        follower = state.broker(b)
        same = follower.log.agrees(leader.log, follower.log.end())
        return choose(all_of(follower.running(), same), follower.log.end(), UNKNOWN)

    def produce(self, state: Replication, broker: Word) -> Replication:
        """A leader appends one record of its epoch."""
        leader = state.broker(broker)
        written = evolve(leader, log=leader.log.append(leader.epoch + 1), empty_epoch=VACANT)
        spent = evolve(state, left=evolve(state.left, records=state.left.records - 1))
        return self.advance(spent, broker, written)

    @rule("min-isr.leader-and-controller-agree", source="KAFKA-16540; catalogue 9",
          switches=("brokers-disagree-on-min-isr",),
          says="A leader commits by the min ISR that the controller keeps the ELR by.")  # fmt: skip
    def minimum(self, leader: Broker) -> Word:
        """The min ISR that a leader goes by."""
        return 1 if self.rules.data_plane.brokers_disagree_on_min_isr else leader.min_isr

    def may_produce(self, state: Replication, broker: Word) -> dict[str, Truth]:
        """With acks=all: NOT_ENOUGH_REPLICAS while the committed ISR is below min ISR."""
        leader = state.broker(broker)
        return {
            "a record is left": state.left.records > 0,
            "broker believes it leads": state.leads(broker, leader),
            "ISR is at min ISR": leader.isr.size() >= self.minimum(leader),
            "log has room": negate(leader.log.is_full()),
        }

    def may_produce_locally(self, state: Replication, broker: Word) -> dict[str, Truth]:
        """With acks=1 nobody asks for the ISR."""
        leader = state.broker(broker)
        return {
            "a record is left": state.left.records > 0,
            "broker believes it leads": state.leads(broker, leader),
            "ISR is below min ISR": leader.isr.size() < self.minimum(leader),
            "log has room": negate(leader.log.is_full()),
        }

    @rule("fetch.epochs-are-equal", source="KIP-320; KAFKA-7395; semantics 7; Partition.fetchRecords",
          switches=("fetch-unfenced",), says="A leader serves a fetch only of its own leader epoch.")  # fmt: skip
    def may_fetch(self, state: Replication, follower: Word, leader: Word, received: Word) -> dict[str, Truth]:
        """Both run; the request's leader epoch is the leader's (else 74 or 75).

        Removing a replica raises the leader epoch, so a leader of an earlier epoch
        may still know, and serve, a follower that is no replica any more.
        """
        f, ldr = state.broker(follower), state.broker(leader)
        replica = any_of(state.controller.replicas.has(follower), ldr.epoch < state.leader_epoch)
        followed = state.leader_at(f.epoch) == leader
        same = True if self.rules.data_plane.fetch_unfenced else f.epoch == ldr.epoch
        return {
            "they are two": negate(follower == leader),
            "follower runs and follows the leader": all_of(f.running(), followed),
            "leader runs and believes it leads": state.leads(leader, ldr),
            "leader epochs are the same": same,
            "follower is a replica as far as the leader knows": replica,
        }

    def fetch(self, state: Replication, follower: Word, leader: Word, received: Word) -> Replication:
        """One fetch: a diverging log is cut; otherwise the leader notes the offset and the follower appends.

        At most `received` records arrive; 0: the reply is lost. The reply carries
        the watermark from before the leader noted this fetch.
        """
        f, ldr, rules = state.broker(follower), state.broker(leader), self.rules.data_plane
        apart, entry, end = diverging(rules, f, ldr)
        grown = f.log.copy_of(ldr.log).truncate(f.log.end() + received)
        appended = evolve(f, log=grown, high_watermark=smaller(ldr.high_watermark, grown.end()))
        after = choose(apart, shortened(rules, f, entry, end), appended)
        moved = state.with_broker(follower, choose(received > 0, after, f))
        return self.noted(moved, follower, leader, choose(apart, UNKNOWN, f.log.end()))

    @rule("leader.notes-served-fetches", source="KAFKA-13837; KAFKA-14078; catalogue 70; Partition.fetchRecords",
          switches=("fetch-noted-before-checks",),
          says="A leader notes the offset of a fetch only if it serves it.")  # fmt: skip
    def may_refuse(self, state: Replication, follower: Word, leader: Word) -> dict[str, Truth]:
        """A running broker fetches from who believes it leads."""
        return {
            "they are two": negate(follower == leader),
            "follower runs": state.broker(follower).running(),
            "leader runs and believes it leads": state.leads(leader, state.broker(leader)),
        }

    def refuse(self, state: Replication, follower: Word, leader: Word) -> Replication:
        """The defects around KAFKA-13837: the follower gets an error, and counts."""
        return self.noted(state, follower, leader, state.broker(follower).log.end())

    def noted(self, state: Replication, follower: Word, leader: Word, end: Word) -> Replication:
        """A leader has noted where the log of a follower ends that fetches; UNKNOWN: the logs diverge."""
        ldr = state.broker(leader)
        apart = end == UNKNOWN
        ends = rewritten_records(ldr.ends, lambda b, old: choose(all_of(follower == b, negate(apart)), end, old))
        stale = choose(apart, ldr.stale, ldr.stale.minus(ldr.stale.just(follower)))
        return self.advance(state, leader, evolve(ldr, ends=ends, stale=stale))

    @rule("isr.join.past-start-of-epoch", source="KAFKA-7128; Partition.isFollowerInSync; semantics 4",
          switches=("no-leader-epoch-start-check",),
          says="A follower may join the ISR once it has reached the high watermark and the start of "
               "the leader's epoch.")  # fmt: skip
    def may_expand(self, state: Replication, broker: Word, follower: Word) -> dict[str, Truth]:
        """When a leader proposes to add a follower."""
        leader = state.broker(broker)
        end = leader.end_of(follower)
        begun = leader.log.count_to(leader.epoch)
        caught_up = all_of(end >= leader.high_watermark, end >= 0)
        if not self.rules.data_plane.no_leader_epoch_start_check:
            caught_up = all_of(caught_up, end >= begun)
        return {
            "broker believes it leads": state.leads(broker, leader),
            "no change is pending": negate(leader.pending()),
            "follower is outside the ISR": negate(leader.isr.has(follower)),
            "follower has caught up": caught_up,
        }

    def may_shrink(self, state: Replication, broker: Word, follower: Word) -> dict[str, Truth]:
        """When a leader proposes to drop a follower that lags."""
        leader = state.broker(broker)
        return {
            "a shrink is left": state.left.shrinks > 0,
            "broker believes it leads": state.leads(broker, leader),
            "no change is pending": negate(leader.pending()),
            "follower is in the ISR": all_of(leader.isr.has(follower), negate(follower == broker)),
            "follower lags": negate(leader.end_of(follower) == leader.log.end()),
        }

    def expand(self, state: Replication, broker: Word, follower: Word) -> Replication:
        """Ask the controller to add a follower; the maximal ISR counts it at once."""
        leader = state.broker(broker)
        return self._propose(state, broker, leader, leader.isr.plus(leader.isr.just(follower)))

    def shrink(self, state: Replication, broker: Word, follower: Word) -> Replication:
        """Ask the controller to drop a follower; until confirmed it still counts."""
        leader = state.broker(broker)
        spent = evolve(state, left=evolve(state.left, shrinks=state.left.shrinks - 1))
        return self._propose(spent, broker, leader, leader.isr.minus(leader.isr.just(follower)))

    def give_up(self, state: Replication, broker: Word) -> Replication:
        """The defect KAFKA-14154: a lost answer is taken for a refusal."""
        leader = state.broker(broker)
        return self.advance(state, broker, leader.without_proposal())

    @rule("proposal.states-epoch-of-fetch", source="KAFKA-15221; KIP-903; Partition.addBrokerEpochToIsr",
          switches=("broker-epoch-taken-from-metadata",),
          says="A proposal states the broker epoch of the fetch that showed the member caught up.")  # fmt: skip
    def _propose(self, state: Replication, broker: Word, leader: Broker, isr: BrokerSet) -> Replication:
        """A proposal whose epochs are out of date is refused; its leader waits for metadata."""
        rules = self.rules
        heard = leader.epoch == state.leader_epoch
        if not rules.data_plane.alter_partition_ignores_partition_epoch:
            heard = all_of(heard, leader.current)
        if rules.data_plane.broker_epoch_taken_from_metadata:
            stated, stale = isr, isr.none()
        else:
            stated, stale = leader.fetchers().plus(isr.just(broker)).keep(isr), leader.stale.keep(isr)
        request = choose(heard, Request(isr, stated, negate(stale.is_empty())), state.request)
        return self.advance(evolve(state, request=request), broker, evolve(leader, proposed=isr, answer=NONE))

    def may_take_answer(self, state: Replication, broker: Word) -> dict[str, Truth]:
        """An answer counts only while its proposal is pending, in its leader epoch."""
        leader = state.broker(broker)
        waits = all_of(state.leads(broker, leader), leader.pending())
        return {"an answer to its proposal is under way": all_of(leader.answer > NONE, waits)}

    @rule("proposal.refusal-ends-it",
          source="KAFKA-12751; KAFKA-14154; Partition.handleAlterPartitionError; semantics 4",
          switches=("refusal-taken-for-success", "refusal-keeps-proposal"),
          says="A leader that is refused goes back to the committed ISR, and may propose again.")  # fmt: skip
    @rule("proposal.answered-once", source="KAFKA-14154; catalogue 40", switches=("answered-request-survives",),
          says="A copy of a request that was answered is not processed later.")  # fmt: skip
    @rule("proposal.acceptance-moves-watermark", source="KAFKA-13091; Partition.handleAlterPartitionUpdate",
          switches=("accepted-shrink-keeps-hw",),
          says="An accepted proposal has the high watermark looked at again.")  # fmt: skip
    def take_answer(self, state: Replication, broker: Word) -> Replication:
        """Commit the accepted ISR, or go back to the committed one after INELIGIBLE_REPLICA."""
        leader, rules = state.broker(broker), self.rules
        accepted = any_of(leader.answer == ACCEPTED, leader.answer == OVERTAKEN)
        kept = leader.proposed if rules.data_plane.refusal_taken_for_success else leader.isr
        known = evolve(
            leader.without_proposal(),
            isr=choose(accepted, leader.proposed, kept),
            current=choose(accepted, leader.answer == ACCEPTED, leader.current),
            unseen=any_of(leader.unseen, accepted) if rules.data_plane.equal_epoch_ends_proposal else False,
        )
        # Copies of a request arrive in order: once one is answered, no earlier one is under way.
        answered = all_of(leader.epoch == state.leader_epoch, negate(rules.data_plane.answered_request_survives))
        request = choose(answered, state.request.gone(), state.request)
        if rules.data_plane.refusal_keeps_proposal:
            known = choose(accepted, known, evolve(leader, answer=NONE))
        after = evolve(state, request=request)
        if rules.data_plane.accepted_shrink_keeps_hw:
            return after.with_broker(broker, known)
        return self.advance(after, broker, known)
