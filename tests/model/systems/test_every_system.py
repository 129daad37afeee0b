"""What holds of every system: states keep to their layout, machine code agrees with ints, pages tell the lengths."""

from __future__ import annotations

import random
import re
import time
from typing import Any

import pytest

from kraftcheck.ci.terminal.machine import cache_folder
from kraftcheck.model.language.layout import Layout
from kraftcheck.model.rules.ruleset import parse
from kraftcheck.model.systems.elections.system import SCOPES as ELECTIONS_SCOPES
from kraftcheck.properties.catalogue import SYSTEMS
from kraftcheck.properties.register.verdicts import EXPECTED
from kraftcheck.solvers.exploration.explore import SearchBudget, explore
from kraftcheck.solvers.program.trace import trace
from tests.shared.places import DOCS
from tests.shared.samples import few
from tests.shared.successors import agree_with_ints

Bounds = dict[str, int]

_REPLICATION = {
    "records": 2, "loss": 2, "fences": 2, "shrinks": 2, "reassignments": 2, "unclean-stops": 1, "clean-stops": 1,
    "unclean-elections": 1, "config-changes": 1, "late-replies": 1, "epochs": 5, "replication": 2,
}  # fmt: skip
"""Every action there is, and as many epochs as the layout has room for."""

_DIRECTORIES = {
    "failures": 2, "crashes": 2, "fences": 2, "moves": 2, "copies": 1, "repairs": 2, "disk-changes": 1,
    "reassignments": 1, "records": 2,
}  # fmt: skip

WALKS: list[tuple[str, str, Bounds, str]] = [
    *[("elections", scope, {}, "fence unfence") for scope in ELECTIONS_SCOPES],
    *[("replication", "small", {**_REPLICATION, "brokers": brokers},
       "serve_late late_reply fetch apply_metadata fence crash register reassign set_min_isr produce")
      for brokers in (2, 3)],
    *[("directories", "tiny", {**_DIRECTORIES, **bounds}, "apply_metadata fail_directory crash")
      for bounds in ({"replication": 1}, {"brokers": 2, "replication": 2, "start": 1},
                     {"directories": 3, "start": 2}, {"directories": 1})],
    *[("kraft", "pair", bounds, "apply_directories fail_directory send assign")
      for bounds in ({}, {"deletions": 1, "elr": 1, "moves": 1, "second": 2, "fences": 1},
                     {"second": 2, "moves": 1, "copies": 1})],
]  # fmt: skip
"""Systems with a scope and bounds, and actions that a walk must have taken."""


@pytest.mark.parametrize("rules", ["fixed", "kafka-4.0", "kip"])
@pytest.mark.parametrize(("name", "scope", "bounds", "taken"), WALKS, ids=str)
def test_states_stay_in_their_domains(name: str, scope: str, bounds: Bounds, taken: str, rules: str) -> None:
    """Along seeded walks, begun anew where epochs run out, every state has a place in the layout and survives it."""
    system = SYSTEMS[name]
    at = system.setting(scope, bounds, parse(rules))
    layout, walk, seen = Layout(system.layout(at)), random.Random(7), set[str]()
    actions, initial = system.actions(at), list(system.initial(at))
    state = walk.choice(initial)
    for tried in range(4000):
        if tried % 400 == 0:
            state = walk.choice(initial)
        action = walk.choice(actions)
        arguments = {argument: walk.choice(list(values)) for argument, values in action.parameters.items()}
        if not action.enabled(state, arguments):
            continue
        after: Any = action.outcome(state, arguments).state
        if name == "replication" and after.leader_epoch > at["epochs"]:
            continue
        assert layout.unpack(layout.pack(after)) == after
        state = after
        seen.add(action.name)
    assert set(taken.split()) <= seen


def _slow(*row: Any) -> Any:
    return pytest.param(*row, marks=pytest.mark.slow)


SAMPLES = [
    ("replication", "tiny", "fixed", 150, {}),
    _slow("replication", "small", "fixed", 1_500, {}),
    ("replication", "tiny", "fixed+removed-replicas-stay-in-elr", 15,
     {"unclean-stops": 0, "shrinks": 0, "reassignments": 1}),
    ("replication", "tiny", "kafka-3.9", 20, {"fences": 0, "shrinks": 0, "unclean-elections": 1, "config-changes": 1}),
    ("directories", "tiny", "fixed", 60, {}),
    _slow("directories", "tiny", "kafka-4.0", 200, {"copies": 1}),
    ("directories", "tiny", "kip", 60, {"directories": 3, "crashes": 0}),
    _slow("directories", "migration", "kafka-4.0", 100, {}),
    ("directories", "tiny", "fixed+duplicate-ids-start", 50, {"disk-changes": 1, "moves": 0}),
    ("directories", "small", "kafka-4.0", 4000, {"crashes": 0, "reassignments": 1, "replication": 1, "records": 0}),
    ("kraft", "tiny", "fixed", 1000, {}),
    ("kraft", "pair", "fixed", 600, {}),
    ("zk-controller", "tiny", "fixed", 30, {}),
    ("zk-controller", "pair", "kip", 150, {}),
    ("zk-jbod", "controller", "fixed", 2, {}),
    ("zk-jbod", "jobs", "kip", 50, {}),
    ("unclean-recovery", "requests", "kip", 150, {}),
    _slow("unclean-recovery", "returning", "fixed", 2000, {}),
]  # fmt: skip
"""System, scope, rules, which reachable states (every n-th), bounds."""


@pytest.mark.parametrize(("name", "scope", "rules", "every", "bounds"), SAMPLES)
def test_machine_code_agrees_with_ints(name: str, scope: str, rules: str, every: int, bounds: Bounds) -> None:
    """All action instances have the same result both ways; sampled: every n-th reachable state, in found order."""
    program = trace(SYSTEMS[name], SYSTEMS[name].setting(scope, bounds, parse(rules)))
    budget = SearchBudget(threads=1, memory=4 << 30, cache_dir=cache_folder())
    sample = list(explore(program, budget, clock=time.perf_counter).states())[::every]
    assert len(sample) > 50
    agree_with_ints(program, few(sample))


MULTI = "kip-decisions-one-by-one-decision-write-unconditional"


def cells_of(system: str, heading: str) -> list[list[str]]:
    """The rows of the table of promises on a system's page."""
    page = (DOCS / "explanation" / "systems" / f"{system}.md").read_text(encoding="utf-8")
    lines = page.split(heading)[1].split("\n\n")[0].splitlines()
    return [[cell.strip().strip("`") for cell in line.strip("|").split("|")] for line in lines]


@pytest.mark.parametrize(("system", "rules", "promises"), [
    ("zk-controller", ("kip", MULTI, "fixed"), 15), ("zk-jbod", ("kip",), 12),
])  # fmt: skip
def test_a_page_tells_the_shortest_lengths(system: str, rules: tuple[str, ...], promises: int) -> None:
    """The table of promises has the lengths of the expected verdicts, the shortest of all scopes; mended, none."""
    table = cells_of(system, "| promise | property |")[2:]
    assert len(table) == promises
    for _, claim, *cells in table:
        for named, cell in zip(rules, cells, strict=True):
            rows = [odd for row, odd in EXPECTED.items() if (row[0], row[2]) == (system, named)]
            lengths = [int(odd[claim].removeprefix("refuted ")) for odd in rows if claim in odd]
            assert cell == (f"broken in {min(lengths)}" if lengths else "kept"), (claim, named)
    fixed = {row[1]: odd for row, odd in EXPECTED.items() if (row[0], row[2]) == (system, "fixed")}
    assert (fixed.keys(), any(fixed.values())) == (SYSTEMS[system].scopes.keys(), False)


def test_the_page_of_unclean_recovery_tells_each_length() -> None:
    """Its table of broken promises has a column for each scope, and the mended rules break none."""
    head, _, *table = cells_of("unclean-recovery", "| promise |")
    broken = {row[1]: odd for row, odd in EXPECTED.items() if row[0] == "unclean-recovery" and row[2] == "kip"}
    assert head == list(broken) == list(SYSTEMS["unclean-recovery"].scopes)
    assert {claim for claim, *_ in table} == {claim for odd in broken.values() for claim in odd}
    for claim, *cells in table:
        assert cells == [odd.get(claim, "-").removeprefix("refuted ") for odd in broken.values()], claim
    assert not any(EXPECTED["unclean-recovery", scope, "fixed"] for scope in broken)


def lengths(scope: str, promise: str) -> str:
    """A cell of the table of broker ids, from the expected verdicts."""
    plain, short = (
        re.sub("refuted ", "", EXPECTED["broker-ids", scope, rules].get(promise, "-"))
        for rules in ("kip", "kip-identity-by-elimination")
    )
    alone = promise in ("no-fresh-id-beside-a-missing-one", "ambiguity-stops") or plain == short == "-"
    return plain if alone else f"{plain}, without b) {short}"


def test_the_page_of_broker_ids_tells_each_length() -> None:
    """The table of broken promises has the lengths of the expected verdicts."""
    promises = (
        "ids-unique", "id-stays-with-its-disk", "restart-gets-its-id", "lost-disk-gets-its-id",
        "no-fresh-id-beside-a-missing-one", "ambiguity-stops", "live-host-recorded",
    )  # fmt: skip
    for promise, (_, *cells) in zip(promises, cells_of("broker-ids", "| promise |")[2:], strict=True):
        for scope, cell in zip(("tiny", "newcomer", "renames", "shared", "sessions"), cells, strict=True):
            assert cell == lengths(scope, promise), (promise, scope)
