"""Marks that rose too late: after some state had been looked at that leads there, and has less.

Of each state is kept what all those have in common that lead there and were looked at: its *watch*. A mark that rises
beyond its watch is a late one. Once a sweep has none, no mark can rise any more: so no sweep is needed to see that
nothing changes, and the next one passes over states that a late rise cannot concern. That is one of which a state has
all bits, or one that is more than one level deeper: no step leads there.
"""

from __future__ import annotations

import itertools
import operator
from bisect import bisect_right
from collections.abc import Iterable, Sequence

from attrs import frozen

from kraftcheck.solvers.liveness.graph import Edges


@frozen
class LateRises:
    """The late rises of one sweep.

    Attributes:
        edges: the region.
        states: for each part of the sweep with late rises the least state that rose, ascending.
        bits: for each number of these parts the bits that all those states have together.
    """

    edges: Edges
    states: Sequence[int]
    bits: Sequence[int]

    @classmethod
    def of(cls, edges: Edges, rises: Iterable[tuple[int, int]]) -> LateRises:
        """Those of some parts of a sweep: the least state, and the bits of all, which are 0 where there were none."""
        some = sorted(rise for rise in rises if rise[1])
        bits = itertools.accumulate((bits for _, bits in some), operator.or_, initial=0)
        return cls(edges, [state for state, _ in some], list(bits))

    def gain(self, number: int) -> int:
        """The bits that states of a block may get by them."""
        blocks, levels = self.edges.blocks, self.edges.levels
        last = (blocks[number + 1] if number + 1 < len(blocks) else self.edges.count) - 1
        beyond = bisect_right(levels, last) + 1
        deepest = levels[beyond] if beyond < len(levels) else self.edges.count
        return self.bits[bisect_right(self.states, deepest - 1)]
