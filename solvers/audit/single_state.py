"""Engines for one state: the compiled functions of the search, called for a single state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from attrs import frozen

from kraftcheck.solvers.blocks.expansion import Expansion
from kraftcheck.solvers.blocks.tasks import CLAIMS_PER_WORD, BlockKernel
from kraftcheck.solvers.machine_code.compile import Kernel
from kraftcheck.solvers.machine_code.frame import NO_ACTION, Crossing, FramePlan
from kraftcheck.solvers.machine_code.objectcode import address
from kraftcheck.solvers.machine_code.search_kernel import SHARDS
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.search.buffers import CandidateBuffers, ThreadBuffers


@frozen
class EngineReport:
    """The report of an engine about one state.

    Attributes:
        occurrences: for each claim that occurs, by its number in a `FramePlan`, the first action instance that
            shows it; NO_ACTION for claims about the state.
        after: action instances taken, each with the packed state that it leads to.
        pruned: for each bound of a domain that cut transitions of a kind, how many.
        marks: bits of the `recovers` properties, as the backward search sets them from the state alone.
    """

    occurrences: Mapping[int, int]
    after: tuple[tuple[int, tuple[int, ...]], ...]
    pruned: Mapping[Crossing, int]
    marks: int

    @classmethod
    def of(cls, plan: FramePlan, frame: Any, records: Any, marks: int, claims: Mapping[int, int]) -> EngineReport:
        """The report of one expansion: its frame, zero before, its records, and the claims about the state."""
        first_instances = frame[plan.claims : plan.claims + plan.claim_count]
        occurrences = {n: (int(first_instances[n]) - 1) & NO_ACTION for n in np.flatnonzero(first_instances).tolist()}
        cuts = {
            crossing: int(frame[plan.pruned + n]) for n, crossing in enumerate(plan.crossings) if frame[plan.pruned + n]
        }
        after = tuple((row[-1], tuple(row[:-1])) for row in records.tolist())
        return cls({**claims, **occurrences}, after, cuts, marks)


class StateEngine(Protocol):
    """Compiled code that can be asked for one state."""

    def __call__(self, packed: Sequence[int]) -> EngineReport:
        """The report about a packed state."""


class NativeEngine:
    """The native search's own expansion, of a visited set that holds one state."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel, self._buffers, self._piece = kernel, ThreadBuffers(kernel), CandidateBuffers(kernel)
        self._stores = np.zeros(SHARDS, dtype=np.int64)
        self._ranges = np.zeros((SHARDS, 2), dtype=np.int64)
        self._ranges[0] = 0, 1

    def __call__(self, packed: Sequence[int]) -> EngineReport:
        """See `StateEngine`."""
        kernel, buffers, piece, plan = self._kernel, self._buffers, self._piece, self._kernel.plan
        source = np.array(packed, dtype=np.uint64)
        self._stores[0] = address(source)
        buffers.frame[:] = piece.counts[:] = 0
        kernel.expand(
            buffers.frame_place, address(self._stores), address(self._ranges), piece.records_place,
            piece.counts_place, buffers.recent_place, buffers.scratch_place, 0,
        )  # fmt: skip
        transitions, size = int(buffers.frame[plan.fired : plan.pruned].sum()), kernel.geometry.record
        return EngineReport.of(
            plan, buffers.frame, buffers.scratch[: transitions * size].reshape(-1, size), self._marks(source), {}
        )

    def _marks(self, source: Any) -> int:
        kernel = self._kernel
        if not kernel.program.recovers:
            return 0
        mark = np.zeros(1, dtype=f"u{kernel.geometry.mark}")
        kernel.library.function("survey", 3)(address(source), address(mark), 1)
        return int(mark[0])


class BlockEngine:
    """The functions on blocks that workers run, for a block of one state."""

    def __init__(self, program: Program, kernel: BlockKernel) -> None:
        self._plan, self._kernel = FramePlan(program), kernel
        self._expansion = Expansion(kernel, 0)

    def __call__(self, packed: Sequence[int]) -> EngineReport:
        """See `StateEngine`."""
        kernel, expansion, program = self._kernel, self._expansion, self._plan.program
        states = np.array([packed], dtype=np.uint64)
        expansion.frame[:] = 0
        for _ in expansion.take(states, 0):
            pass
        expansion.empty()
        records, _ = kernel.transitions(states)
        bits = kernel.claims(states)[0].tolist()
        occur = [n for n in range(len(program.always) + len(program.sometimes)) if _bit(bits, n)]
        marks = int(kernel.marks(states)[0]) if program.recovers else 0
        return EngineReport.of(self._plan, expansion.frame, records, marks, dict.fromkeys(occur, NO_ACTION))


def _bit(words: Sequence[int], number: int) -> int:
    """A bit of a state's claim words."""
    return words[number // CLAIMS_PER_WORD] >> number % CLAIMS_PER_WORD & 1
