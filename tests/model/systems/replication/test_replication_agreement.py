"""The `replication` system as a whole: random walks stay in the layout, and machine code agrees with ints."""

from __future__ import annotations

import random
import time

import pytest

from kraftcheck.model.language.layout import Layout
from kraftcheck.model.rules.ruleset import parse
from kraftcheck.properties.catalogue import SYSTEMS
from kraftcheck.solvers.exploration.explore import SearchBudget, explore
from kraftcheck.solvers.program.trace import trace
from tests.shared.replication import BOUNDS
from tests.shared.samples import few
from tests.shared.successors import agree_with_ints

REPLICATION = SYSTEMS["replication"]

EVERYTHING = {
    **BOUNDS, "records": 2, "fences": 2, "shrinks": 2, "reassignments": 2, "unclean-stops": 1, "clean-stops": 1,
    "config-changes": 1, "late-replies": 1, "epochs": 5,
}  # fmt: skip
"""Every action there is, and as many epochs as the layout has room for."""


@pytest.mark.parametrize("rules", ["fixed", "kafka-4.0", "kafka-3.9", "kip"])
@pytest.mark.parametrize("brokers", [2, 3])
def test_states_stay_in_their_domains(brokers: int, rules: str) -> None:
    """Along seeded walks, begun anew where epochs run out, every state has a place in the layout and survives it."""
    setting = REPLICATION.setting("small", {**EVERYTHING, "brokers": brokers, "replication": 2}, parse(rules))
    layout, walk = Layout(REPLICATION.layout(setting)), random.Random(11)
    actions, initial = REPLICATION.actions(setting), list(REPLICATION.initial(setting))
    state, taken, tried, seen = walk.choice(initial), 0, 0, set[str]()
    while taken < 600:
        action = walk.choice(actions)
        arguments = {name: walk.choice(list(values)) for name, values in action.parameters.items()}
        tried += 1
        if tried > 400:
            state, tried = walk.choice(initial), 0
        if not action.enabled(state, arguments):
            continue
        after = action.outcome(state, arguments).state
        if after.leader_epoch > setting["epochs"]:
            state, tried = walk.choice(initial), 0
            continue
        assert layout.unpack(layout.pack(after)) == after
        state, taken, tried = after, taken + 1, 0
        seen.add(action.name)
    assert {"serve_late", "late_reply", "fetch", "apply_metadata", "fence", "crash"} <= seen
    assert {"register", "reassign", "set_min_isr", "produce"} <= seen


@pytest.mark.parametrize(
    ("scope", "rules", "every", "bounds"),
    [
        ("tiny", "fixed", 150, {}),
        pytest.param("small", "fixed", 1_500, {}, marks=pytest.mark.slow),
        ("tiny", "fixed+removed-replicas-stay-in-elr", 15, {"unclean-stops": 0, "shrinks": 0, "reassignments": 1}),
        ("tiny", "kafka-3.9", 20, {"fences": 0, "shrinks": 0, "unclean-elections": 1, "config-changes": 1}),
    ],
)
def test_machine_code_agrees_with_ints(scope: str, rules: str, every: int, bounds: dict[str, int]) -> None:
    """All action instances have the same result both ways; sampled: every n-th reachable state, in found order."""
    program = trace(REPLICATION, REPLICATION.setting(scope, bounds, parse(rules)))
    states = list(explore(program, SearchBudget(threads=1), clock=time.perf_counter).states())
    sample = states[::every]
    assert len(sample) > 50
    agree_with_ints(program, few(sample))
