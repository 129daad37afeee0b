"""Each defect of the snapshot, as found under `kafka-4.0` and as mended under `fixed`."""

from __future__ import annotations

from attrs import evolve

from kraftcheck.model.language.idlists import AtMostOne
from kraftcheck.model.language.words import EMPTY, NO_LEADER
from tests.shared.elections import BROKERS, D0, D1, HEALTHY, LEADERLESS, after, dirs, ids, outcome, refused, replicas


def test_b1_a_dead_last_known_leader_is_elected() -> None:
    """As found, unfencing any broker seats the fenced last known leader; mended, nobody leads."""
    state = evolve(LEADERLESS, last_known_elr=AtMostOne(0))
    found, mended = (after(state, "unfence", rules, broker=1) for rules in ("kafka-4.0", "fixed"))
    assert (found.leader, found.isr, found.fenced) == (0, ids(0), ids(0, 2))
    assert (mended.leader, mended.isr, mended.last_known_elr) == (NO_LEADER, ids(), AtMostOne(0))


def test_b2_an_assignment_wipes_the_elr() -> None:
    """As found, any change of directory clears the ELR; mended, it stays."""
    state = evolve(HEALTHY, isr=ids(0), elr=ids(1), online_dirs=(ids(0, 1),) * BROKERS)
    found, mended = (after(state, "assign", rules, broker=2, directory=D1) for rules in ("kafka-4.0", "fixed"))
    assert (found.elr, mended.elr) == (ids(), ids(1))
    assert found.directories == mended.directories == dirs(D0, D0, D1)


def test_b4_removed_replicas_haunt_the_elr() -> None:
    """As found, a reassignment cancelled below min ISR leaves the removed replica in the ELR."""
    running = evolve(HEALTHY, adding=ids(2), isr=ids(0, 2), elr=ids(1))
    found, mended = (after(running, "cancel", rules) for rules in ("kafka-4.0", "fixed"))
    assert (found.elr, mended.elr) == (ids(1, 2), ids(1))
    assert found.replicas == mended.replicas == replicas(0, 1)


def test_b5_a_leaderless_partition_remembers_nobody() -> None:
    """As found, an ISR that empties while leaderless records -1 as the last known leader."""
    state = evolve(HEALTHY, isr=ids(0), leader=NO_LEADER, fenced=ids(0, 1, 2))
    arguments = {"broker": 0, "clean": False, "dirs": ids(0)}
    found, mended = (after(state, "new_incarnation", rules, **arguments) for rules in ("kafka-4.0", "fixed"))
    assert (found.isr, found.last_known_elr) == (ids(), AtMostOne(-1))
    assert (mended.isr, mended.last_known_elr) == (ids(), AtMostOne(EMPTY))


def test_b8_a_heartbeat_seats_a_leader_on_a_dead_directory() -> None:
    """As found, unfencing and a directory failure in one heartbeat are both computed from the state before."""
    state = evolve(
        HEALTHY, isr=ids(0), leader=NO_LEADER, fenced=ids(0, 1, 2), elr_enabled=False,
        online_dirs=(ids(0, 1),) * BROKERS,
    )  # fmt: skip
    found, mended = (after(state, "heartbeat", rules, broker=0, failed=ids(0)) for rules in ("kafka-4.0", "fixed"))
    assert (found.leader, found.directories.slots[0], found.online_dirs[0]) == (0, D0, ids(1))
    assert (mended.leader, mended.online_dirs[0]) == (NO_LEADER, ids(1))


def test_b9_an_unregistered_broker_becomes_eligible() -> None:
    """As found, unregistering an ISR member below min ISR puts it into the ELR."""
    found, mended = (
        after(evolve(HEALTHY, isr=ids(0, 1), min_insync_replicas=3), "unregister", rules, broker=1)
        for rules in ("kafka-4.0", "fixed")
    )
    assert (found.elr, mended.elr) == (ids(1), ids())
    assert found.registered == mended.registered == ids(0, 2)


def test_b10_a_new_target_keeps_the_old_removing_set() -> None:
    """As found, a target that keeps every replica leaves the earlier removal running."""
    running = evolve(HEALTHY, isr=ids(0, 2), removing=ids(0))
    found, mended = (after(running, "reassign", rules, target=replicas(0, 1, 2)) for rules in ("kafka-4.0", "fixed"))
    assert (found.removing, mended.removing) == (ids(0), ids())
    assert found.replicas == mended.replicas == replicas(0, 1, 2)


def test_b11_an_unclean_cancel_is_silent() -> None:
    """As found, the first original replica enters the ISR from outside without RECOVERING; mended, it is marked."""
    running = evolve(HEALTHY, isr=ids(2), adding=ids(2), leader=2, unclean_election=True)
    found, mended = (outcome(running, "cancel", rules) for rules in ("kafka-4.0", "fixed"))
    assert (found.state.leader, found.state.isr, found.state.recovering) == (0, ids(0), False)
    assert (mended.state.leader, mended.state.isr, mended.state.recovering) == (0, ids(0), True)
    assert (found.event.unclean, mended.event.unclean) == (False, True)
    forbidden = evolve(running, unclean_election=False)
    assert refused(forbidden, "cancel") == ["the ISR keeps an original replica, or unclean election is allowed"]


def test_b19_unfencing_ignores_controlled_shutdown() -> None:
    """As found, a broker in controlled shutdown is elected while it is unfenced; mended, it is not."""
    state = evolve(LEADERLESS, elr=ids(1), shutting_down=ids(1))
    found, mended = (after(state, "unfence", rules, broker=1) for rules in ("kafka-4.0", "fixed"))
    assert (found.leader, mended.leader) == (1, NO_LEADER)
