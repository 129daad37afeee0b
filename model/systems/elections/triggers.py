"""The effects of the `elections` actions, one for each trigger of the controller.

Every function takes the state before the event and returns the state after it
with an `ElectionsEvent`. Source: the trigger table of semantics 3; `ReplicationControlManager`.

One pass over the partition: a change is built, replayed and counted.
An event is one or more passes. Kafka computes all passes of an event from the
state before it (defect B8 where that matters); the rules say which base a
second pass uses.
"""

from __future__ import annotations

from typing import Any

from attrs import evolve, fields, frozen

from kraftcheck.model.language.brokersets import Brokers, BrokerSet, Replicas
from kraftcheck.model.language.system import Outcome
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import Maybe, all_of, any_of, choose, negate, rule, word
from kraftcheck.model.partition.change import BuiltChange, build
from kraftcheck.model.partition.registration import FIRST_LOCAL, Partition, PartitionChange, merge
from kraftcheck.model.rules.groups import PartitionRules
from kraftcheck.model.rules.ruleset import RuleSet
from kraftcheck.model.systems.elections.state import Elections, ElectionsEvent, directory_online, replicas_offline
from kraftcheck.model.triggers import table as reassigning
from kraftcheck.model.triggers import table as triggers
from kraftcheck.model.triggers.leadership import (
    STATE,
    lookup_failed,
    may_lead,
    passes_in_order,
    proposed,
    second_sees_first,
)
from kraftcheck.model.triggers.table import (
    Pass,
    Permits,
    Trigger,
    announced,
    assign,
    context,
    default_directory,
    ordinary,
)


def permits(state: Elections) -> Permits:
    """What topic and cluster allow."""
    return Permits(state.unclean_election, state.elr_enabled)


@frozen
class Progress:
    """The partition after the passes so far, what they did, and the change that each wrote."""

    partition: Partition
    event: ElectionsEvent
    changes: tuple[PartitionChange, ...] = ()


def start(state: Elections) -> Progress:
    """No pass yet."""
    event = ElectionsEvent(
        0,
        0,
        0,
        False,
        False,
        from_elr=False,
        over_isr=False,
        completed=False,
        misdirected=False,
        resigned=False,
        stale_base=False,
        unclean_shutdown=state.isr.none(),
    )
    return Progress(state.partition(), event)


def acceptable(state: Elections, trig: Trigger, rules: PartitionRules) -> Brokers:
    """Brokers that pass the leader test for a trigger."""
    return may_lead(state, replicas_offline(state, rules), trig.barred, trig.counted, rules)


def eligible(state: Elections, rules: PartitionRules) -> Brokers:
    """Brokers that may lead as the partition is."""
    return acceptable(state, ordinary(state.partition(), permits(state)), rules)


def directory_of_new_replica(state: Elections, broker: Word, rules: PartitionRules) -> Word:
    """Directory of a replica that is new on a broker."""
    dirs = state.dirs_of(broker)
    return default_directory(state.registered.has(broker), dirs.size(), dirs.first() + FIRST_LOCAL, True, rules)


def run(state: Elections, base: Partition, sofar: Progress, wanted: Pass, rules: PartitionRules) -> Progress:
    """One pass: build from `base`, replay onto what the passes so far left."""
    when, trig = wanted.when, wanted.trigger
    moved = state.directories if wanted.placed is None else state.directories.moved(*wanted.placed)
    able = acceptable(evolve(state, directories=moved), trig, rules)
    given = context(
        trig, able, state.effective_min_isr(), lambda b: directory_of_new_replica(state, b, rules),
        bump_on_isr_shrink=rules.bump_on_isr_shrink,
    )  # fmt: skip
    built = build(base, wanted.target, given, rules)
    change = gate(built.change, when)
    written = negate(change.is_noop())
    after = merge(sofar.partition, change, rules)
    # A change without fields is not written; replaying it would only raise the partition epoch.
    after = evolve(after, partition_epoch=choose(written, after.partition_epoch, sofar.partition.partition_epoch))
    event = _note(base, sofar, when, built, written, after, able)
    event = evolve(event, stale_base=any_of(event.stale_base, _stale(base, sofar, written)))
    stopped = choose(when, trig.unclean_shutdown, trig.unclean_shutdown.none())
    event = evolve(event, unclean_shutdown=event.unclean_shutdown.plus(stopped))
    return Progress(after, event, (*sofar.changes, change))


def _stale(base: Partition, sofar: Progress, written: Truth) -> Truth:
    """Whether a record is decided on the partition before an earlier record of the event."""
    return False if base is sofar.partition else all_of(written, sofar.event.records > 0)


def _note(
    base: Partition, sofar: Progress, when: Truth, built: BuiltChange, written: Truth, after: Partition, able: Brokers
) -> ElectionsEvent:
    seen, won, isr = sofar.event, built.election, built.target_isr
    moved = all_of(when, negate(won.leader == base.leader), won.leader >= 0)
    clean_outsider = all_of(moved, negate(won.unclean), negate(isr.has(won.leader)))
    return evolve(
        seen,
        records=seen.records + word(written),
        leader_epoch_bumps=after.leader_epoch,
        partition_epoch_bumps=after.partition_epoch,
        unclean=any_of(seen.unclean, all_of(moved, won.unclean)),
        last_known=any_of(seen.last_known, all_of(moved, won.last_known)),
        from_elr=any_of(seen.from_elr, clean_outsider),
        over_isr=any_of(seen.over_isr, all_of(clean_outsider, negate(isr.is_empty()))),
        completed=any_of(seen.completed, all_of(when, built.completed)),
        resigned=any_of(seen.resigned, all_of(when, lookup_failed(won, base.replicas, able))),
    )


def gate(change: PartitionChange, when: Truth) -> PartitionChange:
    """The change with every field absent unless `when` holds."""

    def gated(field: Any) -> Any:
        return Maybe(all_of(field.present, when), field.value)

    return PartitionChange(**{f.name: gated(getattr(change, f.name)) for f in fields(PartitionChange)})


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

    def decided(self, state: Elections, *passes: Pass) -> Progress:
        """The passes of one event, all built from the partition as it was."""
        p, done = state.partition(), start(state)
        for wanted in passes:
            done = run(state, p, done, wanted, self.rules.partition)
        return done

    def finish(self, before: Elections, after: Elections, done: Progress) -> Outcome:
        """The outcome of an event, from the state before it, that after it but for the partition, and its passes."""
        found: Outcome = self.rules.outcome(before, finish(before, after, done))
        return found

    def fence(self, state: Elections, broker: Word) -> Outcome:
        """Session expiry or a heartbeat that asks for it."""
        done = self.decided(state, triggers.fence(state.partition(), permits(state), broker))
        return self.finish(state, evolve(state, fenced=state.fenced.plus(state.fenced.just(broker))), done)

    def fence_two(self, state: Elections, broker: Word, other: Word) -> Outcome:
        """The defect of sweeping sessions: two brokers are fenced, each decided on the state before both.

        By the right rules such a sweep is two fences, one after the other.
        """
        p, allowed = state.partition(), permits(state)
        done = self.decided(state, triggers.fence(p, allowed, broker), triggers.fence(p, allowed, other))
        both = state.fenced.just(broker).plus(state.fenced.just(other))
        return self.finish(state, evolve(state, fenced=state.fenced.plus(both)), done)

    def controlled_shutdown(self, state: Elections, broker: Word) -> Outcome:
        """A heartbeat that asks to shut down while leading."""
        done = self.decided(state, triggers.fence(state.partition(), permits(state), broker))
        down = state.shutting_down.plus(state.shutting_down.just(broker))
        return self.finish(state, evolve(state, shutting_down=down), done)

    def unfence(self, state: Elections, broker: Word) -> Outcome:
        """A heartbeat of a caught-up broker; leaderless partitions are tried again."""
        done = self.decided(state, triggers.unfence(state.partition(), permits(state), broker, self.rules.partition))
        return self.finish(state, self._unfenced(state, broker), done)

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
        done = self.decided(state, wanted)
        one = state.registered.just(broker)
        after = evolve(
            state.with_dirs(broker, BrokerSet()),
            registered=state.registered.minus(one),
            fenced=state.fenced.minus(one),
            shutting_down=state.shutting_down.minus(one),
        )
        return self.finish(state, after, done)

    def new_incarnation(self, state: Elections, broker: Word, clean: Truth, dirs: BrokerSet) -> Outcome:
        """The broker registers anew, after a clean or an unclean stop, with the directories it found."""
        rules = self.rules.partition
        wanted = triggers.restart(state.partition(), permits(state), broker, clean, state.elr_enabled, rules)
        done = self.decided(state, wanted)
        one = state.registered.just(broker)
        after = evolve(
            state.with_dirs(broker, dirs),
            registered=state.registered.plus(one),
            fenced=state.fenced.plus(one),
            shutting_down=state.shutting_down.minus(one),
        )
        return self.finish(state, after, done)

    def register(self, state: Elections, broker: Word, clean: Truth, dirs: BrokerSet) -> Outcome:
        """The same of any broker: it states a clean stop by the epoch on file, and unregistered it has none there.

        Source: `ClusterControlManager.registerBroker`, Kafka 4.0.0.
        """
        return self.new_incarnation(state, broker, all_of(clean, state.registered.has(broker)), dirs)

    def directories_offline(self, state: Elections, broker: Word, failed: BrokerSet) -> Outcome:
        """A heartbeat reports failed directories."""
        done = self.decided(state, self._failure(state, state.partition(), broker, failed))
        return self.finish(state, self._failed(state, broker, failed), done)

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
        return self.finish(state, self._unfenced(self._failed(state, broker, failed), broker), done)

    def assign(self, state: Elections, broker: Word, directory: Word) -> Outcome:
        """AssignReplicasToDirs; an assignment to an offline directory also ends leadership there."""
        offline = negate(self._online(state, broker, directory))
        wanted = assign(state.partition(), permits(state), broker, directory, offline, self.rules.partition)
        return self.finish(state, state, self.decided(state, *wanted))

    def _online(self, state: Elections, broker: Word, directory: Word) -> Truth:
        return directory_online(state, broker, directory, self.rules.partition)

    def alter_partition(self, state: Elections, isr: BrokerSet, recovering: Truth) -> Outcome:
        """The leader proposes another ISR."""
        p = state.partition()
        wanted = triggers.alter(p, permits(state), proposed(p, isr, recovering))
        return self.finish(state, state, self.decided(state, wanted))

    def elect_preferred(self, state: Elections) -> Outcome:
        """ElectLeaders PREFERRED, or the balance timer."""
        wanted = triggers.elect_preferred(state.partition(), permits(state))
        return self.finish(state, state, self.decided(state, wanted))

    def elect_unclean(self, state: Elections) -> Outcome:
        """ElectLeaders UNCLEAN, or the unclean timer."""
        wanted = triggers.elect_unclean(state.partition(), permits(state), self.rules.partition)
        return self.finish(state, state, self.decided(state, wanted))

    def elect_designated(self, state: Elections, broker: Word) -> Outcome:
        """ElectLeaders DESIGNATED."""
        wanted = triggers.elect_designated(state.partition(), permits(state), broker)
        return self.finish(state, state, self.decided(state, wanted))

    def reassign(self, state: Elections, target: Replicas) -> Outcome:
        """AlterPartitionReassignments with a target; never elects uncleanly."""
        wanted = reassigning.reassign(state.partition(), permits(state), target, self.rules.partition)
        done = self.decided(state, wanted)
        left = done.partition.replicas.minus(done.partition.removing)
        event = evolve(done.event, misdirected=negate(left.same(target)))
        return self.finish(state, state, evolve(done, event=event))

    def cancel(self, state: Elections) -> Outcome:
        """AlterPartitionReassignments without a target: back to the original replicas."""
        wanted = reassigning.cancel(state.partition(), permits(state), self.rules.partition)
        return self.finish(state, state, self.decided(state, wanted))

    def set_min_isr(self, state: Elections, minimum: Word) -> Outcome:
        """The topic's min.insync.replicas changes; an ELR is dropped where the ISR reaches the new value."""
        done, after = start(state), evolve(state, min_insync_replicas=minimum)
        old, new = state.effective_min_isr(), after.effective_min_isr()
        change = announced(done.partition, True, new, old, state.elr_enabled, self.rules)
        written = negate(change.is_noop())
        p = merge(done.partition, change, self.rules.partition)
        bumps = choose(written, p.partition_epoch, 0)
        event = evolve(done.event, records=word(written), partition_epoch_bumps=bumps)
        return self.finish(state, after, Progress(p, event))

    def set_unclean_election(self, state: Elections) -> Outcome:
        """The topic's unclean.leader.election.enable is switched."""
        return self.finish(state, evolve(state, unclean_election=negate(state.unclean_election)), start(state))

    def enable_elr(self, state: Elections) -> Outcome:
        """The metadata version gains ELR, with the feature configured on."""
        return self.finish(state, evolve(state, elr_enabled=True), start(state))

    @rule("elr.downgrade-writes-nothing-else", source="KIP-966; FeatureControlManager",
          switches=("elr-downgrade",),
          says="ELR can be switched off again, and no partition is changed by that.")  # fmt: skip
    def disable_elr(self, state: Elections) -> Outcome:
        """The feature is downgraded; what ELRs hold stays until the next build."""
        return self.finish(state, evolve(state, elr_enabled=False), start(state))
