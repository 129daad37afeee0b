"""The cluster around the tool: elections by the partition change build, and faults of brokers and logs."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from attrs import evolve, frozen

from kraftcheck.model.language.brokersets import Brokers, BrokerSet, Replicas
from kraftcheck.model.language.idlists import AtMostOne
from kraftcheck.model.language.system import Outcome
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import NO_LEADER, all_of, any_of, choose, negate, pick, rule
from kraftcheck.model.partition.change import Target, build_change
from kraftcheck.model.partition.election import may_designate
from kraftcheck.model.partition.registration import UNASSIGNED, DirectoryMap, Partition, merge
from kraftcheck.model.rules.groups import PartitionRules
from kraftcheck.model.rules.ruleset import RuleSet
from kraftcheck.model.systems.unclean_recovery.state import (
    CUT,
    DOWN,
    IDLE,
    UP,
    Recovered,
    Recovery,
    Replica,
    replaced,
)
from kraftcheck.model.systems.unclean_recovery.tool import UncleanRecoveryEvent
from kraftcheck.model.triggers.leadership import Registered, may_lead
from kraftcheck.model.triggers.table import Permits, context, is_as_it_answered, ordinary, without

MIN_ISR = 1
"""Of every topic."""


def registration(p: Recovered) -> Partition:
    """The partition as the controller's rules take it."""
    brokers = len(p.replicas)
    return Partition(
        replicas=Replicas.of(range(brokers), brokers), directories=DirectoryMap((UNASSIGNED,) * brokers),
        isr=p.isr, elr=p.elr, last_known_elr=AtMostOne(), removing=BrokerSet(), adding=BrokerSet(),
        leader=p.leader, recovering=p.recovering, leader_epoch=p.epoch, partition_epoch=0,
    )  # fmt: skip


def acceptable(p: Recovered, up: BrokerSet, rules: PartitionRules) -> Brokers:
    """Brokers that may lead: unfenced, and their replica online."""
    everyone, none = BrokerSet.of(range(len(p.replicas))), BrokerSet()
    offline: Word = 0
    for broker, replica in enumerate(p.replicas):
        offline = offline | choose(replica.offline, 1 << broker, 0)
    cluster = Registered(everyone, everyone.minus(up), none)
    return may_lead(cluster, BrokerSet(offline), none, none, rules)


def changed(
    p: Recovered, isr: Brokers, eligible: Brokers, rules: PartitionRules, designated: Word | None = None
) -> Recovered:
    """The partition after the build that wants this ISR, and elects where there is need."""
    before = registration(p)
    trigger = evolve(ordinary(before, Permits(unclean=False, elr=True)), designated=designated)
    given = context(trigger, eligible, MIN_ISR, lambda broker: UNASSIGNED, directory_assignment=False)
    after = merge(before, build_change(before, evolve(Target.of(before), isr=isr), given, rules), rules)
    isr_after, elr_after = cast(BrokerSet, after.isr), cast(BrokerSet, after.elr)
    return evolve(
        p, isr=isr_after, elr=elr_after, leader=after.leader, recovering=after.recovering, epoch=after.leader_epoch
    )


@rule("recovery.choice-of-this-leadership", source="unclean-recovery KIP, caveats",
      switches=("recovery-ignores-new-epochs",),
      says="A designated election is refused when the partition had a leader since its replicas were "
           "asked.")  # fmt: skip
def designation(p: Recovered, up: BrokerSet, registered_in: Word, rules: RuleSet) -> tuple[Truth, Recovered]:
    """Whether the chosen broker is elected, and the partition afterwards.

    The document binds an election to nothing but that there is no leader; here,
    unless `recovery_ignores_new_epochs`, it is also bound to the leader epoch
    at which the tool began, and, unless `designated_election_without_broker_epoch`,
    to the incarnation of the broker that answered.
    """
    eligible = acceptable(p, up, rules.partition)
    conditions = may_designate(registration(p), eligible, p.chosen, rules)
    if not rules.unclean_recovery.recovery_ignores_new_epochs:
        conditions["no leader since the tool began"] = p.epoch == p.asked_at
    conditions["the broker is as it answered"] = is_as_it_answered(p.chosen_in, registered_in, rules.unclean_recovery)
    allowed = all_of(*conditions.values())
    return allowed, choose(allowed, changed(p, p.isr, eligible, rules.partition, p.chosen), p)


@frozen
class Cluster:
    """What happens besides the tool."""

    rules: RuleSet

    def may_return(self, state: Recovery, broker: Word) -> dict[str, Truth]:
        """A broker that is gone, or cut off, comes back."""
        return {"broker is not up": negate(pick(state.brokers, broker, UP) == UP), "budget": state.left.returns > 0}

    @rule("recovery.controller-goes-on", source="unclean-recovery KIP, rejected alternatives",
          switches=("recovery-run-blocks-elections",),
          says="A run of the tool, or its failure, changes nothing that the controller decides by "
               "itself.")  # fmt: skip
    def come_back(self, state: Recovery, broker: Word) -> Outcome:
        """It is unfenced; partitions without a leader are elected, cleanly only."""
        after = evolve(
            state,
            brokers=replaced(state.brokers, broker, UP),
            left=evolve(state.left, returns=state.left.returns - 1),
        )
        elected = self._each(after, lambda p: p.isr, after.up())
        if self.rules.unclean_recovery.recovery_run_blocks_elections:
            elected = choose(state.phase == IDLE, elected, after)
        return Outcome(elected, UncleanRecoveryEvent())

    def may_fail(self, state: Recovery, broker: Word, status: Word) -> dict[str, Truth]:
        """A broker dies, or is cut off from the controller."""
        return {"broker is up": pick(state.brokers, broker, DOWN) == UP, "budget": state.left.faults > 0}

    def fail(self, state: Recovery, broker: Word, status: Word) -> Outcome:
        """It is fenced: out of every ISR, and followed by an election where it led."""
        after = evolve(
            state,
            brokers=replaced(state.brokers, broker, status),
            left=evolve(state.left, faults=state.left.faults - 1),
        )
        return Outcome(
            self._each(after, lambda p: without(registration(p), broker).isr, after.up()), UncleanRecoveryEvent()
        )

    def _each(self, state: Recovery, isr: Callable[[Recovered], Brokers], up: BrokerSet) -> Recovery:
        rules = self.rules.partition
        partitions = tuple(changed(p, isr(p), acceptable(p, up, rules), rules) for p in state.partitions)
        return evolve(state, partitions=partitions)

    def may_fail_disk(self, state: Recovery, partition: Word, broker: Word) -> dict[str, Truth]:
        """The directory of a replica outside ISR and ELR fails; the others are the system `directories`' matter."""
        p = pick(state.partitions, partition, state.partitions[0])
        return {
            "replica is online": negate(pick(p.replicas, broker, p.replicas[0]).offline),
            "replica is in neither ISR nor ELR": negate(p.isr.plus(p.elr).has(broker)),
            "budget": state.left.disks > 0,
        }

    def fail_disk(self, state: Recovery, partition: Word, broker: Word) -> Outcome:
        """The log cannot be read, and may not lead."""
        p = pick(state.partitions, partition, state.partitions[0])
        replica = pick(p.replicas, broker, p.replicas[0])
        failed = evolve(p, replicas=replaced(p.replicas, broker, evolve(replica, offline=True)))
        left = evolve(state.left, disks=state.left.disks - 1)
        return Outcome(
            evolve(state, partitions=replaced(state.partitions, partition, failed), left=left), UncleanRecoveryEvent()
        )

    def may_replace_disk(self, state: Recovery, broker: Word) -> dict[str, Truth]:
        """A broker outside every ISR and ELR restarts on a new disk; members of them are the matter of `elections`."""
        members = [p.isr.plus(p.elr).has(broker) for p in state.partitions]
        return {
            "broker is up": pick(state.brokers, broker, DOWN) == UP,
            "broker is in neither ISR nor ELR": negate(any_of(*members)),
            "budget": state.left.replacements > 0,
        }

    def replace_disk(self, state: Recovery, broker: Word) -> Outcome:
        """It registers with a new broker epoch, is unfenced, and has no record of any partition."""
        partitions = tuple(
            evolve(p, replicas=replaced(p.replicas, broker, Replica(p.epoch, 0, 0, 0, False))) for p in state.partitions
        )
        later = pick(state.incarnations, broker, 0) + 1
        after = evolve(
            state, partitions=partitions, incarnations=replaced(state.incarnations, broker, later),
            left=evolve(state.left, replacements=state.left.replacements - 1),
        )  # fmt: skip
        return Outcome(after, UncleanRecoveryEvent())

    def may_write(self, state: Recovery, partition: Word) -> dict[str, Truth]:
        """A leader that has every committed record takes another; after a loss, nothing more is counted."""
        p = pick(state.partitions, partition, state.partitions[0])
        leader = pick(p.replicas, p.leader, p.replicas[0])
        return {
            "there is a leader": p.is_led(),
            "it has every committed record": leader.held == p.committed,
            "budget": state.left.writes > 0,
        }

    def write(self, state: Recovery, partition: Word) -> Outcome:
        """The leader is its whole ISR, which is enough: the record is committed at once."""
        p = pick(state.partitions, partition, state.partitions[0])
        old = pick(p.replicas, p.leader, p.replicas[0])
        new = evolve(old, current=p.epoch, written=p.epoch, length=old.length + 1, held=old.held + 1)
        grown = evolve(p, committed=p.committed + 1, replicas=replaced(p.replicas, p.leader, new))
        left = evolve(state.left, writes=state.left.writes - 1)
        return Outcome(
            evolve(state, partitions=replaced(state.partitions, partition, grown), left=left), UncleanRecoveryEvent()
        )

    def may_replicate(self, state: Recovery, partition: Word, broker: Word) -> dict[str, Truth]:
        """A live follower of a leader that has every committed record lacks some of its log."""
        p = pick(state.partitions, partition, state.partitions[0])
        leader, follower = pick(p.replicas, p.leader, p.replicas[0]), pick(p.replicas, broker, p.replicas[0])
        return {
            "there is a leader": negate(p.leader == NO_LEADER),
            "it has every committed record": leader.held == p.committed,
            "follower is up": pick(state.brokers, broker, DOWN) == UP,
            "follower's directory is online": negate(follower.offline),
            "logs differ": negate(leader.same_log(follower)),
        }

    def replicate(self, state: Recovery, partition: Word, broker: Word) -> Outcome:
        """It truncates and fetches until it has the leader's log; it stays outside the ISR."""
        p = pick(state.partitions, partition, state.partitions[0])
        copy = evolve(pick(p.replicas, p.leader, p.replicas[0]), current=p.epoch, offline=False)
        same = evolve(p, replicas=replaced(p.replicas, broker, copy))
        return Outcome(evolve(state, partitions=replaced(state.partitions, partition, same)), UncleanRecoveryEvent())


STATUSES = (DOWN, CUT)
"""What a failing broker becomes."""
