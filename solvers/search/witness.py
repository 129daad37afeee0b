"""Witnesses: a run to the first occurrence of a claim becomes a trace that ints confirm."""

from __future__ import annotations

from kraftcheck.model.language.system import Property
from kraftcheck.solvers.machine_code.frame import NO_ACTION
from kraftcheck.solvers.program.answers import start_parts
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.starts import initial_states
from kraftcheck.solvers.program.verdict import Trace
from kraftcheck.solvers.reference.confirm import EngineDisagreement, confirm
from kraftcheck.solvers.search.constraint import first_failing
from kraftcheck.solvers.search.symmetry import canonical, concrete
from kraftcheck.solvers.traces.path import PackedRun

STARTS = 64
"""Initial states of which ints are asked what a property claims of them."""


def start_witness(program: Program, claim: Property | None) -> Trace | None:
    """The initial state of which a step property claims what is not so, confirmed on ints; None where there is none.

    Raises:
        EngineDisagreement: when ints do not agree.
    """
    truth = None if claim is None else program.starts.get(claim.id)
    if truth is None or claim is None:
        return None
    states = program.initial
    if program.reduction is not None:  # those that were left out may differ in what is claimed
        states = tuple(map(program.layout.pack, initial_states(program.system, program.setting)))
    failing = first_failing(program, truth, states)
    if failing is not None:
        first = program.layout.unpack(failing)
        names = tuple(name for name, part in start_parts(claim, first).items() if not part)
        if not names:
            raise EngineDisagreement(f"{claim.id}: on ints it does not fail in the initial state {first}")
        return Trace(first, (), claim.id, claim.kind, names)
    for state in states[:: -(-len(states) // STARTS)]:
        first = program.layout.unpack(state)
        if not all(start_parts(claim, first).values()):
            raise EngineDisagreement(f"{claim.id}: it fails on ints in the initial state {first}")
    return None


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
