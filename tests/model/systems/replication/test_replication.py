"""The `replication` system: logs, watermarks and leaders on small examples, checked by hand."""

from __future__ import annotations

import pytest
from attrs import evolve

from kraftcheck.model.systems.replication.state import UNKNOWN
from tests.shared.elections import replicas
from tests.shared.replication import (
    below_min_isr,
    committed,
    do,
    elect,
    ends,
    fetch,
    ids,
    learn,
    log,
    marks,
    refused,
    start,
    with_broker,
    with_logs,
)


def test_producing_appends_and_waits() -> None:
    """The record is in the leader's log; the high watermark waits for the ISR."""
    state = do(start(), "produce", broker=0)
    assert state == evolve(with_broker(start(), 0, log=log(0)), left=evolve(start().left, records=3))
    assert "broker believes it leads" in refused(state, "produce", broker=1)


def test_a_follower_is_counted_at_its_second_fetch() -> None:
    """The first fetch brings the record; the second tells the leader, and the one after brings the watermark."""
    state = do(start(), "produce", broker=0)
    state = fetch(fetch(state, 1), 2)
    assert [b.log for b in state.brokers] == [log(0)] * 3
    assert (ends(state, 0), marks(state)) == ((UNKNOWN, 0, 0), [0, 0, 0])
    state = fetch(state, 1)
    assert (ends(state, 0), marks(state), state.acknowledged) == ((UNKNOWN, 1, 0), [0, 0, 0], 0)
    state = fetch(state, 2)
    assert (marks(state), state.committed, state.acknowledged) == ([1, 0, 0], log(0), 1)
    assert marks(fetch(state, 1)) == [1, 1, 0]


def test_a_lost_reply_is_still_counted() -> None:
    """The leader notes the offset of a fetch whose reply is lost; the follower stays as it was."""
    state = fetch(do(start(), "produce", broker=0), 1, received=0)
    assert (ends(state, 0), state.brokers[1]) == ((UNKNOWN, 0, UNKNOWN), start().brokers[1])


def test_a_reply_may_carry_a_part() -> None:
    """One record of two may arrive; the watermark is within what arrived."""
    state = do(do(start(), "produce", broker=0), "produce", broker=0)
    state = with_broker(state, 0, high_watermark=2)
    found = fetch(state, 1, received=1)
    assert (found.brokers[1].log, marks(found)) == (log(0), [2, 1, 0])


@pytest.mark.parametrize(
    ("follower", "leader", "cut"),
    [
        ((0, 0, 1), (0, 2), (0,)),  # KIP-101: the records above the shared prefix go
        ((0, 0), (0, 1), (0,)),  # more records of a shared epoch than the leader has
        ((1,), (0, 2), ()),  # KIP-279: the leader's epochs surround the follower's
        ((0, 1, 1), (0, 0, 2), (0,)),  # KIP-279: the leader lacks the epoch, the follower has less of the one before
        ((0, 0, 0), (0,), (0,)),
        ((1, 1), (), ()),
    ],
)
def test_diverging_logs_are_cut(follower: tuple[int, ...], leader: tuple[int, ...], cut: tuple[int, ...]) -> None:
    """A diverging log is cut to the shared prefix, brings no data, and is not noted; the next fetch brings all."""
    state = learn(elect(with_logs(start(), log(*leader), log(*follower), log()), 0, [0, 1]), 0, 1)
    state = with_broker(state, 1, high_watermark=len(follower))
    found = fetch(state, 1)
    assert (found.brokers[1].log, ends(found, 0)) == (log(*cut), (UNKNOWN,) * 3)
    assert found.brokers[1].high_watermark == len(cut)
    assert fetch(state, 1, received=0) == state
    again = fetch(found, 1)
    assert (again.brokers[1].log, ends(again, 0)) == (log(*leader), (UNKNOWN, len(cut), UNKNOWN))


def test_one_lookup_is_not_enough() -> None:
    """KIP-279: a follower that trusts the end of another epoch keeps a record that the leader never had."""
    state = learn(elect(with_logs(start(), log(0, 2), log(1), log()), 0, [0, 1]), 0, 1)
    assert fetch(state, 1).brokers[1].log == log()
    assert fetch(state, 1, rules="fixed+kip101-epoch-lookup").brokers[1].log == log(1, 2)


def test_fetches_need_the_same_epoch() -> None:
    """FENCED_LEADER_EPOCH and UNKNOWN_LEADER_EPOCH: both sides must have applied the same leader epoch."""
    state = elect(start(), 0, [0, 1, 2])
    ahead, behind = learn(state, 1), learn(state, 0)
    for some in (ahead, behind):
        assert refused(some, "fetch", follower=1, leader=0, received=1) == ["leader epochs are the same"]
    assert fetch(learn(state, 0, 1), 1) != learn(state, 0, 1)
    assert refused(start(), "fetch", follower=1, leader=2, received=1) == [
        "follower runs and follows the leader", "leader runs and believes it leads",
    ]  # fmt: skip


def test_only_replicas_fetch_as_far_as_the_leader_knows() -> None:
    """A current leader refuses who is no replica; one of an earlier epoch may not know better."""
    moved = do(start(), "reassign", target=replicas(0, 1))
    assert refused(learn(moved, 0, 2), "fetch", follower=2, leader=0, received=1) == [
        "follower is a replica as far as the leader knows"
    ]
    assert fetch(moved, 2).brokers[0].ends == (UNKNOWN, UNKNOWN, 0)


def test_the_watermark_is_frozen_below_min_isr() -> None:
    """With the ISR below min ISR nothing is produced with acks=all, and nothing becomes committed."""
    state = below_min_isr()
    assert (state.controller.isr, state.controller.elr) == (ids(0), ids(2))
    assert refused(state, "produce", broker=0) == ["ISR is at min ISR"]
    alone = do(state, "produce_acks_1", broker=0)
    assert (alone.brokers[0].log, marks(alone)[0], alone.acknowledged) == (log(0, 0), 1, 1)
    wrong = do(state, "produce_acks_1", "fixed+hw-advances-under-min-isr", broker=0)
    assert (marks(wrong)[0], wrong.acknowledged) == (2, 1)


def test_acks_1_is_a_choice_only_below_min_isr() -> None:
    """At min ISR both ways of producing have the same effect, so there is one of them."""
    assert refused(start(), "produce_acks_1", broker=0) == ["ISR is below min ISR"]


def test_a_fenced_leader_is_a_zombie_until_it_hears() -> None:
    """It goes on appending; without its followers nothing becomes committed, and later its records are cut."""
    state = do(committed(), "fence", broker=0)
    assert (state.controller.leader, state.controller.isr) == (1, ids(1, 2))
    state = learn(do(state, "produce", broker=0), 1, 2)
    assert (state.brokers[0].log, marks(state)[0]) == (log(0, 0), 1)
    assert refused(state, "fetch", follower=1, leader=0, received=1)
    assert state.leads(0, state.brokers[0])
    assert state.leads(1, state.brokers[1])
    state = learn(do(state, "produce", broker=1), 0)
    assert not state.leads(0, state.brokers[0])
    assert fetch(state, 0, leader=1).brokers[0].log == log(0)
    assert fetch(fetch(state, 0, leader=1), 0, leader=1).brokers[0].log == log(0, 1)


def test_a_new_leader_knows_nothing_of_its_followers() -> None:
    """Leading in a new epoch starts with unknown log ends, so the watermark waits for every ISR member."""
    state = learn(do(committed(), "fence", broker=0), 1)
    assert (ends(state, 1), state.brokers[1].isr, state.brokers[1].epoch) == ((UNKNOWN,) * 3, ids(1, 2), 1)


def test_a_leader_again_starts_anew() -> None:
    """A leader that missed another's epoch trusts no end from before; as found in Kafka it trusts the ISR's."""
    state = fetch(fetch(do(start(), "produce", broker=0), 1), 1)
    state = elect(elect(state, 1, [0, 1, 2]), 0, [0, 1])
    assert (ends(learn(state, 0), 0), marks(learn(state, 0))[0]) == ((UNKNOWN,) * 3, 0)
    wrong = learn(state, 0, rules="fixed+reelected-leader-keeps-ends")
    assert (ends(wrong, 0), marks(wrong)[0]) == ((UNKNOWN, 1, UNKNOWN), 1)
