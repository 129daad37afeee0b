"""ZooKeeper-era leader selectors: what each chooses, and agreement of lists and masks."""

from itertools import product

import pytest
from attrs import evolve

from model.brokersets import BrokerSet
from model.idlists import IdList
from model.selectors import (
    select_controlled_shutdown,
    select_offline,
    select_preferred,
    select_reassigned,
    select_restarted,
)
from model.terms import Graph, Term
from model.words import NO_LEADER
from tests.recordings import partition
from tests.test_reassignment import SETS, masked, slots


def ids(*brokers):
    """An ordered list of brokers."""
    return IdList(brokers)


def shown(selection):
    """Leader, ISR, unclean and elected as plain values."""
    return selection.leader, tuple(selection.isr), bool(selection.unclean), bool(selection.elected)


P = partition((3, 1, 2), isr=(1, 2, 3), leader=3)


def test_offline_takes_the_first_live_isr_member():
    """The order of the replicas decides; dead members leave the ISR."""
    assert shown(select_offline(P, ids(1, 2), False)) == (1, (1, 2), False, True)


def test_offline_unclean():
    """With no live ISR member the first live replica leads alone, if that is allowed."""
    p = partition((3, 1, 2), isr=(3,), leader=NO_LEADER)
    assert shown(select_offline(p, ids(2, 1), True)) == (1, (1,), True, True)
    assert shown(select_offline(p, ids(2, 1), False)) == (NO_LEADER, (3,), False, False)
    assert shown(select_offline(p, ids(), True)) == (NO_LEADER, (3,), False, False)


def test_preferred():
    """The first replica leads if live and in the ISR; nobody else may."""
    assert shown(select_preferred(P, ids(1, 2, 3))) == (3, (1, 2, 3), False, True)
    assert shown(select_preferred(P, ids(1, 2))) == (NO_LEADER, (1, 2, 3), False, False)
    assert not select_preferred(partition((3, 1), isr=(1,)), ids(1, 3)).elected


def test_reassigned():
    """The first live in-sync replica of the target leads; the ISR stays."""
    p = partition((4, 5, 1, 2), isr=(1, 2, 5), leader=1)
    assert shown(select_reassigned(p, ids(1, 2, 4, 5), ids(4, 5))) == (5, (1, 2, 5), False, True)
    assert not select_reassigned(p, ids(1, 2, 4), ids(4, 5)).elected


def test_controlled_shutdown():
    """Leaving brokers give up leadership and ISR membership; without a successor nothing changes."""
    assert shown(select_controlled_shutdown(P, ids(1, 2, 3), ids(3))) == (1, (1, 2), False, True)
    assert shown(select_controlled_shutdown(P, ids(3), ids(3))) == (NO_LEADER, (1, 2, 3), False, False)


def test_restarted_leader():
    """A leader whose replica failed leaves the ISR; the first remaining member in replica order leads."""
    assert shown(select_restarted(P, ids(1, 2, 3), 3, False)) == (1, (1, 2), False, True)


def test_restarted_follower():
    """A follower whose replica failed leaves the ISR; the leader stays, though it is not the first replica."""
    p = partition((3, 1, 2), isr=(1, 2, 3), leader=2)
    assert shown(select_restarted(p, ids(1, 2, 3), 3, False)) == (2, (1, 2), False, True)


def test_restarted_last_isr_member():
    """An emptied ISR is treated as by the offline selector, and the failed replica cannot win."""
    p = partition((3, 1, 2), isr=(3,), leader=3)
    assert shown(select_restarted(p, ids(1, 2, 3), 3, True)) == (1, (1,), True, True)
    assert shown(select_restarted(p, ids(1, 2, 3), 3, False)) == (NO_LEADER, (3,), False, False)
    assert shown(select_restarted(p, ids(3), 3, True)) == (NO_LEADER, (3,), False, False)


def test_restarted_while_the_leader_is_dead():
    """A follower's restart while the leader is dead elects as the offline selector does."""
    assert shown(select_restarted(P, ids(1, 2), 1, False)) == (2, (2,), False, True)


@pytest.mark.parametrize("replicas", [(0,), (1, 0), (2, 0, 1)])
def test_lists_and_masks_agree(replicas):
    """Every selector chooses alike on lists and masks, for all ISRs, live sets and leaders."""
    small = [s for s in SETS if 3 not in s]
    for isr, live, allowed in product(small, small, (False, True)):
        for leader in (NO_LEADER, *replicas):
            listed = partition(replicas, isr=isr, leader=leader)
            mask = evolve(masked(replicas, isr), leader=leader)
            pairs = [
                (select_offline(listed, IdList(live), allowed), select_offline(mask, BrokerSet.of(live), allowed)),
                (select_preferred(listed, IdList(live)), select_preferred(mask, BrokerSet.of(live))),
                (
                    select_reassigned(listed, IdList(live), ids(2, 1)),
                    select_reassigned(mask, BrokerSet.of(live), slots((2, 1))),
                ),
                (
                    select_controlled_shutdown(listed, IdList(live), ids(0)),
                    select_controlled_shutdown(mask, BrokerSet.of(live), BrokerSet.of((0,))),
                ),
                (
                    select_restarted(listed, IdList(live), 0, allowed),
                    select_restarted(mask, BrokerSet.of(live), 0, allowed),
                ),
            ]
            for a, b in pairs:
                assert shown(a) == shown(b)


def test_selectors_trace():
    """Selectors run on symbolic ISRs, live sets and brokers."""
    graph = Graph()
    symbolic = evolve(masked((2, 0, 1)), isr=BrokerSet(graph.variable("isr", 0, 15)))
    live, who, allowed = BrokerSet(graph.variable("live", 0, 15)), graph.variable("b", 0, 3), graph.truth_variable("u")
    for made in (select_offline(symbolic, live, allowed), select_restarted(symbolic, live, who, allowed)):
        assert isinstance(made.leader, Term)
