"""Origins of states: parents are read from the committed levels, one row for each level."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen

from kraftcheck.ci.dataset.store.commits import CommitLog
from kraftcheck.ci.dataset.store.groups import BucketRange, RowGroup
from kraftcheck.ci.dataset.store.levelfiles import NO_PARENT, DamagedLevelError, check_group, read_columns, row_groups
from kraftcheck.ci.dataset.store.manifests import PLACE_BITS, Commit, PlacedOccurrence, StatePlace
from kraftcheck.ci.dataset.store.objects import AnyPath
from kraftcheck.solvers.blocks.tasks import ROW_BITS
from kraftcheck.solvers.traces.path import PackedRun


@frozen
class LevelRow:
    """A row of a level: parent's id (or -1), action instance (or -1), packed state."""

    parent: int
    action: int
    state: tuple[int, ...]


@frozen
class CommittedOrigins:
    """Rows of committed levels by place.

    Attributes:
        log, commits: where they are.
        words: words of a packed state.
    """

    log: CommitLog
    commits: Sequence[Commit]
    words: int

    def row(self, at: StatePlace) -> LevelRow:
        """The row of a place; of its file one row group is read.

        Raises:
            DamagedLevelError: when the file does not have it.
        """
        depth, identity = at.depth, at.id
        if not (0 <= depth < len(self.commits) and 0 <= identity < 1 << PLACE_BITS):
            raise DamagedLevelError(f"{self.log.out}: no level {depth} has a state {identity}")
        bucket, number = identity >> ROW_BITS, identity & (1 << ROW_BITS) - 1
        groups = self.commits[depth].groups
        for group in groups.within(BucketRange(bucket, bucket + 1, groups.bits)):
            if number < group.rows:
                file = self.log.folder(depth) / group.file
                values = self._values(file, group, number)
                if values["id"] != identity or values["depth"] != depth:
                    raise DamagedLevelError(f"{file}: row {number} of bucket {bucket} is another state's")
                if (values["parent"] == NO_PARENT) != (depth == 0):
                    raise DamagedLevelError(f"{file}: row {number} of bucket {bucket} has no parent one level before")
                state = tuple(values[f"w{i}"] & (1 << 64) - 1 for i in range(self.words))
                return LevelRow(values["parent"], values["action"], state)
        raise DamagedLevelError(f"{self.log.manifest(depth)}: no row {number} in bucket {bucket}")

    def _values(self, file: AnyPath, group: RowGroup, number: int) -> dict[str, int]:
        """The numbers of a row of a group."""
        names = ["depth", "id", "parent", "action", *(f"w{i}" for i in range(self.words))]
        with row_groups(file) as source:
            check_group(file, source, group.group, group.first + group.rows)
            table = read_columns(file, source, [group.group], names).slice(group.first + number, 1)
        values: dict[str, int] = table.to_pylist()[0]
        if not all(isinstance(value, int) for value in values.values()):
            raise DamagedLevelError(f"{file}: row {number} of a bucket has no numbers")
        return values

    def run_to(self, at: StatePlace) -> PackedRun:
        """How the state of a place is reached.

        Raises:
            DamagedLevelError: when the levels do not lead to it.
        """
        instances = []
        row = self.row(at)
        end = row.state
        while row.parent != NO_PARENT:
            instances.append(row.action)
            at = StatePlace(at.depth - 1, row.parent)
            row = self.row(at)
        return PackedRun(row.state, tuple(instances[::-1]), end)

    def occurrence(self, mark: PlacedOccurrence) -> tuple[PackedRun, int]:
        """The run to the state of an occurrence, and its action instance."""
        return self.run_to(mark.state), mark.action
