"""Random runs of a system on ints, where it is not traced, or goes beyond the bounds of searches."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence

from kraftcheck.solvers.reference.interpreter import Integers, Transition


def random_run(
    engine: Integers, seed: int, steps: int, preferences: Sequence[Mapping[str, int]] = ({},),
    weights: Sequence[int] = (1,),
) -> Iterator[Transition]:  # fmt: skip
    """A random run of at most so many steps within the domains of the layout, the same for the same seed.

    Args:
        engine, seed, steps: what runs, what decides all that is drawn, and the longest run.
        preferences: of which one is drawn: how often to prefer an action, by name; 1 where it is not named.
        weights: of which one is drawn for each action, by which it is preferred besides; 0: the run never takes it.
    """
    draw = random.Random(seed)
    state, preferred = draw.choice(engine.initial), draw.choice(preferences)
    weighed = [draw.choice(weights) * preferred.get(action.name, 1) for action in engine.actions]
    for _ in range(steps):
        tried = sorted((draw.random() ** (1 / weight), action) for action, weight in enumerate(weighed) if weight)
        moves = (engine.first_enabled(state, action, draw.getrandbits(16)) for _, action in reversed(tried))
        taken = (engine.take(state, move) for move in moves if move is not None)
        found = next((one for one in taken if engine.field_outside(one.step.after) is None), None)
        if found is None:
            return
        state = found.step.after
        yield found
