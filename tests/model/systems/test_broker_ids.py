"""The `broker-ids` system: each step of a start by hand, its cost, and the promises that can fail."""

from __future__ import annotations

import re
import time
from typing import Any

import pytest
from attrs import evolve

from kraftcheck.ci.terminal.machine import cache_folder
from kraftcheck.model.language.brokersets import BrokerSet
from kraftcheck.model.language.system import Outcome
from kraftcheck.model.rules.groups import BrokerIdRules
from kraftcheck.model.rules.ruleset import parse, variants
from kraftcheck.model.systems.broker_ids.startup import LIST_READS, missing_id_reads
from kraftcheck.model.systems.broker_ids.state import (
    BY_ELIMINATION,
    BY_HOSTNAME,
    CHOSEN,
    DOWN,
    EXPLICIT,
    FAILED,
    FRESH,
    LIVE,
    NONE,
    SEARCHING,
    TOPICS_READ,
    BrokerIds,
)
from kraftcheck.properties.catalogue import SYSTEMS
from kraftcheck.properties.register.verdicts import EXPECTED
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


def test_a_restart_uses_the_id_on_the_disk() -> None:
    """meta.properties is used without a read of ZooKeeper."""
    down = do(start(), "stop", machine=1, clean=True).state
    decided = do(run(down, ("start", 1)), "decide", machine=1)
    assert (told(decided.state, 1), decided.event.reads) == ((CHOSEN, 1, EXPLICIT), 0)
    assert told(run(decided.state, ("register", 1)), 1) == (LIVE, 1, EXPLICIT)


def test_ids_that_differ_stop_the_start() -> None:
    """Configuration and meta.properties must agree."""
    down = do(start(), "stop", machine=1, clean=True).state
    odd = run(down.with_machine(1, evolve(down.machines[1], configured=0)), ("start", 1), ("decide", 1))
    assert told(odd, 1) == (FAILED, NONE, EXPLICIT)


def test_the_hostname_gives_the_id_back() -> None:
    """After a lost disk the node of the hostname names the id: one read."""
    down = do(start(), "stop", machine=1, clean=True).state
    empty = do(down, "lose_disk", machine=1).state
    assert (empty.machines[1].meta, empty.machines[1].before, empty.homes[1]) == (NONE, 1, NONE)
    decided = do(run(empty, ("start", 1)), "decide", machine=1)
    assert (told(decided.state, 1), decided.event.reads) == ((CHOSEN, 1, BY_HOSTNAME), 1)


def test_a_registered_id_refuses_the_second() -> None:
    """Step a) goes on where its id is registered; an explicit id is an error then."""
    crashed = do(start(), "stop", machine=1, clean=False).state
    assert told(run(crashed, ("start", 1), ("decide", 1), ("register", 1)), 1) == (FAILED, NONE, EXPLICIT)
    empty = do(crashed, "lose_disk", machine=1).state
    assert told(run(empty, ("start", 1), ("decide", 1), ("register", 1)), 1) == (SEARCHING, NONE, EXPLICIT)
    assert told(run(do(crashed, "expire", id=1).state, ("start", 1), ("decide", 1), ("register", 1)), 1)[0] == LIVE


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


def test_the_alternative_reads_one_node() -> None:
    """With /brokers/missing_ids, whose nodes are there at once, a single read settles step b)."""
    rules = "kip-search-reads-every-topic-missing-ids-noted-late"
    down = do(start(), "stop", rules, machine=0, clean=True).state
    found = do(run(down, ("start", 2), ("decide", 2), rules=rules), "read_used_ids", rules, machine=2)
    assert (told(found.state, 2), found.event.reads) == ((CHOSEN, 0, BY_ELIMINATION), 1)


def test_the_nodes_of_missing_ids_come_late() -> None:
    """The controller lists the registered ids and then writes a node for each that went; no topic need use it."""
    rules = "kip-search-reads-every-topic"
    setting = BROKER_IDS.setting("newcomer", rules=parse(rules))
    state = evolve(next(iter(BROKER_IDS.initial(setting))), used=BrokerSet())
    down = do(state, "stop", rules, machine=0, clean=True).state
    early = run(down, ("start", 2), ("decide", 2), ("read_used_ids", 2), rules=rules)
    assert (told(early, 2), early.noted) == ((CHOSEN, 2, FRESH), BrokerSet())
    noted = do(do(down, "list_registered", rules).state, "note", rules, id=0).state
    assert (noted.noted, noted.listed, noted.owed) == (BrokerSet.of([0]), BrokerSet.of([1]), BrokerSet())
    later = run(noted, ("start", 2), ("decide", 2), ("read_used_ids", 2), ("register", 2), rules=rules)
    assert (told(later, 2), later.noted) == ((LIVE, 0, BY_ELIMINATION), BrokerSet.of([0]))
    assert do(do(later, "list_registered", rules).state, "note", rules, id=0).state.noted == BrokerSet()


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


def test_a_node_that_has_changed_is_not_swept() -> None:
    """Between the read of a hostname's node and its deletion another broker writes it: a condition refuses."""
    garbage = evolve(start("small"), hosts=(0, 1, 0, NONE))
    read = do(do(garbage, "sweep", id=0).state, "read_host", name=2).state
    changed = evolve(read, hosts=(0, 1, 1, NONE))
    assert do(changed, "remove_garbage").state.hosts == (0, 1, NONE, NONE)
    mended = BROKER_IDS.setting("small", rules=parse("kip-garbage-deleted-unseen"))
    remove = next(a for a in BROKER_IDS.actions(mended) if a.name == "remove_garbage")
    assert (remove.enabled(read, {}), remove.enabled(changed, {})) == (True, False)


def test_a_supervisor_starts_what_failed() -> None:
    """A broker that stopped with an error starts again once another is back, unless a failed start is final."""
    state = start()
    for machine in (0, 1):
        state = do(state, "stop", machine=machine, clean=True).state
    state = run(do(state, "lose_disk", machine=1).state, ("start", 0), ("decide", 0), ("register", 0))
    failed = state.with_machine(1, state.machines[1].ended(FAILED))
    steps = (("start", 1), ("decide", 1), ("read_used_ids", 1), ("list_ids", 1))
    again = run(evolve(failed, hosts=(0, NONE, NONE)), *steps)
    assert told(again, 1) == (CHOSEN, 1, BY_ELIMINATION)
    setting = BROKER_IDS.setting("newcomer", rules=parse("kip+failed-start-is-final"))
    begin = next(a for a in BROKER_IDS.actions(setting) if a.name == "start")
    assert not begin.enabled(failed, {"machine": 1})


def test_the_hostname_can_come_before_the_disk() -> None:
    """In the alternative a broker with its id on its disk takes the one of its hostname."""
    down = do(start("small"), "stop", machine=1, clean=True).state
    other = evolve(down, hosts=(0, 2, NONE, NONE))
    assert told(run(other, ("start", 1), ("decide", 1)), 1) == (CHOSEN, 1, EXPLICIT)
    early = run(other, ("start", 1), ("decide", 1), rules="kip+zookeeper-before-disk")
    assert told(early, 1) == (CHOSEN, 2, BY_HOSTNAME)


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


def test_a_lost_session_can_come_back() -> None:
    """A live broker registers again; where somebody else has its id, it stops."""
    state = do(start("sessions"), "lose_session", machine=1).state
    assert (state.zombie(1), state.sessions[1]) == (True, NONE)
    assert do(state, "come_back", machine=1).state.sessions[1] == 1
    taken = evolve(state, sessions=(0, 2, *state.sessions[2:]))
    assert told(do(taken, "come_back", machine=1).state, 1) == (FAILED, NONE, EXPLICIT)


def test_a_crash_leaves_the_session() -> None:
    """A clean stop removes the ephemeral node at once, a crash when the session expires."""
    assert do(start(), "stop", machine=1, clean=True).state.sessions[1] == NONE
    crashed = do(start(), "stop", machine=1, clean=False).state
    assert (crashed.sessions[1], crashed.machines[1].status) == (1, DOWN)
    assert do(crashed, "expire", id=1).state.sessions[1] == NONE


@pytest.mark.parametrize("choice", [f.name for f in BrokerIdRules.__attrs_attrs__])
def test_every_choice_refutes_a_promise(choice: str) -> None:
    """Each choice of this system is named by a property, and refutes it in some scope under the document's rules."""
    name = choice.replace("_", "-")
    wanted = {c.id for scope in ("newcomer", "static") for c in claims(scope, "kip") if name in c.refuted_by}
    assert wanted, f"no property names {name}"
    refuted: set[str] = set()
    for scope in ("static",) if choice == "configured_id_wins" else ("newcomer",):  # the first has no search
        refuted |= refutations(scope, "kip" if parse("kip").value(choice) else f"kip+{name}")
    assert wanted <= refuted


def claims(scope: str, rules: str) -> list[Any]:
    """The properties of a scope."""
    return list(BROKER_IDS.properties(BROKER_IDS.setting(scope, rules=parse(rules))))


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


def test_static_ids_keep_every_promise() -> None:
    """Under `fixed` nothing is refuted in any scope."""
    rows = {row: odd for row, odd in EXPECTED.items() if row[0] == "broker-ids" and row[2] == "fixed"}
    assert {row[1] for row in rows} == set(BROKER_IDS.scopes)
    assert not any(rows.values())
    assert not refutations("static", "fixed")


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


def test_the_page_tells_the_lengths() -> None:
    """The table of broken promises has the lengths of the expected verdicts."""
    promises = (
        "ids-unique", "id-stays-with-its-disk", "restart-gets-its-id", "lost-disk-gets-its-id",
        "no-fresh-id-beside-a-missing-one", "ambiguity-stops", "live-host-recorded",
    )  # fmt: skip
    table = PAGE.read_text(encoding="utf-8").split("| promise |")[1].split("\n\n")[0].splitlines()[2:]
    for promise, line in zip(promises, table, strict=True):
        cells = [cell.strip() for cell in line.strip("|").split("|")][1:]
        for scope, cell in zip(("tiny", "newcomer", "renames", "shared", "sessions"), cells, strict=True):
            assert cell == lengths(scope, promise), (promise, scope)


def lengths(scope: str, promise: str) -> str:
    """A cell of the table, from the expected verdicts."""
    found = {
        rules: EXPECTED["broker-ids", scope, rules].get(promise, "-")
        for rules in ("kip", "kip-identity-by-elimination")
    }
    short = {rules: re.sub("refuted ", "", verdict) for rules, verdict in found.items()}
    if promise in ("no-fresh-id-beside-a-missing-one", "ambiguity-stops") or set(short.values()) == {"-"}:
        return short["kip"]
    return f"{short['kip']}, without b) {short['kip-identity-by-elimination']}"


def test_choices_are_known_variants() -> None:
    """Every choice has its command-line name, a source and a sentence."""
    listed = {name for name, field in variants().items() if field.metadata["group"] == "broker-ids"}
    assert listed == {f.name.replace("_", "-") for f in BrokerIdRules.__attrs_attrs__}
