"""Whether what a proof calls any is any: for each bound that bounds nothing, runs that go beyond every search of it.

A proof for any number says nothing new where another bound of the scope keeps all runs below a number. So for each such
bound a random run on ints, with the other bounds of the proof, must go beyond the largest number that a search takes.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from attrs import frozen

from kraftcheck.ci.prove.request import ProofRequest
from kraftcheck.model.language.bound import Bound
from kraftcheck.model.language.system import Setting, Step
from kraftcheck.properties.long_runs import PASSING, PREFERRED
from kraftcheck.solvers.reference.interpreter import Integers

WALKS, STEPS = 400, 150
"""Random runs that are tried for each bound; steps of each."""

MORE = 2
"""By so many are there more participants than in any search: one may be out of the ISR."""

WEIGHTS = (0, 1, 4, 16)
"""How often a run prefers an action: some runs never take it."""


@frozen
class Freed:
    """The bounds that are any in a request about a shipped system.

    Attributes:
        request: for a proof.
        setting: that of the proof.
        names: of the bounds.
    """

    request: ProofRequest
    setting: Setting
    names: tuple[str, ...]

    def unreached(self, names: Sequence[str] = ()) -> list[str]:
        """Which of them, or of those named, no run was seen to go beyond."""
        return [name for name in names or self.names if self.steps_beyond(name) is None]

    def steps_beyond(self, name: str) -> int | None:
        """Steps of a run beyond the largest number that searches take for a bound; None where none was found."""
        system = self.request.subject().system
        passes, number = PASSING.get(system.name, {}).get(name), self._bounds()[name].hi
        if passes is None:
            return None
        setting = self._of_numbers(name)
        engine = Integers(system, setting)
        runs = (_run(engine, random.Random(seed)) for seed in range(WALKS))
        return next((at for run in runs for at, step in enumerate(run, 1) if passes(step, setting, number)), None)

    def _bounds(self) -> dict[str, Bound]:
        return {bound.name: bound for bound in self.request.subject().system.bounds}

    def _of_numbers(self, name: str) -> Setting:
        """Numbers for what is any: of participants few, unless it is they that are asked for."""
        bounds = self._bounds()
        sizes = [size for size in self.names if bounds[size].takes_any or bounds[bounds[size].freed_by].takes_any]
        larger = {size: bounds[size].hi + MORE for size in sizes[: sizes.index(name) + 1]} if name in sizes else {}
        endless = {other: 2 * (bounds[other].hi + 1) for other in self.names if other not in sizes}
        given = {other: n for other, n in self.request.bounds.items() if bounds[other].accepts(n, proof=False)}
        system = self.request.subject().system
        return system.unlimited_setting(self.request.scope, given | larger | endless, self.setting.rules)


def freed_by(request: ProofRequest) -> Freed:
    """The bounds that are any in a request."""
    setting = request.subject().setting
    return Freed(request, setting, tuple(name for name, value in setting.values().items() if value is None))


def _run(engine: Integers, draw: random.Random) -> Iterator[Step]:
    """A random run within the domains of the layout."""
    state, preferred = draw.choice(engine.initial), draw.choice(({}, PREFERRED))
    weights = [draw.choice(WEIGHTS) * preferred.get(action.name, 1) for action in engine.actions]
    for _ in range(STEPS):
        tried = sorted((draw.random() ** (1 / weight), action) for action, weight in enumerate(weights) if weight)
        moves = (engine.first_enabled(state, action, draw.getrandbits(16)) for _, action in reversed(tried))
        taken = (engine.take(state, move).step for move in moves if move is not None)
        step = next((step for step in taken if engine.field_outside(step.after) is None), None)
        if step is None:
            return
        state = step.after
        yield step
