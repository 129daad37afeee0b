"""Where a state came from: parents read from committed levels, one row a level.

A place is a depth and the id of a state within it: depth << 48 | id.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow.parquet as pq
from attrs import frozen

from ci.spark.commits import Commit, CommitLog
from ci.spark.levelfiles import NO_PARENT, DamagedLevelError
from solvers.blocks import ROW_BITS

PLACE_BITS = 48


def place(depth: int, identity: int) -> int:
    """The place of a state."""
    return depth << PLACE_BITS | identity


@frozen
class Row:
    """A row of a level: parent's id (or -1), action instance (or -1), packed state."""

    parent: int
    action: int
    state: tuple[int, ...]


@frozen
class Origins:
    """Rows of committed levels by place.

    Attributes:
        log, commits: where they are.
        words: words of a packed state.
    """

    log: CommitLog
    commits: Sequence[Commit]
    words: int

    def row(self, at: int) -> Row:
        """The row of a place; of its file one row group is read.

        Raises:
            DamagedLevelError: when the file does not have it.
        """
        depth, identity = at >> PLACE_BITS, at & (1 << PLACE_BITS) - 1
        bucket, number = identity >> ROW_BITS, identity & (1 << ROW_BITS) - 1
        for group in self.commits[depth].groups:
            if group.bucket == bucket and number < group.rows:
                file = self.log.folder(depth) / group.file
                with pq.ParquetFile(file, page_checksum_verification=True) as source:
                    table = source.read_row_group(group.group, use_threads=False).slice(number, 1)
                values = table.to_pylist()[0]
                if values["id"] != identity or values["depth"] != depth:
                    raise DamagedLevelError(f"{file}: row {number} of bucket {bucket} is another state's")
                state = tuple(values[f"w{i}"] & (1 << 64) - 1 for i in range(self.words))
                return Row(values["parent"], values["action"], state)
        raise DamagedLevelError(f"{self.log.manifest(depth)}: no row {number} in bucket {bucket}")

    def state(self, at: int) -> tuple[int, ...]:
        """The packed state of a place."""
        return self.row(at).state

    def path(self, at: int) -> tuple[int, list[int]]:
        """The initial state's place and the action instances that lead from it to this state."""
        instances = []
        row = self.row(at)
        while row.parent != NO_PARENT:
            instances.append(row.action)
            at = place((at >> PLACE_BITS) - 1, row.parent)
            row = self.row(at)
        return at, instances[::-1]
