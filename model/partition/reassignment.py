"""Reassignment of a partition to other replicas: planning, completing, reverting.

Rules against the interface `Brokers`: on `IdList` they keep Kafka's orders, on
`Replicas` (replica lists) and `BrokerSet` (ISR, removing, adding) they may be
symbolic. The slots of `Replicas` must have room for every broker, since a
running reassignment lists old and new replicas together.

Source: `PartitionReassignmentReplicas`, `PartitionReassignmentRevert`.
"""

from __future__ import annotations

from attrs import frozen

from kraftcheck.model.language.brokersets import Brokers
from kraftcheck.model.language.rule import rule
from kraftcheck.model.language.terms import Truth
from kraftcheck.model.language.words import all_of, any_of, choose, implies, negate
from kraftcheck.model.partition.registration import Partition
from kraftcheck.model.rules.groups import PartitionRules
from kraftcheck.model.rules.ruleset import RIGHT


@frozen
class Plan:
    """A reassignment as it is started.

    Attributes:
        removing: replicas that go when it completes, ascending.
        adding: replicas that come, ascending.
        replicas: the list while it runs: the target, then the removing ones.
    """

    removing: Brokers
    adding: Brokers
    replicas: Brokers


@frozen
class Completion:
    """The outcome of asking whether a reassignment can end.

    Attributes:
        done: whether it can; else nothing changes.
        replicas, isr: the lists afterwards; as given when it cannot end.
    """

    done: Truth
    replicas: Brokers
    isr: Brokers


@frozen
class Revert:
    """What cancelling a reassignment goes back to.

    Attributes:
        possible: whether a replica is left; if not, Kafka answers
            INVALID_REPLICA_ASSIGNMENT and the other fields mean nothing.
        replicas: the replicas without the adding ones.
        isr: the ISR without them, or the first replica where that is empty.
        unclean: whether the replica in the ISR was outside it; callers must
            then check that the topic allows unclean election.
    """

    possible: Truth
    replicas: Brokers
    isr: Brokers
    unclean: Truth


@rule("reassignment.plan.target-first", source="KIP-455; semantics 3; PartitionReassignmentReplicas",
      says="While a reassignment runs, the replicas are the target and then the ones to remove, "
           "ascending.")  # fmt: skip
def plan(replicas: Brokers, target: Brokers) -> Plan:
    """The plan that leads from the current replicas to the target list.

    Args:
        replicas, target: two ordered lists of one family.
    """
    removing = replicas.minus(target).ascending()
    adding = target.minus(replicas).ascending()
    return Plan(removing, adding, target.plus(removing))


def plan_for(p: Partition, target: Brokers) -> Plan:
    """The plan for a partition, its sets of the family that the partition keeps them in."""
    planned = plan(p.replicas, target)
    return Plan(
        p.removing.none().plus(planned.removing),
        p.adding.none().plus(planned.adding),
        planned.replicas,
    )


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
        in_progress(removing, adding),
        implies(negate(removing.is_empty()), left),
        new_replicas.within(new_isr),
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
    """What cancelling the partition's reassignment goes back to."""
    replicas = original_replicas(p.replicas, p.adding)
    isr = p.isr.minus(p.adding)
    possible = negate(replicas.is_empty())
    unclean = all_of(possible, isr.is_empty())
    return Revert(possible, replicas, choose(unclean, isr.just(replicas.first()), isr), unclean)
