"""Reassignment rules: orders on lists, agreement of lists and masks, tracing."""

from itertools import permutations

import pytest
from attrs import evolve

from kraftcheck.model.language.brokersets import BrokerSet, Replicas
from kraftcheck.model.language.idlists import AtMostOne, IdList
from kraftcheck.model.language.terms import Graph, Term
from kraftcheck.model.language.words import NO_LEADER
from kraftcheck.model.partition.change import complete, plan, plan_for, revert
from kraftcheck.model.partition.registration import DirectoryMap, Partition
from tests.shared.recordings import partition

BROKERS = range(4)
LISTS = [p for size in range(5) for p in permutations(BROKERS, size)]
SETS = [tuple(b for b in BROKERS if mask >> b & 1) for mask in range(16)]


def slots(ids):
    """A list of the mask family."""
    return Replicas.of(ids, len(BROKERS))


def masked(replicas, isr=(), removing=(), adding=()):
    """A partition of the mask family."""
    return Partition(
        replicas=slots(replicas),
        directories=DirectoryMap((0,) * 4),
        isr=BrokerSet.of(isr),
        elr=BrokerSet(),
        last_known_elr=AtMostOne(),
        removing=BrokerSet.of(removing),
        adding=BrokerSet.of(adding),
        leader=NO_LEADER,
        recovering=False,
        leader_epoch=0,
        partition_epoch=0,
    )


def test_plan_keeps_kafkas_orders():
    """The running list is the target, then what goes; both sets ascend."""
    made = plan(IdList((3, 2, 1, 0)), IdList((7, 3, 1, 9)))
    assert (made.removing, made.adding) == (IdList((0, 2)), IdList((7, 9)))
    assert made.replicas == IdList((7, 3, 1, 9, 0, 2))


def test_revert_to_nothing_is_impossible():
    """A reassignment whose added replicas are all there is cannot be reverted."""
    back = revert(partition((4, 5), isr=(4,), adding=(4, 5)))
    assert not back.possible
    assert not back.unclean


def test_plans_agree():
    """Lists and masks plan alike, for every pair of lists of up to four brokers."""
    for replicas in LISTS:
        for target in LISTS:
            listed, slotted = plan(IdList(replicas), IdList(target)), plan(slots(replicas), slots(target))
            assert tuple(slotted.replicas) == listed.replicas.ids
            assert tuple(slotted.removing) == listed.removing.ids
            assert tuple(slotted.adding) == listed.adding.ids


@pytest.mark.parametrize("replicas", [r for r in LISTS if r in ((), (0,), (1, 0), (2, 0, 1), (3, 1, 0, 2))])
def test_completions_agree(replicas):
    """Lists and masks complete alike, for every ISR, removing and adding set of four brokers."""
    for isr in SETS:
        for removing in SETS:
            for adding in SETS:
                listed = complete(IdList(replicas), IdList(isr), IdList(removing), IdList(adding))
                sets = (BrokerSet.of(isr), BrokerSet.of(removing), BrokerSet.of(adding))
                slotted = complete(slots(replicas), *sets)
                assert (slotted.done, tuple(slotted.replicas)) == (listed.done, listed.replicas.ids)
                assert tuple(slotted.isr) == listed.isr.ids


@pytest.mark.parametrize("replicas", [r for r in LISTS if r in ((), (0,), (1, 0), (2, 0, 1), (3, 1, 0, 2))])
def test_reverts_agree(replicas):
    """Lists and masks revert alike, for every ISR and adding set of four brokers."""
    for isr in SETS:
        for adding in SETS:
            listed = revert(partition(replicas, isr=isr, adding=adding))
            slotted = revert(masked(replicas, isr, (), adding))
            assert (slotted.possible, slotted.unclean) == (listed.possible, listed.unclean)
            assert tuple(slotted.replicas) == listed.replicas.ids
            assert tuple(slotted.isr) == listed.isr.ids


def test_rules_trace():
    """Every rule runs on symbolic partitions."""
    graph = Graph()
    replicas = Replicas(tuple(graph.variable(f"r{n}", -1, 3) for n in range(4)))
    target = Replicas(tuple(graph.variable(f"t{n}", -1, 3) for n in range(4)))
    isr, removing, adding = (BrokerSet(graph.variable(name, 0, 15)) for name in ("isr", "removing", "adding"))
    symbolic = evolve(masked(()), replicas=replicas, isr=isr, removing=removing, adding=adding)
    assert isinstance(complete(replicas, isr, removing, adding).done, Term)
    assert isinstance(revert(symbolic).unclean, Term)
    assert isinstance(plan_for(symbolic, target).removing.mask, Term)
