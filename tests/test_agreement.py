"""Machine code and ints agree on the elections system: same enabled actions, same results."""

from __future__ import annotations

import time

import pytest

from model.layout import DomainError
from model.rules import parse
from properties.catalogue import ELECTIONS
from solvers.explorer import explore
from solvers.native import load_kernel
from solvers.program import trace
from solvers.replay import successor


@pytest.mark.parametrize(
    ("scope", "rules", "every"),
    [
        ("tiny", "fixed", 300),
        ("tiny", "kafka-4.0", 1_400),
        ("small", "kip", 3_400),
        ("directories", "kafka-4.0", 20_000),
    ],
)
def test_machine_code_agrees_with_ints(scope: str, rules: str, every: int) -> None:
    """All action instances have the same result both ways; sampled: every n-th reachable state, in found order."""
    program = trace(ELECTIONS, ELECTIONS.setting(scope, rules=parse(rules)))
    kernel = load_kernel(program)
    states = list(explore(program, clock=time.perf_counter).states())
    sample = states[::every]
    assert len(sample) > 50
    for packed in sample:
        native = dict(kernel.successors(packed))
        state = program.layout.unpack(packed)
        for instance in range(program.instances):
            try:
                step = successor(program, state, instance)
            except DomainError:
                step = None
            expected = None if step is None else program.layout.pack(step.state)
            assert native.get(instance) == expected, program.instance(instance)
