"""Smaller systems, as `elr-index`, `future-logs` and `sessions`: steps by hand, and the controller in full."""

import time
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from kraftcheck.model.controller.alter_configs import alter_config
from kraftcheck.model.controller.brokers import (
    RegistrationContext,
    RegistrationRequest,
    expire_session,
    heartbeat,
    register_broker,
    taken_over,
    unregister,
)
from kraftcheck.model.controller.commits import replay_record
from kraftcheck.model.controller.errors import Resignation
from kraftcheck.model.controller.heartbeat import Wish
from kraftcheck.model.controller.state import MIN_ISR, TOPIC, ConfigRecord, Controller
from kraftcheck.model.controller.topics import delete_topics
from kraftcheck.model.language.brokersets import BrokerSet
from kraftcheck.model.language.system import Outcome
from kraftcheck.model.records.records import BrokerRegistrationChangeRecord
from kraftcheck.model.rules.ruleset import RELEASES, RuleSet, parse
from kraftcheck.model.systems.elr_index.state import ElrIndexed
from kraftcheck.model.systems.elr_index.system import ELR_INDEX
from kraftcheck.model.systems.features.system import FEATURES
from kraftcheck.model.systems.features.system import Cluster as Features
from kraftcheck.model.systems.future_logs.system import FAILED, FETCHING, FUTURE_LOGS, FutureLogs
from kraftcheck.model.systems.heartbeats.system import HEARTBEATS, Beating
from kraftcheck.model.systems.images.system import IMAGES, Joining
from kraftcheck.model.systems.sessions.system import SESSIONS, Sessions
from kraftcheck.properties.catalogue import SYSTEMS
from kraftcheck.solvers.exploration.explore import SearchBudget, explore
from kraftcheck.solvers.program.trace import trace
from kraftcheck.solvers.program.verdict import Holds, Refuted
from tests.model.controller.controllers import beat, cluster, directory, play, with_topic
from tests.shared.elections import HEALTHY, ids, refused, replicas


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


WITH_CLEAR_ELR = [name for name in RELEASES if not RELEASES[name].partition.min_isr_change_keeps_elr]


def start(rules: str) -> ElrIndexed:
    """A topic on both brokers with ELR on and two replicas wanted in sync."""
    setting = ELR_INDEX.setting("tiny", rules=parse(rules))
    first = next(s for s in ELR_INDEX.initial(setting) if s.controller.min_insync_replicas == 2)
    return evolve(first, controller=evolve(first.controller, elr_enabled=True))


def taken(rules: str, *steps: tuple[str, dict[str, object]]) -> tuple[ElrIndexed, bool]:
    """The state after some actions, and whether the controller resigned over the last."""
    setting = ELR_INDEX.setting("tiny", rules=parse(rules))
    actions = {action.name: action for action in ELR_INDEX.actions(setting)}
    state, resigned = start(rules), False
    for name, arguments in steps:
        assert actions[name].enabled(state, arguments) is True
        done = actions[name].outcome(state, arguments)
        assert isinstance(done, Outcome)
        state, resigned = done.state, bool(done.event.resigned)
    return state, resigned


FENCE, LOWER, DELETE = ("fence", {"broker": 1}), ("set_min_isr", {"minimum": 1}), ("delete_topic", {})
GONE = ("unregister", {"broker": 1})


def in_full(rules: str) -> Controller:
    """The controller in full after the same: broker 1 is fenced, min ISR is lowered, the topic is deleted."""
    rule_set = parse(rules)
    controller = with_topic(cluster(2, elr_enabled=True, clear_elr=True), "foo", (0, 1), min_insync_replicas="2")
    controller = play(controller, expire_session(controller, 1, rule_set), rule_set)
    lowered = alter_config(controller, ConfigRecord(TOPIC, "foo", MIN_ISR, "1"), rule_set)
    controller = play(controller, lowered, rule_set)
    return play(controller, delete_topics(controller, (controller.topic_id("foo") or "",)), rule_set)


@pytest.mark.parametrize("rules", ["kafka-4.4.0", "kafka-4.4.0-cleared-elr-stays-indexed"])
def test_the_controller_in_full_resigns_alike(rules: str) -> None:
    """Where the system says that the controller resigns, the controller with topics and an index does."""
    state, resigned = taken(rules, FENCE, LOWER, DELETE, GONE)
    assert resigned == bool(in_full(rules).elr_index.topics_of(1))
    assert resigned == ("-" not in rules.removeprefix("kafka-"))
    if resigned:
        assert state.dead.has(1)
        with pytest.raises(Resignation):
            unregister(in_full(rules), 1, parse(rules))
    else:
        assert len(unregister(in_full(rules), 1, parse(rules)).records) == 1


def test_a_deletion_unlists_those_in_an_elr() -> None:
    """A broker that is eligible again when its topic is deleted is listed no more; nor is any after a snapshot."""
    state, _ = taken("kafka-4.4.0", FENCE, LOWER)
    assert state.left.same(BrokerSet.of([1]))
    again = evolve(state, controller=evolve(state.controller, elr=BrokerSet.of([1])))
    setting = ELR_INDEX.setting("tiny", rules=parse("kafka-4.4.0"))
    delete, snapshot = (a for a in ELR_INDEX.actions(setting) if a.name in ("delete_topic", "load_snapshot"))
    assert delete.outcome(again, {}).state.dead.is_empty()
    deleted = delete.outcome(state, {}).state
    assert deleted.dead.has(1)
    assert snapshot.outcome(deleted, {}).state.dead.is_empty()


@pytest.mark.slow
@pytest.mark.parametrize("release", WITH_CLEAR_ELR)
def test_each_release_with_clear_elr_resigns(release: str, tmp_path: Path) -> None:
    """The explorer finds the resignation from the rules of each release, and that the mend alone ends it."""
    assert verdict(release, tmp_path) == 5
    assert verdict(f"{release}-cleared-elr-stays-indexed", tmp_path) is None


def verdict(rules: str, code: Path) -> int | None:
    """The length of the shortest way to a resignation; None where there is none."""
    system = SYSTEMS["elr-index"]
    at = system.setting("tiny", rules=parse(rules))
    found = explore(trace(system, at), SearchBudget(threads=1, cache_dir=code, keep=False), clock=time.perf_counter)
    (stays,) = (v.verdict for v in found.verdicts if v.claim == "controller-stays")
    assert isinstance(stays, Holds | Refuted)
    return len(stays.trace.steps) if isinstance(stays, Refuted) else None


@pytest.mark.parametrize(("rules", "times"), [
    ("fixed", (2, 2)), ("kafka-4.4.0", (2, 2)), ("kafka-4.0.0", (4, 5)), ("fixed+wait-exceeds-session", (10, 2)),
])  # fmt: skip
def test_a_wait_and_a_delay_are_an_interval_each(rules: str, times: tuple[int, int]) -> None:
    """At Kafka's defaults, 9 s and 2 s: 4.0.0 spends a session on them (KAFKA-19294)."""
    assert Beating(HEARTBEATS.setting("defaults", rules=parse(rules))).times() == times


@pytest.mark.parametrize(("rules", "silence"), [("fixed", 0), ("fixed+queued-heartbeat-is-no-contact", 3)])
def test_a_heartbeat_in_the_queue_is_a_contact(rules: str, silence: int) -> None:
    """KAFKA-15019: it counts as soon as the controller has it, not when it is processed."""
    setting = HEARTBEATS.setting("tiny", rules=parse(rules))
    (state,) = HEARTBEATS.initial(setting)
    do = Beating(setting)
    for _ in range(3):
        state = do.tick(state)
    assert do.send(state, 0).silence == silence


@pytest.mark.parametrize(("rules", "begun"), [("fixed", 1), ("kafka-4.4.0", 0), ("kafka-3.9", 0)])
def test_what_a_failover_aborts_is_begun_anew(rules: str, begun: int) -> None:
    """Each release takes the level in the first transaction for that of the log, and aborts it (KIP-868)."""
    setting = FEATURES.setting("bootstrap", rules=parse(rules))
    do, state = Features(setting), FEATURES.initial(setting)[0]
    state = do.activate(do.stop(do.activate(state, 0), 0), 1)
    assert (state.active, state.level, state.begun) == (1, 0, begun)
    assert do.end(do.activate(FEATURES.initial(setting)[0], 0)).level == 1


@pytest.mark.parametrize(("rules", "starts"), [("fixed", True), ("fixed+unnamed-log-stops-start", False)])
def test_a_log_that_names_no_topic_is_stray(rules: str, starts: bool) -> None:
    """KAFKA-16814: after a crash such a log keeps a broker from starting, after a stop none is there."""
    setting = IMAGES.setting("crashes", rules=parse(rules))
    do, state = Joining(setting), IMAGES.initial(setting)[1]
    state = do.publish(do.create(state, 1))
    assert all(do.may_start(do.crash(state)).values()) == starts
    assert all(do.may_start(do.stop(state)).values())
    assert [log.held for log in do.start(do.crash(state)).logs] == [True, False]


Step = tuple[str, int] | tuple[str]


def walked(rules: str, *steps: Step) -> Sessions:
    """The state after some actions from the start."""
    setting = SESSIONS.setting("tiny", rules=parse(rules))
    actions = {action.name: action for action in SESSIONS.actions(setting)}
    (state,) = SESSIONS.initial(setting)
    for name, *broker in steps:
        arguments = {"broker": broker[0]} if broker else {}
        assert actions[name].enabled(state, arguments), name
        done = actions[name].outcome(state, arguments)
        state = done.state if isinstance(done, Outcome) else done
    return state


ROUND: tuple[Step, ...] = (("beat", 1), ("beat", 0), ("pass_round",))
"""Both brokers send their heartbeat, the one that follows first."""


@pytest.mark.parametrize(("rules", "gone"), [("fixed", True), ("fixed+shutdown-offset-moves", False)])
def test_a_leader_may_stop_after_three_rounds(rules: str, gone: bool) -> None:
    """The other broker passes the offset of the first request two rounds later, and never one that moves."""
    before = walked(rules, ("stop", 0), *ROUND, *ROUND, ("beat", 1))
    assert (before.leader, before.brokers[0].up) == (1, True)
    after = walked(rules, ("stop", 0), *ROUND, *ROUND, ("beat", 1), ("beat", 0))
    assert after.brokers[0].up is not gone


def test_a_registration_counts_from_its_own_record() -> None:
    """A process that has just registered is unfenced two rounds later, and by the defect not even then."""
    steps: tuple[Step, ...] = (
        ("die", 1), ("beat", 0), ("pass_round",), ("beat", 0), ("pass_round",), ("expire", 1), ("register", 1),
        *ROUND, *ROUND, ("beat", 1),
    )  # fmt: skip
    assert not walked("fixed", *steps).brokers[1].fenced
    assert walked("fixed+unfence-needs-log-end", *steps).brokers[1].fenced


def offset_waited_for(rules: RuleSet) -> int | None:
    """What the controller in full waits for after two heartbeats of a leader that shuts down."""
    controller = with_topic(cluster(2), "foo", (0, 1))
    for broker in (0, 1):
        controller = play(controller, heartbeat(controller, beat(broker, offset=0), rules), rules)
    for _ in range(2):
        end = controller.image.next_offset - 1
        controller = play(controller, heartbeat(controller, beat(0, shutdown=True, offset=end), rules), rules)
        grown = BrokerRegistrationChangeRecord(1, 101)
        controller = replay_record(controller, grown, rules)
    first = controller.soft.sessions.shutdown_offset(0)
    return None if first is None else first - end


def test_the_controller_in_full_keeps_the_first_offset() -> None:
    """It waits for the end of the log at the first request; by the defect for one later."""
    right, wrong = offset_waited_for(parse("fixed")), offset_waited_for(parse("fixed+shutdown-offset-moves"))
    assert right is not None
    assert wrong is not None
    assert right < wrong


@pytest.mark.parametrize(("rules", "fenced"), [("fixed", False), ("fixed+unfence-needs-log-end", True)])
def test_the_controller_in_full_unfences_at_the_registration(rules: str, fenced: bool) -> None:
    """A broker that has applied its registration is unfenced though the log has gone on; by the defect it is not."""
    controller = cluster(2, fenced=(0,))
    request = evolve(beat(0), wish=Wish(False, False, 0))
    assert heartbeat(controller, request, parse(rules)).response.fenced is fenced


@pytest.mark.parametrize(("rules", "epoch"), [("fixed", 100), ("fixed+reregistration-bumps-epoch", 7)])
def test_the_controller_in_full_keeps_the_epoch_of_a_process(rules: str, epoch: int) -> None:
    """A process that registers again keeps its epoch, and by the defect gets another."""
    request = RegistrationRequest("cluster", 0, "process-0", dirs=(directory(0),))
    outcome = register_broker(cluster(1), request, RegistrationContext(new_epoch=7), parse(rules))
    assert outcome.response == epoch


@pytest.mark.parametrize(
    ("variant", "heard"), [("", {1}), ("+takeover-hears-fenced-brokers", {0, 1}), ("+takeover-hears-nobody", set())]
)
def test_the_controller_in_full_takes_over(variant: str, heard: set[int]) -> None:
    """Where sessions are by contact, a new controller has heard of unfenced brokers, and by each defect of others."""
    after = taken_over(cluster(2, fenced=(0,)), parse(f"fixed+sessions-by-contact{variant}").controller)
    assert {broker for broker, _ in after.soft.contacts.times} == heard


def moved(rules: str, *steps: str) -> FutureLogs:
    """A replica with one committed record after some steps of a move; a new leader epoch keeps it."""
    setting = FUTURE_LOGS.setting("tiny", rules=parse(rules))
    actions = {action.name: action for action in FUTURE_LOGS.actions(setting)}
    (state,) = FUTURE_LOGS.initial(setting)
    for name in ("append", "advance", *steps):
        arguments = {"kept": 1} if name == "begin_epoch" else {}
        assert actions[name].enabled(state, arguments), name
        state = actions[name].effect(state, **arguments)
    return state


@pytest.mark.parametrize(("variant", "steps"), [
    ("move-keeps-leader-epoch", ("move", "begin_epoch", "copy")), ("move-resumes-at-watermark", ("move", "copy")),
])  # fmt: skip
def test_a_fetcher_gives_up_where_it_is_refused(variant: str, steps: tuple[str, ...]) -> None:
    """KAFKA-9654 and KAFKA-9087: an older leader epoch, and an offset beyond the future log's end, are errors."""
    assert moved("fixed", *steps).fetcher == FETCHING
    assert moved(f"fixed+{variant}", *steps).fetcher == FAILED


@pytest.mark.parametrize(("rules", "paused"), [("fixed", 0), ("kafka-4.1.2", 1), ("kafka-4.2.0", 0)])
def test_a_second_move_is_paused_for_once(rules: str, paused: int) -> None:
    """KAFKA-19458: up to 4.1.2 cleaning stays paused after a move that replaced another."""
    assert moved(rules, "move", "move_elsewhere", "copy", "promote").paused == paused
