"""Machine code against rules on ints: the successors of a state, both ways."""

from __future__ import annotations

from collections.abc import Iterable

from kraftcheck.model.language.layout import DomainError
from kraftcheck.solvers.machine_code.compile import load_kernel
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.reference.confirm import successor


def agree_with_ints(program: Program, states: Iterable[tuple[int, ...]]) -> None:
    """Every action instance does the same in machine code and on ints, in each of some packed states.

    A step that is not enabled, or that would leave a field's domain, has no successor in either. Raises AssertionError
    with the instance that differs, and where there is no state to ask.
    """
    kernel, asked = load_kernel(program), 0
    for packed in states:
        native, state = dict(kernel.successors(packed)), program.layout.unpack(packed)
        for instance in range(program.instances):
            try:
                step = successor(program, state, instance)
            except DomainError:
                step = None
            expected = None if step is None else program.layout.pack(step.state)
            assert native.get(instance) == expected, program.instance(instance)
        asked += 1
    assert asked
