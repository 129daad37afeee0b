"""The transitions of an explored space, in blocks: from memory, or computed again by compiled code.

States have numbers from 0. Every state has an edge to itself, by `STUTTER`; other edges lead to other states.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt
from attrs import define, field, frozen

from kraftcheck.solvers.machine_code.compile import Kernel
from kraftcheck.solvers.machine_code.objectcode import address
from kraftcheck.solvers.machine_code.search_kernel import SHARDS
from kraftcheck.solvers.search.visited import VisitedSet

Truths = npt.NDArray[np.bool_]
Numbers = npt.NDArray[np.int64]

MOST_STATES = 4096
"""Most states of a block."""

MOST_EDGES = 1 << 21
"""Most edges of a block, unless one state has more."""


@frozen
class Block:
    """The edges of consecutive states.

    Attributes:
        first: number of the first state.
        starts: for each state the position of its first edge.
        targets: the state that each edge leads to.
        instances: the action instance of each edge.
        cuts: for each state the kinds of action of which a domain cut a step there, see `edge_kernel.kind_bit`.
    """

    first: int
    starts: npt.NDArray[np.int64]
    targets: npt.NDArray[np.uint32]
    instances: npt.NDArray[np.uint16]
    cuts: npt.NDArray[np.uint64]

    @property
    def states(self) -> slice:
        """The numbers of its states."""
        return slice(self.first, self.first + len(self.starts))

    @property
    def nbytes(self) -> int:
        """Bytes of its arrays."""
        return self.starts.nbytes + self.targets.nbytes + self.instances.nbytes + self.cuts.nbytes

    def owners(self) -> Numbers:
        """The state that each edge leaves."""
        lengths = np.diff(np.append(self.starts, len(self.targets)))
        return np.repeat(np.arange(self.first, self.first + len(self.starts)), lengths)


class Edges(Protocol):
    """The edges of a graph."""

    @property
    def count(self) -> int:
        """Number of states."""

    @property
    def blocks(self) -> Sequence[int]:
        """The first state of each block, ascending."""

    def block(self, thread: int, number: int) -> Block:
        """A block by its number, for the use of one thread."""


@define
class CompiledEdges:
    """The edges of what a search visited; blocks are kept while there is room for them.

    Attributes:
        kernel, store: what was explored, and by which code.
        threads: how many threads may ask.
        budget: bytes for blocks that are kept.
        offsets: number of the first state of each shard.
        kept: bytes of the blocks that are kept.
    """

    kernel: Kernel
    store: VisitedSet
    threads: int
    budget: int
    offsets: Numbers = field(init=False)
    kept: int = 0
    _jobs: list[tuple[int, int, int]] = field(init=False)
    _blocks: dict[int, Block] = field(factory=dict)
    _controls: Numbers = field(init=False)
    _buffers: list[_Buffers | None] = field(init=False)

    def __attrs_post_init__(self) -> None:
        """Number the states, and cut their numbers into blocks."""
        counts = self.store.counts()
        self.offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        size = max(1, min(MOST_STATES, MOST_EDGES // (self.kernel.geometry.instances + 1)))
        self._jobs = [
            (shard, first, min(count, first + size))
            for shard, count in enumerate(counts)
            for first in range(0, count, size)
        ]
        self._controls = np.array([address(shard.control) for shard in self.store.shards], dtype=np.int64)
        self._buffers = [None] * self.threads

    @property
    def count(self) -> int:
        """Number of states."""
        return int(self.offsets[-1])

    @property
    def blocks(self) -> Sequence[int]:
        """The first state of each block, ascending."""
        return [int(self.offsets[shard]) + first for shard, first, _ in self._jobs]

    def block(self, thread: int, number: int) -> Block:
        """A block, kept or computed again."""
        block = self._blocks.get(number)
        if block is None:
            block = self._computed(thread, number)
            if self.kept + block.nbytes <= self.budget:
                self.kept += block.nbytes
                self._blocks[number] = block
        return block

    def _computed(self, thread: int, number: int) -> Block:
        shard, first, last = self._jobs[number]
        buffers = self._buffers[thread]
        if buffers is None:
            buffers = self._buffers[thread] = _Buffers(self.kernel)
        starts, cuts = np.empty(last - first, dtype=np.int64), np.empty(last - first, dtype=np.uint64)
        places = [address(array) for array in (buffers.targets, buffers.instances, starts, cuts)]
        edges = np.array(places, dtype=np.int64)
        used = self.kernel.library.function("connect", 8)(
            address(buffers.frame), address(self._controls), address(self.offsets), address(buffers.scratch),
            address(edges), shard, first, last,
        )  # fmt: skip
        own = int(self.offsets[shard]) + first
        return Block(own, starts, buffers.targets[:used].copy(), buffers.instances[:used].copy(), cuts)

    def identity(self, state: int) -> int:
        """The id in the visited set of a state by its number."""
        shard = int(np.searchsorted(self.offsets, state, side="right")) - 1
        return (state - int(self.offsets[shard])) * SHARDS + shard

    def parents(self) -> Numbers:
        """For each state the number of its parent; -1 for initial states."""
        found = np.empty(self.count, dtype=np.int64)
        for number, shard in enumerate(self.store.shards):
            ids = shard.parents[: shard.count].astype(np.int64)
            roots = ids == 0xFFFF_FFFF
            ids[roots] = 0
            numbers = self.offsets[ids % SHARDS] + ids // SHARDS
            numbers[roots] = -1
            found[self.offsets[number] : self.offsets[number + 1]] = numbers
        return found

    def truths(self, words: int) -> npt.NDArray[np.uint64]:
        """The truths of every state, one row each, as `appraise` writes them."""
        rows = np.empty((self.count, words), dtype=np.uint64)
        for number, shard in enumerate(self.store.shards):
            part = rows[self.offsets[number] : self.offsets[number + 1]]
            self.kernel.library.function("appraise", 3)(address(shard.states), address(part), shard.count)
        return rows


class _Buffers:
    """What one thread writes the edges of a block into."""

    def __init__(self, kernel: Kernel) -> None:
        instances = kernel.geometry.instances
        room = max(MOST_EDGES, instances + 1)
        self.frame = np.zeros(kernel.plan.size, dtype=np.int64)
        self.scratch = np.empty((instances + 1) * kernel.geometry.record, dtype=np.uint64)
        self.targets = np.empty(room, dtype=np.uint32)
        self.instances = np.empty(room, dtype=np.uint16)
