"""Guides of states: of those that got all bits in one round, an edge that may give them all in the next one at once.

A round of a fixpoint notes, for each state that gets its last bits, another one that has all of them by then, and to
which an edge leads. In the next round, among fewer states, such edges alone are followed first: where a mark gets all
bits by them, no edges need be computed. That cannot raise a mark too far, for they are edges as all others.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from kraftcheck.solvers.liveness.constraints import Bits
from kraftcheck.solvers.liveness.graph import Truths
from kraftcheck.solvers.liveness.stored import Listed
from kraftcheck.solvers.machine_code.mark_kernel import UNGUIDED

Guides: TypeAlias = npt.NDArray[np.uint32]
"""For each state of a region the one that guides it, `UNGUIDED` for none."""

GUIDE_BYTES = 4
"""Bytes of a guide."""


def no_guides(count: int) -> Guides:
    """The guides of so many states before the first round."""
    return np.full(count, UNGUIDED, dtype=np.uint32)


def guiding(guides: Guides, wanted: Truths, kind: npt.DTypeLike) -> Listed | None:
    """The edges from the wanted states of a block to their guides, of the class without steps; None: there is none.

    Args:
        guides: of the states of the block.
        wanted: which of them.
        kind: the type of classes.
    """
    chosen = wanted & (guides != UNGUIDED)
    if not chosen.any():
        return None
    targets = guides[chosen]
    return np.concatenate([[0], np.cumsum(chosen)]).astype(np.uint32), targets, np.zeros(len(targets), dtype=kind)


def later(guides: Guides, kept: Truths, marks: Bits, full: int, states: slice) -> Truths:
    """The states of a block whose guide a sweep from the last state to the first comes to later, and may yet fill."""
    known = guides[states] != UNGUIDED
    target = np.where(known, guides[states], 0)
    found: Truths = known & (target < np.arange(states.start, states.stop)) & kept[target] & (marks[target] != full)
    return found


def renumbered(guides: Guides, kept: Truths) -> Guides:
    """The guides of the states kept, by their new numbers; a state that is left out guides none."""
    numbers = np.cumsum(kept, dtype=np.uint32) - np.uint32(1)
    numbers[~kept] = UNGUIDED
    found = guides[kept]
    known = found != UNGUIDED
    found[known] = numbers[found[known]]
    return found
