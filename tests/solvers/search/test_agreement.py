"""Machine code and ints agree on the elections system: same enabled actions, same results."""

import time

import pytest

from kraftcheck.model.rules.ruleset import parse
from kraftcheck.properties.catalogue import SYSTEMS
from kraftcheck.solvers.exploration.explore import explore
from kraftcheck.solvers.program.trace import trace
from tests.shared.explored import agree_with_ints
from tests.shared.samples import few

ELECTIONS = SYSTEMS["elections"]


@pytest.mark.parametrize(
    ("scope", "rules", "every"),
    [
        ("tiny", "fixed", 300),
        ("tiny", "kafka-4.0", 1_400),
        pytest.param("small", "kip", 3_400, marks=pytest.mark.slow),
        pytest.param("directories", "kafka-4.0", 20_000, marks=pytest.mark.slow),
    ],
)
def test_machine_code_agrees_with_ints(scope: str, rules: str, every: int) -> None:
    """All action instances have the same result both ways; sampled: every n-th reachable state, in found order."""
    program = trace(ELECTIONS, ELECTIONS.setting(scope, rules=parse(rules)))
    states = list(explore(program, clock=time.perf_counter).states())
    sample = states[::every]
    assert len(sample) > 50
    agree_with_ints(program, few(sample))
