"""Runs to first occurrences become traces that ints confirm; truths of packed states, as of a constraint."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from kraftcheck.model.language.layout import Flag
from kraftcheck.model.language.system import Property
from kraftcheck.model.language.terms import Term
from kraftcheck.solvers.machine_code.transition import NO_ACTION
from kraftcheck.solvers.program.columns import field_values
from kraftcheck.solvers.program.evaluation import closure
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.starts import bounds_of, initial_states
from kraftcheck.solvers.program.verdict import PackedRun, Trace, start_parts
from kraftcheck.solvers.reference.confirm import EngineDisagreement, confirm
from kraftcheck.solvers.search.symmetry import canonical, concrete
from kraftcheck.solvers.search.visited import VisitedSet

CHUNK = 1 << 14  # states that are judged at once


def truths(program: Program, truth: Term, packed: npt.NDArray[np.uint64]) -> npt.NDArray[np.bool_]:
    """In which packed states, one a row, a truth about the state holds."""
    needed = closure([truth])
    read = {term.index for term in needed}
    slots = [(t, s) for t, s in zip(program.state, program.layout.slots, strict=True) if t.index in read]
    holds = np.empty(len(packed), dtype=np.bool_)
    for first in range(0, len(packed), CHUNK):
        piece, variables = packed[first : first + CHUNK], {}
        for term, slot in slots:
            values = field_values(piece, slot)
            exact = values.astype(np.bool_) if isinstance(slot.domain, Flag) else values
            variables[term.index] = (exact, exact)
        holds[first : first + CHUNK] = bounds_of(needed, variables)[truth.index][0]
    return holds


def count_outside(program: Program, store: VisitedSet) -> int:
    """How many of the visited states are outside the constraint."""
    within = program.within
    if within is None:
        return 0
    return sum(int((~truths(program, within, shard.states[: shard.count])).sum()) for shard in store.shards)


def first_failing(program: Program, truth: Term, states: Sequence[tuple[int, ...]]) -> tuple[int, ...] | None:
    """The first of some packed states in which a truth does not hold; None where it holds in all."""
    fails = np.flatnonzero(~truths(program, truth, np.array(states, dtype=np.uint64)))
    return states[int(fails[0])] if len(fails) else None


STARTS = 64  # initial states of which ints are asked what a property claims of them


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
        claim: what it is about; None: deadlock.
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
