"""Consecutive batches of nothing but changes of partitions, or one with another record, as numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from attrs import field, frozen

from kraftcheck.solvers.logs.explain.entries import Compact, Entry

UNREAD = -1
"""The partition of a record that replica logic does not read."""

OTHER = -2
"""The partition of the one record of another kind."""


@frozen
class Names:
    """What the numbers of a log's stretches stand for; more are added as the log is read, none is taken away.

    Attributes:
        keys: partitions, as `Compact` has them.
        bodies: bytes of changes, and kinds of records that are not read, as `Compact` has them; None of what is in no
            stretch.
    """

    keys: list[bytes] = field(factory=list)
    bodies: list[bytes | str | None] = field(factory=list)


@frozen(eq=False)
class Stretch:
    """Batches that follow each other, of one epoch: changes of partitions, and records that are not read.

    Or a batch by itself: changes of partitions, and before or behind them another record. No change gives a partition
    other replicas.

    Attributes:
        bases: int64, the first offset of each batch, and the offset that comes next.
        starts: int64, the place of each batch's first record among `keys`, and how many there are.
        keys: int32, of each record the number of its partition, or UNREAD, or OTHER.
        bodies: int32, of each record the number of the rest of it, or OTHER.
        names: what the numbers stand for.
        epoch: as of `Batch`.
        batch: the batch at a place.
        entry: decodes the change at a place among all records.
        place: where a batch was read.
        other: the other record, if there is one.
    """

    bases: Any
    starts: Any
    keys: Any
    bodies: Any
    names: Names
    epoch: int
    batch: Callable[[int], Compact]
    entry: Callable[[int], Entry]
    place: Callable[[int], str]
    other: Entry | None = None

    def __len__(self) -> int:
        """How many batches there are."""
        return len(self.bases) - 1

    @property
    def base_offset(self) -> int:
        """The first offset."""
        return int(self.bases[0])

    @property
    def last_offset(self) -> int:
        """The last offset."""
        return int(self.bases[-1]) - 1


__all__ = ["OTHER", "UNREAD", "Names", "Stretch"]
