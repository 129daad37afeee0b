"""Eligible leader replicas: who could still be elected without losing data.

Source: KIP-966; `PartitionChangeBuilder.maybePopulateTargetElr`.
"""

from __future__ import annotations

from attrs import evolve, frozen

from kraftcheck.model.language.brokersets import Brokers
from kraftcheck.model.language.idlists import hash_union
from kraftcheck.model.language.rule import rule
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import NO_LEADER, Maybe, all_of, any_of, choose, negate
from kraftcheck.model.partition.context import BuildContext
from kraftcheck.model.partition.registration import Partition, PartitionChange, no_change
from kraftcheck.model.rules.groups import PartitionRules


@frozen
class Eligible:
    """The ELR and the last-known ELR of a partition."""

    elr: Brokers
    last_known: Brokers


@frozen
class ElrInputs:
    """What decides the new ELR.

    Attributes:
        isr: the wanted ISR.
        previous_isr: the ISR before the change.
        replicas: the wanted replicas.
        eligible: ELR and last-known ELR before the change.
        unclean_shutdown: brokers known to have stopped uncleanly.
        min_isr: effective min ISR.
        collect_last_known: whether former members are collected (the mode
            without last-known leader).
    """

    isr: Brokers
    previous_isr: Brokers
    replicas: Brokers
    eligible: Eligible
    unclean_shutdown: Brokers
    min_isr: Word
    collect_last_known: bool


@rule("elr.isr-leavers-stay-eligible",
      source="KIP-966; semantics 2.2; PartitionChangeBuilder.maybePopulateTargetElr; invariant 35",
      says="Below min ISR, members that leave the ISR enter the ELR.")  # fmt: skip
@rule("elr.empty-at-min-isr", source="KIP-966; semantics 2.2; PartitionChangeBuilder.maybePopulateTargetElr",
      switches=("elr-kept-at-min-isr",), says="At min ISR the ELR is empty.")  # fmt: skip
@rule("elr.excludes-isr",
      source="KIP-966; semantics 2.2; PartitionChangeBuilder.maybePopulateTargetElr; S1; invariant 6",
      switches=("elr-keeps-isr-members",), says="No ISR member is in the ELR.")  # fmt: skip
@rule("elr.excludes-unclean-stops", source="KAFKA-15586; KIP-966; invariant 36",
      switches=("elr-keeps-unclean-replicas",),
      says="A replica that stopped uncleanly is not in the ELR.")  # fmt: skip
@rule("elr.off.excludes-lost-replicas", source="KIP-966", switches=("switched-off-elr-is-neglected",),
      says="With ELR off, who stopped uncleanly or is no replica any more leaves an ELR that is kept.")  # fmt: skip
@rule("elr.listed-in-hash-order", source="PartitionChangeBuilder.maybePopulateTargetElr; semantics 2.2",
      says="A build lists the ELR as java.util.HashSet does, and writes it where the list on file "
           "differs.")  # fmt: skip
@rule("elr.within-replicas", source="B4; X1; invariant 7", switches=("removed-replicas-stay-in-elr",),
      says="Every ELR member is a replica.")  # fmt: skip
def populate(inputs: ElrInputs, enabled: Truth, rules: PartitionRules) -> Eligible:
    """The ELR for the wanted ISR.

    At or above min ISR nobody needs to be eligible. Below it, old ELR and old
    ISR members that leave the ISR stay eligible, unless they stopped
    uncleanly or are no longer replicas.
    """
    isr, old = inputs.isr, inputs.eligible
    candidates = hash_union(old.elr, inputs.previous_isr)
    elr = candidates if rules.elr_keeps_isr_members else candidates.minus(isr)
    if not rules.elr_keeps_unclean_replicas:
        elr = elr.minus(inputs.unclean_shutdown)
    if not rules.removed_replicas_stay_in_elr:
        elr = elr.keep(inputs.replicas)
    last_known = old.last_known
    if inputs.collect_last_known:
        last_known = hash_union(old.elr, inputs.previous_isr, last_known).minus(isr).minus(elr)
    at_min = Eligible(old.elr.minus(isr) if rules.elr_kept_at_min_isr else old.elr.none(), old.last_known.none())
    populated = choose(isr.size() >= inputs.min_isr, at_min, Eligible(elr, last_known))
    if not rules.switched_off_elr_is_neglected:
        old = evolve(old, elr=old.elr.minus(inputs.unclean_shutdown).keep(inputs.replicas))
    return choose(enabled, populated, old)


@rule("election.unclean.clears-elr", source="KIP-966; semantics 2.5", switches=("unclean-election-keeps-elr",),
      says="An unclean election empties the ELR.")  # fmt: skip
@rule("elr.off.clears", source="KIP-966; semantics 2.5", switches=("switched-off-elr-is-neglected",),
      says="A build with ELR off empties the ELR, unless the ISR stays empty: then only its members have the "
           "data.")  # fmt: skip
def elr_fields(
    p: Partition, change: PartitionChange, eligible: Eligible, isr: Brokers, context: BuildContext,
    rules: PartitionRules,
) -> PartitionChange:  # fmt: skip
    """Step 5: an unclean election, and a build with ELR off, clear both lists."""
    off = negate(context.elr)
    if not rules.switched_off_elr_is_neglected:
        off = all_of(off, negate(all_of(isr.is_empty(), p.isr.is_empty())))
    clear = any_of(change.isr.present, off)
    elr = choose(off if rules.unclean_election_keeps_elr else clear, eligible.elr.none(), eligible.elr)
    change = evolve(change, elr=change.elr.set_when(negate(elr.same(p.elr)), elr))
    if context.use_last_known_leader:
        return change
    last_known = choose(clear, eligible.last_known.none(), eligible.last_known)
    differs = negate(last_known.same(p.last_known_elr))
    return evolve(change, last_known_elr=change.last_known_elr.set_when(differs, last_known))


@rule("last-known.noted-on-leader-loss", source="PR 20629; semantics 13",
      switches=("last-known-leader-on-leader-loss",),
      says="From 4.1.1 on, the last known leader is noted when leadership is lost, and forgotten with "
           "the next leader.")  # fmt: skip
def by_leadership(known: Brokers, leader: Maybe[Word], enabled: Truth) -> tuple[Truth, Truth]:
    """From 4.1.1 on: whether to remember the leader that is lost as the last known, and whether to forget the old one.

    Args:
        known: the last known leader of before.
        leader: the new leader, where the change names one.
        enabled: whether ELR is on, without which none is noted.
    """
    lost = all_of(leader.present, leader.value == NO_LEADER)
    won = all_of(leader.present, leader.value >= 0)
    return all_of(enabled, lost, known.is_empty()), all_of(won, negate(known.is_empty()))


def clears(p: Partition) -> Truth:
    """Whether there is something to clear: an ELR or a last known leader."""
    return negate(all_of(p.elr.is_empty(), p.last_known_elr.is_empty()))


def clear_elr(p: Partition, when: Truth) -> PartitionChange:
    """The record that clears ELR and last-known ELR, where one is not empty."""
    change = no_change(p)
    listed = all_of(when, clears(p))
    return evolve(
        change,
        elr=change.elr.set_when(listed, p.elr.none()),
        last_known_elr=change.last_known_elr.set_when(listed, p.last_known_elr.none()),
    )
