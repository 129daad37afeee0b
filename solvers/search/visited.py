"""The visited set: shards of states in the order of their discovery."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from kraftcheck.solvers.machine_code.compile import Kernel
from kraftcheck.solvers.machine_code.frame import NO_ACTION
from kraftcheck.solvers.machine_code.objectcode import address
from kraftcheck.solvers.machine_code.search_kernel import SHARDS
from kraftcheck.solvers.machine_code.visited_table import (
    ACTIONS,
    BATCH,
    CONTROL_WORDS,
    COUNT,
    LIMIT,
    MARKS,
    MASK,
    OFFSET,
    PARENTS,
    PIECE,
    STATES,
    TABLE,
)
from kraftcheck.solvers.traces.path import PackedRun

T = TypeVar("T", bound=np.generic)

NO_PARENT = 0xFFFF_FFFF
"""The parent of an initial state."""

_LOAD = 0.65
_FIRST_CAPACITY = 256
_FIRST_TABLE = 512
_MOST_STATES = NO_PARENT // SHARDS


class Shard:
    """One part of the visited set.

    Attributes:
        kernel: the code that works on it.
        states, parents, actions: arrays by index; only the first `count` rows mean anything.
        table: the open-addressing table.
        control: the block that the kernel reads and writes.
        marks: one for each state, once a backward search began.
    """

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.control = np.zeros(CONTROL_WORDS, dtype=np.int64)
        self.states = np.empty((_FIRST_CAPACITY, kernel.geometry.words), dtype=np.uint64)
        self.parents = np.empty(_FIRST_CAPACITY, dtype=np.uint32)
        self.actions = np.empty(_FIRST_CAPACITY, dtype=np.uint16)
        self.table = np.zeros(_FIRST_TABLE, dtype=np.uint32)
        self.marks: npt.NDArray[Any] = np.empty(0, dtype=np.uint8)
        self._announce()

    @property
    def count(self) -> int:
        """Number of states."""
        return int(self.control[COUNT])

    @property
    def row(self) -> int:
        """Bytes of a state with its parent, its action, and its mark in a backward search."""
        return 8 * self.kernel.geometry.words + 6 + self.kernel.geometry.mark

    def bytes_in_use(self) -> int:
        """Bytes in use."""
        return self.count * self.row + self.table.nbytes

    def mark(self) -> None:
        """Make room for a mark for each state, and set it from the state."""
        self.marks = np.zeros(self.count, dtype=f"u{self.kernel.geometry.mark}")
        self.control[MARKS] = address(self.marks)
        self.kernel.library.function("survey", 3)(address(self.states), address(self.marks), self.count)

    def insert(self, pieces: int, counts: int, how_many: int, shard: int, budget: int) -> bool:
        """Insert what the pieces hold for this shard; false when the budget forbids to grow.

        Args:
            pieces: address of the pieces' addresses.
            counts: address of the numbers of records, by piece and shard.
            how_many: number of pieces.
            shard: number of this shard.
            budget: most bytes that this shard may take.
        """
        self.control[PIECE] = self.control[OFFSET] = 0
        control = address(self.control)
        while not self.kernel.insert(control, pieces, counts, how_many, shard):
            if not self._grow(budget):
                return False
        return True

    def _grow(self, budget: int) -> bool:
        need = self.count + BATCH
        capacity, slots = len(self.states), len(self.table)
        if need > _MOST_STATES:
            return False
        if need > int(_LOAD * slots):
            slots *= 2
        if need > capacity:
            affordable = (budget - 4 * slots) // self.row
            capacity = min(capacity + capacity // 2, _MOST_STATES, affordable)
        if capacity < need or capacity * self.row + 4 * slots > budget:
            return False
        if capacity != len(self.states):
            self.states = _resized(self.states, capacity, self.count)
            self.parents = _resized(self.parents, capacity, self.count)
            self.actions = _resized(self.actions, capacity, self.count)
        if slots != len(self.table):
            self.table = np.zeros(slots, dtype=np.uint32)
        self._announce(rehash=slots != int(self.control[MASK]) + 1)
        return True

    def _announce(self, *, rehash: bool = False) -> None:
        """Tell the kernel where the arrays are now."""
        arrays: dict[int, npt.NDArray[Any]] = {
            STATES: self.states,
            PARENTS: self.parents,
            ACTIONS: self.actions,
            TABLE: self.table,
        }
        for entry, array in arrays.items():
            self.control[entry] = address(array)
        self.control[MASK] = len(self.table) - 1
        self.control[LIMIT] = min(len(self.states), int(_LOAD * len(self.table)))
        if rehash:
            self.kernel.rehash(address(self.control))


def _resized(array: npt.NDArray[T], length: int, used: int) -> npt.NDArray[T]:
    resized = np.empty((length, *array.shape[1:]), dtype=array.dtype)
    resized[:used] = array[:used]
    return resized


class VisitedSet:
    """All shards. The id of a state is its index in its shard * number of shards + the shard.

    Attributes:
        shards: its parts.
        ends: for each level the states of each shard up to its end; of the last level what there is of it.
    """

    def __init__(self, kernel: Kernel) -> None:
        self.shards = [Shard(kernel) for _ in range(SHARDS)]
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
