"""Witnesses: from the way to an occasion to a trace that ints confirm."""

from __future__ import annotations

from kraftcheck.model.language.system import Property
from kraftcheck.solvers.machine_code.frame import NO_ACTION
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.verdict import Trace
from kraftcheck.solvers.reference.confirm import EngineDisagreement, confirm
from kraftcheck.solvers.search.symmetry import canonical, concrete
from kraftcheck.solvers.traces.path import Way


def witness(program: Program, claim: Property | None, way: Way, instance: int = NO_ACTION) -> Trace:
    """The trace of a claim's occasion, confirmed on ints.

    Args:
        program: what was explored.
        claim: what it is about; None: deadlock.
        way: how the state of the occasion is reached.
        instance: the action instance taken there that the claim is about; NO_ACTION: it is about the state.

    Raises:
        EngineDisagreement: when ints do not agree.
    """
    instances = way.instances if instance == NO_ACTION else (*way.instances, instance)
    end = way.end if instance == NO_ACTION else None
    if program.reduction is None:
        return confirm(program, claim, way.initial, instances, end)
    trace = confirm(program, claim, *concrete(program, claim, way.initial, instances), None)
    if end is not None and canonical(program, program.layout.pack(trace.states[-1])) != end:
        raise EngineDisagreement(f"the engine reached a state like {program.layout.unpack(end)}, ints another")
    return trace
