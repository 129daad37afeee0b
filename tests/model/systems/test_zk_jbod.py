"""The `zk-jbod` system: exceptions as values, the handler's steps by hand, the selector, and what can fail."""

import time
from typing import Any

import pytest

from kraftcheck.ci.terminal.machine import cache_folder
from kraftcheck.model.language.brokersets import BrokerSet
from kraftcheck.model.language.system import Outcome
from kraftcheck.model.rules.ruleset import parse
from kraftcheck.model.systems.zk_jbod.state import (
    APPEND,
    DIRECTORY,
    HALT,
    NONE,
    NOTHING,
    PARTITION,
    READ,
    WATERMARK,
    IOFailure,
    Partition,
    ZkJbod,
    decision,
    raised,
)
from kraftcheck.model.systems.zk_jbod.system import select
from kraftcheck.properties.catalogue import SYSTEMS
from kraftcheck.solvers.exploration.explore import SearchBudget, explore
from kraftcheck.solvers.program.trace import trace
from kraftcheck.solvers.program.verdict import Holds, Refuted

ZK_JBOD = SYSTEMS["zk-jbod"]

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


def test_one_log_goes_offline_alone() -> None:
    """Its directory stays in the pool and on the lists."""
    host = run(start(), "spoil_log 0 0", *OFFLINE[1:]).hosts[0]
    assert (host.pool, host.checkpoints, host.logs, host.lost, host.spoiled) == (BOTH, BOTH, (NONE,), ZERO, NOBODY)


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
