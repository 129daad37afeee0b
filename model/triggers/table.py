"""The trigger table: for each trigger of the controller, the change that it wants of a partition.

A trigger gives one `Pass`: whether it concerns the partition, what it wants,
and who may lead. Explored systems run it on sets, the controller in full on
lists; only how they find brokers, and what follows a pass, is their own.
AlterPartition is in `kraftcheck.model.triggers.leadership`, the assignment of directories in
`kraftcheck.model.triggers.table`, reassignments are in `kraftcheck.model.triggers.table`.

Source: `ReplicationControlManager`, `handleBroker...`, `handleDirectoriesOffline`,
`electLeaders`; semantics 3.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from attrs import evolve, frozen

from kraftcheck.model.language.brokersets import Brokers, Replicas
from kraftcheck.model.language.idlists import IdList
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import NO_LEADER, Maybe, all_of, any_of, choose, negate, rule
from kraftcheck.model.partition.change import Target, in_progress, plan_for, revert
from kraftcheck.model.partition.election import BuildContext, clear_elr
from kraftcheck.model.partition.registration import MIGRATING, UNASSIGNED, Partition, PartitionChange
from kraftcheck.model.rules.groups import PartitionRules, UncleanRecoveryRules
from kraftcheck.model.rules.ruleset import RuleSet


@frozen
class Permits:
    """The permissions of topic and cluster for a trigger."""

    unclean: Truth  # whether the topic allows unclean elections
    elr: Truth  # whether ELR is on


@frozen
class Trigger:
    """Who may lead and how, for one pass; the columns of the trigger table."""

    barred: Brokers  # brokers that may not lead, whatever their status
    counted: Brokers  # brokers that count as active although still fenced
    preferred: bool  # a preferred election
    unclean: Truth  # whether an unclean election is allowed
    elr: Truth  # whether the build has ELR on
    unclean_shutdown: Brokers  # brokers that stopped uncleanly
    designated: Word | None = None  # elect exactly this broker, which may lead; None: an ordinary election


@frozen
class Pass:
    """One build that a trigger asks for."""

    when: Truth  # whether the trigger concerns the partition
    target: Target  # what it wants
    trigger: Trigger  # who may lead, and how
    # a broker, and the directory that the leader test takes its replica to be in; None: as it is
    placed: tuple[Word, Word] | None = None


def ordinary(p: Partition, permits: Permits) -> Trigger:
    """A trigger that bars nobody: unclean election as the topic says, ELR as enabled."""
    none = p.isr.none()
    return Trigger(none, none, False, permits.unclean, permits.elr, unclean_shutdown=none)


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
    """The context of a build for a trigger; the controller always keeps one last known leader.

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
        permits: of topic and cluster.
        clean: whether it stopped cleanly; the code takes every stop for unclean (KAFKA-18635).
        known: whether the metadata version has ELR; below, the code does nothing (defect B6).
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


@rule("topic.creation.active-replicas-in-sync", switches=("created-isr-holds-fenced",),
      source="KAFKA-13083; catalogue 65; semantics 8; ReplicationControlManager.buildPartitionRegistration",
      says="The active replicas of a new partition are its ISR, and the first of them leads.")  # fmt: skip
def first_isr(replicas: Brokers, active: Brokers, rules: PartitionRules) -> Brokers:
    """The ISR of a new partition, in the order of its replicas; none where no replica is active."""
    return replicas if rules.created_isr_holds_fenced else replicas.keep(active)


@rule("min-isr.at-most-replication", source="semantics 1; ReplicationControlManager.getTopicEffectiveMinIsr")
def effective_min_isr(configured: Word, factor: Word) -> Word:
    """The smaller of the configured minimum and the replication factor."""
    return choose(factor < configured, factor, configured)


@rule("min-isr.change-clears-elr", source="B3; KAFKA-16540", switches=("min-isr-change-keeps-elr",),
      says="A change of min.insync.replicas empties the ELR where the ISR reaches the new value.")  # fmt: skip
@rule("min-isr.change-clears-elr-while-off", source="KIP-966", switches=("switched-off-elr-is-neglected",),
      says="A change of min.insync.replicas empties ELRs that ELR has left, also once it is off.")  # fmt: skip
@rule("min-isr.change-keeps-clean-replicas", source="KIP-966; KAFKA-16540; invariant 36",
      switches=("min-isr-change-clears-every-elr",),
      says="A change of min.insync.replicas leaves the ELR as it is while the ISR is below the new value, as nothing "
           "is committed there.")  # fmt: skip
@rule("min-isr.raise-bumps-partition-epoch", source="B3; catalogue 9", switches=("min-isr-raise-is-silent",),
      says="A raised min ISR raises the partition epoch, so that the leader learns of it before its "
           "next commit.")  # fmt: skip
def announced(p: Partition, differs: Truth, minimum: Word, before: Word, elr: Truth, rules: RuleSet) -> PartitionChange:
    """The record that a change of min.insync.replicas writes: an ELR is dropped where the ISR can commit without it.

    While the ISR is below the minimum, nothing is committed, and whoever is in the
    ELR still holds all that was. As released, every ELR is dropped; a partition
    that is offline then has nobody left to elect.

    Raised, the partition epoch rises too. An answer to AlterPartition overtakes the
    configuration; without a new partition epoch the leader would commit by the old
    value without members that the controller makes eligible by the new one.

    Args:
        differs: whether the topic's configured value differs.
        minimum: the effective min ISR from now on.
        before: the effective min ISR up to now.
        elr: whether ELR is on.
        rules: the rule set; as found nothing is written.
    """
    drops = any_of(rules.partition.min_isr_change_clears_every_elr, p.isr.size() >= minimum)
    cleared = all_of(differs, not rules.partition.min_isr_change_keeps_elr, drops)
    if rules.partition.switched_off_elr_is_neglected:
        cleared = all_of(cleared, elr)
    change = clear_elr(p, cleared)
    if rules.data_plane.min_isr_raise_is_silent:
        return change
    same = change.elr.or_else(p.elr)
    return evolve(change, elr=change.elr.set_when(all_of(elr, minimum > before), same))


@rule("directory.default-for-new-replica", source="semantics 8; ClusterControlManager.defaultDir; KIP-858",
      switches=("default-directory-unassigned", "default-directory-migrating"),
      says="A new replica gets the broker's directory where there is only one, and is UNASSIGNED "
           "where there are several.")  # fmt: skip
def default_directory(registered: Truth, count: Word, only: Word, supported: bool, rules: PartitionRules) -> Word:
    """The directory of a replica that is new on a broker; KIP-858 says UNASSIGNED always.

    Args:
        registered: whether the broker is registered.
        count: how many directories its registration lists.
        only: the directory where it lists one.
        supported: whether the metadata version has directories.
    """
    if not supported or rules.default_directory_migrating:
        return MIGRATING
    if rules.default_directory_unassigned:
        return UNASSIGNED
    single = choose(count == 1, only, UNASSIGNED)
    return choose(registered, choose(count == 0, MIGRATING, single), UNASSIGNED)


@rule("assignment.keeps-elr", source="B2; PR 20716; ReplicationControlManager.handleAssignReplicasToDirs",
      switches=("assignment-clears-elr",), says="An assignment of a directory leaves the ELR as it is.")  # fmt: skip
@rule("assignment.one-pass", source="B8; X2; semantics 6.2", switches=("passes-share-one-base",),
      says="An assignment to an offline directory takes the broker out of ISR and leadership in the "
           "same decision.")  # fmt: skip
def assign(
    p: Partition, permits: Permits, broker: Word, directory: Word, offline: Truth, rules: PartitionRules
) -> tuple[Pass, ...]:
    """A replica is in this directory; where that is offline, the broker leaves ISR and leadership.

    As found these are two passes, both on the partition as it is, and the first is
    built with ELR off (defects B8 and B2). Mended it is one, judged on the directory
    that the replica will have.

    Args:
        p: the partition, of which the broker has a replica.
        permits: of topic and cluster.
        directory: where its replica is.
        offline: whether the directory is offline.
    """
    elr: Truth = False if rules.assignment_clears_elr else permits.elr
    placed = evolve(Target.of(p), directory=lambda b: Maybe(b == broker, directory))
    if rules.passes_share_one_base:
        first = Pass(True, placed, evolve(ordinary(p, permits), unclean=False, elr=elr))
        return first, leave(p, permits, broker, offline)
    goal = evolve(placed, isr=choose(offline, without(p, broker).isr, p.isr))
    barred = choose(offline, p.isr.just(broker), p.isr.none())
    unclean = all_of(offline, permits.unclean)
    trigger = evolve(ordinary(p, permits), barred=barred, unclean=unclean, elr=elr)
    return (Pass(True, goal, trigger, (broker, directory)),)


IN_PROGRESS = "a reassignment is in progress"
ORIGINAL_LEFT = "an original replica is left"
ORIGINAL_IN_ISR = "the ISR keeps an original replica, or unclean election is allowed"
ORIGINAL_LEADS = "an original replica can lead where the ISR keeps none"

CANCEL_ERRORS: Mapping[str, tuple[str, str]] = {
    IN_PROGRESS: ("NO_REASSIGNMENT_IN_PROGRESS", ""),
    ORIGINAL_LEFT: ("INVALID_REPLICA_ASSIGNMENT", "no_original_replica"),
    ORIGINAL_IN_ISR: ("INVALID_REPLICA_ASSIGNMENT", "unclean_election_needed"),
    ORIGINAL_LEADS: ("INVALID_REPLICA_ASSIGNMENT", "no_original_replica_can_lead"),
}
"""What is answered where a check of a cancellation fails, in the order in which they are asked."""


@rule("reassignment.retarget-keeps-added-replicas", source="KAFKA-14808; catalogue 63",
      switches=("retarget-drops-added-replicas",),
      says="What an earlier target was adding is removed at the end of the new reassignment, not at its "
           "start.")  # fmt: skip
@rule("reassignment.retarget-replaces-both-sets", source="B10; ReplicationControlManager.changePartitionReassignment",
      switches=("retarget-keeps-old-reassignment",),
      says="A new target replaces the removing and the adding set, also by an empty one.")  # fmt: skip
@rule("reassignment.no-replica-twice", source="KIP-455; invariant 1", switches=("reassignment-repeats-replicas",),
      says="A reassignment lists no replica twice.")  # fmt: skip
@rule("reassignment.never-unclean", source="semantics 3; ReplicationControlManager.changePartitionReassignment",
      says="Starting a reassignment elects no leader uncleanly.")  # fmt: skip
def reassign(p: Partition, permits: Permits, target: Brokers, rules: PartitionRules) -> Pass:
    """A reassignment starts, or gets another target; it never elects uncleanly.

    As found, an empty removing (adding) set does not replace an old one (defect B10).
    """
    plan = plan_for(p, target, rules)
    replicas = repeated(target, p.replicas) if rules.reassignment_repeats_replicas else plan.replicas
    removing, adding, isr = plan.removing, plan.adding, p.isr
    if rules.retarget_drops_added_replicas:
        dropped = p.adding.minus(target)
        replicas, removing, isr = replicas.minus(dropped), removing.minus(dropped), isr.minus(dropped)
    if rules.retarget_keeps_old_reassignment:
        removing = choose(removing.is_empty(), p.removing, removing)
        adding = choose(adding.is_empty(), p.adding, adding)
    goal = evolve(Target.of(p), replicas=replicas, isr=isr, removing=removing, adding=adding)
    return Pass(True, goal, evolve(ordinary(p, permits), unclean=False))


def targets_registered(target: Brokers, registered: Brokers) -> Truth:
    """Whether a list given by hand, as of a reassignment, names registered brokers only."""
    return target.within(registered)


@rule("reassignment.cancel.original-left",
      source="semantics 3; KAFKA-14424; catalogue 64; PR 20003; ReplicationControlManager.cancelPartitionReassignment",
      switches=("cancel-ignores-permission",),
      says="Cancelling is refused where no original replica is left, or where it takes an unclean "
           "election that the topic forbids.")  # fmt: skip
def may_cancel(p: Partition, eligible: Brokers, unclean: Truth, rules: PartitionRules) -> dict[str, Truth]:
    """The checks of a cancellation.

    As found, a cancellation seats the first original replica silently where the ISR
    keeps none (defect B11); mended, one that can lead is elected uncleanly.

    Args:
        eligible: brokers that may lead it.
        unclean: whether the topic allows unclean elections.
    """
    back = revert(p)
    able = eligible.keep(back.replicas)
    return {
        IN_PROGRESS: in_progress(p.removing, p.adding),
        ORIGINAL_LEFT: back.possible,
        ORIGINAL_IN_ISR: any_of(negate(back.unclean), unclean, rules.cancel_ignores_permission),
        ORIGINAL_LEADS: any_of(negate(back.unclean), rules.unclean_cancel_is_silent, negate(able.is_empty())),
    }


@rule("reassignment.cancel.loss-is-marked", source="B11; X3; KIP-704", switches=("unclean-cancel-is-silent",),
      says="A cancellation that leaves no ISR member holds an unclean election, which marks the "
           "partition RECOVERING.")  # fmt: skip
def cancel(p: Partition, permits: Permits, rules: PartitionRules) -> Pass:
    """Back to the original replicas."""
    back = revert(p)
    isr = back.isr if rules.unclean_cancel_is_silent else choose(back.unclean, p.isr.none(), back.isr)
    goal = evolve(Target.of(p), replicas=back.replicas, isr=isr, removing=p.removing.none(), adding=p.adding.none())
    return Pass(True, goal, ordinary(p, permits))


def repeated(target: Brokers, current: Brokers) -> Brokers:
    """The seeded defect: every current replica is appended, also those the target lists.

    Slots that are full take no more, so sets of slots are too short where lists repeat.
    """
    if isinstance(target, IdList) and isinstance(current, IdList):
        return IdList((*target.ids, *current.ids))
    if not isinstance(target, Replicas) or not isinstance(current, Replicas):
        raise TypeError(f"a list that repeats replicas needs slots, not {type(target).__name__}: name a number")
    slots = list(target.slots)
    for position, slot in enumerate(current.slots):
        slots[-1 - position] = choose(slots[-1 - position] == NO_LEADER, slot, slots[-1 - position])
    return Replicas(tuple(slots))
