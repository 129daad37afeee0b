"""The visited set in the order of discovery, in arrays that grow in place, and the buffers of its candidates."""

from __future__ import annotations

import mmap
import sys
from collections.abc import Iterator, Sequence
from math import prod
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from kraftcheck.solvers.machine_code.compile import Kernel
from kraftcheck.solvers.machine_code.objectcode import address
from kraftcheck.solvers.machine_code.search_kernel import SHARDS
from kraftcheck.solvers.machine_code.transition import NO_ACTION
from kraftcheck.solvers.machine_code.visited_table import (
    ACTIONS,
    BATCH,
    CONTROL_WORDS,
    COUNT,
    LIMIT,
    MASK,
    OFFSET,
    PARENTS,
    PIECE,
    STATES,
    TABLE,
)
from kraftcheck.solvers.program.verdict import PackedRun

_NO_RESERVE = 0x4000 if sys.platform == "linux" else 0
"""MAP_NORESERVE, which this module of Python lacks: the size does not count as memory in use."""


def reserve(shape: tuple[int, ...], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """An array of zeros whose pages take memory once they are written.

    It never moves: threads may read what is there while another thread writes behind it.

    Args:
        shape: of the array; no length is 0.

    Raises:
        OSError: when the process may not have so much address space.
    """
    element = np.dtype(dtype)
    size = prod(shape) * element.itemsize
    space = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NO_RESERVE)
    return np.frombuffer(space, dtype=element).reshape(shape)


NO_PARENT = 0xFFFF_FFFF  # the parent of an initial state

_LOAD = 0.65
_LEAST_ROWS = 256
_FIRST_TABLE = 512
_MOST_STATES = NO_PARENT // SHARDS
_PAGE_ROWS = 4096  # rows are a multiple of it, so that no two shards write to the same page


class VisitedShard:
    """One part of the visited set.

    Attributes:
        budget: most bytes that it may take.
        states, parents, actions: arrays by index; only the first `count` rows mean anything. They never move.
        room: most states that it may hold; there are rows for one batch more.
    """

    def __init__(
        self, kernel: Kernel, budget: int, states: npt.NDArray[np.uint64], parents: npt.NDArray[np.uint32],
        actions: npt.NDArray[np.uint16],
    ) -> None:  # fmt: skip
        self.kernel, self.budget = kernel, budget
        self.control = np.zeros(CONTROL_WORDS, dtype=np.int64)
        self.states, self.parents, self.actions = states, parents, actions
        self.table = np.zeros(_FIRST_TABLE, dtype=np.uint32)
        self._most_slots = _FIRST_TABLE
        while self._room(2 * self._most_slots) > int(_LOAD * self._most_slots):
            self._most_slots *= 2
        self.room = min(self._room(self._most_slots), int(_LOAD * self._most_slots))
        arrays: dict[int, npt.NDArray[Any]] = {STATES: states, PARENTS: parents, ACTIONS: actions}
        for entry, array in arrays.items():
            self.control[entry] = address(array)
        self._place = address(self.control)
        self._announce_table()

    @property
    def count(self) -> int:
        """Number of states."""
        return int(self.control[COUNT])

    @property
    def row(self) -> int:
        """Bytes of a state with its parent, its action, and its mark in a backward search."""
        return row_bytes(self.kernel)

    def bytes_in_use(self) -> int:
        """Bytes in use."""
        return self.count * self.row + self.table.nbytes

    def insert(self, pieces: int, counts: int, how_many: int, shard: int) -> bool:
        """Insert what the pieces hold for this shard; false when there are more states than it has room for.

        The first are kept then: not more, for how many there were depends on the batches, and so on what the filters
        of the threads let through.

        Args:
            pieces: address of the pieces' addresses.
            counts: address of the numbers of records, by piece and shard.
            how_many: number of pieces.
            shard: number of this shard.
        """
        self.control[PIECE] = self.control[OFFSET] = 0
        work = (self._place, pieces, counts, how_many, shard)
        while not self.kernel.insert(*work) and len(self.table) < self._most_slots:
            self._make_table(2 * len(self.table))
        if self.count <= self.room:
            return True
        self.control[COUNT] = self.room
        self._make_table(len(self.table))
        return False

    def _make_table(self, slots: int) -> None:
        """Make the table anew, from the states."""
        self.table = np.empty(0, dtype=np.uint32)  # gives the memory of the old one back
        self.table = np.zeros(slots, dtype=np.uint32)
        self._announce_table()
        self.kernel.rehash(self._place)

    def _room(self, slots: int) -> int:
        """States for which there is room beside a table of so many slots."""
        return min(len(self.states) - BATCH, max(_LEAST_ROWS, (self.budget - 4 * slots) // self.row))

    def _announce_table(self) -> None:
        """Tell the kernel where the table is now, and how many states it takes before it has to ask."""
        slots = len(self.table)
        self.control[TABLE], self.control[MASK] = address(self.table), slots - 1
        self.control[LIMIT] = int(_LOAD * slots) if slots < self._most_slots else self.room + BATCH


def row_bytes(kernel: Kernel) -> int:
    """Bytes of a state with its parent, its action, and its mark in a backward search."""
    return 8 * kernel.geometry.words + 6 + kernel.geometry.mark


def _reserve_rows(words: int, rows: int) -> tuple[int, npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]:
    """Room for so many states of each shard, with parents and actions, or for less where address space is limited."""
    while True:
        shape = (SHARDS, -(-rows // _PAGE_ROWS) * _PAGE_ROWS)
        try:
            arrays = (reserve((*shape, words), np.uint64), reserve(shape, np.uint32), reserve(shape, np.uint16))
        except OSError:
            if rows <= _PAGE_ROWS:
                raise
            rows //= 2
            continue
        states, parents, actions = (array[:, :rows] for array in arrays)
        return rows, states, parents, actions


class VisitedSet:
    """All shards. The id of a state is its index in its shard * number of shards + the shard.

    Attributes:
        ends: for each level the states of each shard up to its end; of the last level what there is of it.
        room: the states for which there was address space, where it is less than memory has room for; else None.
    """

    def __init__(self, kernel: Kernel, memory: int) -> None:
        budget = memory // SHARDS
        wanted = min(_MOST_STATES, max(_LEAST_ROWS, budget // row_bytes(kernel))) + BATCH
        rows, states, parents, actions = _reserve_rows(kernel.geometry.words, wanted)
        self.shards = [VisitedShard(kernel, budget, states[n], parents[n], actions[n]) for n in range(SHARDS)]
        self.room = rows * SHARDS if rows < wanted else None
        self.ends: list[list[int]] = []

    def work_with(self, kernel: Kernel) -> None:
        """Go on with other code for the same program."""
        for shard in self.shards:
            shard.kernel = kernel

    def counts(self) -> list[int]:
        """States in each shard."""
        return [shard.count for shard in self.shards]

    def offsets(self) -> npt.NDArray[np.int64]:
        """For each shard the states in those before it."""
        counts = np.array(self.counts(), dtype=np.int64)
        return np.cumsum(counts) - counts

    def bytes_in_use(self) -> int:
        """Bytes in use."""
        return sum(shard.bytes_in_use() for shard in self.shards)

    def addresses(self) -> npt.NDArray[np.int64]:
        """Where each shard's states are."""
        return np.array([shard.control[STATES] for shard in self.shards], dtype=np.int64)

    def state(self, identity: int) -> tuple[int, ...]:
        """The packed state of an id."""
        return tuple(self.shards[identity % SHARDS].states[identity // SHARDS].tolist())

    def origin(self, identity: int) -> tuple[int, int]:
        """Parent id and action instance of an id."""
        shard, index = self.shards[identity % SHARDS], identity // SHARDS
        return int(shard.parents[index]), int(shard.actions[index])

    def path(self, identity: int) -> tuple[int, list[int]]:
        """The initial state's id and the action instances that lead from it to this state."""
        instances = []
        parent, action = self.origin(identity)
        while parent != NO_PARENT:
            instances.append(action)
            identity = parent
            parent, action = self.origin(identity)
        return identity, instances[::-1]

    def run_to(self, identity: int) -> PackedRun:
        """How the state of an id is reached."""
        root, instances = self.path(identity)
        return PackedRun(self.state(root), tuple(instances), self.state(identity))

    def occurrence(self, mark: int) -> tuple[PackedRun, int]:
        """The run to the state of a mark (id << 16 | action instance), and the instance."""
        return self.run_to(mark >> 16), mark & NO_ACTION

    def identify(self, state: Sequence[int]) -> int | None:
        """The id of a packed state; None when it is not there."""
        packed = np.array(state, dtype=np.uint64)
        kernel = self.shards[0].kernel
        number = kernel.shard_of(address(packed))
        entry = kernel.library.function("seek", 2)(address(self.shards[number].control), address(packed))
        identity = (entry - 1) * SHARDS + number
        return identity if entry and self.state(identity) == tuple(state) else None

    def __iter__(self) -> Iterator[tuple[int, ...]]:
        """All packed states, shard by shard."""
        for shard in self.shards:
            for row in shard.states[: shard.count].tolist():
                yield tuple(row)


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
