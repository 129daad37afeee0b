"""The `elections` system: each trigger on small examples, each defect as found and as mended."""

from __future__ import annotations

import random
from typing import Any

import pytest
from attrs import evolve

from model.brokersets import BrokerSet, Replicas
from model.directories import FIRST_LOCAL, LOST, MIGRATING, UNASSIGNED, DirectoryMap
from model.idlists import AtMostOne
from model.layout import Layout
from model.rules import parse
from model.system import Outcome
from model.systems.elections.state import Elections
from model.systems.elections.system import ELECTIONS, SCOPES
from model.words import EMPTY, NO_LEADER

BROKERS = 3


def ids(*members: int) -> BrokerSet:
    """A set of brokers."""
    return BrokerSet.of(members)


def replicas(*members: int) -> Replicas:
    """A replica list."""
    return Replicas.of(members, BROKERS)


def dirs(*slots: int) -> DirectoryMap:
    """Directories of the brokers."""
    return DirectoryMap(slots)


D0, D1 = FIRST_LOCAL, FIRST_LOCAL + 1

HEALTHY = Elections(
    replicas=replicas(0, 1, 2), directories=dirs(D0, D0, D0), isr=ids(0, 1, 2), elr=ids(), last_known_elr=AtMostOne(),
    removing=ids(), adding=ids(), leader=0, recovering=False, registered=ids(0, 1, 2), fenced=ids(),
    shutting_down=ids(), online_dirs=(ids(0),) * BROKERS, min_insync_replicas=2, unclean_election=False,
    elr_enabled=True,
)  # fmt: skip
"""Three replicas in sync on live brokers, min ISR 2, ELR on."""

LEADERLESS = evolve(HEALTHY, isr=ids(), leader=NO_LEADER, fenced=ids(0, 1, 2))
"""Nobody in sync, nobody alive."""


def outcome(state: Elections, action: str, rules: str = "fixed", **arguments: Any) -> Outcome:
    """What an enabled action does."""
    directories = max(2, *(len(list(some)) for some in state.online_dirs))
    setting = ELECTIONS.setting("default", {"directories": directories}, parse(rules))
    (found,) = [a for a in ELECTIONS.actions(setting) if a.name == action]
    refused = [name for name, part in found.guards(state, arguments).items() if not part]
    assert refused == [], f"{action} is not enabled"
    return found.outcome(state, arguments)


def after(state: Elections, action: str, rules: str = "fixed", **arguments: Any) -> Elections:
    """The state after an enabled action."""
    found: Elections = outcome(state, action, rules, **arguments).state
    return found


def refused(state: Elections, action: str, rules: str = "fixed", **arguments: Any) -> list[str]:
    """The conjuncts of an action's guard that fail."""
    setting = ELECTIONS.setting("default", {"directories": 2}, parse(rules))
    (found,) = [a for a in ELECTIONS.actions(setting) if a.name == action]
    return [name for name, part in found.guards(state, arguments).items() if not part]


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


@pytest.mark.parametrize(
    ("directory", "leads"), [(D0, True), (D1, False), (UNASSIGNED, True), (MIGRATING, True), (LOST, False)]
)
def test_only_replicas_in_live_directories_lead(directory: int, leads: bool) -> None:
    """A registered directory, or one not yet known, is online; a failed or lost one is not."""
    state = evolve(LEADERLESS, elr=ids(1), directories=dirs(D0, directory, D0))
    assert after(state, "unfence", broker=1).leader == (1 if leads else NO_LEADER)
