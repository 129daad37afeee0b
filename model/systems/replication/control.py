"""Controller events of the `replication` system, and metadata that brokers apply in order.

Metadata on brokers: applied in order, when a broker chooses, up to any leader epoch of the log.
"""

from __future__ import annotations

from attrs import evolve, frozen

from kraftcheck.model.language.anynumber import brokers_where, rewritten_records
from kraftcheck.model.language.brokersets import BrokerSet, Replicas
from kraftcheck.model.language.system import Outcome
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import all_of, any_of, choose, negate, rule, word
from kraftcheck.model.rules.ruleset import RuleSet
from kraftcheck.model.systems.elections import system as guards
from kraftcheck.model.systems.elections.triggers import Triggers
from kraftcheck.model.systems.replication.dataplane import DataPlane
from kraftcheck.model.systems.replication.log import smaller
from kraftcheck.model.systems.replication.state import (
    ACCEPTED,
    INELIGIBLE,
    NONE,
    RUNNING,
    STOPPED_CLEAN,
    STOPPED_UNCLEAN,
    UNKNOWN,
    Broker,
    Replication,
    decided,
)
from kraftcheck.model.triggers.leadership import (
    ELIGIBLE,
    MEMBER_EPOCHS,
    answers_uncommitted,
    isr_checks,
    member_checks,
    sender_check,
)


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


@frozen
class Control:
    """The effects and guards of controller events under one rule set."""

    rules: RuleSet

    @property
    def do(self) -> Triggers:
        """The controller's triggers."""
        return Triggers(self.rules)

    def _decided(self, state: Replication, outcome: Outcome) -> Replication:
        return decided(state, outcome, self.rules.data_plane)

    def may_fence(self, state: Replication, broker: Word) -> dict[str, Truth]:
        """A dead broker is fenced for free; a live one costs budget."""
        live = state.broker(broker).running()
        return {
            **guards.unfenced(state.controller, broker),
            "broker is dead or a fence is left": any_of(negate(live), state.left.fences > 0),
        }

    def fence(self, state: Replication, broker: Word) -> Replication:
        """Session expiry."""
        live = state.broker(broker).running()
        left = evolve(state.left, fences=state.left.fences - word(live))
        return self._decided(evolve(state, left=left), self.do.fence(state.controller, broker))

    def may_unfence(self, state: Replication, broker: Word) -> dict[str, Truth]:
        """A live broker heartbeats; it has applied its own registration."""
        return {**guards.fenced(state.controller, broker), "broker runs": state.broker(broker).running()}

    def unfence(self, state: Replication, broker: Word) -> Replication:
        """A heartbeat unfences the broker."""
        return self._decided(state, self.do.unfence(state.controller, broker))

    def may_shut_down(self, state: Replication, broker: Word) -> dict[str, Truth]:
        """A live broker asks to shut down."""
        return {
            **guards.running(state.controller, broker),
            "broker runs": state.broker(broker).running(),
            "a clean stop is left": state.left.clean_stops > 0,
        }

    def shut_down(self, state: Replication, broker: Word) -> Replication:
        """Controlled shutdown begins."""
        spent = evolve(state, left=evolve(state.left, clean_stops=state.left.clean_stops - 1))
        return self._decided(spent, self.do.controlled_shutdown(state.controller, broker))

    def may_stop(self, state: Replication, broker: Word) -> dict[str, Truth]:
        """Shutdown is granted once the broker leads nothing."""
        return {
            "broker runs": state.broker(broker).running(),
            "broker is in controlled shutdown": state.controller.shutting_down.has(broker),
            "broker leads nothing": negate(state.controller.leader == broker),
        }

    def stop(self, state: Replication, broker: Word) -> Replication:
        """The process ends, its log flushed."""
        return state.with_broker(broker, evolve(state.broker(broker), status=STOPPED_CLEAN))

    def may_crash(self, state: Replication, broker: Word, lost: Word) -> dict[str, Truth]:
        """Any live process may die."""
        b = state.broker(broker)
        return {
            "broker runs": b.running(),
            "an unclean stop is left": state.left.unclean_stops > 0,
            "no more is lost than there is": lost <= b.log.end(),
        }

    def crash(self, state: Replication, broker: Word, lost: Word) -> Replication:
        """The process dies; the last records were not flushed."""
        b = state.broker(broker)
        log = b.log.truncate(b.log.end() - lost)
        mark = smaller(b.high_watermark, log.end())
        left = evolve(state.left, unclean_stops=state.left.unclean_stops - 1)
        spent = evolve(state, left=left, deaths=state.deaths + 1)
        return spent.with_broker(broker, evolve(b, status=STOPPED_UNCLEAN, log=log, high_watermark=mark))

    def may_end_recovering(self, state: Replication, broker: Word) -> dict[str, Truth]:
        """A process that recovers its log is told to stop; it has not registered."""
        return {"broker has stopped uncleanly": state.broker(broker).status == STOPPED_UNCLEAN}

    def end_recovering(self, state: Replication, broker: Word) -> Replication:
        """The defect KAFKA-15375: it leaves the mark of a clean stop behind."""
        return state.with_broker(broker, evolve(state.broker(broker), status=STOPPED_CLEAN))

    def may_register(self, state: Replication, broker: Word) -> dict[str, Truth]:
        """A stopped process comes back."""
        return {"broker is stopped": negate(state.broker(broker).running())}

    def register(self, state: Replication, broker: Word) -> Replication:
        """A new incarnation registers, and applies the metadata up to its registration."""
        b = state.broker(broker)
        clean = b.status == STOPPED_CLEAN
        told = self.do.new_incarnation(state.controller, broker, clean, BrokerSet.of([0]))
        after = forget_incarnation(self._decided(state, told), broker)
        # What is no replica any more finds a stray log, and deletes it.
        log = choose(after.controller.replicas.has(broker), b.log, b.log.truncate(0))
        back = Broker(
            status=RUNNING, log=log, high_watermark=smaller(b.high_watermark, log.end()), epoch=after.leader_epoch,
            current=True, unseen=False, isr=after.controller.isr, min_isr=after.controller.effective_min_isr(),
            proposed=b.proposed.none(), answer=NONE, ends=b.ends, stale=b.stale,
        )  # fmt: skip
        return after.with_broker(broker, back.without_ends())

    def may_alter(self, state: Replication) -> dict[str, Truth]:
        """The request passes the checks of shape; one that fails those of epochs is not kept."""
        request, controller = state.request, state.controller
        return {
            "a request is in flight": negate(request.isr.is_empty()),
            **sender_check(controller.leader, controller.leader, controller),
            **isr_checks(controller.partition(), request.isr, False, self.rules.partition),
        }

    def alter(self, state: Replication) -> Replication:
        """The controller answers: INELIGIBLE_REPLICA, or the change.

        An answer finds nobody where the leader has died, given its proposal up, or not
        heard of its leader epoch; one that names another leader or leader epoch is ignored.
        Answers arrive in order, so a refusal of an earlier copy no longer arrives then.
        """
        request, controller = state.request, state.controller
        eligible = self.rules.granted(self._eligible(state))
        told = self.do.alter_partition(controller, request.isr, False)
        changed = decided(state, told, self.rules.data_plane, request.isr)
        leader = controller.leader
        kept = all_of(changed.controller.leader == leader, changed.leader_epoch == state.leader_epoch)
        waits = self._waits(state)
        accepted = self._answered(changed, leader, waits, choose(kept, ACCEPTED, NONE))
        return choose(eligible, accepted, self._answered(state, leader, waits, INELIGIBLE))

    def _eligible(self, state: Replication) -> Truth:
        """Whether the controller accepts the members that the request in flight names."""
        isr, stale, nobody = state.request.isr, state.request.stale, state.request.isr.none()
        members = member_checks(isr, state.controller, stale, nobody, self.rules.data_plane)
        return all_of(members[ELIGIBLE], members[MEMBER_EPOCHS])

    def _waits(self, state: Replication) -> Truth:
        """Whether the leader waits for an answer, in the leader epoch of the controller."""
        leader = state.controller.leader
        sender = state.broker(leader)
        return all_of(state.leads(leader, sender), sender.epoch == state.leader_epoch, sender.pending())

    def may_lose_alter(self, state: Replication) -> dict[str, Truth]:
        """The controller accepts the request, and another one takes over before that is committed."""
        return {**self.may_alter(state), "its members are eligible": self._eligible(state)}

    def lose_alter(self, state: Replication) -> Replication:
        """What was decided is aborted: the next controller has the state as it was, and may get the request again."""
        if not answers_uncommitted(self.rules.data_plane):
            return state
        return self._answered(state, state.controller.leader, self._waits(state), ACCEPTED)

    def _answered(self, state: Replication, leader: Word, waits: Truth, answer: Word) -> Replication:
        sender = state.broker(leader)
        return state.with_broker(leader, evolve(sender, answer=choose(waits, answer, sender.answer)))

    def may_elect_uncleanly(self, state: Replication) -> dict[str, Truth]:
        """An operator elects anybody who lives, or the topic allows it."""
        return {**guards.leaderless(state.controller), "an unclean election is left": state.left.unclean_elections > 0}

    def elect_uncleanly(self, state: Replication) -> Replication:
        """ElectLeaders UNCLEAN, or the unclean timer."""
        left = evolve(state.left, unclean_elections=state.left.unclean_elections - 1)
        return self._decided(evolve(state, left=left), self.do.elect_unclean(state.controller))

    def may_designate(self, state: Replication, broker: Word) -> dict[str, Truth]:
        """An operator names a live replica for a leaderless partition."""
        named = guards.designation(self.rules)(state.controller, broker)
        return {**named, "an unclean election is left": state.left.unclean_elections > 0}

    def elect_designated(self, state: Replication, broker: Word) -> Replication:
        """ElectLeaders DESIGNATED."""
        left = evolve(state.left, unclean_elections=state.left.unclean_elections - 1)
        return self._decided(evolve(state, left=left), self.do.elect_designated(state.controller, broker))

    def may_elect_preferred(self, state: Replication) -> dict[str, Truth]:
        """The leader is not the first replica."""
        return dict(guards.not_preferred(state.controller))

    def elect_preferred(self, state: Replication) -> Replication:
        """ElectLeaders PREFERRED, or the balance timer."""
        return self._decided(state, self.do.elect_preferred(state.controller))

    def may_reassign(self, state: Replication, target: Replicas) -> dict[str, Truth]:
        """An operator moves the partition."""
        allowed = guards.targets_registered(state.controller, target)
        return {**allowed, "a reassignment is left": state.left.reassignments > 0}

    def reassign(self, state: Replication, target: Replicas) -> Replication:
        """AlterPartitionReassignments to a target."""
        return self._decided(self._reassigned(state), self.do.reassign(state.controller, target))

    def may_cancel(self, state: Replication) -> dict[str, Truth]:
        """An operator takes a reassignment back."""
        allowed = guards.may_cancel(state.controller, self.rules.partition)
        return {**allowed, "a reassignment is left": state.left.reassignments > 0}

    def cancel(self, state: Replication) -> Replication:
        """AlterPartitionReassignments without a target."""
        return self._decided(self._reassigned(state), self.do.cancel(state.controller))

    def _reassigned(self, state: Replication) -> Replication:
        return evolve(state, left=evolve(state.left, reassignments=state.left.reassignments - 1))

    def may_set_min_isr(self, state: Replication, minimum: Word) -> dict[str, Truth]:
        """An operator changes min.insync.replicas."""
        allowed = guards.other_min_isr(state.controller, minimum)
        return {**allowed, "a configuration change is left": state.left.config_changes > 0}

    def set_min_isr(self, state: Replication, minimum: Word) -> Replication:
        """The change takes effect in the controller; brokers apply it with the metadata log."""
        left = evolve(state.left, config_changes=state.left.config_changes - 1)
        return self._decided(evolve(state, left=left), self.do.set_min_isr(state.controller, minimum))
