"""The partition change build, where every controller decision about one partition ends, reassignments among them."""

from __future__ import annotations

from collections.abc import Callable

from attrs import evolve, frozen

from kraftcheck.model.language.brokersets import Brokers
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import (
    NO_LEADER,
    Maybe,
    absent,
    all_of,
    any_of,
    choose,
    implies,
    negate,
    rule,
    same_truth,
)
from kraftcheck.model.partition.election import (
    BuildContext,
    Candidates,
    Election,
    Eligible,
    ElrInputs,
    by_leadership,
    designate,
    elect,
    elr_fields,
    populate,
)
from kraftcheck.model.partition.registration import Partition, PartitionChange, no_change
from kraftcheck.model.rules.groups import PartitionRules
from kraftcheck.model.rules.ruleset import RIGHT


@frozen
class ReassignmentPlan:
    """A reassignment as it is started."""

    removing: Brokers  # replicas that go when it completes, ascending
    adding: Brokers  # replicas that come, ascending
    replicas: Brokers  # the list while it runs: the target, then the removing ones


@frozen
class Completion:
    """The outcome of asking whether a reassignment can end."""

    done: Truth  # whether it can; else nothing changes
    # replicas, isr: the lists afterwards; as given when it cannot end
    replicas: Brokers
    isr: Brokers


@frozen
class Revert:
    """The replicas and ISR that cancelling a reassignment restores."""

    # whether a replica is left; if not, Kafka answers INVALID_REPLICA_ASSIGNMENT and the other fields mean nothing
    possible: Truth
    replicas: Brokers  # the replicas without the adding ones
    isr: Brokers  # the ISR without them, or the first replica where that is empty
    # whether the replica in the ISR was outside it; callers must then check that the topic allows unclean election
    unclean: Truth


@rule("reassignment.plan.target-first", source="KIP-455; semantics 3; PartitionReassignmentReplicas",
      says="While a reassignment runs, the replicas are the target and then the ones to remove, "
           "ascending.")  # fmt: skip
def plan(replicas: Brokers, target: Brokers) -> ReassignmentPlan:
    """The plan that leads from the current replicas to the target list.

    Args:
        replicas, target: two ordered lists of one family.
    """
    removing = replicas.minus(target).ascending()
    adding = target.minus(replicas).ascending()
    return ReassignmentPlan(removing, adding, target.plus(removing))


@rule("reassignment.plan.waits-for-added", source="KIP-455; PartitionReassignmentReplicas",
      switches=("retarget-keeps-old-reassignment", "retarget-forgets-additions"),
      says="A replica that an earlier target was adding and the new one asks for is still to be added.")  # fmt: skip
def plan_for(p: Partition, target: Brokers, rules: PartitionRules) -> ReassignmentPlan:
    """The plan for a partition, its sets of the family that the partition keeps them in.

    As found, what is being added counts as a replica like any other.
    """
    planned, adding = plan(p.replicas, target), target.minus(original_replicas(p.replicas, p.adding))
    if rules.retarget_keeps_old_reassignment or rules.retarget_forgets_additions:
        adding = planned.adding
    return ReassignmentPlan(p.removing.none().plus(planned.removing), p.adding.none().plus(adding), planned.replicas)


def in_progress(removing: Brokers, adding: Brokers) -> Truth:
    """Whether a reassignment runs: something is being removed or added."""
    return any_of(negate(removing.is_empty()), negate(adding.is_empty()))


@rule("reassignment.completion.order-of-target", source="KIP-455; invariant 43",
      switches=("completion-sorts-replicas",),
      says="A completed reassignment leaves the replicas in the order in which they were requested.")  # fmt: skip
@rule("reassignment.completion.waits-for-stayers",
      source="KIP-455; KAFKA-15665; KAFKA-19975; PartitionReassignmentReplicas.maybeCompleteReassignment",
      switches=("completion-tolerates-stragglers",),
      says="A reassignment completes once every replica that stays is in sync; from 4.4 on a "
           "straggler may be left.")  # fmt: skip
def complete(
    replicas: Brokers, isr: Brokers, removing: Brokers, adding: Brokers, rules: PartitionRules = RIGHT.partition
) -> Completion:
    """End the reassignment if every replica that stays is in sync.

    All of the target must be in sync, not only the added replicas. With
    something to remove, neither the ISR nor the replicas may become empty.
    From 4.4 on a straggler that was a replica before is not waited for, unless
    more replicas go than come.
    """
    new_isr = isr.minus(removing)
    new_replicas = replicas.minus(removing)
    left = negate(any_of(new_isr.is_empty(), new_replicas.is_empty()))
    done = all_of(
        in_progress(removing, adding), implies(negate(removing.is_empty()), left), new_replicas.within(new_isr)
    )
    if rules.completion_tolerates_stragglers:
        as_many = any_of(adding.size() >= removing.size(), new_replicas.within(new_isr))
        enough = all_of(adding.within(new_isr), as_many)
        done = all_of(in_progress(removing, adding), any_of(removing.is_empty(), left), enough)
    listed = new_replicas.ascending() if rules.completion_sorts_replicas else new_replicas
    return Completion(done, choose(done, listed, replicas), choose(done, new_isr, isr))


@rule("reassignment.completion.in-sync", source="KIP-455; KAFKA-15665; invariant 16",
      switches=("completion-ignores-isr", "completion-needs-adding-only"),
      says="Only ISR members count as in sync when a reassignment completes, kept replicas as much as "
           "added ones.")  # fmt: skip
def completion(
    replicas: Brokers, isr: Brokers, removing: Brokers, adding: Brokers, rules: PartitionRules
) -> Completion:
    """The outcome under a rule set, with the replicas that a defect counts as in sync."""
    if not (rules.completion_ignores_isr or rules.completion_needs_adding_only):
        return complete(replicas, isr, removing, adding, rules)
    counted = isr.plus(replicas if rules.completion_ignores_isr else replicas.minus(adding))
    end, left = complete(replicas, counted, removing, adding, rules), isr.minus(removing)
    done = end.done
    if rules.completion_needs_adding_only:
        done = all_of(done, negate(left.is_empty()))
    return Completion(done, choose(done, end.replicas, replicas), choose(done, left, isr))


def original_replicas(replicas: Brokers, adding: Brokers) -> Brokers:
    """The replicas before the reassignment, in the order of the running list."""
    return replicas.minus(adding)


@rule("reassignment.cancel.back-to-originals", source="semantics 3; PartitionReassignmentRevert",
      says="A cancelled reassignment goes back to the replicas without the added ones, and takes "
           "those out of the ISR.")  # fmt: skip
def revert(p: Partition) -> Revert:
    """The replicas and ISR that cancelling the partition's reassignment restores."""
    replicas = original_replicas(p.replicas, p.adding)
    isr = p.isr.minus(p.adding)
    possible = negate(replicas.is_empty())
    unclean = all_of(possible, isr.is_empty())
    return Revert(possible, replicas, choose(unclean, isr.just(replicas.first()), isr), unclean)


def nowhere(broker: Word) -> Maybe[Word]:
    """No new directory for any broker."""
    return absent(NO_LEADER)


@frozen
class Target:
    """The partition that the caller wants; `Target.of(p)` keeps everything."""

    # isr, replicas, removing, adding, recovering: the wanted values
    isr: Brokers
    replicas: Brokers
    removing: Brokers
    adding: Brokers
    recovering: Truth
    directory: Callable[[Word], Maybe[Word]] = nowhere  # for a broker, the directory it is now assigned to, if any

    @classmethod
    def of(cls, p: Partition) -> Target:
        """The target that wants the partition as it is."""
        return cls(p.isr, p.replicas, p.removing, p.adding, p.recovering)


@frozen
class BuiltChange:
    """A change and how it came about."""

    change: PartitionChange  # the record's fields; a no-op change is not written
    election: Election  # the election held
    target_isr: Brokers  # the wanted ISR that the election saw
    completed: Truth  # whether a reassignment completed


def build_change(p: Partition, target: Target, context: BuildContext, rules: PartitionRules) -> PartitionChange:
    """The change record of `build`."""
    return build(p, target, context, rules).change


@rule("alter-partition.unclean-election-keeps-recovering", source="B17; KIP-704; semantics 2.10",
      switches=("alter-partition-erases-recovering",),
      says="An AlterPartition that ends in an unclean election leaves the partition RECOVERING.")  # fmt: skip
def build(p: Partition, target: Target, context: BuildContext, rules: PartitionRules) -> BuiltChange:
    """The change that takes a partition towards a target."""
    target, completed = _completed(target, rules)
    eligible = populate(_elr_inputs(p, target, context), context.elr, rules)
    election = _election(p, target, eligible, context, rules)
    change, isr, elr = _apply_election(p, target.isr, eligible.elr, election, context, rules)
    change = bump_on_removal(p, change, target.replicas, rules)
    change = elr_fields(p, change, Eligible(elr, eligible.last_known), isr, context, rules)
    change = _isr_field(p, change, isr, context, rules)
    change = _last_known_leader(p, change, target.replicas, context, rules)
    change = _assignment(p, change, target, context)
    recovering = negate(same_truth(target.recovering, p.recovering))
    if not rules.alter_partition_erases_recovering:
        recovering = all_of(recovering, negate(election.unclean))
    change = evolve(change, recovering=change.recovering.set_when(recovering, target.recovering))
    return BuiltChange(change, election, target.isr, completed)


def candidates(p: Partition, target: Target, elr: Brokers, context: BuildContext) -> Candidates:
    """The candidates of an election of this build."""
    return Candidates(target.replicas, target.isr, elr, p.leader, p.last_known_elr, acceptable=context.acceptable)


@rule("isr.shrink.bumps-leader-epoch",
      source="KAFKA-15021; semantics 2.7; PartitionChangeBuilder.triggerLeaderEpochBumpForIsrShrinkIfNeeded",
      switches=("bump-on-isr-shrink", "unwritten-shrink-raises-epoch"),
      says="Before 3.6-IV0 a record that drops an ISR member raises the leader epoch; later it does not.")  # fmt: skip
def bump_on_shrink(
    p: Partition, change: PartitionChange, required: bool, wanted: Brokers | None = None
) -> PartitionChange:
    """Step 7: before 3.6-IV0 a record that drops an ISR member also repeats the leader.

    Args:
        wanted: the ISR that counts, written or not, as until 3.5; None counts what is written.
    """
    if not required:
        return change
    shrinks = all_of(change.isr.present, negate(p.isr.within(change.isr.value)))
    if wanted is not None:
        shrinks = negate(p.isr.within(wanted))
    return evolve(change, leader=change.leader.set_when(all_of(negate(change.leader.present), shrinks), p.leader))


@rule("replicas.removal.bumps-leader-epoch", source="semantics 2.4; invariant 30; PR 14170",
      switches=("no-bump-on-replica-removal",),
      says="A record that drops a replica raises the leader epoch.")  # fmt: skip
def bump_on_removal(p: Partition, change: PartitionChange, replicas: Brokers, rules: PartitionRules) -> PartitionChange:
    """Step 4: a record that drops a replica repeats the leader, which raises its epoch."""
    if rules.no_bump_on_replica_removal:
        return change
    removed = all_of(negate(change.leader.present), negate(p.replicas.within(replicas)))
    return evolve(change, leader=change.leader.set_when(removed, p.leader))


@rule("reassignment.completion.every-build", source="semantics 2.1; KIP-455",
      switches=("completion-keeps-removing", "completion-needs-every-replica"),
      says="Every build ends a reassignment whose remaining replicas are in sync, and empties both of "
           "its sets.")  # fmt: skip
def _completed(target: Target, rules: PartitionRules) -> tuple[Target, Truth]:
    """Step 1, in every build: a reassignment whose replicas are all in sync ends."""
    end = completion(target.replicas, target.isr, target.removing, target.adding, rules)
    done, removing = end.done, target.removing
    if rules.completion_needs_every_replica:
        done = all_of(done, target.replicas.within(target.isr))
    if not rules.completion_keeps_removing:
        removing = choose(done, removing.none(), removing)
    ended = evolve(
        target,
        isr=choose(done, end.isr, target.isr),
        replicas=choose(done, end.replicas, target.replicas),
        removing=removing,
        adding=choose(done, target.adding.none(), target.adding),
    )
    return ended, done


def _elr_inputs(p: Partition, target: Target, context: BuildContext) -> ElrInputs:
    return ElrInputs(
        isr=target.isr,
        previous_isr=p.isr,
        replicas=target.replicas,
        eligible=Eligible(p.elr, p.last_known_elr),
        unclean_shutdown=context.unclean_shutdown,
        min_isr=context.min_isr,
        collect_last_known=not context.use_last_known_leader,
    )


def _election(
    p: Partition, target: Target, eligible: Eligible, context: BuildContext, rules: PartitionRules
) -> Election:
    choice = candidates(p, target, eligible.elr, context)
    if context.designated is not None:
        return designate(choice, context.designated, rules)
    last_known_allowed = all_of(context.elr, context.use_last_known_leader)
    return elect(choice, context.preferred, context.unclean, last_known_allowed, rules)


@rule("election.unclean.marks-recovering", source="KIP-704; semantics 2.3; invariant 33",
      switches=("unclean-without-recovering",),
      says="An unclean election leaves the new leader alone in the ISR and marks the partition "
           "RECOVERING.")  # fmt: skip
@rule("election.clean.keeps-recovering", source="KIP-704; semantics 2; invariant 33",
      switches=("election-clears-recovering",),
      says="A clean election does not end the recovery; only a leader's AlterPartition does.")  # fmt: skip
@rule("election.elr.winner-alone-in-isr", source="KIP-966; semantics 2.3",
      says="An ELR member that is elected leaves the ELR and becomes the whole ISR.")  # fmt: skip
@rule("election.elr.others-leave-at-min-isr", source="KIP-966; B3", switches=("elr-winner-keeps-elr",),
      says="Where one replica is min ISR, the ELR member that is elected leaves nobody in the ELR.")  # fmt: skip
def _apply_election(
    p: Partition, isr: Brokers, elr: Brokers, election: Election, context: BuildContext, rules: PartitionRules
) -> tuple[PartitionChange, Brokers, Brokers]:
    """Step 3: the leader field, the ISR of an ELR or unclean winner, RECOVERING."""
    winner = election.leader
    moved = negate(winner == p.leader)
    unclean = all_of(moved, election.unclean)
    from_elr = all_of(moved, elr.has(winner))
    alone = isr.just(winner)
    recover = all_of(unclean, context.leader_recovery, negate(p.recovering))
    change = no_change(p)
    change = evolve(
        change,
        leader=change.leader.set_when(moved, winner),
        isr=change.isr.set_when(unclean, alone),
        recovering=change.recovering.set_when(recover, True),
    )
    if rules.unclean_without_recovering:
        change = evolve(change, recovering=absent(p.recovering))
    if rules.election_clears_recovering:
        ends = all_of(moved, negate(unclean), p.recovering)
        change = evolve(change, recovering=change.recovering.set_when(ends, False))
    left = choose(any_of(context.min_isr > 1, rules.elr_winner_keeps_elr), elr.minus(alone), elr.none())
    return change, choose(from_elr, alone, isr), choose(from_elr, left, elr)


@rule("isr.last-member-stays-without-elr", source="semantics 2.6; invariant 5; KIP-966",
      switches=("isr-may-empty-without-elr",),
      says="Without ELR the last ISR members stay listed while there is no leader.")  # fmt: skip
def _isr_field(
    p: Partition, change: PartitionChange, isr: Brokers, context: BuildContext, rules: PartitionRules
) -> PartitionChange:
    """Steps 6 and 7: without ELR the last members stay listed while there is no leader."""
    may_empty = True if rules.isr_may_empty_without_elr else any_of(negate(isr.is_empty()), context.elr)
    set_isr = all_of(negate(change.isr.present), negate(isr.same(p.isr)), may_empty)
    change = evolve(change, isr=change.isr.set_when(set_isr, isr))
    return bump_on_shrink(p, change, context.bump_on_isr_shrink, isr if rules.unwritten_shrink_raises_epoch else None)


@rule("last-known.remembered-as-isr-empties", source="semantics 2.8; KIP-966; PR 20629",
      switches=("last-known-leader-on-leader-loss",),
      says="The leader is remembered as the last known one when the ISR empties, and forgotten with "
           "the next leader.")  # fmt: skip
@rule("last-known.is-a-broker", source="B5; PR 20629; invariant 8", switches=("last-known-leader-may-be-none",),
      says="The last known leader is a broker, never -1.")  # fmt: skip
@rule("last-known.forgotten-with-elr-off", source="KIP-966", switches=("switched-off-elr-is-neglected",),
      says="The last known leader is forgotten with the next leader, whether ELR is on or off.")  # fmt: skip
@rule("last-known.is-a-replica", source="B1; invariant 8", switches=("removed-replica-stays-last-known",),
      says="A replica that is removed is not kept as the last known leader.")  # fmt: skip
def _last_known_leader(
    p: Partition, change: PartitionChange, replicas: Brokers, context: BuildContext, rules: PartitionRules
) -> PartitionChange:
    """Step 8: remember the leader when the ISR empties, forget it once there is a leader."""
    if not context.use_last_known_leader:
        return change
    known = p.last_known_elr
    emptied = all_of(context.elr, change.isr.present, change.isr.value.is_empty())
    last = known.just(p.leader)
    remember = all_of(emptied, negate(known.same(last)))
    led = any_of(
        all_of(change.leader.present, change.leader.value >= 0),
        all_of(negate(p.leader == NO_LEADER), negate(all_of(change.leader.present, change.leader.value == NO_LEADER))),
    )
    forget = all_of(negate(remember), led, negate(known.is_empty()))
    if rules.last_known_leader_on_leader_loss:
        remember, forget = by_leadership(known, change.leader, context.elr)
    if rules.switched_off_elr_is_neglected:
        forget = all_of(context.elr, forget)
    if not rules.last_known_leader_may_be_none:
        remember = all_of(remember, negate(p.leader == NO_LEADER))
    field = change.last_known_elr.set_when(remember, last).set_when(forget, known.none())
    if not rules.removed_replica_stays_last_known:
        final = field.or_else(known)
        gone = all_of(final.first() >= 0, negate(final.within(replicas)))
        field = field.set_when(gone, known.none())
    return evolve(change, last_known_elr=field)


@rule("directory.kept-until-assigned", source="semantics 2.9; KIP-858",
      says="A replica keeps its directory until an assignment names another; a new replica gets the "
           "default one.")  # fmt: skip
def _assignment(p: Partition, change: PartitionChange, target: Target, context: BuildContext) -> PartitionChange:
    """Step 9: replicas, their directories, and the reassignment sets, where they changed."""
    listed = negate(target.replicas.is_empty())

    def wanted(broker: Word) -> Word:
        held = p.replicas.has(broker)
        if held is True:
            old = p.directories.of(broker)
        elif held is False:
            old = context.default_directory(broker)
        else:
            old = choose(held, p.directories.of(broker), context.default_directory(broker))
        return target.directory(broker).or_else(old)

    if context.directory_assignment and listed is not False:
        directories = p.directories.for_replicas(target.replicas, wanted)
        differ = all_of(listed, negate(directories.same(p.directories)))
        change = evolve(change, directories=change.directories.set_when(differ, directories))
    moved = all_of(listed, negate(target.replicas.same(p.replicas)))
    return evolve(
        change,
        replicas=change.replicas.set_when(moved, target.replicas),
        removing=change.removing.set_when(negate(target.removing.same(p.removing)), target.removing),
        adding=change.adding.set_when(negate(target.adding.same(p.adding)), target.adding),
    )
