"""Numbers of committed states, from 0 on: by bucket, then by depth, then by row; so a bucket's are a range."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from attrs import field, frozen

from kraftcheck.ci.dataset.store.manifests import Commit
from kraftcheck.ci.dataset.store.places import PLACE_BITS
from kraftcheck.solvers.blocks.tasks import ROW_BITS

Numbers = npt.NDArray[np.int64]


@frozen
class Numbering:
    """The numbers of the states of a run, whose buckets are dealt out to a number of parts.

    Attributes:
        levels, buckets: how many.
        parts: neighbouring buckets are together in a part, as they are in a task.
        starts: for each bucket, and for each depth within it, the first number; then how many states there are.
    """

    levels: int
    buckets: int
    parts: int
    starts: Numbers = field(eq=False)

    @classmethod
    def of(cls, commits: Sequence[Commit], buckets: int, parts: int) -> Numbering:
        """The numbering of committed levels."""
        rows = np.zeros((buckets, len(commits)), dtype=np.int64)
        for level in commits:
            rows[level.groups.table["bucket"], level.depth] = level.groups.table["rows"]
        starts = np.concatenate([[0], np.cumsum(rows.ravel())])
        return cls(len(commits), buckets, parts, starts.astype(np.int64))

    @property
    def count(self) -> int:
        """How many states there are."""
        return int(self.starts[-1])

    def first(self, bucket: int, depth: int = 0) -> int:
        """The number of the first state of a bucket at a depth, or the one after those before it."""
        return int(self.starts[bucket * self.levels + depth])

    def part_of(self, bucket: int) -> int:
        """The part of a bucket."""
        return bucket * self.parts // self.buckets

    def buckets_of(self, part: int) -> range:
        """The buckets of a part."""
        return range(-(-part * self.buckets // self.parts), -(-(part + 1) * self.buckets // self.parts))

    def states_of(self, part: int) -> tuple[int, int]:
        """The first number of a part, and the one after its last."""
        buckets = self.buckets_of(part)
        return self.first(buckets.start), self.first(buckets.stop)

    def borders(self) -> Numbers:
        """The first number of each part, then how many states there are."""
        return np.array([self.states_of(part)[0] for part in range(self.parts)] + [self.count], dtype=np.int64)

    def places(self, numbers: Numbers) -> Numbers:
        """The places of states, as the numbers that queries have for them."""
        cells = np.searchsorted(self.starts, numbers, side="right") - 1
        buckets, depths = cells // self.levels, cells % self.levels
        places: Numbers = depths << PLACE_BITS | buckets << ROW_BITS | numbers - self.starts[cells]
        return places
