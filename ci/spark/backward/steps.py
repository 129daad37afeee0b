"""Steps of states on their way to the parts of their targets: in rows of Spark's shuffle, or in files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from kraftcheck.ci.spark.backward.numbering import Numbers
from kraftcheck.ci.spark.exchange import FRAME, Batches, Places
from kraftcheck.solvers.blocks.tasks import Words

Row: TypeAlias = "tuple[int, int, Any]"
"""A bucket, the number of a task of the first stage, and the bytes of a block."""


def rows_of(batches: Batches) -> Iterator[Row]:
    """What rows of the shuffle bring."""
    for batch in batches:
        columns = [batch.column(name) for name in ("bucket", "source", "block")]
        for bucket, source, block in zip(columns[0].to_pylist(), columns[1].to_pylist(), columns[2], strict=True):
            yield bucket, source, block.as_buffer()


class StepsOfRows:
    """The steps that rows bring, which are sorted by bucket.

    Attributes:
        frames: of tasks of the first stage.
    """

    def __init__(self, rows: Iterator[Row]) -> None:
        self._rows, self.frames = rows, list[Numbers]()
        self._next = next(rows, None)
        while self._next is not None and self._next[0] == FRAME:
            self.frames.append(np.frombuffer(self._next[2], np.int64))
            self._next = next(rows, None)

    def within(self, lo: int, hi: int, record: int) -> Iterator[Words]:
        """Those to the buckets lo..hi-1, which come after those that were asked for before."""
        while self._next is not None and self._next[0] < hi:
            yield np.frombuffer(self._next[2], np.uint64).reshape(-1, record)
            self._next = next(self._rows, None)


class StepsOfFiles:
    """The steps of which rows bring the places in files; as `StepsOfRows`."""

    def __init__(self, rows: Iterator[Row], folder: Path) -> None:
        self.frames = list[Numbers]()
        places: dict[int, Places] = {}
        for bucket, source, block in rows:
            if bucket == FRAME:
                self.frames.append(np.frombuffer(block, np.int64))
            else:
                places[source] = Places.of(folder, block)
        self._places = [places[source] for source in sorted(places)]

    def within(self, lo: int, hi: int, record: int) -> Iterator[Words]:
        """Those to the buckets lo..hi-1."""
        for places in self._places:
            yield from places.read(lo, hi, record)
