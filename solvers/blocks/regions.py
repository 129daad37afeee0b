"""The region of a liveness property on blocks of states: which states it has, what they enable, and their steps.

Nothing here imports a model, so that workers can run it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import frozen

from kraftcheck.solvers.blocks.tasks import BlockKernel, Words

Numbers = npt.NDArray[np.int64]
Truths = npt.NDArray[np.bool_]

EVERYWHERE = -1
"""The cut bits of a constraint whose steps count as enabled everywhere."""


@frozen
class RegionQuestion:
    """A liveness property, by numbers of the truths of a state that `appraise` writes.

    Attributes:
        premise, goal: its truths.
        everywhere: its region are all states, not only those without the goal.
        initially: it is about initial states, not about those with the premise.
        excuses: for each constraint the truth that excuses it; negative: the goal is false.
        steps: for each action instance the constraints that it is a step of, a bit each.
        cuts: for each constraint the cut bits by which its steps count as enabled; or `EVERYWHERE`.
    """

    premise: int
    goal: int
    everywhere: bool
    initially: bool
    excuses: tuple[int, ...]
    steps: tuple[int, ...]
    cuts: tuple[int, ...]


@frozen
class RegionPart:
    """What a block of states has of a region.

    Attributes:
        concerned: how many states of the block the property is about.
        chosen: the rows of the block that are in the region.
        waiting: which of these have to wait for the goal.
        allowed: for each of these the constraints that are not excused there.
        hidden: those that count as enabled although no step shows it.
        cut: which of these have a step that a domain cut.
        counts: how many steps each of these has that change it.
        records: the steps: packed state, and action instance.
        taken: the constraints that each of them is a step of.
    """

    concerned: int
    chosen: Numbers
    waiting: Truths
    allowed: Numbers
    hidden: Numbers
    cut: Truths
    counts: Numbers
    records: Words
    taken: Numbers


def region_part(kernel: BlockKernel, question: RegionQuestion, initial: Truths, states: Words) -> RegionPart:
    """The part of a region in a block of states, of which some are initial."""
    rows = kernel.truths(states)
    goal = _truth(rows, question.goal)
    concerned = initial if question.initially else _truth(rows, question.premise)
    chosen = np.flatnonzero(~goal | question.everywhere)
    own, unsatisfied = np.ascontiguousarray(states[chosen]), ~goal[chosen]
    records, counts, cuts = kernel.steps_of(own)
    owners = np.repeat(np.arange(len(own)), counts)
    changing = (records[:, :-1] != own[owners]).any(axis=1)
    allowed, hidden = np.zeros((2, len(own)), dtype=np.int64)
    for bit, (excuse, kinds) in enumerate(zip(question.excuses, question.cuts, strict=True)):
        excused = unsatisfied if excuse < 0 else _truth(rows, excuse)[chosen]
        enabled = np.ones_like(excused) if kinds == EVERYWHERE else (cuts & np.uint64(kinds)) != 0
        allowed |= (~excused).astype(np.int64) << bit
        hidden |= enabled.astype(np.int64) << bit
    kept = records[changing]
    taken = np.array(question.steps, dtype=np.int64)[kept[:, -1].astype(np.int64)]
    return RegionPart(
        int(np.count_nonzero(concerned)), chosen, concerned[chosen] & unsatisfied, allowed, hidden, cut=cuts != 0,
        counts=np.bincount(owners[changing], minlength=len(own)), records=kept, taken=taken,
    )  # fmt: skip


def _truth(rows: Any, column: int) -> Truths:
    found: Truths = (rows[:, column // 64] >> np.uint64(column % 64) & np.uint64(1)).astype(np.bool_)
    return found
