"""Steps of a graph in memory, along which marks flow backward: each is looked at once for each rise of its target."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import define, field

from kraftcheck.solvers.machine_code.compile import Kernel
from kraftcheck.solvers.machine_code.objectcode import address
from kraftcheck.solvers.machine_code.search_kernel import SHARDS
from kraftcheck.solvers.program.recovers import recovery_action_bits
from kraftcheck.solvers.search.visited import VisitedSet

ARC_BYTES = 48
"""Bytes that an arc takes at most."""

AT_ONCE = 1 << 22
"""Arcs that are looked at together, so that what is computed of them takes little memory."""

LEAST_ROOM = 256 << 20
"""Bytes that listed steps may take however little the search took, within the limit of memory."""

Bits = npt.NDArray[Any]
"""An unsigned number for each state or arc."""


@define
class Arcs:
    """Steps between states, which have numbers from 0.

    Attributes:
        sources, targets: of each.
        flows: the bits of a mark that flow back through each.
    """

    sources: npt.NDArray[np.uint32]
    targets: npt.NDArray[np.uint32]
    flows: Bits
    _begins: npt.NDArray[np.int64] = field(init=False)

    def close(self, marks: Bits, stopped: Callable[[], bool] = lambda: False) -> None:
        """Raise the marks until none can rise, or it is stopped: those of a source by those of its targets."""
        if (self.targets[1:] < self.targets[:-1]).any():
            order = np.argsort(self.targets, kind="stable")
            self.sources, self.targets, self.flows = self.sources[order], self.targets[order], self.flows[order]
            del order
        self._begins = np.searchsorted(self.targets, np.arange(len(marks) + 1))
        count = len(self.targets)
        parts = [self._raise(marks, slice(at, at + AT_ONCE)) for at in range(0, count, AT_ONCE)]
        rose = np.unique(np.concatenate([np.zeros(0, np.int64), *parts]))
        while len(rose) and not stopped():
            rose = self._raise(marks, ranges(self._begins[rose], self._begins[rose + 1]))

    def _raise(self, marks: Bits, some: npt.NDArray[np.int64] | slice) -> npt.NDArray[np.int64]:
        """Raise the sources of some arcs; the states that rose."""
        sources, bits = self.sources[some], self.flows[some] & marks[self.targets[some]]
        more = (bits & ~marks[sources]) != 0
        sources, bits = sources[more], bits[more]
        np.bitwise_or.at(marks, sources, bits)
        return np.unique(sources).astype(np.int64)


def listed_arcs(
    kernel: Kernel, store: VisitedSet, parts: Sequence[tuple[int, int, int]], most: int, stopped: Callable[[], bool]
) -> Arcs | None:
    """The steps by which marks of the backward search may still rise, between states by their number.

    That is their index in their shard + the states in the shards before.

    Args:
        kernel, store: what was explored, its states marked.
        parts: all states: a shard, the first state, the one after the last.
        most: how many there may be; None is returned where there are more, or it is stopped.
        stopped: whether it is.
    """
    size, program = max(last - first for _, first, last in parts) * (kernel.geometry.instances + 1), kernel.program
    out = np.empty(size, np.uint32), np.empty(size, np.uint32), np.empty(size, np.uint16)
    places = np.array([address(array) for array in out], dtype=np.int64)
    controls = np.array([address(shard.control) for shard in store.shards], dtype=np.int64)
    frame = np.zeros(kernel.plan.size, dtype=np.int64)
    scratch = np.empty((kernel.geometry.instances + 1) * kernel.geometry.record, dtype=np.uint64)
    offsets, reaches = store.offsets(), np.uint64((1 << len(program.recovers)) - 1)
    sources, targets, instances = [out[0][:0]], [out[1][:0]], [out[2][:0]]
    left = most
    for shard, first, last in parts:
        missing = ~store.shards[shard].marks[first:last].astype(np.uint64) & reaches
        used = kernel.library.function("arcs", 8)(
            address(frame), address(controls), address(scratch), address(places), address(missing), shard, first, last
        )
        left -= used
        if left < 0 or stopped():
            return None
        sources.append(out[0][:used] + np.uint32(offsets[shard] + first))
        targets.append((out[1][:used] // SHARDS + offsets[out[1][:used] % SHARDS]).astype(np.uint32))
        instances.append(out[2][:used].copy())
    flows = np.array(recovery_action_bits(program.recovers, program.instances), dtype=store.shards[0].marks.dtype)
    return Arcs(np.concatenate(sources), np.concatenate(targets), flows[np.concatenate(instances)])


def ranges(begins: npt.NDArray[np.int64], ends: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The numbers from each begin to before its end, one range after the other."""
    lengths = ends - begins
    skip = np.repeat(ends - np.cumsum(lengths), lengths)
    return np.arange(int(lengths.sum())) + skip
