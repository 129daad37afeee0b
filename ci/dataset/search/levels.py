"""The jobs of levels: planned, what they bring back, old levels merged for them, and where a state came from."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from attrs import define, field, frozen

from kraftcheck.ci.dataset.jobs.stages import JobFailedError
from kraftcheck.ci.dataset.store.commits import CommitLog
from kraftcheck.ci.dataset.store.job import BLOCK, BLOCK_ROWS, LevelJob, Part, Sight, StoredRun
from kraftcheck.ci.dataset.store.levelfiles import (
    NO_PARENT,
    BucketRange,
    DamagedLevelError,
    Groups,
    LevelFile,
    RowGroup,
    Table,
    check_group,
    pack,
    read_columns,
    row_groups,
    unpack,
)
from kraftcheck.ci.dataset.store.manifests import (
    MOST_DEPTH,
    MOST_FILES,
    PLACE_BITS,
    Commit,
    PlacedOccurrence,
    StatePlace,
    read_sealed,
    write_sealed,
)
from kraftcheck.ci.dataset.store.objects import AnyPath, by_name, durable, remove_folder, remove_others
from kraftcheck.ci.dataset.values import FILE_NAME, SHA256, Reader, as_it_is, listed, matching, read_fields, whole
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.solvers.blocks.expansion import Descent
from kraftcheck.solvers.blocks.tasks import MOST_BUCKET_BITS, ROW_BITS, BlockSpec
from kraftcheck.solvers.traces.path import PackedRun

SPLIT_ROWS = 1 << 20
"""States that one task of the first stage expands, at most about."""

SMALL_SPLIT_ROWS = 1 << 13
"""States below which a further task costs more than it saves."""

TARGET_CANDIDATES = 1 << 21
"""Candidates that one task of the second stage sifts, about."""

CANDIDATES_OF_A_STATE = 8
"""Candidates that the expansion of a state gives, about.

A count would depend on what workers had in memory, and the files of a level must not.
"""

BUCKETS_OF_A_TASK = 2
"""Buckets that each task of the second stage gets at least, so that none gets twice as much as another."""

TARGET_VISITED = 1 << 23
"""Visited states that one task of the second stage reads, about."""


@frozen
class JobResult:
    """The result of the job of a level: never states, only the content of each file.

    Attributes:
        files, groups: the level.
        frames: the frames of its expansions, one row a task; ids in claims are of the level before.
        expanded: states that they expanded.
        claims: the first state of each claim about states.
        cost: seconds, tasks, candidates, bytes shuffled and spilled.
    """

    files: tuple[LevelFile, ...]
    groups: Groups
    frames: npt.NDArray[np.int64] = field(eq=False)
    expanded: int
    claims: Mapping[int, int]
    cost: Mapping[str, float]


class LostRunError(JobFailedError):
    """A job that failed because a run of merged levels is damaged or lost; without it, the job can be done again."""


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

    def run(self, level: LevelJob, stop: threading.Event) -> JobResult | None:
        """Run the job of a level; None when it was cancelled because `stop` was set.

        Raises:
            UnfinishedLevelError: when a limit cut it.
        """


def plan(runner: LevelRunner, log: CommitLog, commits: Sequence[Commit], cores: int | None = None) -> LevelJob:
    """The job that expands the last committed level; the number of tasks follows from sizes and cores alone.

    Args:
        runner: what will run it.
        log, commits: the run.
        cores: reckon with so many, as when the level was made first; None: those of the runner.
    """
    last, cores = commits[-1], cores or runner.cores
    visited = sum(level.rows for level in commits)
    split_rows, targets = task_sizes(last.rows, visited, cores)
    bits = bucket_bits(last.groups.bits, targets, runner.most_bits)
    return LevelJob(
        last.depth + 1, folder=str(log.folder(last.depth + 1)), frontier=str(log.folder(last.depth)),
        splits=splits(last.groups, split_rows), visited=tuple(log.stored(level) for level in commits),
        targets=min(1 << bits, targets), bits=bits, cores=cores, sight=None if log.lease is None else log.lease.sight(),
        descent=Descent(log.seal(last.depth), log.seal(last.depth - 1) if last.depth else ""),
    )  # fmt: skip


def bucket_bits(before: int, targets: int, most: int) -> int:
    """Bits of the number of a bucket of a level: as before, or more once its tasks need more buckets.

    Args:
        before: those of the level that is expanded.
        targets: tasks of the second stage that there are to be.
        most: no more than so many.
    """
    return min(most, max(before, (BUCKETS_OF_A_TASK * targets - 1).bit_length()))


def task_sizes(rows: int, visited: int, cores: int) -> tuple[int, int]:
    """States that one task of the first stage expands, and how many tasks the second stage is to have.

    Args:
        rows: states that are expanded.
        visited: states of all levels.
        cores: tasks that run at the same time.
    """
    share = -(-rows // (2 * cores))
    split_rows = max(1, min(SPLIT_ROWS, max(SMALL_SPLIT_ROWS, share)))
    tasks = max(rows * CANDIDATES_OF_A_STATE / TARGET_CANDIDATES, visited / TARGET_VISITED)
    small = tasks <= 1 and rows < SMALL_SPLIT_ROWS
    return split_rows, 1 if small else -(-int(tasks + 1) // cores) * cores


def splits(groups: Groups, max_rows: int) -> tuple[Groups, ...]:
    """Groups in order, neighbours together up to about `max_rows` rows."""
    ends = np.cumsum(groups.table["rows"], dtype=np.int64)
    result, first, before = [], 0, 0
    while first < len(ends):
        last = max(first + 1, int(np.searchsorted(ends, before + max_rows, side="right")))
        result.append(groups[first:last])
        first, before = last, int(ends[last - 1])
    return tuple(result) or (groups,)


def least(parts: Iterable[Mapping[int, int]]) -> dict[int, int]:
    """For each claim the least id of a state, among those that the parts of a level name."""
    claims: dict[int, int] = {}
    for part in parts:
        for claim, identity in part.items():
            claims[claim] = min(identity, claims.get(claim, identity))
    return claims


MOST_PARTS = 8
"""Parts that a level reads, at most."""

HERE_ROWS = 1 << 21
"""States that the driver merges itself, at most: Spark's scheduling would take longer."""

MOST_BLOCKS = 1 << 22
"""Blocks of a run, at most."""

_DOCUMENT: Mapping[str, Reader[Any]] = {
    "first": whole(0, MOST_DEPTH),
    "last": whole(1, MOST_DEPTH),
    "of": matching(SHA256),
    "files": listed(matching(FILE_NAME), MOST_FILES),
    "blocks": as_it_is,  # read with the table that it is
    "bucket_bits": whole(0, MOST_BUCKET_BITS),
}

SMALLER = 2
"""How many times as many states the parts after one have, together, when it is merged with them."""


@frozen
class MergeJob:
    """The job that merges parts.

    Attributes:
        folder: where the files of the run go.
        parts: what is merged.
        words: of a packed state.
        bits: of the number of a bucket of the run; no part has more.
        sight: what a task has to see of the run before it writes; None: nothing.
    """

    folder: str
    parts: tuple[Part, ...]
    words: int
    bits: int
    sight: Sight | None

    @property
    def rows(self) -> int:
        """The states of all parts."""
        return sum(part.rows for part in self.parts)

    @property
    def coarsest(self) -> int:
        """Bits of the number of a bucket that is split in no part."""
        return min(part.bits for part in self.parts)


Merge = Callable[[MergeJob, str, threading.Event], Sequence[tuple[str, Table]] | None]
"""What runs such a job, under a name, unless it is stopped: gives the names of files, and their blocks."""


def _document(first: int, last: int) -> str:
    """The name of the document of a run."""
    return f"{first:05}-{last:05}.json"


def first_merged(rows: Sequence[int], most: int = MOST_PARTS) -> int | None:
    """The first of the parts, of so many states each, that are to be merged with all later ones.

    Returns:
        Its number; None: there are no more than so many parts.
    """
    if len(rows) <= most:
        return None
    after = np.cumsum(rows[::-1])[::-1] - rows
    small = np.flatnonzero(SMALLER * np.asarray(rows[:-1]) <= after[:-1])
    return min(int(small[0]) if len(small) else len(rows), most - 1)


def merge_tasks(rows: int, cores: int) -> int:
    """The tasks that merge so many states on so many cores; a single one is the driver's."""
    return 1 if rows <= HERE_ROWS else -(-int(rows / TARGET_VISITED + 1) // cores) * cores


@define
class Compaction:
    """The runs of an exploration, and its parts.

    Attributes:
        log: of the levels.
        words: of a packed state.
        merge: runs a job.
        stop: set from outside to end it.
        most: parts that a level reads, at most.
        runs: what there is.
    """

    log: CommitLog
    words: int
    merge: Merge
    stop: threading.Event
    most: int = MOST_PARTS
    runs: list[StoredRun] = field(factory=list)

    @property
    def folder(self) -> AnyPath:
        """Where runs are."""
        return self.log.out / "runs"

    def open(self, commits: Sequence[Commit]) -> None:
        """Take up the runs that are of these levels; whatever else is there goes."""
        self.runs = []
        if self.folder.exists():
            found = [self._read(place, commits) for place in by_name(self.folder.iterdir())]
            self._keep([run for run in found if run is not None])

    def _read(self, place: AnyPath, commits: Sequence[Commit]) -> StoredRun | None:
        """The run that a document describes; None when it is not one of these levels."""
        if not place.name.endswith(".json"):
            return None
        try:
            (document, run), _ = read_sealed(place, "", self._run_of)
            if run.last > len(commits) or document["of"] != self.log.seal(run.last - 1):
                return None
        except Refusal:
            return None
        return run if run.rows == sum(level.rows for level in commits[run.first : run.last]) else None

    def _run_of(self, document: Any) -> tuple[dict[str, Any], StoredRun]:
        """What the document of a run says.

        Raises:
            ValueError: for what is not as it is written.
        """
        values = read_fields(document, _DOCUMENT)
        files, bits, blocks = values["files"], values["bucket_bits"], values["blocks"]
        table = unpack(blocks, BLOCK, len(files), MOST_BLOCKS)
        if values["first"] >= values["last"]:
            raise ValueError("it is of no level")
        if len(table) and int(table["bucket"].max()) >> bits:
            raise ValueError(f"its table has a bucket whose number has more than {bits} bits")
        if int(table["rows"].max(initial=0)) > BLOCK_ROWS:
            raise ValueError(f"its table has a block of more than {BLOCK_ROWS:,} states")
        return values, StoredRun(str(self.folder), values["first"], values["last"], files, table, bits)

    def parts(self, commits: Sequence[Commit], bits: int) -> tuple[Part, ...]:
        """The parts of the visited states of these levels, merged where that is due.

        Args:
            commits: the levels.
            bits: of the number of a bucket of the level that they are for; a run has as many.

        Raises:
            JobFailedError: when a merge fails on all attempts.
        """
        parts = self._parts(commits)
        at = first_merged([part.rows for part in parts], self.most)
        if at is None:
            return parts
        first = sum(part.last - part.first if isinstance(part, StoredRun) else 1 for part in parts[:at])
        made = self._merged(first, commits, parts[at:], bits)
        if made is None:
            return parts
        self._keep([*self.runs, made])
        return (*parts[:at], made)

    def _parts(self, commits: Sequence[Commit]) -> tuple[Part, ...]:
        begins = {run.first: run for run in self.runs if run.last <= len(commits)}
        parts: list[Part] = []
        depth = 0
        while depth < len(commits):
            run = begins.get(depth)
            parts.append(self.log.stored(commits[depth]) if run is None else run)
            depth = depth + 1 if run is None else run.last
        return tuple(parts)

    def _merged(self, first: int, commits: Sequence[Commit], parts: tuple[Part, ...], bits: int) -> StoredRun | None:
        """The run of these levels, from a first one on; None when it was stopped."""
        self.log.check_lease()
        self.folder.mkdir(exist_ok=True)
        last, sight = len(commits), None if self.log.lease is None else self.log.lease.sight()
        job = MergeJob(str(self.folder), parts, self.words, max(bits, *(part.bits for part in parts)), sight)
        made = self.merge(job, f"levels {first} to {last - 1} merged", self.stop)
        if made is None:
            return None
        run = StoredRun.of(self.folder, first, last, made, job.bits)
        if run.rows != job.rows:
            raise RuntimeError(f"the run of levels {first} to {last - 1} has {run.rows:,} of {job.rows:,} states")
        durable(self.folder)
        document: dict[str, Any] = {"first": first, "last": last, "of": self.log.seal(last - 1)}
        document |= {"files": list(run.files), "blocks": pack(run.table), "bucket_bits": run.bits}
        write_sealed(self.folder / _document(first, last), document)
        return run

    def _keep(self, runs: Sequence[StoredRun]) -> None:
        """Go on with the longest of these runs, and remove what belongs to none of them."""
        longest = sorted(runs, key=lambda run: (run.first, -run.last))
        self.runs = []
        for run in longest:
            if not self.runs or run.first >= self.runs[-1].last:
                self.runs.append(run)
        names = {name for run in self.runs for name in run.files}
        names |= {_document(run.first, run.last) for run in self.runs}
        remove_others(self.folder, names)

    def drop(self) -> None:
        """Remove all runs."""
        self.log.check_lease()
        self.runs = []
        remove_folder(self.folder)


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
