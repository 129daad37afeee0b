"""Truths of packed states, and the states outside a system's constraint: they were judged, and not followed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from kraftcheck.model.language.layout import Flag
from kraftcheck.model.language.terms import Term
from kraftcheck.solvers.machine_code.lower import closure
from kraftcheck.solvers.program.columns import field_values
from kraftcheck.solvers.program.intervals import bounds_of
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.search.visited import VisitedSet

CHUNK = 1 << 14
"""States that are judged at once."""


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
