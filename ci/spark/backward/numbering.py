"""Numbers of committed states, from 0 on: by bucket, then by depth, then by row; so a bucket's are a range.

A bucket is one of the run here, as `--buckets` says. A level whose buckets are finer has several of its own in it,
which follow each other.
"""

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
        finer: for each depth the rows before each of the level's own buckets, then all; None where these are not finer.
    """

    levels: int
    buckets: int
    parts: int
    starts: Numbers = field(eq=False)
    finer: tuple[Numbers | None, ...] = field(eq=False)

    @classmethod
    def of(cls, commits: Sequence[Commit], buckets: int, parts: int) -> Numbering:
        """The numbering of committed levels, none of which has fewer buckets."""
        rows = np.zeros((buckets, len(commits)), dtype=np.int64)
        finer: list[Numbers | None] = []
        for level in commits:
            table, bits = level.groups.table, level.groups.bits
            own = np.zeros(1 << bits, dtype=np.int64)
            own[table["bucket"]] = table["rows"]
            rows[:, level.depth] = own.reshape(buckets, -1).sum(axis=1)
            finer.append(np.concatenate([[0], np.cumsum(own)]) if len(own) > buckets else None)
        starts = np.concatenate([[0], np.cumsum(rows.ravel())])
        return cls(len(commits), buckets, parts, starts.astype(np.int64), tuple(finer))

    @property
    def count(self) -> int:
        """How many states there are."""
        return int(self.starts[-1])

    def first(self, bucket: int, depth: int = 0) -> int:
        """The number of the first state of a bucket at a depth, or the one after those before it."""
        return int(self.starts[bucket * self.levels + depth])

    def first_of(self, own: int, depth: int) -> int:
        """The number of the first state of one of the level's own buckets."""
        before = self.finer[depth]
        if before is None:
            return self.first(own, depth)
        each = (len(before) - 1) // self.buckets
        bucket = own // each
        return self.first(bucket, depth) + int(before[own] - before[bucket * each])

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
        rows = numbers - self.starts[cells]
        for depth in np.unique(depths).tolist():
            before = self.finer[depth]
            if before is None:
                continue
            chosen = depths == depth
            at = before[buckets[chosen] * ((len(before) - 1) // self.buckets)] + rows[chosen]
            own = np.searchsorted(before, at, side="right") - 1
            buckets[chosen], rows[chosen] = own, at - before[own]
        places: Numbers = depths << PLACE_BITS | buckets << ROW_BITS | rows
        return places
