"""The trigger table: for each trigger of the controller, the change that it wants of a partition.

A trigger gives one `Pass`: whether it concerns the partition, what it wants,
and who may lead. Explored systems run it on sets, the controller in full on
lists; only how they find brokers, and what follows a pass, is their own.
AlterPartition is in `kraftcheck.model.triggers.alter_partition`, the assignment of directories in
`kraftcheck.model.triggers.directory_assignment`, reassignments are in `kraftcheck.model.triggers.reassignment`.

Source: `ReplicationControlManager`, `handleBroker...`, `handleDirectoriesOffline`,
`electLeaders`; semantics 3.
"""

from __future__ import annotations

from collections.abc import Callable

from attrs import evolve, frozen

from kraftcheck.model.language.brokersets import Brokers
from kraftcheck.model.language.rule import rule
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import NO_LEADER, all_of, any_of, choose, negate
from kraftcheck.model.partition.change import Target
from kraftcheck.model.partition.context import BuildContext
from kraftcheck.model.partition.registration import Partition
from kraftcheck.model.rules.groups import PartitionRules, UncleanRecoveryRules


@frozen
class Permits:
    """What the topic and the cluster allow a trigger.

    Attributes:
        unclean: whether the topic allows unclean elections.
        elr: whether ELR is on.
    """

    unclean: Truth
    elr: Truth


@frozen
class Trigger:
    """Who may lead and how, for one pass; the columns of the trigger table.

    Attributes:
        barred: brokers that may not lead, whatever their status.
        counted: brokers that count as active although still fenced.
        preferred: a preferred election.
        unclean: whether an unclean election is allowed.
        elr: whether the build has ELR on.
        unclean_shutdown: brokers that stopped uncleanly.
        designated: elect exactly this broker, which may lead; None: an ordinary election.
    """

    barred: Brokers
    counted: Brokers
    preferred: bool
    unclean: Truth
    elr: Truth
    unclean_shutdown: Brokers
    designated: Word | None = None


@frozen
class Pass:
    """One build that a trigger asks for.

    Attributes:
        when: whether the trigger concerns the partition.
        target: what it wants.
        trigger: who may lead, and how.
        placed: a broker, and the directory that the leader test takes its replica to be in; None: as it is.
    """

    when: Truth
    target: Target
    trigger: Trigger
    placed: tuple[Word, Word] | None = None


def ordinary(p: Partition, permits: Permits) -> Trigger:
    """A trigger that bars nobody: unclean election as the topic says, ELR as enabled."""
    none = p.isr.none()
    return Trigger(none, none, False, permits.unclean, permits.elr, none)


def context(
    trigger: Trigger,
    acceptable: Brokers,
    min_isr: Word,
    default_directory: Callable[[Word], Word],
    *,
    directory_assignment: bool = True,
    leader_recovery: bool = True,
    bump_on_isr_shrink: bool = False,
) -> BuildContext:
    """What a build is given for a trigger; the controller always keeps one last known leader.

    Args:
        trigger: who may lead, and how.
        acceptable: brokers that pass the leader test for this trigger.
        min_isr: the effective min ISR.
        default_directory: the directory of a replica that is new on a broker.
        directory_assignment, leader_recovery, bump_on_isr_shrink: what the metadata version has.
    """
    return BuildContext(
        acceptable=acceptable, min_isr=min_isr, preferred=trigger.preferred, unclean=trigger.unclean, elr=trigger.elr,
        use_last_known_leader=True, unclean_shutdown=trigger.unclean_shutdown,
        directory_assignment=directory_assignment, leader_recovery=leader_recovery,
        bump_on_isr_shrink=bump_on_isr_shrink, default_directory=default_directory, designated=trigger.designated,
    )  # fmt: skip


def without(p: Partition, broker: Word) -> Target:
    """The target that takes a broker out of the ISR."""
    return evolve(Target.of(p), isr=p.isr.minus(p.isr.just(broker)))


@rule("isr.leave.not-elected-again", source="semantics 3; ReplicationControlManager.generateLeaderAndIsrUpdates",
      says="A broker that leaves the ISR because of an event is not elected by that event.")  # fmt: skip
def leave(p: Partition, permits: Permits, broker: Word, when: Truth) -> Pass:
    """A broker leaves ISR and leadership: what fencing, leaving, stopping and failing come down to."""
    return Pass(when, without(p, broker), evolve(ordinary(p, permits), barred=p.isr.just(broker)))


@rule("fence.leaves-isr", source="semantics 3; ReplicationControlManager.handleBrokerFenced; KIP-841",
      says="A fenced broker leaves ISR and leadership.")  # fmt: skip
def fence(p: Partition, permits: Permits, broker: Word) -> Pass:
    """A broker is fenced, or begins a controlled shutdown."""
    return leave(p, permits, broker, p.isr.has(broker))


@rule("unfence.retries-leaderless", source="semantics 3; ReplicationControlManager.handleBrokerUnfenced",
      switches=("unfence-retries-isr-only",),
      says="When a broker is unfenced, an election is held in every partition without a leader.")  # fmt: skip
@rule("unfence.does-not-rejoin-isr", source="KIP-497; invariant 34", switches=("unfence-rejoins-isr",),
      says="An unfenced broker does not enter the ISR by itself.")  # fmt: skip
def unfence(p: Partition, permits: Permits, broker: Word, rules: PartitionRules) -> Pass:
    """A broker is unfenced; a leaderless partition is tried again, and the broker counts as active."""
    target, when = Target.of(p), p.leader == NO_LEADER
    if rules.unfence_retries_isr_only:
        when = all_of(when, p.isr.has(broker))
    if rules.unfence_rejoins_isr:
        target, when = evolve(target, isr=p.isr.plus(p.isr.just(broker).keep(p.replicas))), True
    return Pass(when, target, evolve(ordinary(p, permits), counted=p.isr.just(broker)))


@rule("unregister.leaves-elr", source="B9; X8; ReplicationControlManager.handleBrokerUnregistered",
      switches=("unregister-keeps-elr",), says="An unregistered broker leaves ISR and ELR.")  # fmt: skip
def unregister(p: Partition, permits: Permits, broker: Word, rules: PartitionRules) -> Pass:
    """A broker is removed: it leaves ISR and ELR, as after an unclean stop."""
    passed = leave(p, permits, broker, any_of(p.isr.has(broker), p.elr.has(broker)))
    if rules.unregister_keeps_elr:
        return passed
    return evolve(passed, trigger=evolve(passed.trigger, unclean_shutdown=p.isr.just(broker)))


@rule("restart.leaves-isr", source="B6; KAFKA-18106; ClusterControlManager.registerBroker",
      switches=("stale-reregistration-keeps-isr",),
      says="A new incarnation ends the earlier one's membership of ISRs and its leadership, under any "
           "metadata version.")  # fmt: skip
@rule("restart.unclean-leaves-elr-while-off", source="KIP-966; ReplicationControlManager.handleBrokerShutdown",
      switches=("switched-off-elr-is-neglected",),
      says="A broker that stopped uncleanly leaves the ELR, whether ELR is on or off.")  # fmt: skip
@rule("restart.clean-keeps-elr", source="KAFKA-18635; KIP-966", switches=("every-restart-is-unclean",),
      says="A broker that stopped cleanly stays in the ELR when it registers again; one that did not "
           "leaves it.")  # fmt: skip
def restart(p: Partition, permits: Permits, broker: Word, clean: Truth, known: Truth, rules: PartitionRules) -> Pass:
    """A new incarnation registers: the earlier one leaves the ISR, and after an unclean stop the ELR.

    Args:
        p: the partition.
        permits: of topic and cluster.
        broker: the broker.
        clean: whether it stopped cleanly; the code takes every stop for unclean (KAFKA-18635).
        known: whether the metadata version has ELR; below, the code does nothing (defect B6).
        rules: the rule set.
    """
    unclean = True if rules.every_restart_is_unclean else negate(clean)
    stopped = choose(unclean, p.isr.just(broker), p.isr.none())
    visited = any_of(p.isr.has(broker), all_of(visits_elr(clean, permits.elr, rules), p.elr.has(broker)))
    if rules.stale_reregistration_keeps_isr:
        visited = all_of(visited, known)
    passed = leave(p, permits, broker, visited)
    return evolve(passed, trigger=evolve(passed.trigger, unclean_shutdown=stopped))


def visits_elr(clean: Truth, elr: Truth, rules: PartitionRules) -> Truth:
    """Whether the controller goes through the ELRs of a broker that registers anew: after an unclean stop.

    The code does so with ELR on only. Source: `ReplicationControlManager.handleBrokerShutdown`, Kafka 4.0.0.
    """
    unclean = True if rules.every_restart_is_unclean else negate(clean)
    return all_of(unclean, elr) if rules.switched_off_elr_is_neglected else unclean


@rule("directory.failure-leads-away",
      source="KIP-858; ReplicationControlManager.handleDirectoriesOffline; semantics 6.3",
      switches=("offline-directory-leader-kept",),
      says="A failed directory ends leadership and ISR membership of the replicas in it.")  # fmt: skip
def directory_failure(p: Partition, permits: Permits, broker: Word, failed: Truth, rules: PartitionRules) -> Pass:
    """A directory that the broker reports is offline; `failed`: whether the partition is listed for it.

    The index of directories knows no brokers: a replica that another broker assigned to it lists the partition, too.
    """
    if rules.offline_directory_leader_kept:
        return leave(p, permits, broker, False)
    return leave(p, permits, broker, failed)


def alter(p: Partition, permits: Permits, target: Target) -> Pass:
    """A leader's proposal that was accepted."""
    return Pass(True, target, ordinary(p, permits))


@rule("election.preferred.only-when-needed", source="semantics 3; ReplicationControlManager.electLeader",
      says="A preferred election is held only where another than the first replica leads, or nobody.")  # fmt: skip
def needs_preferred(p: Partition) -> Truth:
    """Whether another than the first replica leads, or nobody; else ELECTION_NOT_NEEDED."""
    return negate(p.leader == p.replicas.first())


@rule("election.unclean.only-leaderless", source="semantics 3; ReplicationControlManager.electLeader",
      says="An unclean or designated election on request is held only where there is no leader.")  # fmt: skip
def needs_leader(p: Partition) -> Truth:
    """Whether there is no leader; else ELECTION_NOT_NEEDED of every election but a preferred one."""
    return p.leader == NO_LEADER


def elect_preferred(p: Partition, permits: Permits) -> Pass:
    """ElectLeaders PREFERRED, or the balance timer."""
    return _elect(p, evolve(ordinary(p, permits), preferred=True, unclean=False))


@rule("election.unclean.request-overrides-topic",
      source="semantics 3; ReplicationControlManager.electLeader; ReplicationControlManager.maybeElectUncleanLeaders",
      switches=("unclean-request-obeys-topic",),
      says="An unclean election on request is held whatever the topic allows.")  # fmt: skip
def elect_unclean(p: Partition, permits: Permits, rules: PartitionRules) -> Pass:
    """ElectLeaders UNCLEAN, whatever the topic says, or the unclean timer."""
    allowed = permits.unclean if rules.unclean_request_obeys_topic else True
    return _elect(p, evolve(ordinary(p, permits), unclean=allowed))


def elect_designated(p: Partition, permits: Permits, broker: Word) -> Pass:
    """ElectLeaders DESIGNATED."""
    return _elect(p, evolve(ordinary(p, permits), designated=broker))


@rule("recovery.elected-as-it-answered", source="catalogue 51; unclean-recovery KIP, GetReplicaLogInfo",
      switches=("designated-election-without-broker-epoch",),
      says="A designated election is refused when the broker has another broker epoch than in its "
           "answer.")  # fmt: skip
def is_as_it_answered(answered_in: Word, registered_in: Word, rules: UncleanRecoveryRules) -> Truth:
    """Whether a broker may be elected for what it answered: it has not restarted since, and lost its disk perhaps.

    Source: unclean-recovery KIP, BrokerEpoch, which is in the response and in no request.
    """
    return True if rules.designated_election_without_broker_epoch else answered_in == registered_in


def _elect(p: Partition, trigger: Trigger) -> Pass:
    return Pass(True, Target.of(p), trigger)
