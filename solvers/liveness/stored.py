"""Edges of a region that are kept, block by block: in memory as far as there is room, then in a file."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from attrs import define, field, frozen

from kraftcheck.solvers.liveness.edge_file import EdgeFile
from kraftcheck.solvers.machine_code.objectcode import address

Listed: TypeAlias = tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32], npt.NDArray[Any]]
"""For each state of a block the place of its first edge, and the end of the last; each edge's target and class."""

Labels: TypeAlias = npt.NDArray[np.uint32]
"""A number for each state of a region."""


@frozen
class KeptEdges:
    """Where the edges of all blocks are.

    Attributes:
        size: how many states each block has, the last one excepted.
        starts, targets: for each block the addresses of the two arrays.
        held: keeps the arrays there.
    """

    size: int
    starts: npt.NDArray[np.int64]
    targets: npt.NDArray[np.int64]
    held: Sequence[Listed]

    @classmethod
    def of(cls, size: int, blocks: Sequence[Listed]) -> KeptEdges:
        """Those of blocks of so many states."""
        starts, targets = (np.array([address(one[n]) for one in blocks], dtype=np.int64) for n in range(2))
        return cls(size, starts, targets, blocks)


@define
class StoredEdges:
    """The edges of some blocks.

    Attributes:
        budget: most bytes of memory.
        file: takes what memory has no room for; None: there is none.
        bytes: of memory in use.
        complete: no block was refused.
    """

    budget: int
    file: EdgeFile | None = None
    bytes: int = 0
    complete: bool = True
    _blocks: dict[int, Listed] = field(factory=dict)
    _lock: threading.Lock = field(factory=threading.Lock)

    def get(self, number: int) -> Listed | None:
        """The edges of a block, if they are kept."""
        found: Any = self._blocks.get(number)
        if found is None and self.file is not None:
            with self._lock:
                found = self.file.get(number)
        return found  # type: ignore[no-any-return]

    def put(self, number: int, edges: Listed) -> bool:
        """Keep the edges of a block; false when there is no room."""
        size = _size(edges)
        with self._lock:
            fits = self.bytes + size <= self.budget
            self.bytes += size if fits else 0
            kept = fits or self._written(number, edges)
            self.complete &= kept
        if fits:
            starts, targets, kinds = edges
            self._blocks[number] = starts.copy(), targets.copy(), kinds.copy()
        return kept

    def shrink(self, budget: int) -> None:
        """Take no more memory than so many bytes; where the file has no room for the rest, all is dropped."""
        self.budget = budget
        for number in sorted(self._blocks):
            if self.bytes <= budget:
                break
            if not self._written(number, self._blocks[number]):
                self.clear()
                self.complete = False
                return
            self.bytes -= _size(self._blocks.pop(number))

    def clear(self) -> None:
        """Drop all edges; there is room again."""
        self._blocks.clear()
        self.file = None if self.file is None else EdgeFile(self.file.folder)
        self.bytes, self.complete = 0, True

    def _written(self, number: int, edges: Listed) -> bool:
        return self.file is not None and self.file.put(number, edges)


def _size(edges: Listed) -> int:
    return sum(array.nbytes for array in edges)


def only(edges: Listed, states: npt.NDArray[np.bool_]) -> Listed:
    """The edges of some states of a block."""
    starts, targets, kinds = edges
    lengths = np.diff(starts)
    chosen = np.repeat(states, lengths)
    ends = np.cumsum(np.where(states, lengths, 0), dtype=np.uint32)
    return np.concatenate([ends[:1] * 0, ends]), targets[chosen], kinds[chosen]


def alike(edges: Listed, labels: Labels, states: slice) -> Listed:
    """The edges of a block between states of the same label."""
    starts, targets, kinds = edges
    chosen = np.repeat(labels[states], np.diff(starts)) == labels[targets]
    places = np.concatenate([[0], np.cumsum(chosen)]).astype(np.uint32)
    return places[starts], targets[chosen], kinds[chosen]
