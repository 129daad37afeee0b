"""Directories of replicas: the directory of a new replica, and the change that AssignReplicasToDirs wants.

Source: `ClusterControlManager.defaultDir`, `ReplicationControlManager.handleAssignReplicasToDirs`; KIP-858.
"""

from __future__ import annotations

from attrs import evolve

from kraftcheck.model.language.rule import rule
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import Maybe, all_of, choose
from kraftcheck.model.partition.change import Target
from kraftcheck.model.partition.directories import MIGRATING, UNASSIGNED
from kraftcheck.model.partition.registration import Partition
from kraftcheck.model.rules.groups import PartitionRules
from kraftcheck.model.triggers.table import Pass, Permits, leave, ordinary, without


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
        rules: the rule set.
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
        broker: who assigns.
        directory: where its replica is.
        offline: whether the directory is offline.
        rules: the rule set.
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
