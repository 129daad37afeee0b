"""The `replication` system: brokers that stop and return, metadata, reassignment and configuration."""

from __future__ import annotations

from attrs import evolve

from kraftcheck.model.language.words import NO_LEADER
from kraftcheck.model.systems.replication.state import NONE, STOPPED_CLEAN, STOPPED_UNCLEAN
from tests.shared.elections import replicas
from tests.shared.replication import (
    below_min_isr,
    committed,
    do,
    elect,
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


def test_a_crash_loses_a_suffix() -> None:
    """Records from the end of the log are lost up to the bound, and the watermark with them."""
    state = do(committed(), "crash", broker=0, lost=1)
    broker = state.brokers[0]
    assert (broker.status, broker.log, broker.high_watermark) == (STOPPED_UNCLEAN, log(), 0)
    assert (state.left.unclean_stops, state.controller) == (1, committed().controller)
    assert refused(committed(), "crash", broker=0, lost=2) == ["no more is lost than there is"]
    assert do(committed(), "crash", broker=0, lost=0).brokers[0].log == log(0)
    assert "broker believes it leads" in refused(state, "produce", broker=0)


def test_a_dead_broker_is_fenced_for_free() -> None:
    """Fencing a live broker costs budget, fencing a dead one does not."""
    assert do(start(), "fence", broker=1).left.fences == start().left.fences - 1
    dead = do(start(), "crash", broker=1, lost=0)
    assert do(dead, "fence", broker=1).left.fences == dead.left.fences


def test_registering_after_an_unclean_stop_costs_eligibility() -> None:
    """The new incarnation is fenced, out of ISR and ELR, and has applied the metadata of its registration."""
    state = do(do(below_min_isr(), "crash", broker=2, lost=1), "register", broker=2)
    assert (state.controller.elr, state.controller.isr, state.controller.fenced) == (ids(), ids(0), ids(1, 2))
    back = state.brokers[2]
    assert back.running()
    assert (back.log, back.epoch) == (log(), state.leader_epoch)
    assert refused(state, "register", broker=2) == ["broker is stopped"]


def test_registering_after_a_clean_stop_keeps_eligibility() -> None:
    """Log and ELR membership survive controlled shutdown; a registering leader loses leadership."""
    state = below_min_isr()
    state = learn(do(do(state, "unfence", broker=2), "fence", broker=0), 2)
    assert (state.controller.leader, state.controller.isr, state.controller.elr) == (2, ids(2), ids(0))
    state = do(state, "shut_down", broker=2)
    assert (state.controller.leader, state.controller.elr) == (NO_LEADER, ids(0, 2))
    state = do(state, "stop", broker=2)
    assert (state.brokers[2].status, state.brokers[2].log) == (STOPPED_CLEAN, log(0))
    state = do(state, "register", broker=2)
    assert (state.controller.elr, state.controller.fenced, state.controller.shutting_down) == (
        ids(0, 2), ids(0, 1, 2), ids(),
    )  # fmt: skip
    assert do(state, "unfence", broker=2).controller.leader == 2


def test_shutdown_is_granted_once_nothing_is_led() -> None:
    """The process ends after the controller has moved its leadership."""
    assert refused(start(), "stop", broker=1) == ["broker is in controlled shutdown"]
    state = do(start(), "shut_down", broker=0)
    assert (state.controller.leader, state.controller.isr) == (1, ids(1, 2))
    assert do(state, "stop", broker=0).brokers[0].status == STOPPED_CLEAN
    led = with_controller(state, leader=0)
    assert refused(led, "stop", broker=0) == ["broker leads nothing"]


def test_configuration_reaches_brokers_with_the_metadata() -> None:
    """The controller goes by the new minimum at once and drops the ELR; the leader when it applies metadata."""
    state = do(below_min_isr(), "set_min_isr", minimum=1)
    assert (state.controller.elr, state.brokers[0].min_isr, marks(state)[0]) == (ids(), 2, 1)
    state = do(state, "produce_acks_1", broker=0)
    assert marks(state)[0] == 1
    after = learn(state, 0)
    assert (after.brokers[0].min_isr, marks(after)[0]) == (1, 2)


def test_configuration_alone_leaves_a_proposal_pending() -> None:
    """It has no partition epoch: the proposal, and who is waited for, stay until it is answered."""
    state = do(do(start(), "propose_shrink", broker=0, follower=2), "set_min_isr", minimum=1)
    assert state.brokers[0].current
    after = learn(state, 0)
    assert (after.brokers[0].min_isr, after.brokers[0].proposed) == (1, ids(0, 1))
    assert refused(do(after, "alter_partition"), "receive_answer", broker=0) == []
    other = with_logs(start(), log(0), log(), log())
    other = with_broker(with_controller(other, isr=ids(0, 1)), 0, isr=ids(0, 1), proposed=ids(0, 1, 2))
    assert learn(do(other, "set_min_isr", minimum=1), 0).brokers[0].maximal_isr() == ids(0, 1, 2)


def test_metadata_is_applied_in_order_and_once() -> None:
    """A broker goes to any later epoch, never back; of an earlier epoch it learns the last form."""
    state = elect(do(start(), "fence", broker=2), 1, [0, 1])
    first = do(state, "apply_metadata", broker=1, epoch=1)
    assert (first.brokers[1].epoch, first.brokers[1].isr, first.brokers[1].current) == (1, ids(0, 1), True)
    assert refused(first, "apply_metadata", broker=1, epoch=0) == ["metadata is newer"]
    assert refused(first, "apply_metadata", broker=1, epoch=1) == ["metadata is newer"]
    assert refused(first, "apply_metadata", broker=1, epoch=2) == ["epoch exists"]
    later = elect(state, 0, [0])
    past = do(later, "apply_metadata", broker=1, epoch=1)
    assert (past.brokers[1].isr, past.brokers[1].current) == (ids(0, 1), False)
    assert do(later, "apply_metadata", broker=0, epoch=2).brokers[0].isr == ids(0)
    assert do(later, "apply_metadata", broker=1, epoch=2).brokers[1].isr == ids()


def test_a_removed_replica_deletes_its_log() -> None:
    """Reassigned away, a broker deletes its log with the metadata, or as a stray one when it registers."""
    state = do(committed(), "reassign", target=replicas(0, 1))
    assert (state.controller.replicas, state.controller.isr, state.leader_epoch) == (replicas(0, 1), ids(0, 1), 1)
    assert (state.brokers[2].log, learn(state, 2).brokers[2].log) == (log(0), log())
    assert learn(state, 2).brokers[2].high_watermark == 0
    back = do(do(state, "crash", broker=2, lost=0), "register", broker=2)
    assert (back.brokers[2].log, back.brokers[2].high_watermark) == (log(), 0)
    assert learn(state, 1).brokers[1].log == log(0)


def test_a_cancelled_reassignment_spends_budget() -> None:
    """Both reassigning and cancelling count."""
    state = do(do(start(), "fence", broker=2), "reassign", target=replicas(2, 1))
    assert (state.controller.adding, state.controller.removing) == (ids(), ids(0))
    state = do(state, "cancel")
    assert (state.left.reassignments, state.controller.removing) == (2, ids())
    assert refused(evolve(state, left=evolve(state.left, reassignments=0)), "reassign", target=replicas(0)) == [
        "a reassignment is left"
    ]


def test_completion_takes_the_sender_out_of_office() -> None:
    """NEW_LEADER_ELECTED: the change is made, and the reply lets the old leader wait for metadata."""
    state = do(committed(), "reassign", target=replicas(1, 2))
    assert (state.controller.leader, state.controller.replicas) == (1, replicas(1, 2))
    running = do(do(committed(), "fence", broker=2), "reassign", target=replicas(1, 2))
    assert (running.controller.leader, running.controller.removing) == (0, ids(0))
    running = fetch(do(learn(running, 0, 1, 2), "unfence", broker=2), 2)
    done = do(do(running, "propose_expand", broker=0, follower=2), "alter_partition")
    assert (done.controller.leader, done.controller.replicas, done.leader_epoch) == (1, replicas(1, 2), 1)
    assert (done.brokers[0].answer, done.leaders[1]) == (NONE, 1)
    assert refused(done, "receive_answer", broker=0)


def test_an_unclean_election_ends_the_count() -> None:
    """Whoever is elected outside ISR and ELR may lack records: loss is allowed from then on."""
    state = do(do(below_min_isr(), "crash", broker=0, lost=1), "fence", broker=0)
    assert (state.controller.leader, state.controller.elr) == (NO_LEADER, ids(0, 2))
    state = do(state, "register", broker=0)
    assert (state.controller.elr, state.lossy) == (ids(2), False)
    state = with_controller(state, fenced=ids(0, 2))
    found = do(state, "elect_unclean")
    assert (found.controller.leader, found.lossy, found.left.unclean_elections) == (1, True, 0)
