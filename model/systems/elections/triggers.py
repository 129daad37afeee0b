"""What each trigger of the controller does: the effects of the `elections` actions.

Every function takes the state before the event and returns the state after it
with an `Event`. Source: the trigger table of the semantics reference, section
3; `ReplicationControlManager`.
"""

from __future__ import annotations

from attrs import evolve, frozen

from model.brokersets import BrokerSet, Replicas
from model.change import Target
from model.directories import FIRST_LOCAL, DirectoryMap
from model.partition import Partition, merge
from model.reassignment import plan_for, revert
from model.rules import RuleSet
from model.system import Outcome
from model.systems.elections.passes import Progress, Trigger, clear_elr, run, start, trigger
from model.systems.elections.state import Elections, directory_online
from model.terms import Truth, Word
from model.words import NO_LEADER, Maybe, all_of, any_of, choose, negate, word


def finish(before: Elections, after: Elections, done: Progress) -> Outcome:
    """The state with the passes' partition; unchanged where the controller resigned."""
    resigned = done.event.resigned
    after = after.with_partition(done.partition)
    event = done.event
    nothing = evolve(event, records=0, leader_epoch_bumps=0, partition_epoch_bumps=0, unclean=False,
                     last_known=False, from_elr=False, over_isr=False, completed=False, stale_base=False)  # fmt: skip
    return Outcome(choose(resigned, before, after), choose(resigned, nothing, event), done.changes)


def without(p: Partition, broker: Word) -> Target:
    """The target that takes a broker out of the ISR."""
    return evolve(Target.of(p), isr=p.isr.minus(p.isr.just(broker)))


@frozen
class Triggers:
    """The effects under one rule set; each method is the effect of one action."""

    rules: RuleSet

    def _leave(self, state: Elections, broker: Word, when: Truth, stopped: BrokerSet) -> Progress:
        """The common pass of fence-like triggers: the broker leaves ISR and leadership."""
        p = state.partition()
        trig = evolve(trigger(state, broker), unclean_shutdown=stopped)
        return run(state, p, start(state), when, without(p, broker), trig, self.rules)

    def fence(self, state: Elections, broker: Word) -> Outcome:
        """Session expiry or a heartbeat that asks for it."""
        done = self._leave(state, broker, state.isr.has(broker), BrokerSet())
        return finish(state, evolve(state, fenced=state.fenced.plus(state.fenced.just(broker))), done)

    def fence_two(self, state: Elections, broker: Word, other: Word) -> Outcome:
        """The defect of sweeping sessions: two brokers are fenced, each decided on the state before both.

        By the right rules such a sweep is two fences, one after the other.
        """
        p, rules = state.partition(), self.rules
        first = self._leave(state, broker, state.isr.has(broker), BrokerSet())
        done = run(state, p, first, state.isr.has(other), without(p, other), trigger(state, other), rules)
        both = state.fenced.just(broker).plus(state.fenced.just(other))
        return finish(state, evolve(state, fenced=state.fenced.plus(both)), done)

    def controlled_shutdown(self, state: Elections, broker: Word) -> Outcome:
        """A heartbeat that asks to shut down while leading."""
        done = self._leave(state, broker, state.isr.has(broker), BrokerSet())
        down = state.shutting_down.plus(state.shutting_down.just(broker))
        return finish(state, evolve(state, shutting_down=down), done)

    def unfence(self, state: Elections, broker: Word) -> Outcome:
        """A heartbeat of a caught-up broker; leaderless partitions are tried again."""
        done = self._returns(state, state.partition(), start(state), broker)
        return finish(state, self._unfenced(state, broker), done)

    def _unfenced(self, state: Elections, broker: Word) -> Elections:
        one = state.fenced.just(broker)
        down = state.shutting_down.minus(one) if self.rules.unfence_clears_controlled_shutdown else state.shutting_down
        return evolve(state, fenced=state.fenced.minus(one), shutting_down=down)

    def _returns(self, state: Elections, base: Partition, sofar: Progress, broker: Word) -> Progress:
        trig = evolve(trigger(state), counted=BrokerSet().just(broker))
        target = Target.of(base)
        when = base.leader == NO_LEADER
        if self.rules.unfence_rejoins_isr:
            target = evolve(target, isr=base.isr.plus(base.isr.just(broker).keep(base.replicas)))
            when = True
        return run(state, base, sofar, when, target, trig, self.rules)

    def unregister(self, state: Elections, broker: Word) -> Outcome:
        """An administrator removes the broker."""
        stopped = BrokerSet() if self.rules.unregister_keeps_elr else BrokerSet().just(broker)
        done = self._leave(state, broker, any_of(state.isr.has(broker), state.elr.has(broker)), stopped)
        one = state.registered.just(broker)
        after = evolve(
            state.with_dirs(broker, BrokerSet()),
            registered=state.registered.minus(one),
            fenced=state.fenced.minus(one),
            shutting_down=state.shutting_down.minus(one),
        )
        return finish(state, after, done)

    def new_incarnation(self, state: Elections, broker: Word, clean: Truth, dirs: BrokerSet) -> Outcome:
        """The broker registers anew, after a clean or an unclean stop, with the directories it found."""
        rules = self.rules
        unclean = True if rules.every_restart_is_unclean else negate(clean)
        stopped = BrokerSet(choose(unclean, BrokerSet().just(broker).mask, 0))
        visited = any_of(state.isr.has(broker), all_of(unclean, state.elr.has(broker)))
        if rules.stale_reregistration_keeps_isr:
            visited = all_of(visited, state.elr_enabled)
        done = self._leave(state, broker, visited, stopped)
        one = state.registered.just(broker)
        after = evolve(
            state.with_dirs(broker, dirs),
            registered=state.registered.plus(one),
            fenced=state.fenced.plus(one),
            shutting_down=state.shutting_down.minus(one),
        )
        return finish(state, after, done)

    def directories_offline(self, state: Elections, broker: Word, failed: BrokerSet) -> Outcome:
        """A heartbeat reports failed directories."""
        p = state.partition()
        return finish(
            state, self._failed(state, broker, failed), self._leaves_dirs(state, p, start(state), broker, failed)
        )

    def _failed(self, state: Elections, broker: Word, failed: BrokerSet) -> Elections:
        old = state.dirs_of(broker)
        left = old if self.rules.directory_failure_not_replayed else old.minus(failed)
        if self.rules.empty_directory_list_means_no_change:
            left = choose(left.is_empty(), old, left)
        return state.with_dirs(broker, left)

    def _leaves_dirs(
        self, state: Elections, base: Partition, sofar: Progress, broker: Word, failed: BrokerSet
    ) -> Progress:
        if self.rules.offline_directory_leader_kept:
            return sofar
        placed = all_of(base.replicas.has(broker), failed.has(base.directories.of(broker) - FIRST_LOCAL))
        return run(state, base, sofar, placed, without(base, broker), trigger(state, broker), self.rules)

    def heartbeat(self, state: Elections, broker: Word, failed: BrokerSet) -> Outcome:
        """One heartbeat that unfences the broker and reports failed directories."""
        if self.rules.passes_share_one_base:
            p = state.partition()
            sofar = self._returns(state, p, start(state), broker)
            done = self._leaves_dirs(state, p, sofar, broker, failed)
            return finish(state, self._unfenced(self._failed(state, broker, failed), broker), done)
        first = self._leaves_dirs(state, state.partition(), start(state), broker, failed)
        middle = self._failed(state, broker, failed).with_partition(first.partition)
        done = self._returns(middle, first.partition, first, broker)
        return finish(state, self._unfenced(middle, broker), done)

    def assign(self, state: Elections, broker: Word, directory: Word) -> Outcome:
        """AssignReplicasToDirs; an assignment to an offline directory also ends leadership there."""
        p, rules = state.partition(), self.rules
        elr = False if rules.assignment_clears_elr else state.elr_enabled
        placed = evolve(Target.of(p), directory=lambda b: Maybe(b == broker, directory))
        offline = negate(self._online(state, broker, directory))
        if rules.passes_share_one_base:
            trig = evolve(trigger(state), unclean=False, elr=elr)
            first = run(state, p, start(state), True, placed, trig, rules)
            done = run(state, p, first, offline, without(p, broker), trigger(state, broker), rules)
            return finish(state, state, done)
        # Mended: one record, decided on the directory that the replica will have.
        moved = evolve(state, directories=self._placed(state, broker, directory))
        goal = evolve(placed, isr=choose(offline, without(p, broker).isr, p.isr))
        barred = BrokerSet(choose(offline, BrokerSet().just(broker).mask, 0))
        trig = evolve(trigger(state), barred=barred, unclean=all_of(offline, state.unclean_election), elr=elr)
        return finish(state, state, run(moved, p, start(state), True, goal, trig, rules))

    def _placed(self, state: Elections, broker: Word, directory: Word) -> DirectoryMap:
        slots = state.directories.slots
        return DirectoryMap(tuple(choose(broker == b, directory, old) for b, old in enumerate(slots)))

    def _online(self, state: Elections, broker: Word, directory: Word) -> Truth:
        brokers = range(len(state.online_dirs))
        return any_of(*(all_of(broker == b, directory_online(state, b, directory, self.rules)) for b in brokers))

    def alter_partition(self, state: Elections, isr: BrokerSet, recovering: Truth) -> Outcome:
        """The leader proposes another ISR."""
        p = state.partition()
        target = evolve(Target.of(p), isr=isr, recovering=recovering)
        return finish(state, state, run(state, p, start(state), True, target, trigger(state), self.rules))

    def elect_preferred(self, state: Elections) -> Outcome:
        """ElectLeaders PREFERRED, or the balance timer."""
        return self._elect(state, evolve(trigger(state), preferred=True, unclean=False))

    def elect_unclean(self, state: Elections) -> Outcome:
        """ElectLeaders UNCLEAN, or the unclean timer."""
        return self._elect(state, evolve(trigger(state), unclean=True))

    def elect_designated(self, state: Elections, broker: Word) -> Outcome:
        """ElectLeaders DESIGNATED."""
        return self._elect(state, evolve(trigger(state), designated=broker))

    def _elect(self, state: Elections, trig: Trigger) -> Outcome:
        p = state.partition()
        return finish(state, state, run(state, p, start(state), True, Target.of(p), trig, self.rules))

    def reassign(self, state: Elections, target: Replicas) -> Outcome:
        """AlterPartitionReassignments with a target; never elects uncleanly."""
        p, rules = state.partition(), self.rules
        plan = plan_for(p, target)
        replicas = _repeated(target, state.replicas) if rules.reassignment_repeats_replicas else plan.replicas
        removing, adding = plan.removing, plan.adding
        if rules.retarget_keeps_old_reassignment:
            removing = choose(removing.is_empty(), p.removing, removing)
            adding = choose(adding.is_empty(), p.adding, adding)
        goal = evolve(Target.of(p), replicas=replicas, removing=removing, adding=adding)
        trig = evolve(trigger(state), unclean=False)
        return finish(state, state, run(state, p, start(state), True, goal, trig, rules))

    def cancel(self, state: Elections) -> Outcome:
        """AlterPartitionReassignments without a target: back to the original replicas."""
        p, rules = state.partition(), self.rules
        back = revert(p)
        isr = back.isr if rules.unclean_cancel_is_silent else choose(back.unclean, p.isr.none(), back.isr)
        goal = evolve(
            Target.of(p), replicas=back.replicas, isr=isr, removing=p.removing.none(), adding=p.adding.none()
        )
        return finish(state, state, run(state, p, start(state), True, goal, trigger(state), rules))

    def set_min_isr(self, state: Elections, minimum: Word) -> Outcome:
        """The topic's min.insync.replicas changes; an ELR formed under the old value is dropped.

        Raised, the partition epoch rises too. An answer to AlterPartition overtakes the
        configuration; without a new partition epoch the leader would commit by the old
        value without members that the controller makes eligible by the new one.
        """
        done, after = start(state), evolve(state, min_insync_replicas=minimum)
        change = clear_elr(done.partition, negate(self.rules.min_isr_change_keeps_elr))
        if not self.rules.min_isr_raise_is_silent:
            raised = after.effective_min_isr() > state.effective_min_isr()
            same = change.elr.or_else(done.partition.elr)
            change = evolve(change, elr=change.elr.set_when(all_of(state.elr_enabled, raised), same))
        written = negate(change.is_noop())
        p = merge(done.partition, change, self.rules)
        p = evolve(p, partition_epoch=word(written))
        event = evolve(done.event, records=word(written), partition_epoch_bumps=word(written))
        return finish(state, after, Progress(p, event))

    def set_unclean_election(self, state: Elections) -> Outcome:
        """The topic's unclean.leader.election.enable is switched."""
        return finish(state, evolve(state, unclean_election=negate(state.unclean_election)), start(state))

    def enable_elr(self, state: Elections) -> Outcome:
        """The metadata version gains ELR, with the feature configured on."""
        return finish(state, evolve(state, elr_enabled=True), start(state))


def _repeated(target: Replicas, current: Replicas) -> Replicas:
    """The seeded defect: every current replica is appended, also those the target lists."""
    slots = list(target.slots)
    for position, slot in enumerate(current.slots):
        slots[-1 - position] = choose(slots[-1 - position] == NO_LEADER, slot, slots[-1 - position])
    return Replicas(tuple(slots))
