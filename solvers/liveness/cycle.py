"""A short fair cycle through a state, of whose component every constraint can be satisfied."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from attrs import define, field

from kraftcheck.solvers.liveness.constraints import Bits, Group
from kraftcheck.solvers.liveness.graph import Block, Edges, Truths
from kraftcheck.solvers.liveness.runs import Ends, Run, shortest

Asked = tuple[int, ...]
"""For each group the bits of the constraints that are asked for."""


@define
class FairCycle:
    """The search for a cycle.

    Attributes:
        edges, kinds, groups: the region, the class of each action instance, and the constraints.
        within: the states of its component, and maybe others.
        state: where the cycle is to begin.
    """

    edges: Edges
    kinds: Bits
    groups: Sequence[Group]
    within: Truths
    state: int
    _homeward: dict[int, Run | None] = field(factory=dict)

    def instances(self) -> tuple[int, ...] | None:
        """The action instances of the shorter one of two: constraint by constraint, or whichever is nearest.

        None: from some nearest place there is no way back. In a component there always is.
        """
        every = sum(len(group.constraints) for group in self.groups)
        one, other = (self._around(most) for most in (1, every))
        return None if one is None or other is None else min(one, other, key=len)

    def _around(self, most: int) -> tuple[int, ...] | None:
        """It goes on to the nearest place that satisfies one of so many constraints not satisfied yet, and back."""
        way: Run | None = Run((self.state,))
        while way is not None and (home := self._home(way.end)) is not None:
            around = way.on(home)
            missing = self._missing(around)
            if not any(missing):
                return around.instances
            more = self._way(way.end, self._satisfies(_first(missing, most)))
            way = None if more is None else way.on(more)
        return None

    def _home(self, here: int) -> Run | None:
        """The way back to where the cycle begins."""
        if here == self.state:
            return Run((here,))
        if here not in self._homeward:
            self._homeward[here] = self._way(here, lambda block: block.targets == self.state)
        return self._homeward[here]

    def _way(self, here: int, ends: Ends) -> Run | None:
        return shortest(self.edges, here, self.within, ends)

    def _satisfies(self, asked: Asked) -> Ends:
        """The edges that satisfy a constraint that is asked for, by themselves or by where they lead."""

        def ends(block: Block) -> Truths:
            found, owners = np.zeros(len(block.targets), dtype=np.bool_), block.owners()
            for group, bits in zip(self.groups, asked, strict=True):
                taken = group.steps[self.kinds[block.instances]] & group.enabled[owners]
                rests = ~group.enabled[block.targets] & group.enabled.dtype.type(group.every & ~group.strong)
                found |= ((taken | rests) & group.enabled.dtype.type(bits)) != 0
            return found

        return ends

    def _missing(self, around: Run) -> Asked:
        """The constraints that a cycle does not satisfy."""
        kinds, states = self.kinds[list(around.instances)], list(around.states)
        missing = []
        for group in self.groups:
            enabled = group.enabled[states]
            taken = int(np.bitwise_or.reduce(group.steps[kinds] & enabled[:-1]))
            somewhere, everywhere = int(np.bitwise_or.reduce(enabled)), int(np.bitwise_and.reduce(enabled))
            satisfied = taken | ~everywhere & ~group.strong | ~somewhere & group.strong
            missing.append(group.every & ~satisfied)
        return tuple(missing)


def _first(asked: Asked, most: int) -> Asked:
    """The first so many of the constraints asked for."""
    chosen = []
    for bits in asked:
        own = 0
        while bits and most:
            own, bits, most = own | bits & -bits, bits & (bits - 1), most - 1
        chosen.append(own)
    return tuple(chosen)
