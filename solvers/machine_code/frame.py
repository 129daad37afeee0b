"""The frame: the counters of one thread, which the compiled search writes and the explorer reads.

A frame is an array of 64-bit integers; `FramePlan` says what lies where.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from attrs import field, frozen

from kraftcheck.solvers.program.program import Kind, Program

Words: TypeAlias = npt.NDArray[np.uint64]

NO_ACTION = 0xFFFF
"""The instance number of what no action led to: initial states, claims about a state."""

CONJUNCTS_PER_WORD = 64


def live_kinds(program: Program) -> list[tuple[int, Kind]]:
    """The kinds that have instances, with their positions."""
    return [(number, kind) for number, kind in enumerate(program.kinds) if kind.instances]


@frozen
class Crossing:
    """A bound of a field's domain that transitions of a kind may cross: the intervals of terms do not exclude it.

    Attributes:
        kind, slot: which, by number.
        above: whether it is the upper bound.
    """

    kind: int
    slot: int
    above: bool


def crossings(program: Program) -> Iterator[Crossing]:
    """Every crossing of a program, by kind, slot and side."""
    for number, kind in enumerate(program.kinds):
        for slot in kind.unchecked:
            domain, after = program.layout.slots[slot].domain, kind.after[slot]
            if after.lo < domain.lo:
                yield Crossing(number, slot, above=False)
            if after.hi > domain.hi:
                yield Crossing(number, slot, above=True)


@frozen
class FramePlan:
    """Offsets of the parts of a frame.

    Attributes:
        shard, index: where expansion resumes when a buffer is full.
        enabled: nonzero when the current state has an enabled instance.
        claim_found: nonzero when a claim was recorded in this piece; a bit of its own for each of the first goals.
        claims: for each claim (always, sometimes, deadlock, step, happens) 0, or 1 + the
            mark (state id << 16 | instance) of the first occurrence.
        fired: transitions taken, for each kind.
        pruned: transitions cut because they left a domain, for each of `crossings`.
        covered: for each kind the first of its words "ever true", then "ever false".
        size: length of a frame.
        crossings: the bounds that transitions may cross.
    """

    program: Program
    shard: int = field(init=False, default=0)
    index: int = field(init=False, default=1)
    enabled: int = field(init=False, default=2)
    claim_found: int = field(init=False, default=3)
    claims: int = field(init=False, default=4)
    fired: int = field(init=False)
    pruned: int = field(init=False)
    covered: tuple[int, ...] = field(init=False)
    size: int = field(init=False)
    crossings: tuple[Crossing, ...] = field(init=False)

    def __attrs_post_init__(self) -> None:
        """Lay the parts out one after the other."""
        p = self.program
        fired = self.claims + self.claim_count
        pruned = fired + len(p.kinds)
        bounds = tuple(crossings(p))
        at = pruned + len(bounds)
        covered = []
        for kind in p.kinds:
            covered.append(at)
            at += 2 * self.coverage_words(kind)
        parts = {"fired": fired, "pruned": pruned, "covered": tuple(covered), "size": at, "crossings": bounds}
        for name, value in parts.items():
            object.__setattr__(self, name, value)

    def crossings_of(self, kind: int) -> list[tuple[int, Crossing]]:
        """The crossings by transitions of a kind, by its number, each with the place of its counter."""
        return [(self.pruned + n, crossing) for n, crossing in enumerate(self.crossings) if crossing.kind == kind]

    def slots_left(self, counters: npt.NDArray[np.int64]) -> frozenset[int]:
        """The slots whose domain some transition left, by a frame."""
        return frozenset(
            crossing.slot for number, crossing in enumerate(self.crossings) if counters[self.pruned + number]
        )

    def join(self, frames: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Frames (one a row) as one: counts added, coverage bits joined, of each claim the smallest mark."""
        joined: npt.NDArray[np.int64] = frames.sum(axis=0)
        covered = slice(self.pruned + len(self.crossings), self.size)
        joined[covered] = np.bitwise_or.reduce(frames[:, covered], axis=0)
        claims = slice(self.claims, self.claims + self.claim_count)
        marks = frames[:, claims]
        smallest = np.where(marks == 0, np.iinfo(np.int64).max, marks).min(axis=0)
        joined[claims] = np.where(marks.any(axis=0), smallest, 0)
        return joined

    @staticmethod
    def coverage_words(kind: Kind) -> int:
        """Words that hold one bit for each guard conjunct."""
        return -(-len(kind.guard) // CONJUNCTS_PER_WORD)

    @property
    def claim_count(self) -> int:
        """Number of claims: properties and deadlock."""
        p = self.program
        return len(p.always) + len(p.sometimes) + 1 + len(p.steps) + len(p.happens)

    @property
    def deadlock(self) -> int:
        """Number of the built-in deadlock claim."""
        return len(self.program.always) + len(self.program.sometimes)

    @property
    def first_step(self) -> int:
        """Number of the first step property's claim; `happens` goals follow the step properties."""
        return self.deadlock + 1

    @property
    def goals(self) -> frozenset[int]:
        """Numbers of the goals: claims that have to occur."""
        p = self.program
        happens = self.first_step + len(p.steps)
        return frozenset((*range(len(p.always), self.deadlock), *range(happens, happens + len(p.happens))))

    @property
    def goal_bits(self) -> dict[int, int]:
        """Of the first goals, by number, the bit of `claim_found` that says that they were recorded in this piece."""
        return dict(zip(sorted(self.goals), range(1, 64), strict=False))
