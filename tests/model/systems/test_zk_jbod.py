"""The `zk-jbod` system: exceptions as values, the handler's steps by hand, the selector, and what can fail."""

from __future__ import annotations

import re
import time
from typing import Any

import pytest
from attrs import evolve

from kraftcheck.ci.terminal.machine import cache_folder
from kraftcheck.model.language.brokersets import BrokerSet
from kraftcheck.model.language.system import Outcome
from kraftcheck.model.rules.ruleset import parse, variants
from kraftcheck.model.systems.zk_jbod.state import (
    APPEND,
    DETECTED,
    DIRECTORY,
    HALT,
    IDLE,
    NONE,
    NOTHING,
    PARTITION,
    READ,
    REMOVED,
    WATERMARK,
    IOFailure,
    Partition,
    ZkJbod,
    decision,
    raised,
)
from kraftcheck.model.systems.zk_jbod.system import select
from kraftcheck.properties.catalogue import SYSTEMS
from kraftcheck.properties.register.defects import BUGS
from kraftcheck.properties.register.verdicts import EXPECTED
from kraftcheck.solvers.exploration.explore import SearchBudget, explore
from kraftcheck.solvers.program.trace import trace
from kraftcheck.solvers.program.verdict import Holds, Refuted
from tests.shared.places import DOCS
from tests.shared.samples import few
from tests.shared.successors import agree_with_ints

ZK_JBOD = SYSTEMS["zk-jbod"]

PAGE = DOCS / "explanation" / "systems" / "zk-jbod.md"
NOBODY, ZERO, ONE, BOTH = (BrokerSet(mask) for mask in range(4))
ALL = {
    "jobs": 1, "cleaner": 1, "disk-failures": 4, "log-failures": 2, "glitches": 2, "stops": 2, "controller-failures": 2,
    "reassignments": 2, "repairs": 2,
}  # fmt: skip


def start(**bounds: int) -> ZkJbod:
    """The initial state with every budget, one partition unless told otherwise."""
    setting = ZK_JBOD.setting("tiny", {**ALL, "partitions": 1, **bounds}, parse("kip"))
    return next(iter(ZK_JBOD.initial(setting)))


def do(state: ZkJbod, name: str, rules: str = "fixed", /, **arguments: Any) -> Outcome:
    """One action, which must be enabled."""
    bounds = {**ALL, "partitions": len(state.partitions), "brokers": len(state.hosts)}
    setting = ZK_JBOD.setting("tiny", bounds, parse(rules))
    action = next(a for a in ZK_JBOD.actions(setting) if a.name == name)
    assert action.enabled(state, arguments), (name, action.guards(state, arguments))
    return action.outcome(state, arguments)


SECOND = {"break_disk": "directory", "repair": "directory", "write_job": "directory"}
ALONE = ("elect", "commit", "reassign", "end_reassignment")


def run(state: ZkJbod, *steps: str, rules: str = "fixed") -> ZkJbod:
    """Steps as `name` or `name broker` or `name broker second kind`, one after another."""
    for text in steps:
        name, *numbers = text.split()
        wanted = ("partition",) if name in ALONE else ("broker", SECOND.get(name, "partition"), "kind")
        state = do(state, name, rules, **dict(zip(wanted, map(int, numbers), strict=False))).state
    return state


OFFLINE = ("break_disk 0 0", "fail_operation 0 0 0", "stop_cleaning 0", "cut_checkpoints 0", "remove_logs 0")


@pytest.mark.parametrize(
    ("kind", "available", "transient", "rules", "wanted"),
    [
        (APPEND, True, False, "fixed", PARTITION), (READ, True, False, "fixed", PARTITION),
        (WATERMARK, True, False, "fixed", DIRECTORY), (APPEND, False, False, "fixed", DIRECTORY),
        (READ, False, False, "fixed", DIRECTORY), (WATERMARK, False, False, "fixed", DIRECTORY),
        (APPEND, True, True, "fixed", NOTHING), (APPEND, False, True, "fixed", DIRECTORY),
        (APPEND, True, True, "kip", PARTITION), (WATERMARK, True, True, "kip", DIRECTORY),
        (READ, False, False, "kip", NOTHING), (READ, True, True, "kip", NOTHING),
        (APPEND, True, False, "fixed+disk-errors-halt", HALT), (READ, True, True, "fixed+disk-errors-halt", HALT),
    ],
)  # fmt: skip
def test_exceptions_decide(kind: int, available: bool, transient: bool, rules: str, wanted: int) -> None:
    """The table of the hierarchy: a lost directory goes whole, a lost log alone, and a file without a log whole."""
    assert decision(raised(kind, 3, 1), available, transient, parse(rules).zk_jbod) == wanted


def test_exceptions_carry_their_context() -> None:
    """Appends and reads know their log, a high-watermark file only its directory."""
    assert raised(APPEND, 3, 1) == IOFailure(APPEND, 3, 1)
    assert raised(WATERMARK, 3, 1) == IOFailure(WATERMARK, NONE, 1)


@pytest.mark.parametrize(
    ("leader", "isr", "broker", "live", "rules", "wanted"),
    [
        (0, BOTH, 0, BOTH, "fixed", (1, ONE)),  # a) the leader asked
        (1, BOTH, 0, BOTH, "fixed", (1, ONE)),  # b) a follower asked
        (0, BOTH, 0, ZERO, "fixed", (NONE, ONE)),  # the only other member does not live
        (0, BOTH, 0, ZERO, "fixed+selector-seats-dead-head", (1, ONE)),  # and leads, as the document has it literally
        (0, ZERO, 0, BOTH, "fixed", (NONE, NOBODY)),  # the last member lost its log
        (0, ZERO, 0, BOTH, "kip", (NONE, ZERO)),  # and stays, as OfflinePartitionLeaderSelector leaves it
        (1, ONE, 0, BOTH, "fixed", (1, ONE)),  # who asked was not in the ISR
        (NONE, ONE, 0, BOTH, "fixed", (1, ONE)),  # an offline partition whose member has come back
    ],
)
def test_the_selector(
    leader: int, isr: BrokerSet, broker: int, live: BrokerSet, rules: str, wanted: tuple[int, BrokerSet]
) -> None:
    """RestartedPartitionsLeaderSelector: leader and ISR after a request; the assignment stays."""
    chosen = select(Partition(leader, isr, BOTH, BOTH, NOBODY, False), broker, live, parse(rules).zk_jbod)
    assert (chosen.leader, chosen.isr, chosen.assigned) == (*wanted, BOTH)
    assert chosen.restarted.has(broker)


def test_a_directory_goes_offline_in_steps() -> None:
    """Cleaning stops, then checkpoints are cut, then logs and directory leave the pools."""
    begun = run(start(), "begin_cleaning 0 0", *OFFLINE[:2])
    assert (begun.hosts[0].stage, begun.hosts[0].cleaning, begun.hosts[0].directory) == (DETECTED, 0, 0)
    stopped = run(begun, "stop_cleaning 0")
    assert (stopped.hosts[0].cleaning, stopped.hosts[0].checkpoints) == (NONE, BOTH)
    cut = run(stopped, "cut_checkpoints 0")
    assert (cut.hosts[0].checkpoints, cut.hosts[0].pool) == (ONE, BOTH)
    removed = run(cut, "remove_logs 0").hosts[0]
    assert (removed.stage, removed.pool, removed.logs, removed.lost) == (REMOVED, ONE, (NONE,), ZERO)


def test_one_log_goes_offline_alone() -> None:
    """Its directory stays in the pool and on the lists."""
    host = run(start(), "spoil_log 0 0", *OFFLINE[1:]).hosts[0]
    assert (host.pool, host.checkpoints, host.logs, host.lost, host.spoiled) == (BOTH, BOTH, (NONE,), ZERO, NOBODY)


def test_a_restart_leads_on_and_returns() -> None:
    """The other replica leads, the lost one starts anew in the directory that is left, and joins again."""
    told = run(start(), *OFFLINE, "enqueue 0")
    assert (told.node, told.hosts[0].stage) == ((ZERO, NOBODY), IDLE)
    led = run(told, "read_requests", "restart 0 0", "remove_requests")
    p = led.partitions[0]
    assert (p.leader, p.isr, p.holds, led.node) == (1, ONE, ONE, (NOBODY, NOBODY))
    made = do(led, "recreate", broker=0, partition=0)
    assert (made.state.hosts[0].logs, made.event.broker, made.event.wrote) == ((1,), 0, ONE)
    back = run(made.state, "rejoin 0 0")
    assert (back.partitions[0].isr, back.partitions[0].holds) == (BOTH, BOTH)


def test_a_replica_that_is_not_assigned_does_not_return() -> None:
    """LeaderAndIsr goes to assigned replicas: a selector that drops the replica keeps its log from being made anew."""
    lost = run(start(), *OFFLINE, "enqueue 0", "read_requests", "restart 0 0", rules="fixed+restart-drops-replica")
    setting = ZK_JBOD.setting("tiny", {**ALL, "partitions": 1}, parse("fixed"))
    recreate = next(a for a in ZK_JBOD.actions(setting) if a.name == "recreate")
    kept = evolve(lost, partitions=(evolve(lost.partitions[0], assigned=BOTH),))
    assert [recreate.enabled(state, {"broker": 0, "partition": 0}) for state in (lost, kept)] == [False, True]


def test_concurrent_writers_lose_an_update() -> None:
    """Both read the empty node; the second to write erases the first one's request. A queue keeps both."""
    steps = [text.replace(" 0", " 1", 1) for text in OFFLINE]
    both = run(start(), *OFFLINE, *steps)
    lost = run(both, "read_node 0", "read_node 1", "write_node 0", "write_node 1", rules="kip")
    assert lost.node == (NOBODY, ZERO)
    assert run(both, "enqueue 0", "enqueue 1").node == (ZERO, ZERO)


def test_the_controller_removes_what_it_has_read() -> None:
    """A second request of the same broker is another node of the queue; a shared node is emptied."""
    told = run(start(), *OFFLINE, "enqueue 0", "read_requests", "restart 0 0", "recreate 0 0")
    again = [text.replace("break_disk 0 0", "break_disk 0 1") for text in OFFLINE]
    twice = run(told, *again, "enqueue 0", "remove_requests")
    assert (twice.node, twice.controller.working) == ((ZERO, NOBODY), False)
    assert run(evolve(twice, controller=told.controller), "remove_requests", rules="kip").node == (NOBODY, NOBODY)


def test_jobs_race_with_the_handler() -> None:
    """A job that has read its directories writes to one that is offline by now; in the lock it sees the new list."""
    late = run(start(), "begin_job 0", *OFFLINE, rules="kip")
    wrote = do(late, "write_job", "kip", broker=0, directory=0)
    assert (wrote.event.wrote, late.hosts[0].handled()) == (ZERO, ZERO)
    assert do(run(start(), *OFFLINE), "run_job", broker=0).event.wrote == ONE


def test_a_replaced_disk_is_empty() -> None:
    """What was on it is asked for as if it had failed; made unasked, the empty log counts as the leader's."""
    known = run(start(), *OFFLINE, "enqueue 0", "repair 0 0").hosts[0]
    assert (known.stage, known.pool, known.broken, known.logs) == (IDLE, BOTH, NOBODY, (NONE,))
    unknown = run(start(), "break_disk 0 0", "repair 0 0")
    assert (unknown.hosts[0].stage, unknown.hosts[0].lost, unknown.hosts[0].logs) == (REMOVED, ZERO, (NONE,))
    assert not unknown.works(0, 0)
    filled = run(start(), "break_disk 0 0", "repair 0 0", rules="fixed+repaired-disk-filled")
    assert (filled.works(0, 0), filled.partitions[0].leader, filled.partitions[0].holds) == (True, 0, ONE)


def test_a_reassigned_partition_waits() -> None:
    """Its request stays in the queue until the reassignment ends; the document's controller removes it."""
    told = run(start(), *OFFLINE, "enqueue 0", "reassign 0")
    setting = ZK_JBOD.setting("tiny", {**ALL, "partitions": 1}, parse("fixed"))
    read = next(a for a in ZK_JBOD.actions(setting) if a.name == "read_requests")
    assert not read.enabled(told, {})
    assert run(told, "end_reassignment 0", "read_requests").controller.todo == (ZERO, NOBODY)
    assert run(told, "read_requests", "remove_requests", rules="kip").node == (NOBODY, NOBODY)


@pytest.mark.parametrize(("rules", "wanted"), [("fixed", False), ("fixed+controller-works-without-lock", True)])
def test_the_controller_restarts_in_its_lock(rules: str, wanted: bool) -> None:
    """While it is at work it drops no broker, elects nobody, and begins and ends no reassignment."""
    working = run(start(), *OFFLINE, "enqueue 0", "read_requests", "stop 1")
    busy = evolve(working.partitions[0], leader=NONE, busy=True)
    setting = ZK_JBOD.setting("tiny", {**ALL, "partitions": 1}, parse(f"{rules}+last-member-stays-in-isr"))
    cases: dict[str, tuple[ZkJbod, dict[str, int]]] = {
        "drop_broker": (working, {"broker": 1, "partition": 0}),
        "reassign": (working, {"partition": 0}),
        "elect": (evolve(working, partitions=(busy,)), {"partition": 0}),
        "end_reassignment": (evolve(working, partitions=(busy,)), {"partition": 0}),
    }
    actions = {a.name: a for a in ZK_JBOD.actions(setting)}
    assert {name: actions[name].enabled(*case) for name, case in cases.items()} == dict.fromkeys(cases, wanted)
    done = evolve(working, controller=start().controller)
    assert actions["drop_broker"].enabled(done, {"broker": 1, "partition": 0})


def test_a_glitch_is_tried_again() -> None:
    """The mended broker goes on; the document's restarts a partition whose log is whole."""
    assert run(start(), "glitch 0 0 0").hosts[0].stage == IDLE
    assert run(start(), "glitch 0 0 0", rules="kip").hosts[0].stage == DETECTED


def test_a_broker_that_stops_is_led_away_from() -> None:
    """The next live member leads; the last member stays in the ISR, as its disk has everything."""
    gone = run(start(), "stop 0", "drop_broker 0 0")
    assert (gone.partitions[0].leader, gone.partitions[0].isr) == (1, ONE)
    both = run(gone, "stop 1", "drop_broker 1 0")
    assert (both.partitions[0].leader, both.partitions[0].isr) == (NONE, ONE)


def test_every_choice_is_in_the_matrix() -> None:
    """Each choice has a row of the matrix, and each variant that a property names breaks it in a row."""
    rows = [bug for bug in BUGS if bug.system == "zk-jbod"]
    assert {bug.variant for bug in rows} == {n for n, f in variants().items() if f.metadata["group"] == "zk-jbod"}
    shown = {(claim, bug.variant) for bug in rows for claim in bug.refutes}
    settings = [ZK_JBOD.setting(row[1], rules=parse(row[2])) for row in EXPECTED if row[0] == "zk-jbod"]
    named = {(c.id, variant) for setting in settings for c in ZK_JBOD.properties(setting) for variant in c.refuted_by}
    assert named <= shown


@pytest.mark.parametrize(("scope", "rules", "every"), [("controller", "fixed", 2), ("jobs", "kip", 50)])
def test_machine_code_agrees_with_ints(scope: str, rules: str, every: int) -> None:
    """All action instances have the same result both ways; sampled: every n-th reachable state, in found order."""
    program = trace(ZK_JBOD, ZK_JBOD.setting(scope, rules=parse(rules)))
    states = list(explore(program, SearchBudget(threads=1, cache_dir=cache_folder()), clock=time.perf_counter).states())
    assert len(states[::every]) > 100
    agree_with_ints(program, few(states[::every]))


def test_the_page_tells_the_lengths() -> None:
    """The table of promises has the lengths of the expected verdicts; mended, nothing is broken."""
    assert not any(odd for row, odd in EXPECTED.items() if row[0] == "zk-jbod" and row[2] == "fixed")
    table = PAGE.read_text(encoding="utf-8").split("| promise | property |")[1].split("\n\n")[0].splitlines()[2:]
    assert len(table) == 12
    for line in table:
        _, claim, cell = [cell.strip().strip("`") for cell in line.strip("|").split("|")]
        rows = [odd for row, odd in EXPECTED.items() if row[0] == "zk-jbod" and row[2] == "kip"]
        lengths = [int(re.sub("refuted ", "", odd[claim])) for odd in rows if claim in odd]
        assert cell == (f"broken in {min(lengths)}" if lengths else "kept"), claim


@pytest.mark.parametrize(("variant", "depth"), [("", None), ("+restart-order-outlives-return", 22)])
def test_a_controller_that_reads_again_restarts_again(variant: str, depth: int | None) -> None:
    """A replica that is restarted twice and fails again loses records, unless its return ends the order."""
    bounds = {"partitions": 1, "directories": 3, "disk-failures": 2, "stops": 1, "controller-failures": 1}
    program = trace(ZK_JBOD, ZK_JBOD.setting("tiny", bounds, parse(f"fixed{variant}")))
    found = explore(program, SearchBudget(threads=1, cache_dir=cache_folder(), keep=False), clock=time.perf_counter)
    judged = {v.claim: v for v in found.verdicts}
    assert isinstance(judged["new-leader-has-records"].verdict, Refuted if depth else Holds)
    broken = {name: v.depth for name, v in judged.items() if isinstance(v.verdict, Refuted)}
    assert broken == ({"new-leader-has-records": depth} if depth else {})
