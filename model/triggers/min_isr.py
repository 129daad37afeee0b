"""The effective min ISR, and the records of a change of it.

Source: `ReplicationControlManager.getTopicEffectiveMinIsr`; B3; KAFKA-16540.
"""

from __future__ import annotations

from attrs import evolve

from kraftcheck.model.language.rule import rule
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import all_of, any_of, choose
from kraftcheck.model.partition.elr import clear_elr
from kraftcheck.model.partition.registration import Partition, PartitionChange
from kraftcheck.model.rules.ruleset import RuleSet


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
def announced(
    p: Partition, differs: Truth, minimum: Word, before: Word, elr: Truth, rules: RuleSet
) -> PartitionChange:
    """The record that a change of min.insync.replicas writes: an ELR is dropped where the ISR can commit without it.

    While the ISR is below the minimum, nothing is committed, and whoever is in the
    ELR still holds all that was. As released, every ELR is dropped; a partition
    that is offline then has nobody left to elect.

    Raised, the partition epoch rises too. An answer to AlterPartition overtakes the
    configuration; without a new partition epoch the leader would commit by the old
    value without members that the controller makes eligible by the new one.

    Args:
        p: the partition.
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
