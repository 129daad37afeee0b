"""The buffers of a search: candidates on their way to the visited set, and what one thread works in."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from kraftcheck.solvers.machine_code.compile import Kernel
from kraftcheck.solvers.machine_code.objectcode import address
from kraftcheck.solvers.machine_code.search_kernel import SHARDS

Counters: TypeAlias = npt.NDArray[np.int64]


class CandidateBuffers:
    """Candidate buffers, one for each shard, and the claims that occurred while they were filled."""

    def __init__(self, kernel: Kernel) -> None:
        self.records = np.empty((SHARDS, kernel.geometry.room, kernel.geometry.record), dtype=np.uint64)
        self.counts = np.zeros(SHARDS, dtype=np.int64)
        self.peak_counts = np.zeros(SHARDS, dtype=np.int64)
        self.claims: Counters | None = None
        self.records_place, self.counts_place = address(self.records), address(self.counts)

    def reset(self) -> None:
        """Forget the candidates."""
        np.maximum(self.peak_counts, self.counts, out=self.peak_counts)
        self.counts[:] = 0
        self.claims = None

    def release(self) -> None:
        """Give the memory back."""
        self.records = self.records[:, :0].copy()


class ThreadBuffers:
    """The buffers of one thread: a frame, a filter of recent successors, room for one state's successors."""

    def __init__(self, kernel: Kernel) -> None:
        geometry = kernel.geometry
        self.frame = np.zeros(kernel.plan.size, dtype=np.int64)
        initial = np.array(kernel.program.initial[0], dtype=np.uint64)
        self.recent = np.tile(initial, geometry.filter_slots)  # a state already visited: dropping it is sound
        self.scratch = np.empty((geometry.instances + 1) * geometry.record, dtype=np.uint64)
        self.frame_place, self.recent_place, self.scratch_place = map(address, (self.frame, self.recent, self.scratch))
