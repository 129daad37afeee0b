"""Guard coverage: the conjuncts that a search never found true, or never found false."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kraftcheck.solvers.machine_code.compile import Kernel
from kraftcheck.solvers.machine_code.frame import CONJUNCTS_PER_WORD
from kraftcheck.solvers.program.pruning import WITHIN

Names = tuple[tuple[str, str], ...]


def never_met(kernel: Kernel, counters: npt.NDArray[np.int64]) -> tuple[Names, Names]:
    """The guard conjuncts that were never true, and those never false."""
    plan = kernel.plan
    if kernel.program.orders is not None:
        return (), ()  # a state that was left out may be the one that shows it
    never_true, never_false = [], []
    for number, kind in enumerate(kernel.program.kinds):
        if kind.action.guard is None or not kind.instances:
            continue
        words = plan.coverage_words(kind)
        for position, name in enumerate(kind.guard):
            if name == WITHIN:  # in every guard: how many states are outside is told once
                continue
            at = plan.covered[number] + position // CONJUNCTS_PER_WORD
            bit = position % CONJUNCTS_PER_WORD
            if not int(counters[at]) >> bit & 1:
                never_true.append((kind.action.name, name))
            if not int(counters[at + words]) >> bit & 1:
                never_false.append((kind.action.name, name))
    return tuple(never_true), tuple(never_false)
