"""The `elections` system: each trigger on small examples."""

from __future__ import annotations

import random
from typing import Any

import pytest
from attrs import evolve

from kraftcheck.model.language.brokersets import BrokerSet
from kraftcheck.model.language.idlists import AtMostOne
from kraftcheck.model.language.layout import Layout
from kraftcheck.model.language.words import NO_LEADER
from kraftcheck.model.partition.registration import LOST, MIGRATING, UNASSIGNED
from kraftcheck.model.rules.ruleset import parse
from kraftcheck.model.systems.elections.system import ELECTIONS, SCOPES
from tests.shared.elections import BROKERS, D0, D1, HEALTHY, LEADERLESS, after, dirs, ids, outcome, refused, replicas


@pytest.mark.parametrize("rules", ["fixed", "kafka-4.0", "kip"])
@pytest.mark.parametrize("scope", SCOPES)
def test_states_stay_in_their_domains(scope: str, rules: str) -> None:
    """Along seeded random walks of 300 steps every state has a place in the layout and survives it."""
    setting = ELECTIONS.setting(scope, rules=parse(rules))
    layout, walk = Layout(ELECTIONS.layout(setting)), random.Random(7)
    actions, state = ELECTIONS.actions(setting), walk.choice(list(ELECTIONS.initial(setting)))
    taken = 0
    while taken < 300:
        action = walk.choice(actions)
        arguments = {name: walk.choice(list(values)) for name, values in action.parameters.items()}
        if action.enabled(state, arguments):
            state = action.outcome(state, arguments).state
            assert layout.unpack(layout.pack(state)) == state
            taken += 1


def test_fencing_a_follower_shrinks_the_isr() -> None:
    """The broker leaves the ISR and is fenced; the leader and its epoch stay."""
    found = outcome(HEALTHY, "fence", broker=2)
    assert found.state == evolve(HEALTHY, isr=ids(0, 1), fenced=ids(2))
    assert (found.event.records, found.event.leader_epoch_bumps, found.event.partition_epoch_bumps) == (1, 0, 1)


def test_fencing_the_leader_elects_the_next_in_sync() -> None:
    """The first acceptable ISR member in replica order leads, in a new leader epoch."""
    found = outcome(evolve(HEALTHY, replicas=replicas(0, 2, 1)), "fence", broker=0)
    assert (found.state.leader, found.state.isr, found.state.fenced) == (2, ids(1, 2), ids(0))
    assert (found.event.leader_epoch_bumps, found.event.unclean) == (1, False)


def test_fencing_a_broker_outside_the_isr_writes_nothing() -> None:
    """Partitions are visited by ISR: another replica is only fenced."""
    state = evolve(HEALTHY, isr=ids(0, 1))
    found = outcome(state, "fence", broker=2)
    assert (found.state, found.event.records) == (evolve(state, fenced=ids(2)), 0)


def test_below_min_isr_the_elr_collects_leavers() -> None:
    """The members that leave below min ISR are eligible; the last one to leave leads again first."""
    one = after(after(HEALTHY, "fence", broker=1), "fence", broker=2)
    assert (one.isr, one.elr, one.leader) == (ids(0), ids(2), 0)
    none = after(one, "fence", broker=0)
    assert (none.isr, none.elr, none.leader) == (ids(), ids(0, 2), NO_LEADER)
    assert none.last_known_elr == AtMostOne(0)
    back = outcome(none, "unfence", broker=2)
    assert (back.state.leader, back.state.isr, back.state.elr) == (2, ids(2), ids(0))
    assert (back.event.from_elr, back.event.unclean, back.state.recovering) == (True, False, False)
    assert back.state.last_known_elr == AtMostOne()


def test_without_elr_the_last_member_waits() -> None:
    """With ELR off the last ISR member stays listed and leads again when it returns."""
    state = evolve(HEALTHY, elr_enabled=False, isr=ids(0))
    gone = after(state, "fence", broker=0)
    assert (gone.isr, gone.elr, gone.leader) == (ids(0), ids(), NO_LEADER)
    assert after(after(gone, "fence", broker=1), "unfence", broker=0).leader == 0


def test_unfencing_elects_only_where_nobody_leads() -> None:
    """A led partition is left alone; a leaderless one takes an unclean leader only where the topic allows."""
    led = evolve(HEALTHY, fenced=ids(2), isr=ids(0, 1))
    assert after(led, "unfence", broker=2) == evolve(led, fenced=ids())
    assert after(LEADERLESS, "unfence", broker=1).leader == NO_LEADER
    lossy = outcome(evolve(LEADERLESS, unclean_election=True), "unfence", broker=1)
    assert (lossy.state.leader, lossy.state.isr, lossy.state.recovering) == (1, ids(1), True)
    assert lossy.event.unclean


def test_the_last_known_leader_returns_uncleanly() -> None:
    """With ISR and ELR empty the last known leader may lead although the topic forbids unclean election."""
    found = outcome(evolve(LEADERLESS, last_known_elr=AtMostOne(1)), "unfence", broker=1)
    assert (found.state.leader, found.state.isr, found.state.last_known_elr) == (1, ids(1), AtMostOne())
    assert (found.state.recovering, found.event.last_known, found.event.unclean) == (True, True, True)


def test_controlled_shutdown_moves_leadership_and_stays() -> None:
    """The broker leaves ISR and leadership, is not fenced, and only a restart ends its shutdown."""
    found = after(HEALTHY, "controlled_shutdown", broker=0)
    assert (found.leader, found.isr, found.shutting_down, found.fenced) == (1, ids(1, 2), ids(0), ids())
    fenced = after(found, "fence", broker=0)
    assert after(fenced, "unfence", broker=0).shutting_down == ids(0)
    assert after(fenced, "new_incarnation", broker=0, clean=True, dirs=ids(0)).shutting_down == ids()


def test_a_clean_restart_keeps_eligibility() -> None:
    """Below min ISR a cleanly restarted ISR member is fenced, and eligible."""
    found = after(evolve(HEALTHY, isr=ids(0)), "new_incarnation", broker=0, clean=True, dirs=ids(0))
    assert (found.isr, found.elr, found.leader, found.fenced) == (ids(), ids(0), NO_LEADER, ids(0))


def test_an_unclean_restart_loses_eligibility() -> None:
    """An unclean stop takes the broker out of ISR and ELR, both when it is in the one and in the other."""
    in_isr = after(evolve(HEALTHY, isr=ids(0)), "new_incarnation", broker=0, clean=False, dirs=ids(0))
    assert (in_isr.isr, in_isr.elr, in_isr.leader) == (ids(), ids(), NO_LEADER)
    assert in_isr.last_known_elr == AtMostOne(0)
    state = evolve(HEALTHY, isr=ids(0), elr=ids(1, 2))
    assert after(state, "new_incarnation", broker=2, clean=False, dirs=ids(0)).elr == ids(1)
    assert after(state, "new_incarnation", broker=2, clean=True, dirs=ids(0)).elr == ids(1, 2)
    assert after(state, "new_incarnation", "kafka-4.0", broker=2, clean=True, dirs=ids(0)).elr == ids(1)


def test_a_new_incarnation_leaves_the_isr_also_without_elr() -> None:
    """KAFKA-18106 (B6): as found, below ELR versions the fenced newcomer stays leader and ISR member."""
    state = evolve(HEALTHY, elr_enabled=False)
    arguments = {"broker": 0, "clean": True, "dirs": ids(0)}
    found, mended = (after(state, "new_incarnation", rules, **arguments) for rules in ("kafka-4.0", "fixed"))
    assert (found.leader, found.isr, found.fenced) == (0, ids(0, 1, 2), ids(0))
    assert (mended.leader, mended.isr, mended.fenced) == (1, ids(1, 2), ids(0))


def test_unregistering_removes_the_broker_everywhere() -> None:
    """The broker leaves ISR, ELR, leadership, fencing and its directories."""
    found = after(evolve(HEALTHY, isr=ids(0), elr=ids(1), fenced=ids(1)), "unregister", broker=1)
    assert (found.registered, found.fenced, found.elr) == (ids(0, 2), ids(), ids())
    assert found.online_dirs[1] == ids()
    leader = after(HEALTHY, "unregister", broker=0)
    assert (leader.leader, leader.isr, leader.registered) == (1, ids(1, 2), ids(1, 2))


def test_an_assignment_to_a_live_directory_moves_only_the_replica() -> None:
    """The sender's entry changes; leader and ISR stay."""
    state = evolve(HEALTHY, online_dirs=(ids(0, 1),) * BROKERS)
    found = outcome(state, "assign", broker=1, directory=D1)
    assert found.state == evolve(state, directories=dirs(D0, D1, D0))
    assert outcome(state, "assign", broker=1, directory=D0).event.records == 0


def test_an_assignment_to_a_dead_directory_ends_leadership() -> None:
    """A replica in an offline directory leaves ISR and leadership; as found in a second record."""
    for rules, records in (("kafka-4.0", 2), ("fixed", 1)):
        found = outcome(HEALTHY, "assign", rules, broker=0, directory=D1)
        assert (found.state.leader, found.state.isr, found.state.directories) == (1, ids(1, 2), dirs(D1, D0, D0))
        assert found.event.records == records


def test_alter_partition_sets_the_isr() -> None:
    """A shrink below min ISR fills the ELR, an expansion to it empties it; RECOVERING ends on request."""
    shrunk = after(HEALTHY, "alter_partition", isr=ids(0), recovering=False)
    assert (shrunk.isr, shrunk.elr, shrunk.leader) == (ids(0), ids(1, 2), 0)
    grown = after(shrunk, "alter_partition", isr=ids(0, 2), recovering=False)
    assert (grown.isr, grown.elr) == (ids(0, 2), ids())
    marked = evolve(HEALTHY, isr=ids(0), recovering=True)
    assert after(marked, "alter_partition", isr=ids(0), recovering=True) == marked
    assert after(marked, "alter_partition", isr=ids(0, 1), recovering=False).recovering is False


@pytest.mark.parametrize(
    ("changes", "isr", "recovering", "conjunct"),
    [
        ({}, ids(1), False, "ISR holds the leader"),
        ({"replicas": replicas(0, 1)}, ids(0, 2), False, "ISR holds replicas only"),
        ({"recovering": True}, ids(0, 1), True, "a RECOVERING partition has one member"),
        ({}, ids(0), True, "RECOVERING is not requested anew"),
        ({"fenced": ids(2)}, ids(0, 2), False, "members are unfenced and not shutting down"),
        ({"shutting_down": ids(2)}, ids(0, 2), False, "members are unfenced and not shutting down"),
        ({"registered": ids(0, 1)}, ids(0, 2), False, "members are unfenced and not shutting down"),
    ],
)
def test_alter_partition_is_checked(changes: dict[str, Any], isr: BrokerSet, recovering: bool, conjunct: str) -> None:
    """Each check of AlterPartition refuses on its own."""
    state = evolve(HEALTHY, **changes)
    assert refused(state, "alter_partition", isr=isr, recovering=recovering) == [conjunct]


@pytest.mark.parametrize(
    ("changes", "variant"),
    [({"fenced": ids(2)}, "fenced-may-join-isr"), ({"shutting_down": ids(2)}, "shutting-down-may-join-isr")],
)
def test_members_that_a_variant_admits(changes: dict[str, Any], variant: str) -> None:
    """A variant of who may join an ISR lifts the check for those brokers, and only for those."""
    state, wanted = evolve(HEALTHY, isr=ids(0, 1), **changes), {"isr": ids(0, 1, 2), "recovering": False}
    assert refused(state, "alter_partition", f"fixed+{variant}", **wanted) == []
    assert after(state, "alter_partition", f"fixed+{variant}", **wanted).isr == ids(0, 1, 2)
    gone = evolve(state, registered=ids(0, 1), fenced=ids(), shutting_down=ids())
    assert refused(gone, "alter_partition", f"fixed+{variant}", **wanted) != []


def test_elections_on_request() -> None:
    """A preferred election seats the first replica; an unclean one ignores the topic's flag."""
    assert after(evolve(HEALTHY, leader=1), "elect_preferred").leader == 0
    assert after(evolve(HEALTHY, leader=1, isr=ids(1, 2)), "balance_timer").leader == 1
    assert refused(HEALTHY, "elect_preferred") == ["leader is not the first replica"]
    found = after(evolve(LEADERLESS, fenced=ids(0, 1)), "elect_unclean")
    assert (found.leader, found.isr, found.recovering) == (2, ids(2), True)
    assert refused(LEADERLESS, "unclean_timer") == ["topic allows unclean election"]


def test_a_designated_election_seats_the_designated() -> None:
    """Only while leaderless, only a live replica; outside ISR and ELR it counts as unclean."""
    state = evolve(LEADERLESS, fenced=ids(0))
    found = outcome(state, "elect_designated", "fixed+designated-elections", broker=2)
    assert (found.state.leader, found.state.isr, found.event.unclean, found.state.recovering) == (2, ids(2), True, True)
    why = refused(state, "elect_designated", "fixed+designated-elections", broker=0)
    assert why == ["designated broker is unfenced and its directory online"]
    why = refused(HEALTHY, "elect_designated", "fixed+designated-elections", broker=1)
    assert why == ["partition is leaderless"]


def test_a_reassignment_starts_and_completes() -> None:
    """The target comes first, then what is to be removed; once all of it is in sync, the rest goes."""
    state = evolve(HEALTHY, replicas=replicas(0, 1), isr=ids(0, 1), directories=dirs(D0, D0, UNASSIGNED))
    started = after(state, "reassign", target=replicas(2, 1))
    assert (started.replicas, started.adding, started.removing) == (replicas(2, 1, 0), ids(2), ids(0))
    assert started.directories == dirs(D0, D0, D0)
    found = outcome(started, "alter_partition", isr=ids(0, 1, 2), recovering=False)
    assert (found.state.replicas, found.state.isr, found.state.leader) == (replicas(2, 1), ids(1, 2), 2)
    assert (found.state.adding, found.state.removing) == (ids(), ids())
    assert (found.event.completed, found.event.leader_epoch_bumps) == (True, 1)


def test_a_reassignment_to_replicas_in_sync_completes_at_once() -> None:
    """Dropping an in-sync replica needs one record, which raises the leader epoch."""
    found = outcome(HEALTHY, "reassign", target=replicas(0, 1))
    assert (found.state.replicas, found.state.isr, found.state.removing) == (replicas(0, 1), ids(0, 1), ids())
    assert (found.event.records, found.event.leader_epoch_bumps, found.state.leader) == (1, 1, 0)
    assert found.state.directories == dirs(D0, D0, UNASSIGNED)


def test_a_reassignment_never_elects_uncleanly() -> None:
    """Even where the topic allows unclean election a reassignment leaves a leaderless partition leaderless."""
    state = evolve(LEADERLESS, unclean_election=True, fenced=ids(0, 1))
    found = outcome(state, "reassign", target=replicas(2, 1))
    assert (found.state.leader, found.event.unclean, found.state.removing) == (NO_LEADER, False, ids(0))


@pytest.mark.parametrize(
    ("known", "rules", "directory"),
    [(ids(0), "fixed", D0), (ids(), "fixed", MIGRATING), (ids(0, 1), "fixed", UNASSIGNED), (ids(0), "kip", UNASSIGNED)],
)
def test_a_new_replica_gets_the_only_directory(known: BrokerSet, rules: str, directory: int) -> None:
    """A new replica's directory is its broker's only one, MIGRATING without any, else UNASSIGNED; in the KIP always."""
    state = evolve(
        HEALTHY, replicas=replicas(0, 1), isr=ids(0, 1), directories=dirs(D0, D0, UNASSIGNED),
        online_dirs=(ids(0), ids(0), known),
    )  # fmt: skip
    assert after(state, "reassign", rules, target=replicas(0, 1, 2)).directories == dirs(D0, D0, directory)


def test_a_cancelled_reassignment_goes_back() -> None:
    """The original replicas remain, in the order of the running list, and the adding ones are gone."""
    running = evolve(HEALTHY, replicas=replicas(2, 1, 0), adding=ids(2), removing=ids(0), isr=ids(0, 1))
    found = after(running, "cancel")
    assert (found.replicas, found.isr, found.adding, found.removing) == (replicas(1, 0), ids(0, 1), ids(), ids())
    assert found.leader == 0
    assert refused(HEALTHY, "cancel") == ["a reassignment is in progress"]


def test_min_isr_changes_drop_the_elr() -> None:
    """KAFKA-16540 (B3): an ELR formed under the old value is dropped; as found it is kept."""
    state = evolve(HEALTHY, isr=ids(0), elr=ids(1))
    mended = outcome(state, "set_min_isr", minimum=1)
    assert (mended.state.min_insync_replicas, mended.state.elr, mended.event.records) == (1, ids(), 1)
    found = outcome(state, "set_min_isr", "kafka-4.0", minimum=1)
    assert (found.state.min_insync_replicas, found.state.elr, found.event.records) == (1, ids(1), 0)


@pytest.mark.parametrize(("minimum", "isr"), [(1, ()), (3, ()), (3, (2,))])
def test_min_isr_changes_keep_the_elr_below_the_new_value(minimum: int, isr: tuple[int, ...]) -> None:
    """While the ISR is below the new min ISR nothing is committed, so the ELR stays; releases from 4.0.0 empty it."""
    state = evolve(LEADERLESS, isr=ids(*isr), elr=ids(0, 1))
    assert after(state, "set_min_isr", minimum=minimum).elr == ids(0, 1)
    assert after(state, "set_min_isr", "kafka-4.4.0", minimum=minimum).elr == ids()


def test_an_elr_member_that_alone_is_min_isr_leaves_nobody_eligible() -> None:
    """Min ISR 1: whoever is elected may commit alone, so the other ELR member is no longer eligible; with 2 it is."""
    state = evolve(LEADERLESS, elr=ids(0, 1), min_insync_replicas=1)
    found = after(state, "unfence", broker=0)
    assert (found.leader, found.isr, found.elr) == (0, ids(0), ids())
    assert after(evolve(state, min_insync_replicas=2), "unfence", broker=0).elr == ids(1)
    assert after(state, "unfence", "kafka-4.4.0", broker=0).elr == ids(1)


@pytest.mark.parametrize(
    ("directory", "leads"), [(D0, True), (D1, False), (UNASSIGNED, True), (MIGRATING, True), (LOST, False)]
)
def test_only_replicas_in_live_directories_lead(directory: int, leads: bool) -> None:
    """A registered directory, or one not yet known, is online; a failed or lost one is not."""
    state = evolve(LEADERLESS, elr=ids(1), directories=dirs(D0, directory, D0))
    rules = "fixed+unfence-ignores-assignments"  # else a broker of which the directory is not known stays fenced
    assert after(state, "unfence", rules, broker=1).leader == (1 if leads else NO_LEADER)
