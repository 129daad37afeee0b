"""Action instances as terms of the state: the same guards and effects, with the arguments filled in."""

import numpy as np
import pytest

from kraftcheck.model.language.system import System
from kraftcheck.solvers.exploration.explore import explore
from kraftcheck.solvers.machine_code.compile import load_kernel
from kraftcheck.solvers.program.trace import trace
from kraftcheck.solvers.search.orders import Specialiser
from tests.random_systems.seeds import SEED_3, SEED_11  # type: ignore[attr-defined]
from tests.shared.explored import values_of
from tests.toys import DIGRAPH, TWO_PHASE


@pytest.mark.parametrize("system", [DIGRAPH, TWO_PHASE, SEED_3, SEED_11], ids=lambda system: system.name)
def test_instances_enable_and_lead_to_what_the_kernel_does(system: System) -> None:
    """In each state the instances whose conjuncts hold and that stay in the domains are the kernel's successors."""
    program = trace(system, system.setting())
    kernel, made = load_kernel(program), Specialiser(program)
    instances = list(made.instances())
    assert [one.number for one in instances] == list(range(program.instances))
    states = list(explore(program, clock=lambda: 0.0).states())
    for packed in states[:: max(1, len(states) // 40)]:
        values = values_of(made.graph, program.layout.split(packed))
        found = {}
        for one in instances:
            after = [values[term.index] for term in one.after]
            slots = enumerate(program.layout.slots)
            inside = all(s.domain.lo <= after[n] <= s.domain.hi for n, s in slots if n in one.unchecked)
            if all(values[term.index] for term in one.guard) and inside:
                found[one.number] = program.layout.join(after)
        assert found == dict(kernel.successors(packed)), packed
    assert np.any([len(one.guard) for one in instances])
