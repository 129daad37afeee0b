"""The effects of the `elections` actions, one for each trigger of the controller.

Every function takes the state before the event and returns the state after it
with an `ElectionsEvent`. Source: the trigger table of semantics 3; `ReplicationControlManager`.
"""

from __future__ import annotations

from attrs import evolve, frozen

from kraftcheck.model.language.brokersets import BrokerSet, Replicas
from kraftcheck.model.language.system import Outcome
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import all_of, choose, negate, rule, word
from kraftcheck.model.partition.registration import FIRST_LOCAL, Partition, merge
from kraftcheck.model.rules.ruleset import RuleSet
from kraftcheck.model.systems.elections.passes import Progress, permits, run, start
from kraftcheck.model.systems.elections.state import Elections, directory_online
from kraftcheck.model.triggers import table as reassigning
from kraftcheck.model.triggers import table as triggers
from kraftcheck.model.triggers.heartbeat import STATE, passes_in_order, second_sees_first
from kraftcheck.model.triggers.leadership import proposed
from kraftcheck.model.triggers.table import Pass, announced, assign


def finish(before: Elections, after: Elections, done: Progress) -> Outcome:
    """The state with the passes' partition; unchanged where the controller resigned."""
    resigned = done.event.resigned
    after = after.with_partition(done.partition)
    event = done.event
    nothing = evolve(event, records=0, leader_epoch_bumps=0, partition_epoch_bumps=0, unclean=False,
                     last_known=False, from_elr=False, over_isr=False, completed=False, misdirected=False,
                     stale_base=False)  # fmt: skip
    return Outcome(choose(resigned, before, after), choose(resigned, nothing, event), done.changes)


@frozen
class Triggers:
    """The effects under one rule set; each method is the effect of one action."""

    rules: RuleSet

    def _decided(self, state: Elections, *passes: Pass) -> Progress:
        """The passes of one event, all built from the partition as it was."""
        p, done = state.partition(), start(state)
        for wanted in passes:
            done = run(state, p, done, wanted, self.rules.partition)
        return done

    def fence(self, state: Elections, broker: Word) -> Outcome:
        """Session expiry or a heartbeat that asks for it."""
        done = self._decided(state, triggers.fence(state.partition(), permits(state), broker))
        return finish(state, evolve(state, fenced=state.fenced.plus(state.fenced.just(broker))), done)

    def fence_two(self, state: Elections, broker: Word, other: Word) -> Outcome:
        """The defect of sweeping sessions: two brokers are fenced, each decided on the state before both.

        By the right rules such a sweep is two fences, one after the other.
        """
        p, allowed = state.partition(), permits(state)
        done = self._decided(state, triggers.fence(p, allowed, broker), triggers.fence(p, allowed, other))
        both = state.fenced.just(broker).plus(state.fenced.just(other))
        return finish(state, evolve(state, fenced=state.fenced.plus(both)), done)

    def controlled_shutdown(self, state: Elections, broker: Word) -> Outcome:
        """A heartbeat that asks to shut down while leading."""
        done = self._decided(state, triggers.fence(state.partition(), permits(state), broker))
        down = state.shutting_down.plus(state.shutting_down.just(broker))
        return finish(state, evolve(state, shutting_down=down), done)

    def unfence(self, state: Elections, broker: Word) -> Outcome:
        """A heartbeat of a caught-up broker; leaderless partitions are tried again."""
        done = self._decided(state, triggers.unfence(state.partition(), permits(state), broker, self.rules.partition))
        return finish(state, self._unfenced(state, broker), done)

    @rule("shutdown.ends-with-incarnation", source="KIP-841; invariant 32; semantics 1.2",
          switches=("unfence-clears-controlled-shutdown",),
          says="Only a new incarnation ends a controlled shutdown.")  # fmt: skip
    def _unfenced(self, state: Elections, broker: Word) -> Elections:
        one = state.fenced.just(broker)
        down = state.shutting_down
        if self.rules.partition.unfence_clears_controlled_shutdown:
            down = down.minus(one)
        return evolve(state, fenced=state.fenced.minus(one), shutting_down=down)

    def unregister(self, state: Elections, broker: Word) -> Outcome:
        """An administrator removes the broker."""
        wanted = triggers.unregister(state.partition(), permits(state), broker, self.rules.partition)
        done = self._decided(state, wanted)
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
        rules = self.rules.partition
        wanted = triggers.restart(state.partition(), permits(state), broker, clean, state.elr_enabled, rules)
        done = self._decided(state, wanted)
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
        done = self._decided(state, self._failure(state, state.partition(), broker, failed))
        return finish(state, self._failed(state, broker, failed), done)

    @rule("failover.directory-failure-replayed", source="KAFKA-15364; catalogue 32",
          switches=("directory-failure-not-replayed",),
          says="A directory that was reported as failed is offline for the next controller too.")  # fmt: skip
    def _failed(self, state: Elections, broker: Word, failed: BrokerSet) -> Elections:
        old = state.dirs_of(broker)
        left = old if self.rules.directories.directory_failure_not_replayed else old.minus(failed)
        if self.rules.partition.empty_directory_list_means_no_change:
            left = choose(left.is_empty(), old, left)
        return state.with_dirs(broker, left)

    def _failure(self, state: Elections, p: Partition, broker: Word, failed: BrokerSet) -> Pass:
        reported = all_of(p.replicas.has(broker), failed.has(p.directories.of(broker) - FIRST_LOCAL))
        return triggers.directory_failure(p, permits(state), broker, reported, self.rules.partition)

    def heartbeat(self, state: Elections, broker: Word, failed: BrokerSet) -> Outcome:
        """One heartbeat that unfences the broker and reports failed directories."""
        seen, done, rules = state, start(state), self.rules.partition
        for step in passes_in_order(rules):
            p = seen.partition() if seen is state else done.partition
            if step == STATE:
                done = run(seen, p, done, triggers.unfence(p, permits(seen), broker, rules), rules)
            else:
                done = run(seen, p, done, self._failure(seen, p, broker, failed), rules)
            if second_sees_first(rules):
                seen = self._failed(state, broker, failed).with_partition(done.partition)
        return finish(state, self._unfenced(self._failed(state, broker, failed), broker), done)

    def assign(self, state: Elections, broker: Word, directory: Word) -> Outcome:
        """AssignReplicasToDirs; an assignment to an offline directory also ends leadership there."""
        offline = negate(self._online(state, broker, directory))
        wanted = assign(state.partition(), permits(state), broker, directory, offline, self.rules.partition)
        return finish(state, state, self._decided(state, *wanted))

    def _online(self, state: Elections, broker: Word, directory: Word) -> Truth:
        return directory_online(state, broker, directory, self.rules.partition)

    def alter_partition(self, state: Elections, isr: BrokerSet, recovering: Truth) -> Outcome:
        """The leader proposes another ISR."""
        p = state.partition()
        wanted = triggers.alter(p, permits(state), proposed(p, isr, recovering))
        return finish(state, state, self._decided(state, wanted))

    def elect_preferred(self, state: Elections) -> Outcome:
        """ElectLeaders PREFERRED, or the balance timer."""
        return finish(state, state, self._decided(state, triggers.elect_preferred(state.partition(), permits(state))))

    def elect_unclean(self, state: Elections) -> Outcome:
        """ElectLeaders UNCLEAN, or the unclean timer."""
        wanted = triggers.elect_unclean(state.partition(), permits(state), self.rules.partition)
        return finish(state, state, self._decided(state, wanted))

    def elect_designated(self, state: Elections, broker: Word) -> Outcome:
        """ElectLeaders DESIGNATED."""
        wanted = triggers.elect_designated(state.partition(), permits(state), broker)
        return finish(state, state, self._decided(state, wanted))

    def reassign(self, state: Elections, target: Replicas) -> Outcome:
        """AlterPartitionReassignments with a target; never elects uncleanly."""
        wanted = reassigning.reassign(state.partition(), permits(state), target, self.rules.partition)
        done = self._decided(state, wanted)
        left = done.partition.replicas.minus(done.partition.removing)
        event = evolve(done.event, misdirected=negate(left.same(target)))
        return finish(state, state, evolve(done, event=event))

    def cancel(self, state: Elections) -> Outcome:
        """AlterPartitionReassignments without a target: back to the original replicas."""
        wanted = reassigning.cancel(state.partition(), permits(state), self.rules.partition)
        return finish(state, state, self._decided(state, wanted))

    def set_min_isr(self, state: Elections, minimum: Word) -> Outcome:
        """The topic's min.insync.replicas changes; an ELR is dropped where the ISR reaches the new value."""
        done, after = start(state), evolve(state, min_insync_replicas=minimum)
        old, new = state.effective_min_isr(), after.effective_min_isr()
        change = announced(done.partition, True, new, old, state.elr_enabled, self.rules)
        written = negate(change.is_noop())
        p = merge(done.partition, change, self.rules.partition)
        bumps = choose(written, p.partition_epoch, 0)
        event = evolve(done.event, records=word(written), partition_epoch_bumps=bumps)
        return finish(state, after, Progress(p, event))

    def set_unclean_election(self, state: Elections) -> Outcome:
        """The topic's unclean.leader.election.enable is switched."""
        return finish(state, evolve(state, unclean_election=negate(state.unclean_election)), start(state))

    def enable_elr(self, state: Elections) -> Outcome:
        """The metadata version gains ELR, with the feature configured on."""
        return finish(state, evolve(state, elr_enabled=True), start(state))

    @rule("elr.downgrade-writes-nothing-else", source="KIP-966; FeatureControlManager",
          switches=("elr-downgrade",),
          says="ELR can be switched off again, and no partition is changed by that.")  # fmt: skip
    def disable_elr(self, state: Elections) -> Outcome:
        """The feature is downgraded; what ELRs hold stays until the next build."""
        return finish(state, evolve(state, elr_enabled=False), start(state))
