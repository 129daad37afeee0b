"""The controller machine: several partitions on nine brokers keep the invariants, and every error code is met."""

from __future__ import annotations

import pytest
from hypothesis import Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from kraftcheck.model.rules.ruleset import parse
from kraftcheck.solvers.hypothesis.machine import other_examples
from kraftcheck.solvers.hypothesis.tally import Tally
from tests.model.controller.controller_machine import InvariantBroken, demanded, machine
from tests.model.controller.controllers import FIXED

ROUND = settings(max_examples=max(1, settings().max_examples // 6))


def test_several_partitions_keep_the_invariants() -> None:
    """Mended, no request breaks an invariant on nine brokers; every error code and every goal is reached."""
    tally = demanded()
    for number in range(60):
        run_state_machine_as_test(other_examples(machine(FIXED, tally, "Round"), str(number)), settings=ROUND)
        if not tally.missing():
            break
    tally.verify()
    assert tally.examples >= ROUND.max_examples


@pytest.mark.parametrize(("variant", "number"), [("retarget-keeps-old-reassignment", 15)])
def test_a_defect_is_found_among_several_partitions(variant: str, number: int) -> None:
    """A defect of the snapshot breaks its invariant in some example."""
    made = machine(parse(f"fixed+{variant}"), Tally(), "Seeded")
    with pytest.raises(InvariantBroken) as raised:
        run_state_machine_as_test(made, settings=settings(ROUND, max_examples=1000, phases=[Phase.generate]))
    assert number in raised.value.numbers
