"""Witnesses: a run to the first occurrence of a claim becomes a trace that ints confirm."""

from __future__ import annotations

from kraftcheck.model.language.system import Property
from kraftcheck.solvers.machine_code.frame import NO_ACTION
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.verdict import Trace
from kraftcheck.solvers.reference.confirm import EngineDisagreement, confirm
from kraftcheck.solvers.search.symmetry import canonical, concrete
from kraftcheck.solvers.traces.path import PackedRun


def witness(program: Program, claim: Property | None, run: PackedRun, instance: int = NO_ACTION) -> Trace:
    """The trace of a claim's occurrence, confirmed on ints.

    Args:
        program: what was explored.
        claim: what it is about; None: deadlock.
        run: how the state of the occurrence is reached.
        instance: the action instance taken there that the claim is about; NO_ACTION: it is about the state.

    Raises:
        EngineDisagreement: when ints do not agree.
    """
    instances = run.instances if instance == NO_ACTION else (*run.instances, instance)
    end = run.end if instance == NO_ACTION else None
    if program.reduction is None:
        return confirm(program, claim, run.initial, instances, end)
    trace = confirm(program, claim, *concrete(program, claim, run.initial, instances), None)
    if end is not None and canonical(program, program.layout.pack(trace.states[-1])) != end:
        raise EngineDisagreement(f"the engine reached a state like {program.layout.unpack(end)}, ints another")
    return trace
