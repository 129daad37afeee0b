"""Compaction: the visited states of old levels, merged to few runs, so that a late level opens few files.

The parts of the visited states are levels, and runs of levels that follow each other. Once there are more than
`MOST_PARTS` of them, the last ones are merged: from the first on that is small beside all that are after it, so that
a state is written again only a few times. Runs are derived from level files alone. A run names the digest of its last
level's manifest; one of anything else, or one that is damaged or lost, is dropped.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from attrs import define, field, frozen

from kraftcheck.ci.dataset.documents.values import (
    FILE_NAME,
    SHA256,
    Reader,
    as_it_is,
    listed,
    matching,
    read_fields,
    whole,
)
from kraftcheck.ci.dataset.search.levels import TARGET_VISITED
from kraftcheck.ci.dataset.store.commits import CommitLog
from kraftcheck.ci.dataset.store.folders import durable, remove_folder, remove_others
from kraftcheck.ci.dataset.store.groups import Table, pack, unpack
from kraftcheck.ci.dataset.store.job import Part
from kraftcheck.ci.dataset.store.manifests import MOST_DEPTH, MOST_FILES, Commit
from kraftcheck.ci.dataset.store.objects import AnyPath, by_name
from kraftcheck.ci.dataset.store.runs import BLOCK, BLOCK_ROWS, StoredRun
from kraftcheck.ci.dataset.store.sealed import read_sealed, write_sealed
from kraftcheck.ci.dataset.store.sight import Sight
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.solvers.blocks.tasks import MOST_BUCKET_BITS

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
