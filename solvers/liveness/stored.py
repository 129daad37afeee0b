"""Edges of a region that are kept in memory, as far as there is room: targets and classes, block by block."""

from __future__ import annotations

import threading
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from attrs import define, field

Listed: TypeAlias = tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32], npt.NDArray[Any]]
"""For each state of a block the place of its first edge, and the end of the last; each edge's target and class."""

Labels: TypeAlias = npt.NDArray[np.uint32]
"""A number for each state of a region."""


@define
class StoredEdges:
    """The edges of some blocks.

    Attributes:
        budget: most bytes.
        bytes: in use.
        complete: no block was refused.
    """

    budget: int
    bytes: int = 0
    complete: bool = True
    _blocks: dict[int, Listed] = field(factory=dict)
    _lock: threading.Lock = field(factory=threading.Lock)

    def get(self, number: int) -> Listed | None:
        """The edges of a block, if they are kept."""
        return self._blocks.get(number)

    def put(self, number: int, edges: Listed) -> bool:
        """Keep the edges of a block; false when there is no room."""
        size = sum(array.nbytes for array in edges)
        with self._lock:
            fits = self.bytes + size <= self.budget
            self.bytes += size if fits else 0
            self.complete &= fits
        if fits:
            starts, targets, kinds = edges
            self._blocks[number] = starts.copy(), targets.copy(), kinds.copy()
        return fits

    def clear(self) -> None:
        """Drop all edges; there is room again."""
        self._blocks.clear()
        self.bytes, self.complete = 0, True


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
