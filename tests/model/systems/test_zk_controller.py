"""The `zk-controller` system: its procedures by hand, its cost, and the promises that can fail."""

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
from kraftcheck.model.systems.zk_controller.control import decide
from kraftcheck.model.systems.zk_controller.state import (
    AWAKE,
    NOTHING,
    READ,
    STARTING,
    WATCHING,
    Decision,
    ZkController,
)
from kraftcheck.properties.catalogue import SYSTEMS
from kraftcheck.properties.register.defects import BUGS
from kraftcheck.properties.register.verdicts import EXPECTED
from kraftcheck.solvers.exploration.explore import SearchBudget, explore
from kraftcheck.solvers.program.trace import trace
from kraftcheck.solvers.program.verdict import Holds
from tests.shared.places import DOCS
from tests.shared.samples import few
from tests.shared.successors import agree_with_ints

ZK_CONTROLLER = SYSTEMS["zk-controller"]

PAGE = DOCS / "explanation" / "systems" / "zk-controller.md"
MULTI = "kip-decisions-one-by-one-decision-write-unconditional"
BOTH, ZERO, ONE = BrokerSet(3), BrokerSet(1), BrokerSet(2)
ALL = {"stops": 2, "session-losses": 2, "controller-failures": 2, "replica-failures": 1, "isr-changes": 3,
       "depositions": 1, "deletions": 1}  # fmt: skip


def start(**bounds: int) -> ZkController:
    """The initial state with every budget."""
    setting = ZK_CONTROLLER.setting(
        "tiny", {**ALL, **{k.replace("_", "-"): v for k, v in bounds.items()}}, parse("kip")
    )
    return next(iter(ZK_CONTROLLER.initial(setting)))


def do(state: ZkController, name: str, rules: str = "fixed", /, **arguments: Any) -> Outcome:
    """One action, which must be enabled."""
    bounds = {**ALL, "partitions": len(state.partitions), "brokers": len(state.brokers), "new-topic": 1,
              "reassignments": 1}  # fmt: skip
    setting = ZK_CONTROLLER.setting("tiny", bounds, parse(rules))
    action = next(a for a in ZK_CONTROLLER.actions(setting) if a.name == name)
    assert action.enabled(state, arguments), (name, action.guards(state, arguments))
    return action.outcome(state, arguments)


def run(state: ZkController, *steps: str, rules: str = "fixed") -> ZkController:
    """Steps as `name` or `name broker` or `name broker partition member`, one after another."""
    one = ("read_node", "write_one", "retry", "start_replicas", "check_isr", "recheck", "complete", "shrink_isr",
           "replace", "end_reassignment", "delete_topic", "delete_partition")  # fmt: skip
    names = {"reassign": ("partition", "target"), **dict.fromkeys(one, ("partition",))}
    for text in steps:
        name, *numbers = text.split()
        wanted = names.get(name, ("broker", "partition", "member"))
        state = do(state, name, rules, **dict(zip(wanted, map(int, numbers), strict=False))).state
    return state


GONE = ("crash 0", "expire 0", "list_brokers", "read_node 0")


@pytest.mark.parametrize(
    ("version", "isr", "live", "wanted"),
    [
        (1, BOTH, ONE, (1, ONE)), (1, BOTH, BOTH, (0, BOTH)), (1, ZERO, ONE, (1, ONE)),
        (0, BrokerSet(), BOTH, (0, BOTH)), (1, ZERO, BOTH, (0, ZERO)), (3, BrokerSet(), ONE, (1, ONE)),
    ],
)  # fmt: skip
def test_a_member_of_the_isr_comes_first(
    version: int, isr: BrokerSet, live: BrokerSet, wanted: tuple[int, BrokerSet]
) -> None:
    """A live ISR member leads with the live members; else a live replica alone; a new partition takes all who live."""
    assert decide(Decision(version, 0, isr), live, parse("fixed").zk_controller) == wanted


def test_a_multi_decides_and_publishes() -> None:
    """One operation writes the decision and its entry in both queues, and wakes who watches."""
    written = do(run(start(), *GONE), "write_all")
    state = written.state
    assert state.partitions[0].node == Decision(2, 1, ONE)
    assert [b.replicas[0].entry for b in state.brokers] == [Decision(2, 1, ONE)] * 2
    assert (state.brokers[1].status, written.event.operations) == (AWAKE, 1)
    led = run(state, "stop_fetcher 1 0", "act 1 0", "doze 1", "finish")
    assert (led.leads(1, 0), led.brokers[1].status, led.brokers[1].replicas[0].entry) == (True, WATCHING, NOTHING)


def test_separate_writes_leave_the_queues_for_later() -> None:
    """The document's own way writes the decision, one operation a partition, and tells the brokers one by one."""
    written = do(run(start(), *GONE, rules="kip"), "write_one", "kip", partition=0)
    assert (written.event.operations, written.state.controller.tell) == (10_000, (BOTH,))
    assert not written.state.brokers[1].has_entries()
    torn = run(written.state, "controller_fails", rules="kip")
    assert (torn.partitions[0].node.leader, torn.controller.tell) == (1, (BrokerSet(),))
    told = run(torn, "take_over", "load", "publish 1", rules="kip")
    assert told.brokers[1].replicas[0].entry == Decision(2, 1, ONE)


def test_a_node_that_has_changed_is_read_again() -> None:
    """The leader shrinks the ISR between the controller's read and write: the conditional write is refused."""
    cut = run(start(), "lose_session 0", "list_brokers", "read_node 0", "reconnect 0", "change_isr 0 0 1")
    again = do(cut, "retry", partition=0)
    assert (again.state.controller.seen[0].version, again.event.operations) == (-1, 1)
    assert run(again.state, "read_node 0").controller.seen[0].isr == ZERO
    lost = run(cut, "write_one 0", rules="kip")
    assert (lost.partitions[0].node.isr, lost.partitions[0].holds) == (ONE, BOTH)


def test_an_outsider_waits_for_a_new_list() -> None:
    """Where only an outsider is in the list and a broker has come back since, the change begins anew."""
    cut = run(start(), "change_isr 0 0 1", "lose_session 0", "list_brokers", "read_node 0", "reconnect 0")
    anew = run(cut, "abandon", "list_brokers")
    assert (anew.controller.live, anew.controller.seen[0].version) == (BOTH, -1)


def test_an_outsider_gives_up_what_others_have() -> None:
    """Its log is what counts from then on; the old leader's acknowledgements do not."""
    lone = run(start(), "change_isr 0 0 1", "commit 0 0", *GONE, "write_all")
    assert (lone.partitions[0].holds, lone.partitions[0].floor) == (ONE, 3)


def test_a_broker_starts_by_reading_everything() -> None:
    """It registers, reads the decisions, then reads what its queue already has."""
    down = run(start(), *GONE, "write_all", "finish")
    begun = run(down, "start 0", "read_decisions 0")
    replica = begun.brokers[0].replicas[0]
    assert (begun.brokers[0].status, replica.role.leader, replica.fetching) == (READ, 1, True)
    woken = run(begun, "subscribe 0")
    assert woken.brokers[0].status == AWAKE
    assert run(woken, "act 0 0").brokers[0].replicas[0].role == replica.role


def test_a_follower_is_cut_to_its_leader() -> None:
    """Fetching from a leader that lacks records removes them; from one that has them it adds them."""
    state = run(start(), "change_isr 0 0 1", "commit 0 0")
    assert state.partitions[0].holds == ZERO
    assert run(state, "fetch 1 0").partitions[0].holds == BOTH
    odd = state.with_partition(0, evolve(state.partitions[0], holds=ONE))
    assert run(odd, "fetch 1 0").partitions[0].holds == BrokerSet()


def test_a_failed_replica_is_noticed() -> None:
    """The mended broker halts; the document's lives on without its replica."""
    assert not do(start(), "fail_replica", broker=0, partition=0).state.brokers[0].up
    kept = do(start(), "fail_replica", "kip", broker=0, partition=0).state
    assert (kept.brokers[0].works(), kept.leads(0, 0), kept.partitions[0].failed) == (True, False, ZERO)


def test_a_new_topic_gets_leaders() -> None:
    """Its partitions are led by the first live broker, with every live one in the ISR."""
    new = do(start(new_topic=1), "create_topic", partition=0).state
    made = run(new, "list_brokers", "read_node 0", "write_all")
    assert made.partitions[0].node == Decision(1, 0, BOTH)


JOINED = ("reassign 0 2", "start_replicas 0", "publish 1", "act 1 0", "doze 1", "fetch 1 0", "change_isr 0 0 1")


def test_a_reassignment_ends_as_one_multi() -> None:
    """Once the new replica is in sync one write has it lead alone, and the old one stops with its log."""
    joined = run(start(reassignments=1), *JOINED, "check_isr 0")
    assert (joined.partitions[0].node.isr, joined.left.isr_changes) == (BOTH, 3)
    done = do(joined, "complete", partition=0)
    p = done.state.partitions[0]
    assert (p.node, p.assigned, p.target, p.stopping) == (Decision(3, 1, ONE), ONE, BrokerSet(), ZERO)
    assert (done.event.operations, done.state.brokers[1].replicas[0].entry) == (1, Decision(3, 1, ONE))
    stopped = run(done.state, "stop_replica 0 0")
    assert (stopped.partitions[0].holds, stopped.leads(0, 0)) == (ONE, False)


def test_the_leader_is_told_of_the_isr() -> None:
    """Step 4: the queue of a leader that is no new replica has the new ISR; it acknowledges with its own log."""
    checked = run(start(reassignments=1), *JOINED, "check_isr 0")
    assert run(checked, "complete 0").brokers[0].replicas[0].entry == Decision(3, 1, ONE)
    later = run(checked, "shrink_isr 0", rules="kip")
    assert later.controller.tell == (BOTH,)
    led = run(later, "publish 0", "act 0 0", "commit 0 0", rules="kip").partitions[0]
    assert (led.node, led.holds) == (Decision(3, 0, ONE), BOTH)
    assert run(checked, "shrink_isr 0", rules="kip+reassignment-skips-leader").controller.tell == (ONE,)


def test_a_reassignment_that_has_changed_is_looked_at_again() -> None:
    """The leader removes the new replica between the look at the ISR and the write: the write is refused."""
    cut = run(start(reassignments=1), *JOINED, "check_isr 0", "change_isr 0 0 1")
    again = run(cut, "recheck 0")
    assert (again.controller.checked, again.partitions[0].assigned) == ((-1,), ZERO)
    torn = run(cut, "shrink_isr 0", rules="kip")
    assert torn.partitions[0].node == Decision(4, 0, ONE)


def test_a_reassignment_is_torn_by_a_failover() -> None:
    """As the document has it the new controller finds the new ISR beside the old replicas, and goes on from there."""
    torn = run(start(reassignments=1), *JOINED, "check_isr 0", "shrink_isr 0", "controller_fails", rules="kip")
    p = torn.partitions[0]
    assert (p.node.leader, p.node.isr, p.assigned, p.target, p.stopping) == (0, ONE, ZERO, ONE, ZERO)
    mended = "kip-reassignment-waits-for-all"
    later = run(torn, "take_over", "load", "publish 0", "publish 1", "list_brokers", "finish", "start_replicas 0",
                "publish 1", "check_isr 0", "shrink_isr 0", "replace 0", "end_reassignment 0",
                rules=mended)  # fmt: skip
    assert (later.partitions[0].assigned, later.partitions[0].target) == (ONE, BrokerSet())


def test_a_deleted_topic_is_marked_until_replicas_are_told() -> None:
    """The mark outlives the controller; in the document the nodes are gone, and a new controller knows nothing."""
    marked = run(start(), "delete_topic 0", "controller_fails", "take_over", "load")
    told = run(marked, "publish 0", "publish 1", "list_brokers", "finish", "delete_partition 0", "stop_replica 0 0")
    p = told.partitions[0]
    assert (p.created, p.node, p.stopping, p.holds) == (False, NOTHING, ONE, ONE)
    gone = run(
        start(), "delete_topic 0", "controller_fails", "take_over", "load", "list_brokers", "finish", rules="kip"
    )
    assert (gone.partitions[0].node, gone.leads(0, 0)) == (NOTHING, True)
    with pytest.raises(AssertionError):
        do(gone, "delete_partition", "kip", partition=0)


def test_a_deposed_controller_writes_only_unfenced() -> None:
    """Its multi succeeds behind the back of the new one, which takes the dead leader for the leader."""
    deposed = run(start(), *GONE, "depose", "take_over", "load")
    late = run(deposed, "write_all_late", rules="fixed+controller-writes-unfenced")
    assert (late.partitions[0].node.leader, late.controller.decided[0].leader) == (1, 0)
    assert late.brokers[1].replicas[0].entry.leader == 1
    resigned = run(deposed, "resign")
    assert (resigned.deposed.present, resigned.partitions[0].node.leader) == (False, 0)
    with pytest.raises(StopIteration):
        do(deposed, "write_all_late")


def test_a_deposed_controller_reads_the_new_epoch() -> None:
    """With an epoch its writes are refused until it reads that of the new controller; then they pass."""
    deposed = run(start(), *GONE, "depose")
    late = {"fixed+zombie-refreshes-epoch": False, "fixed+controller-writes-unfenced": True}
    for rules, wanted in late.items():
        setting = ZK_CONTROLLER.setting("deposed", {**ALL, "depositions": 1}, parse(rules))
        write = next(a for a in ZK_CONTROLLER.actions(setting) if a.name == "write_all_late")
        assert write.enabled(deposed, {}) == wanted
        assert write.enabled(run(deposed, "take_over"), {})


@pytest.mark.parametrize("scope", ["tiny", "sessions"])
def test_an_outsider_waits_where_it_has_to(scope: str) -> None:
    """Where an outsider may not lead nothing is given up, and a partition with a live ISR member is led."""
    program = trace(ZK_CONTROLLER, ZK_CONTROLLER.setting(scope, rules=parse("fixed+outsiders-wait")))
    found = explore(program, SearchBudget(threads=1, cache_dir=cache_folder(), keep=False), clock=time.perf_counter)
    verdicts = {v.claim: v.verdict for v in found.verdicts}
    assert isinstance(verdicts["nothing-is-given-up"], Holds)
    assert [claim for claim, verdict in verdicts.items() if not isinstance(verdict, Holds)] == []


def test_the_controller_dies_with_its_broker() -> None:
    """The broker that is the controller takes it along; another creates /controller and reads every decision."""
    bounds = {**ALL, "controller-is-broker": 1, "controller-failures": 0}
    setting = ZK_CONTROLLER.setting("tiny", bounds, parse("fixed"))
    actions = {a.name: a for a in ZK_CONTROLLER.actions(setting)}
    begun = next(iter(ZK_CONTROLLER.initial(setting)))
    gone = actions["crash"].outcome(begun, {"broker": 0}).state
    assert (begun.controller.host, gone.controller.present, gone.changed) == (0, False, False)
    assert [actions["take_over"].enabled(gone, {"broker": b}) for b in (0, 1)] == [False, True]
    assert actions["take_over"].outcome(gone, {"broker": 1}).state.controller.host == 1
    other = actions["crash"].outcome(begun, {"broker": 1}).state
    assert other.controller.present


@pytest.mark.parametrize("rules", ["fixed", "fixed+failover-skips-republishing+decisions-one-by-one"])
def test_leader_and_controller_may_be_one(rules: str) -> None:
    """A leader that is the controller too dies: every promise is kept, unless the next one does not publish again."""
    bounds = {"controller-is-broker": 1, "controller-failures": 0}
    program = trace(ZK_CONTROLLER, ZK_CONTROLLER.setting("tiny", bounds, parse(rules)))
    found = explore(program, SearchBudget(threads=1, cache_dir=cache_folder(), keep=False), clock=time.perf_counter)
    broken = {v.claim: v.depth for v in found.verdicts if not isinstance(v.verdict, Holds)}
    assert broken == ({} if rules == "fixed" else {"decisions-are-published": 7, "few-operations": 7})


def test_a_lost_session_must_read_again() -> None:
    """Its watches are gone with its node, though it leads on."""
    cut = run(start(), "lose_session 0")
    assert (cut.brokers[0].status, cut.brokers[0].registered, cut.leads(0, 0)) == (STARTING, False, True)


CHOICES = sorted(name for name, field in variants().items() if field.metadata["group"] == "zk-controller")


def test_every_choice_is_in_the_matrix() -> None:
    """Each choice has a row of the matrix, which names exactly what it breaks."""
    listed = {name for bug in BUGS if bug.system == "zk-controller" for name in bug.variant.split("+")}
    assert listed == set(CHOICES)


def test_every_refutation_is_shown() -> None:
    """Each variant that a property names breaks it in some row of the matrix."""
    claims = {c.id: c for row in EXPECTED if row[0] == "zk-controller" for c in ZK_CONTROLLER.properties(
        ZK_CONTROLLER.setting(row[1], rules=parse(row[2])))}  # fmt: skip
    shown = {(claim, bug.variant) for bug in BUGS for claim in bug.refutes}
    named = {(claim.id, "+".join(sorted(v.split("+")))) for claim in claims.values() for v in claim.refuted_by}
    assert {(claim, "+".join(sorted(variant.split("+")))) for claim, variant in shown} >= named


@pytest.mark.parametrize(("scope", "rules", "every"), [("tiny", "fixed", 30), ("pair", "kip", 150)])
def test_machine_code_agrees_with_ints(scope: str, rules: str, every: int) -> None:
    """All action instances have the same result both ways; sampled: every n-th reachable state, in found order."""
    program = trace(ZK_CONTROLLER, ZK_CONTROLLER.setting(scope, rules=parse(rules)))
    states = list(explore(program, SearchBudget(threads=1, cache_dir=cache_folder()), clock=time.perf_counter).states())
    assert len(states[::every]) > 100
    agree_with_ints(program, few(states[::every]))


def test_mended_rules_keep_every_promise() -> None:
    """Under `fixed` nothing is expected to be refuted, in any scope; the multi alone does not get there."""
    rows = {row: odd for row, odd in EXPECTED.items() if row[0] == "zk-controller"}
    assert {row[1] for row in rows if row[2] == "fixed"} == set(ZK_CONTROLLER.scopes)
    assert not any(odd for row, odd in rows.items() if row[2] == "fixed")
    added = {"reassignment", "deletion", "deposed"}
    multi = {claim for row, odd in rows.items() if row[2] == MULTI and row[1] not in added for claim in odd}
    assert multi == {"no-avoidable-loss"}


def test_costs_are_those_of_the_document() -> None:
    """10,000 partitions at 2 ms take 20 s, or one multi; the table of the page has what the figures give."""
    text = PAGE.read_text(encoding="utf-8")
    for partitions in (100, 1000, 10_000):
        plain, multi = (partitions + 10) * 2 / 1000, 2 / 1000
        assert f"| {partitions:,} | {partitions:,} + 10 | {plain:.3f} s | 1 | {multi:.3f} s |" in text
    assert plain // 1 == 20


def test_the_page_tells_the_lengths() -> None:
    """The table of promises has the lengths of the expected verdicts."""
    table = PAGE.read_text(encoding="utf-8").split("| promise | property |")[1].split("\n\n")[0].splitlines()[2:]
    assert len(table) == 15
    for line in table:
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        claim = cells[1].strip("`")
        for rules, cell in zip(("kip", MULTI, "fixed"), cells[2:], strict=True):
            rows = [odd for row, odd in EXPECTED.items() if row[0] == "zk-controller" and row[2] == rules]
            lengths = [int(re.sub("refuted ", "", odd[claim])) for odd in rows if claim in odd]
            assert cell == (f"broken in {min(lengths)}" if lengths else "kept"), (claim, rules)
