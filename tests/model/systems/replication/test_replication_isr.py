"""The `replication` system: how the ISR changes, step by step on small examples."""

from __future__ import annotations

import pytest

from kraftcheck.model.systems.replication.state import ACCEPTED, INELIGIBLE, NONE, OVERTAKEN, UNKNOWN, no_request
from tests.shared.elections import replicas
from tests.shared.replication import (
    below_min_isr,
    do,
    elect,
    ends,
    expanding,
    fetch,
    ids,
    learn,
    log,
    marks,
    refused,
    start,
    with_broker,
    with_controller,
    with_logs,
)

WAITING = "an answer to its proposal is under way"
"""The guard of taking an answer."""


def test_an_expansion_counts_at_once() -> None:
    """The proposal is in the maximal ISR, states the epochs of leader and follower, and blocks another."""
    state = expanding()
    leader, request = state.brokers[0], state.request
    assert (leader.isr, leader.proposed, leader.maximal_isr()) == (ids(0), ids(0, 1), ids(0, 1))
    assert (request.isr, request.stated, request.stale) == (ids(0, 1), ids(0, 1), False)
    assert refused(state, "propose_shrink", broker=0, follower=1) == [
        "no change is pending", "follower is in the ISR", "follower lags",
    ]  # fmt: skip


def test_an_accepted_expansion_is_committed_by_the_reply() -> None:
    """The controller's ISR grows and its ELR ends; the leader follows with the reply and forgets the request."""
    state = do(expanding(), "alter_partition")
    assert (state.controller.isr, state.controller.elr) == (ids(0, 1), ids())
    assert (state.brokers[0].answer, state.brokers[0].current) == (ACCEPTED, False)
    after = do(state, "receive_answer", broker=0)
    leader = after.brokers[0]
    assert (leader.isr, leader.proposed, leader.current) == (ids(0, 1), ids(), True)
    assert (after.request, leader.answer) == (no_request(), NONE)


def test_a_request_processed_twice_is_refused_by_its_partition_epoch() -> None:
    """The copy of an accepted request is behind, so it is not kept; as a defect it is processed again."""
    assert do(expanding(), "alter_partition").request == no_request()
    wrong = "fixed+alter-partition-ignores-partition-epoch"
    state = do(expanding(), "alter_partition", wrong)
    assert (state.request, refused(state, "alter_partition", wrong)) == (expanding().request, [])


def test_a_late_reply_is_ignored() -> None:
    """Metadata of the same change or a later one ends the proposal; then the reply is for nobody."""
    state = do(expanding(), "alter_partition")
    known = learn(state, 0)
    assert (known.brokers[0].isr, known.brokers[0].proposed) == (ids(0, 1), ids())
    assert refused(known, "receive_answer", broker=0) == [WAITING]
    assert refused(learn(elect(state, 0, [0, 1]), 0), "receive_answer", broker=0) == [WAITING]


def test_a_refusal_does_not_outlive_an_acceptance() -> None:
    """A copy that is accepted and ends its leader's term answers nobody: no earlier refusal makes it roll back."""
    state = do(learn(do(start(), "fence", broker=2), 0), "reassign", target=replicas(2))
    state = do(fetch(do(learn(state, 0), "unfence", broker=2), 2), "propose_expand", broker=0, follower=2)
    state = do(do(state, "fence", broker=2), "alter_partition")
    assert (state.brokers[0].answer, state.request.isr) == (INELIGIBLE, ids(0, 1, 2))
    state = do(do(state, "unfence", broker=2), "alter_partition")
    assert (state.controller.isr, state.controller.leader, state.leader_epoch) == (ids(2), 2, 1)
    assert (state.brokers[0].answer, state.brokers[0].maximal_isr()) == (NONE, ids(0, 1, 2))
    assert refused(state, "receive_answer", broker=0) == [WAITING]


def test_an_answer_may_be_overtaken() -> None:
    """What the controller writes after an acceptance makes it old: its receiver is behind from the start."""
    state = do(do(expanding(), "alter_partition"), "fence", broker=1)
    assert (state.controller.isr, state.brokers[0].answer) == (ids(0), OVERTAKEN)
    after = do(state, "receive_answer", broker=0)
    assert (after.brokers[0].isr, after.brokers[0].current) == (ids(0, 1), False)
    assert learn(after, 0).brokers[0].isr == ids(0)


def test_answers_to_two_leaders_are_under_way_together() -> None:
    """A stale leader may get its answer after the current one has sent and got its own."""
    state = do(expanding(), "alter_partition")
    state = learn(elect(state, 1, [0, 1]), 1)
    state = do(do(state, "propose_shrink", broker=1, follower=0), "alter_partition")
    assert [b.answer for b in state.brokers] == [OVERTAKEN, ACCEPTED, NONE]
    state = do(do(state, "receive_answer", broker=1), "receive_answer", broker=0)
    assert [b.isr for b in state.brokers[:2]] == [ids(0, 1), ids(1)]


def test_a_proposal_that_comes_too_late_only_blocks() -> None:
    """A leader that is behind proposes in vain: no request is kept, and it waits for metadata."""
    state = do(below_min_isr(), "unfence", broker=1)
    state = do(with_broker(fetch(state, 1), 0, current=False), "propose_expand", broker=0, follower=1)
    assert (state.request, state.brokers[0].proposed) == (no_request(), ids(0, 1))
    assert learn(state, 0).brokers[0].proposed == ids()


@pytest.mark.parametrize(
    ("changes", "variant"),
    [({"fenced": ids(1, 2)}, "fenced-may-join-isr"), ({"shutting_down": ids(1)}, "shutting-down-may-join-isr")],
)
def test_an_ineligible_member_is_refused(changes: dict[str, object], variant: str) -> None:
    """INELIGIBLE_REPLICA changes nothing; the leader goes back to its committed ISR; the defect lets it pass."""
    state = with_controller(expanding(), **changes)
    answered = do(state, "alter_partition")
    assert answered == with_broker(state, 0, answer=INELIGIBLE)
    after = do(answered, "receive_answer", broker=0)
    assert (after.brokers[0].isr, after.brokers[0].proposed, after.request) == (ids(0), ids(), no_request())
    survives = do(answered, "receive_answer", "fixed+answered-request-survives", broker=0)
    assert survives.request == state.request
    wrong = do(answered, "receive_answer", "fixed+refusal-taken-for-success", broker=0)
    assert wrong.brokers[0].isr == ids(0, 1)
    assert do(state, "alter_partition", f"fixed+{variant}").controller.isr == ids(0, 1)


def test_a_member_of_an_earlier_incarnation_is_refused() -> None:
    """KIP-903: the broker epoch that the request states is compared with the registered one."""
    state = do(do(expanding(), "crash", broker=1, lost=1), "register", broker=1)
    assert (state.request.stale, state.brokers[0].stale, state.brokers[0].fetchers()) == (True, ids(1), ids(1, 2))
    state = do(state, "unfence", broker=1)
    assert do(state, "alter_partition").brokers[0].answer == INELIGIBLE
    wrong = do(state, "alter_partition", "fixed+alter-partition-ignores-broker-epoch")
    assert (wrong.controller.isr, wrong.brokers[1].log) == (ids(0, 1), log())


def test_a_proposal_after_the_restart_is_no_better() -> None:
    """KAFKA-15221: it states the epoch of the last fetch, which is stale; a new fetch cures it."""
    state = do(do(do(below_min_isr(), "unfence", broker=1), "crash", broker=1, lost=1), "register", broker=1)
    state = do(with_broker(state, 0, ends=(UNKNOWN, 1, UNKNOWN), stale=ids(1)), "unfence", broker=1)
    assert do(state, "propose_expand", broker=0, follower=1).request.stale
    wrong = do(state, "propose_expand", "fixed+broker-epoch-taken-from-metadata", broker=0, follower=1)
    assert not wrong.request.stale
    assert fetch(state, 1).brokers[0].stale == ids()


def test_members_that_never_fetched_are_sent_without_an_epoch() -> None:
    """Epoch -1 skips the comparison: only the partition epoch guards against such a member's restart."""
    state = do(do(start(), "propose_shrink", broker=0, follower=2), "crash", broker=1, lost=0)
    assert (state.request.stated, state.request.stale) == (ids(0), False)
    back = do(do(state, "register", broker=1), "unfence", broker=1)
    assert (back.request, back.controller.isr) == (no_request(), ids(0, 2))
    rules = "fixed+alter-partition-ignores-partition-epoch"
    wrong = do(do(do(state, "register", rules, broker=1), "unfence", rules, broker=1), "alter_partition", rules)
    assert (wrong.brokers[0].answer, wrong.controller.isr) == (ACCEPTED, ids(0, 1))


def test_a_shrink_waits_for_the_dropped_until_confirmed() -> None:
    """Until the controller has agreed the watermark waits for the member to be dropped, then no more."""
    state = fetch(fetch(do(start(), "produce", broker=0), 1), 1)
    assert refused(state, "propose_shrink", broker=0, follower=1) == ["follower lags"]
    state = do(state, "propose_shrink", broker=0, follower=2)
    assert (state.brokers[0].maximal_isr(), marks(state)[0]) == (ids(0, 1, 2), 0)
    after = do(do(state, "alter_partition"), "receive_answer", broker=0)
    assert (after.brokers[0].isr, marks(after)[0], after.acknowledged) == (ids(0, 1), 1, 1)


def test_a_follower_joins_at_watermark_and_epoch_start() -> None:
    """KAFKA-7128: a new leader's watermark is behind; who has not reached the start of its epoch stays out."""
    state = with_logs(start(), log(0, 0), log(0, 0), log(0))
    state = learn(elect(state, 1, [1]), 1, 2)
    state = fetch(state, 2, leader=1, received=0)
    assert (ends(state, 1)[2], marks(state)[1]) == (1, 0)
    assert refused(state, "propose_expand", broker=1, follower=2) == ["follower has caught up"]
    assert refused(state, "propose_expand", "fixed+no-leader-epoch-start-check", broker=1, follower=2) == []
    ready = fetch(fetch(state, 2, leader=1), 2, leader=1, received=0)
    assert refused(ready, "propose_expand", broker=1, follower=2) == []
    assert refused(ready, "propose_expand", broker=1, follower=0) == ["follower has caught up"]


def test_a_stale_leader_is_refused() -> None:
    """A leader of an earlier epoch may still propose, but is not heard; what it had sent is gone."""
    state = do(expanding(), "fence", broker=0)
    assert (state.leader_epoch, state.request, state.brokers[0].proposed) == (1, no_request(), ids(0, 1))
    assert refused(state, "alter_partition")[0] == "a request is in flight"
    assert state.leads(0, state.brokers[0])


def test_a_lost_answer_is_no_refusal() -> None:
    """KAFKA-14154: giving a proposal up is an action of the defect only."""
    found = do(expanding(), "give_up", "fixed+unknown-outcome-is-failure", broker=0)
    assert found.brokers[0].maximal_isr() == ids(0)
    with pytest.raises(ValueError, match="not enough values"):
        do(expanding(), "give_up", broker=0)


SILENT = "fixed+min-isr-raise-is-silent"


def test_a_raised_minimum_reaches_the_leader_before_it_shrinks() -> None:
    """Raised to 3, the partition epoch rises: a leader that goes by 2 is not heard until it has heard."""
    state = do(start(), "set_min_isr", minimum=3)
    assert (state.brokers[0].current, state.brokers[0].min_isr, state.controller.elr) == (False, 2, ids())
    state = do(do(state, "produce", broker=0), "propose_shrink", broker=0, follower=1)
    assert state.request == no_request()
    after = do(learn(state, 0), "propose_shrink", broker=0, follower=1)
    after = do(do(after, "alter_partition"), "receive_answer", broker=0)
    assert (after.controller.elr, after.brokers[0].min_isr) == (ids(1), 3)
    pending = do(do(start(), "propose_shrink", broker=0, follower=1), "set_min_isr", minimum=3)
    assert pending.request == no_request()


def test_a_raised_minimum_may_reach_the_leader_too_late() -> None:
    """As found: the controller makes the dropped member eligible; the leader goes by 2, and commits without it.

    The answer to AlterPartition overtakes the configuration. Clearing the ELR with the change does not help.
    """
    state = do(do(start(), "set_min_isr", SILENT, minimum=3), "produce", broker=0)
    state = fetch(fetch(do(state, "propose_shrink", broker=0, follower=1), 2), 2)
    state = do(do(state, "alter_partition"), "receive_answer", broker=0)
    assert (state.controller.isr, state.controller.elr, state.brokers[0].min_isr) == (ids(0, 2), ids(1), 2)
    assert (state.acknowledged, state.brokers[1].log) == (1, log())
    state = do(do(do(state, "fence", broker=0), "fence", broker=2), "fence", broker=1)
    assert do(state, "unfence", broker=1).controller.leader == 1


def test_equal_metadata_says_nothing() -> None:
    """B18: the metadata of an answer that is already known ends the next proposal only as found in Kafka."""
    rules = "fixed+equal-epoch-ends-proposal"
    state = do(do(expanding(), "alter_partition"), "receive_answer", rules, broker=0)
    state = fetch(do(state, "unfence", broker=2), 2)
    state = do(do(state, "propose_expand", rules, broker=0, follower=2), "alter_partition", rules)
    assert (state.controller.isr, state.brokers[0].unseen) == (ids(0, 1, 2), True)
    after = do(state, "apply_equal_metadata", rules, broker=0)
    assert (after.brokers[0].maximal_isr(), after.brokers[0].answer) == (ids(0, 1), NONE)
    assert refused(after, "apply_equal_metadata", rules, broker=0) == ["it has only the answer"]
    with pytest.raises(ValueError, match="not enough values"):
        do(state, "apply_equal_metadata", broker=0)
