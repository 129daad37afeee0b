"""AlterPartitionReassignments: the changes that start and cancel a reassignment, and the refusals of cancelling.

Source: `ReplicationControlManager.changePartitionReassignment`, `cancelPartitionReassignment`.
"""

from __future__ import annotations

from collections.abc import Mapping

from attrs import evolve

from kraftcheck.model.language.brokersets import Brokers, Replicas
from kraftcheck.model.language.idlists import IdList
from kraftcheck.model.language.rule import rule
from kraftcheck.model.language.terms import Truth
from kraftcheck.model.language.words import NO_LEADER, any_of, choose, negate
from kraftcheck.model.partition.change import Target
from kraftcheck.model.partition.reassignment import in_progress, plan_for, revert
from kraftcheck.model.partition.registration import Partition
from kraftcheck.model.rules.groups import PartitionRules
from kraftcheck.model.triggers.table import Pass, Permits, ordinary

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
    plan = plan_for(p, target)
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
        p: the partition.
        eligible: brokers that may lead it.
        unclean: whether the topic allows unclean elections.
        rules: the rule set.
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
