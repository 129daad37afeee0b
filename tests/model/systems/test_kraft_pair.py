"""A second partition in `kraft`: it shares what belongs to brokers, and some defects show only with it."""

from __future__ import annotations

import functools
import random
import time
from typing import Any

import pytest

from kraftcheck.model.language.layout import Layout
from kraftcheck.model.language.system import Setting
from kraftcheck.model.partition.registration import FIRST_LOCAL, UNASSIGNED
from kraftcheck.model.rules.ruleset import parse
from kraftcheck.model.systems.kraft.pair import EITHER, SETTLED, SHARED
from kraftcheck.model.systems.kraft.second import OF_PARTITION, OF_REPLICA
from kraftcheck.model.systems.kraft.system import DISKS
from kraftcheck.properties.catalogue import SYSTEMS
from kraftcheck.properties.kraft.second_partition import OF_SECOND
from kraftcheck.properties.register.defects import BUGS
from kraftcheck.solvers.exploration.explore import Exploration, SearchBudget, explore
from kraftcheck.solvers.program.trace import trace
from kraftcheck.solvers.program.verdict import Holds, Refuted
from tests.shared.samples import few, one_in
from tests.shared.successors import agree_with_ints

KRAFT = SYSTEMS["kraft"]

ONLY_WITH_TWO = (
    "unfence-awaits-one-partition", "failure-moves-one-partition", "min-isr-from-first-partition",
    "deleted-partition-stays-indexed",
)  # fmt: skip
ROWS = {bug.variant: bug for bug in BUGS}


def setting(rules: str = "fixed", **bounds: int) -> Setting:
    """The scope `pair` with other bounds."""
    given = {name.replace("_", "-"): value for name, value in bounds.items()}
    return KRAFT.setting("pair", given, parse(rules))


@functools.cache
def explored(rules: str, scope: str = "pair") -> Exploration:
    """A scope under a rule set."""
    program = trace(KRAFT, KRAFT.setting(scope, rules=parse(rules)))
    return explore(program, SearchBudget(threads=1, memory=4 << 30), clock=time.perf_counter)


def refuted(found: Exploration) -> dict[str, int]:
    """Refuted properties, with the lengths of their traces."""
    return {v.claim: len(v.verdict.trace.steps) for v in found.verdicts if isinstance(v.verdict, Refuted)}


def test_mended_rules_hold_for_both_partitions() -> None:
    """Everything holds, every goal is reached, and no bound prunes."""
    found = explored("fixed")
    assert [v.claim for v in found.verdicts if not isinstance(v.verdict, Holds)] == []
    assert (found.cut, dict(found.pruned)) == (None, {})
    assert {f"second-{name}" for name in OF_SECOND} <= {v.claim for v in found.verdicts}


@pytest.mark.parametrize("variant", one_in(2, ["unfence-awaits-one-partition", "failure-moves-one-partition"]))
def test_a_defect_of_two_partitions_breaks_the_second(variant: str) -> None:
    """The variant refutes what its row says."""
    assert refuted(explored(f"fixed+{variant}")) == ROWS[variant].refutes


@pytest.mark.parametrize("variant", one_in(4, ONLY_WITH_TWO))
def test_one_partition_does_not_show_it(variant: str) -> None:
    """In the scope with one partition the same variant adds no step and changes none."""
    one = {"failures": 1, "fences": 0, "records": 1}
    wrong = trace(KRAFT, KRAFT.setting("tiny", one, parse(f"fixed+{variant}")))
    right = trace(KRAFT, KRAFT.setting("tiny", one, parse("fixed")))
    a, b = (explore(program, SearchBudget(threads=1), clock=time.perf_counter) for program in (wrong, right))
    assert sorted(a.states()) == sorted(b.states())
    assert (a.generated, refuted(a)) == (b.generated, {})


def test_every_claim_about_the_second_is_refuted_by_the_rows_it_names() -> None:
    """The row of each variant that a property names lists it, or the scope `pair` shows it here."""
    shown = {"fenced-leader-acceptable": {"second-leader-active": 4}}
    at = setting(elr=1, deletions=1)
    claims = [c for c in KRAFT.properties(at) if c.id.startswith("second-") or c.id == "controller-stays"]
    assert len(claims) > 5
    for claim in claims:
        for variant in claim.refuted_by:
            assert claim.id in (shown.get(variant) or ROWS[variant].refutes)
    assert refuted(explored("fixed+fenced-leader-acceptable")).items() >= shown["fenced-leader-acceptable"].items()


def test_what_brokers_have_is_shared() -> None:
    """The second partition has fields of its own for nothing that belongs to a broker."""
    (begin,) = KRAFT.initial(setting())
    (second,) = begin.others
    seen = second.placement(begin.placement())
    for name in ("registered", "fenced", "online_dirs"):
        assert getattr(seen.controller, name) == getattr(begin.data.controller, name)
        assert name not in OF_PARTITION
    for name in ("up", "seen", "disks", "failed", "told", "answered"):
        assert [getattr(h, name) for h in seen.hosts] == [getattr(h, name) for h in begin.hosts]
        assert name not in OF_REPLICA
    assert second.after(seen) == second


def run(at: Setting, *steps: tuple[str, dict[str, Any]]) -> Any:
    """The state after some enabled steps."""
    actions = {action.name: action for action in KRAFT.actions(at)}
    (state,) = KRAFT.initial(at)
    for name, arguments in steps:
        assert actions[name].enabled(state, arguments), name
        state = actions[name].outcome(state, arguments).state
    return state


def test_a_new_partition_is_assigned_by_its_broker() -> None:
    """The broker makes its log in a directory that it chooses, and one request tells the controller."""
    applied = ("apply_directories", {"broker": 0, "slot": 0, "beside": 1})
    state = run(setting(), applied, ("send", {"broker": 0}), ("assign", {"broker": 0}), ("answer", {"broker": 0}))
    (second,) = state.others
    assert second.directories.slots == (FIRST_LOCAL + 1, UNASSIGNED)
    assert second.hosts[0].logs.mask == 2
    assert state.hosts[0].logs.mask == 1


def test_a_failed_directory_ends_only_what_is_in_it() -> None:
    """A report of the second partition's directory leads that partition away, and not the first."""
    applied = ("apply_directories", {"broker": 0, "slot": 0, "beside": 1})
    told = [(name, {"broker": 0}) for name in ("send", "assign", "answer")]
    failure = ("fail_directory", {"broker": 0, "slot": 1})
    state = run(setting(), applied, *told, failure, ("report", {"broker": 0, "delivered": True}))
    assert (state.data.controller.leader, state.others[0].leader) == (0, -1)


def test_a_fence_is_of_every_partition() -> None:
    """A session that expires moves the leaders of both partitions."""
    state = run(setting(fences=1, second=2), ("fence", {"broker": 0}))
    assert (state.data.controller.leader, state.others[0].leader) == (1, 1)
    assert (state.data.controller.isr.mask, state.others[0].isr.mask) == (2, 2)


def test_a_deleted_partition_is_gone() -> None:
    """Brokers hear of a deletion and drop the log; only the defect keeps the entry, and only with an empty ISR."""
    steps = [("apply_directories", {"broker": 0, "slot": 0, "beside": 0})]
    steps += [(name, {"broker": 0}) for name in ("send", "assign", "answer")]
    empties = ("fence", {"broker": 0})
    for rules, before, left in (
        ("fixed", [empties], UNASSIGNED),
        ("fixed+deleted-partition-stays-indexed", [], UNASSIGNED),
        ("fixed+deleted-partition-stays-indexed", [empties], FIRST_LOCAL),
    ):
        at = setting(rules, elr=1, deletions=1, fences=1)
        (second,) = run(at, *steps, *before, ("delete_second", {})).others
        assert (second.exists(), second.directories.slots[0], second.leader) == (False, left, -1)
        gone = run(at, *steps, *before, ("delete_second", {}), steps[0])
        assert gone.others[0].hosts[0].logs.is_empty()


def test_guards_are_those_of_directories() -> None:
    """What is joined by name, and the actions that are shared, exist in `directories`."""
    at = setting("fixed+failure-reported-once+reported-while-in-flight", moves=1, copies=1)
    assert set(SHARED) <= {*DISKS, "start"}
    actions = {action.name: action for action in KRAFT.actions(at)}
    (begin,) = KRAFT.initial(at)
    named = set()
    for action in actions.values():
        named |= set(action.guards(begin, {name: values[0] for name, values in action.parameters.items()}))
    assert {*EITHER, *SETTLED} <= named


@pytest.mark.parametrize(
    ("rules", "bounds"),
    [
        ("fixed", {}),
        ("kafka-4.0", {"deletions": 1, "elr": 1, "moves": 1, "second": 2, "fences": 1}),
        ("kip", {"second": 2, "moves": 1, "copies": 1}),
    ],
)
def test_states_stay_in_their_domains(rules: str, bounds: dict[str, int]) -> None:
    """Along seeded walks every state has a place in the layout and survives it."""
    at = setting(rules, **bounds)
    layout, walk = Layout(KRAFT.layout(at)), random.Random(11)
    actions, (begin,) = KRAFT.actions(at), KRAFT.initial(at)
    state, seen = begin, set[str]()
    for tried in range(3000):
        action = walk.choice(actions)
        arguments = {name: walk.choice(list(values)) for name, values in action.parameters.items()}
        if tried % 300 == 0:
            state = begin
        if not action.enabled(state, arguments):
            continue
        state = action.outcome(state, arguments).state
        assert layout.unpack(layout.pack(state)) == state
        seen.add(action.name)
    assert {"apply_directories", "fail_directory", "send", "assign"} <= seen


def test_machine_code_agrees_with_ints() -> None:
    """All action instances have the same result both ways, in a sample of states."""
    found = explored("fixed")
    program, sample = found.program, list(found.states())[::600]
    assert len(sample) > 50
    agree_with_ints(program, few(sample))
