"""The states outside a system's constraint, counted once a search has ended: they were judged, and not followed."""

from __future__ import annotations

import numpy as np

from kraftcheck.model.language.layout import Flag
from kraftcheck.solvers.machine_code.lower import closure
from kraftcheck.solvers.program.columns import field_values
from kraftcheck.solvers.program.intervals import bounds_of
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.search.visited import VisitedSet

CHUNK = 1 << 14
"""States that are judged at once."""


def count_outside(program: Program, store: VisitedSet) -> int:
    """How many of the visited states are outside the constraint."""
    within = program.within
    if within is None:
        return 0
    needed, outside = closure([within]), 0
    read = {term.index for term in needed}
    slots = [(t, s) for t, s in zip(program.state, program.layout.slots, strict=True) if t.index in read]
    for shard in store.shards:
        for first in range(0, shard.count, CHUNK):
            packed = shard.states[first : min(first + CHUNK, shard.count)]
            variables = {}
            for term, slot in slots:
                values = field_values(packed, slot)
                values = values.astype(np.bool_) if isinstance(slot.domain, Flag) else values
                variables[term.index] = (values, values)
            inside = bounds_of(needed, variables)[within.index][0]
            outside += len(packed) - int(np.broadcast_to(inside, len(packed)).sum())
    return outside
