"""The jobs of levels: planned, what they bring back, and where a state came from."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt
from attrs import field, frozen

from kraftcheck.ci.dataset.store import levelfiles
from kraftcheck.ci.dataset.store.commits import CommitLog
from kraftcheck.ci.dataset.store.manifests import PLACE_BITS, Commit, PlacedOccurrence, StatePlace
from kraftcheck.ci.dataset.store.objects import AnyPath
from kraftcheck.solvers.blocks.expansion import Descent
from kraftcheck.solvers.blocks.tasks import ROW_BITS, BlockSpec
from kraftcheck.solvers.program.verdict import PackedRun

SPLIT_ROWS = 1 << 20  # states that one task of the first stage expands, at most about
SMALL_SPLIT_ROWS = 1 << 13  # states below which a further task costs more than it saves
TARGET_CANDIDATES = 1 << 21  # candidates that one task of the second stage sifts, about

CANDIDATES_OF_A_STATE = 8
"""Candidates that the expansion of a state gives, about.

A count would depend on what workers had in memory, and the files of a level must not.
"""

BUCKETS_OF_A_TASK = 2
"""Buckets that each task of the second stage gets at least, so that none gets twice as much as another."""

TARGET_VISITED = 1 << 23  # visited states that one task of the second stage reads, about


@frozen
class JobResult:
    """The result of the job of a level: never states, only the content of each file."""

    files: tuple[levelfiles.LevelFile, ...]
    groups: levelfiles.Groups
    # the frames of its expansions, one row a task; ids in claims are of the level before
    frames: npt.NDArray[np.int64] = field(eq=False)
    expanded: int  # states that they expanded
    claims: Mapping[int, int]  # the first state of each claim about states
    cost: Mapping[str, float]  # seconds, tasks, candidates, bytes shuffled and spilled


class UnfinishedLevelError(RuntimeError):
    """A level that a limit cut; the message says which. What was committed before stays."""


class LevelRunner(Protocol):
    """The runner of the jobs of levels."""

    @property
    def spec(self) -> BlockSpec:
        """The spec that was shipped."""

    @property
    def most_bits(self) -> int:
        """Bits that the number of a bucket of a level may have."""

    @property
    def cores(self) -> int:
        """Tasks that run at the same time."""

    def run(self, level: levelfiles.LevelJob, stop: threading.Event) -> JobResult | None:
        """Run the job of a level; None when it was stopped; raises UnfinishedLevelError when a limit cut it."""


def plan(runner: LevelRunner, log: CommitLog, commits: Sequence[Commit]) -> levelfiles.LevelJob:
    """The job that expands the last committed level; the number of tasks follows from sizes and cores alone."""
    last, cores = commits[-1], runner.cores
    visited = sum(level.rows for level in commits)
    split_rows, targets = task_sizes(last.rows, visited, cores)
    bits = bucket_bits(last.groups.bits, targets, runner.most_bits)
    return levelfiles.LevelJob(
        last.depth + 1, folder=str(log.folder(last.depth + 1)), frontier=str(log.folder(last.depth)),
        splits=splits(last.groups, split_rows), visited=tuple(log.stored(level) for level in commits),
        targets=min(1 << bits, targets), bits=bits, cores=cores, sight=None if log.lease is None else log.lease.sight(),
        descent=Descent(log.seal(last.depth), log.seal(last.depth - 1) if last.depth else ""),
    )  # fmt: skip


def bucket_bits(before: int, targets: int, most: int) -> int:
    """Bits of a bucket's number: as of the level before, or more once so many tasks need more buckets."""
    return min(most, max(before, (BUCKETS_OF_A_TASK * targets - 1).bit_length()))


def task_sizes(rows: int, visited: int, cores: int) -> tuple[int, int]:
    """States that a task of the first stage expands, and how many tasks the second has, by sizes and cores."""
    share = -(-rows // (2 * cores))
    split_rows = max(1, min(SPLIT_ROWS, max(SMALL_SPLIT_ROWS, share)))
    tasks = max(rows * CANDIDATES_OF_A_STATE / TARGET_CANDIDATES, visited / TARGET_VISITED)
    small = tasks <= 1 and rows < SMALL_SPLIT_ROWS
    return split_rows, 1 if small else -(-int(tasks + 1) // cores) * cores


def splits(groups: levelfiles.Groups, max_rows: int) -> tuple[levelfiles.Groups, ...]:
    """Groups in order, neighbours together up to about `max_rows` rows."""
    return tuple(groups[first:last] for first, last in levelfiles.cuts(groups.table["rows"], max_rows)) or (groups,)


def least(parts: Iterable[Mapping[int, int]]) -> dict[int, int]:
    """For each claim the least id of a state, among those that the parts of a level name."""
    claims: dict[int, int] = {}
    for part in parts:
        for claim, identity in part.items():
            claims[claim] = min(identity, claims.get(claim, identity))
    return claims


@frozen
class LevelRow:
    """A row of a level: parent's id (or -1), action instance (or -1), packed state."""

    parent: int
    action: int
    state: tuple[int, ...]


@frozen
class CommittedOrigins:
    """Rows of committed levels by place."""

    log: CommitLog
    commits: Sequence[Commit]
    words: int

    def row(self, at: StatePlace) -> LevelRow:
        """The row of a place: of its file one row group is read; raises DamagedLevelError where it has none."""
        depth, identity = at.depth, at.id
        if not (0 <= depth < len(self.commits) and 0 <= identity < 1 << PLACE_BITS):
            raise levelfiles.DamagedLevelError(f"{self.log.out}: no level {depth} has a state {identity}")
        bucket, number = identity >> ROW_BITS, identity & (1 << ROW_BITS) - 1
        groups = self.commits[depth].groups
        for group in groups.within(levelfiles.BucketRange(bucket, bucket + 1, groups.bits)):
            if number < group.rows:
                file = self.log.folder(depth) / group.file
                values = self._values(file, group, number)
                if values["id"] != identity:
                    raise levelfiles.DamagedLevelError(f"{file}: row {number} of bucket {bucket} is another state's")
                if (values["parent"] == levelfiles.NO_PARENT) != (depth == 0):
                    raise levelfiles.DamagedLevelError(
                        f"{file}: row {number} of bucket {bucket} has no parent one level before"
                    )
                state = tuple(values[f"w{i}"] & (1 << 64) - 1 for i in range(self.words))
                return LevelRow(values["parent"], values["action"], state)
        raise levelfiles.DamagedLevelError(f"{self.log.manifest(depth)}: no row {number} in bucket {bucket}")

    def _values(self, file: AnyPath, group: levelfiles.RowGroup, number: int) -> dict[str, int]:
        names = ["id", "parent", "action", *(f"w{i}" for i in range(self.words))]
        with levelfiles.row_groups(file) as source:
            levelfiles.check_group(file, source, group.group, group.first + group.rows)
            table = levelfiles.read_columns(file, source, [group.group], names).slice(group.first + number, 1)
        values: dict[str, int] = table.to_pylist()[0]
        if not all(isinstance(value, int) for value in values.values()):
            raise levelfiles.DamagedLevelError(f"{file}: row {number} of a bucket has no numbers")
        return values

    def run_to(self, at: StatePlace) -> PackedRun:
        """How the state of a place is reached; raises DamagedLevelError when the levels do not lead to it."""
        instances = []
        row = self.row(at)
        end = row.state
        while row.parent != levelfiles.NO_PARENT:
            instances.append(row.action)
            at = StatePlace(at.depth - 1, row.parent)
            row = self.row(at)
        return PackedRun(row.state, tuple(instances[::-1]), end)

    def occurrence(self, mark: PlacedOccurrence) -> tuple[PackedRun, int]:
        """The run to the state of an occurrence, and its action instance."""
        return self.run_to(mark.state), mark.action
