"""A short fair cycle through a state, of whose component every constraint can be satisfied."""

from __future__ import annotations

import numpy as np
from attrs import define, field

from kraftcheck.solvers.liveness.fair import Sweeps
from kraftcheck.solvers.liveness.graph import Block, Truths
from kraftcheck.solvers.liveness.runs import Ends, Run, shortest

Asked = tuple[int, ...]
"""For each group the bits of the constraints that are asked for."""


@define
class FairCycle:
    """The search for a cycle.

    Attributes:
        sweeps: the region and the constraints.
        within: the states of its component, and maybe others, which are left out where they are met: used up.
        state: where the cycle is to begin.
    """

    sweeps: Sweeps
    within: Truths
    state: int
    _homeward: dict[int, Run] = field(factory=dict)
    _missed: Asked = ()

    def instances(self) -> tuple[int, ...] | None:
        """The action instances of the shorter one of two: constraint by constraint, or whichever is nearest.

        None: the state is on no fair cycle. A weak constraint that no way leads to and back from cannot be satisfied;
        for a strong one the states are left out that enable its steps.
        """
        every = sum(len(group.constraints) for group in self.sweeps.groups)
        while self.within[self.state]:
            ways = [self._around(most) for most in (1, every)]
            found = [way for way in ways if way is not None]
            if len(found) == len(ways):
                return min(found, key=len)
            for group, missed in zip(self.sweeps.groups, self._missed, strict=True):
                if missed & ~group.strong:
                    return None
                self.within &= (group.enabled & group.enabled.dtype.type(missed)) == 0
            self._homeward.clear()
        return None

    def _around(self, most: int) -> tuple[int, ...] | None:
        """It goes on to the nearest place that satisfies one of so many constraints not satisfied yet, and back."""
        way = Run((self.state,))
        while True:
            home = self._home(way.end)
            assert home is not None, "each place on the way has a way back"
            around = way.on(home)
            missing = self._missing(around)
            if not any(missing):
                return around.instances
            asked = _first(missing, most)
            more = self._on(way.end, asked)
            if more is None:
                self._missed = asked
                return None
            way = way.on(more)

    def _on(self, here: int, asked: Asked) -> Run | None:
        """The way to the nearest place that satisfies a constraint that is asked for, and has a way back."""
        while (more := self._shortest(here, self._satisfies(asked))) is not None:
            if self._home(more.end) is not None:
                return more
        return None

    def _home(self, here: int) -> Run | None:
        """The way back to where the cycle begins; None: there is none, and what was reached is left out."""
        if here == self.state:
            return Run((here,))
        if here not in self._homeward:
            home = self._shortest(here, lambda block: block.targets == self.state, leave_out=True)
            if home is None:
                return None
            self._homeward[here] = home
        return self._homeward[here]

    def _shortest(self, here: int, ends: Ends, *, leave_out: bool = False) -> Run | None:
        return shortest(self.sweeps.edges, here, self.within, ends, self.sweeps.check_stop, leave_out=leave_out)

    def _satisfies(self, asked: Asked) -> Ends:
        """The edges that satisfy a constraint that is asked for, by themselves or by where they lead."""

        def ends(block: Block) -> Truths:
            found, owners = np.zeros(len(block.targets), dtype=np.bool_), block.owners()
            for group, bits in zip(self.sweeps.groups, asked, strict=True):
                taken = group.steps[self.sweeps.kinds[block.instances]] & group.enabled[owners]
                rests = ~group.enabled[block.targets] & group.enabled.dtype.type(group.every & ~group.strong)
                found |= ((taken | rests) & group.enabled.dtype.type(bits)) != 0
            return found

        return ends

    def _missing(self, around: Run) -> Asked:
        """The constraints that a cycle does not satisfy."""
        kinds, states = self.sweeps.kinds[list(around.instances)], list(around.states)
        missing = []
        for group in self.sweeps.groups:
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
