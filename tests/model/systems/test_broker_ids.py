"""The `broker-ids` system: each step of a start by hand, its cost, and the promises that can fail."""

import time
from typing import Any

import pytest

from kraftcheck.ci.terminal.machine import cache_folder
from kraftcheck.model.language.brokersets import BrokerSet
from kraftcheck.model.language.system import Outcome
from kraftcheck.model.rules.ruleset import parse
from kraftcheck.model.systems.broker_ids.state import (
    BY_ELIMINATION,
    BY_HOSTNAME,
    CHOSEN,
    EXPLICIT,
    FAILED,
    FRESH,
    LIST_READS,
    NONE,
    TOPICS_READ,
    BrokerIds,
    missing_id_reads,
)
from kraftcheck.properties.catalogue import SYSTEMS
from kraftcheck.solvers.exploration.explore import SearchBudget, explore
from kraftcheck.solvers.program.trace import trace
from kraftcheck.solvers.program.verdict import Refuted
from tests.shared.places import DOCS

BROKER_IDS = SYSTEMS["broker-ids"]

PAGE = DOCS / "explanation" / "systems" / "broker-ids.md"


def start(scope: str = "newcomer", **bounds: int) -> BrokerIds:
    """The initial state of a scope."""
    setting = BROKER_IDS.setting(scope, {k.replace("_", "-"): v for k, v in bounds.items()}, parse("kip"))
    return next(iter(BROKER_IDS.initial(setting)))


def do(state: BrokerIds, name: str, rules: str = "kip", /, **arguments: Any) -> Outcome:
    """One action, which must be enabled."""
    setting = BROKER_IDS.setting("small", {"session-losses": 1, "rewrites": 1}, parse(rules))
    action = next(a for a in BROKER_IDS.actions(setting) if a.name == name)
    assert action.enabled(state, arguments), action.guards(state, arguments)
    return action.outcome(state, arguments)


def run(state: BrokerIds, *steps: tuple[str, int], rules: str = "kip") -> BrokerIds:
    """Steps of machines, one after another."""
    for name, machine in steps:
        state = do(state, name, rules, machine=machine).state
    return state


def told(state: BrokerIds, machine: int) -> tuple[Any, Any, Any]:
    """Status, id and where the id is from."""
    m = state.machines[machine]
    return m.status, m.id, m.source


def test_the_hostname_gives_the_id_back() -> None:
    """After a lost disk the node of the hostname names the id: one read."""
    down = do(start(), "stop", machine=1, clean=True).state
    empty = do(down, "lose_disk", machine=1).state
    assert (empty.machines[1].meta, empty.machines[1].before, empty.homes[1]) == (NONE, 1, NONE)
    decided = do(run(empty, ("start", 1)), "decide", machine=1)
    assert (told(decided.state, 1), decided.event.reads) == ((CHOSEN, 1, BY_HOSTNAME), 1)


@pytest.mark.parametrize(
    ("gone", "wanted"),
    [((), (CHOSEN, 2, FRESH)), ((0,), (CHOSEN, 0, BY_ELIMINATION)), ((0, 1), (FAILED, NONE, EXPLICIT))],
)
def test_missing_ids_decide(gone: tuple[int, ...], wanted: tuple[int, int, int]) -> None:
    """None missing: a new id; one: that one; several: an error."""
    state = start()
    for machine in gone:
        state = do(state, "stop", machine=machine, clean=True).state
    read = run(state, ("start", 2), ("decide", 2), ("read_used_ids", 2))
    assert (read.machines[2].status, read.machines[2].seen) == (TOPICS_READ, BrokerSet.of([0, 1]))
    listed = run(read, ("list_ids", 2))
    assert (told(listed, 2), listed.drawn) == (wanted, 3 if wanted[2] == FRESH else 2)


@pytest.mark.parametrize(
    ("scope", "rules", "wanted"),
    [
        ("tiny", "kip-search-reads-every-topic", {"no-fresh-id-beside-a-missing-one": 7, "ambiguity-stops": 10}),
        ("newcomer", "kip-search-reads-every-topic", {"no-fresh-id-beside-a-missing-one": 4, "ambiguity-stops": 7}),
        ("newcomer", "kip-sweep-trusts-first-read", {"live-host-recorded": 17}),
    ],
)
def test_half_a_mend_breaks_a_promise(scope: str, rules: str, wanted: dict[str, int]) -> None:
    """Nodes of missing ids that come late, and a sweep with one of its two conditions, in so many steps."""
    program = trace(BROKER_IDS, BROKER_IDS.setting(scope, rules=parse(rules)))
    found = explore(program, SearchBudget(threads=1, cache_dir=cache_folder(), keep=False), clock=time.perf_counter)
    depths = {v.claim: v.depth for v in found.verdicts if isinstance(v.verdict, Refuted)}
    assert {claim: depths.get(claim) for claim in wanted} == wanted


def test_a_tool_gives_a_replacement_its_id() -> None:
    """Under another hostname a replacement has no node; a tool writes it, and step a) finds the id."""
    down = do(start("small", rewrites=1), "stop", machine=1, clean=True).state
    moved = do(do(down, "lose_disk", machine=1).state, "rename", machine=1, name=3).state
    written = do(moved, "rewrite_host", machine=1).state
    assert (written.hosts, written.left.rewrites) == ((0, 1, NONE, 1), 0)
    assert told(run(written, ("start", 1), ("decide", 1)), 1) == (CHOSEN, 1, BY_HOSTNAME)


def test_older_brokers_neither_search_nor_record() -> None:
    """A machine of the release before draws a new id beside a missing one; no two live brokers have one id."""
    program = trace(BROKER_IDS, BROKER_IDS.setting("newcomer", {"older": 1}, parse("kip")))
    found = explore(program, SearchBudget(threads=1, cache_dir=cache_folder(), keep=False), clock=time.perf_counter)
    depths = {v.claim: v.depth for v in found.verdicts if isinstance(v.verdict, Refuted)}
    assert depths["no-fresh-id-beside-a-missing-one"] == 3
    assert not {"ids-unique", "live-id-not-taken", "last-broker-starts", "disk-keeps-its-id"} & set(depths)


def test_a_mapping_is_recorded_and_swept() -> None:
    """The node of a former hostname is garbage once the broker is registered under another; the live one is not."""
    down = do(start("small"), "stop", machine=1, clean=True).state
    moved = do(down, "rename", machine=1, name=3).state
    back = run(moved, ("start", 1), ("decide", 1), ("register", 1), ("record", 1))
    assert (back.hosts, back.places[1]) == ((0, 1, NONE, 1), 3)
    swept = do(do(do(back, "sweep", id=1).state, "read_host", name=1).state, "remove_garbage").state
    assert swept.hosts == (0, NONE, NONE, 1)
    assert do(swept, "end_sweep").state.swept_id == NONE


def refutations(scope: str, rules: str) -> set[str]:
    """What an exploration refutes."""
    program = trace(BROKER_IDS, BROKER_IDS.setting(scope, rules=parse(rules)))
    found = explore(program, SearchBudget(threads=1, cache_dir=cache_folder(), keep=False), clock=time.perf_counter)
    return {v.claim for v in found.verdicts if isinstance(v.verdict, Refuted)}


@pytest.mark.parametrize(
    ("choice", "promise", "scope"),
    [
        ("search-reads-every-topic", "search-reads-few", "tiny"),
        ("search-reads-every-topic-missing-ids-noted-late", "no-fresh-id-beside-a-missing-one", "newcomer"),
        ("search-reads-every-topic-missing-ids-noted-late", "ambiguity-stops", "newcomer"),
        ("sweep-trusts-first-read-garbage-deleted-unseen", "live-host-recorded", "newcomer"),
        ("identity-by-elimination", "id-stays-with-its-disk", "newcomer"),
        ("identity-by-elimination", "restart-gets-its-id", "newcomer"),
    ],
)
def test_a_mend_keeps_the_promise(choice: str, promise: str, scope: str) -> None:
    """What the document breaks holds once the choice behind it is taken back."""
    assert promise in refutations(scope, "kip")
    assert promise not in refutations(scope, f"kip-{choice}")


def test_costs_are_those_of_the_document() -> None:
    """1,000 topics at a millisecond a read take about a second; the page's table is computed."""
    assert (missing_id_reads(1000, every_topic=True) + LIST_READS) // 1000 == 1
    text = PAGE.read_text(encoding="utf-8")
    rows = {
        100: "| 100 | 102 reads, 0.1 s | 1 read |",
        1000: "| 1,000 | 1,002 reads, 1.0 s | 1 read |",
        10_000: "| 10,000 | 10,002 reads, 10.0 s | 1 read |",
    }
    for topics, row in rows.items():
        took = missing_id_reads(topics, every_topic=True) + LIST_READS
        assert row == f"| {topics:,} | {took:,} reads, {took / 1000:.1f} s | {missing_id_reads(topics, False)} read |"
        assert row in text
