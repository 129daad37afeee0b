"""`recovers` properties under Spark: marks flow backward over the transitions of the committed states.

The native engine sweeps over all states until no mark changes
(`kraftcheck.solvers.search.backward`). Here each round is a join: what rose in the last round
flows over the transitions into it. Transitions are computed once, for states
that do not satisfy a claim by themselves, through the actions that its way out
allows, and kept beside the run until the search ends. The marks are those of
`kraftcheck.solvers.machine_code.backward_sweep`, so is the fixpoint, and so are the verdicts.
"""

from __future__ import annotations

import shutil
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from attrs import define, field, frozen

from kraftcheck.ci.dataset.search.origins import CommittedOrigins
from kraftcheck.ci.dataset.store.commits import CommitLog
from kraftcheck.ci.dataset.store.manifests import Commit
from kraftcheck.ci.dataset.store.places import PLACE_BITS, StatePlace
from kraftcheck.ci.spark.errors import job_error
from kraftcheck.ci.spark.jobs import SparkCluster, cancel_on
from kraftcheck.ci.spark.session import for_sql, on_this_disk
from kraftcheck.ci.spark.tasks import Batches
from kraftcheck.ci.spark.written import written
from kraftcheck.solvers.blocks.tasks import BlockKernel, BlockSpec, Words, load_block_kernel
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.search.backward import Recoverability, RecoverabilityFinding

FOLDER = "backward"
"""Below a run's folder, while the search lasts."""

STATES_AT_ONCE = 4096


def marks_task(shipped: Callable[[], BlockSpec]) -> Callable[[Batches], Batches]:
    """For each state (place, words) the bits of its mark that it has by itself."""

    def compute_marks(batches: Batches) -> Batches:
        kernel = load_block_kernel(shipped())
        for places, states in state_parts(batches, kernel):
            yield _rows(place=places, bits=kernel.marks(states).view(np.int64))

    return compute_marks


def exits_task(shipped: Callable[[], BlockSpec]) -> Callable[[Batches], Batches]:
    """For each state (place, words) the transitions that matter backward; what a bound cut is a row without words."""

    def compute_exits(batches: Batches) -> Batches:
        kernel = load_block_kernel(shipped())
        words = kernel.spec.words
        for places, states in state_parts(batches, kernel):
            records, counts, leaves = kernel.exits_of(states)
            flows = records[:, words] != 0
            source, records = np.repeat(places, counts)[flows], records[flows].view(np.int64)
            yield _rows(src=source, way=records[:, words], **{f"w{i}": records[:, i] for i in range(words)})
            is_cut = leaves != 0
            nulls = pa.nulls(int(is_cut.sum()), pa.int64())
            yield _rows(src=places[is_cut], way=leaves[is_cut].view(np.int64), **{f"w{i}": nulls for i in range(words)})

    return compute_exits


def state_parts(batches: Batches, kernel: BlockKernel) -> Iterator[tuple[Any, Words]]:
    """Rows (place, words) as arrays, a few thousand at once."""
    for batch in batches:
        for at in range(0, batch.num_rows, STATES_AT_ONCE):
            part = batch.slice(at, STATES_AT_ONCE)
            columns = [part.column(i).to_numpy(zero_copy_only=False) for i in range(1 + kernel.spec.words)]
            yield columns[0], np.ascontiguousarray(np.column_stack(columns[1:]).view(np.uint64))


def _rows(**columns: Any) -> Any:
    arrays = [pa.array(np.ascontiguousarray(c)) if isinstance(c, np.ndarray) else c for c in columns.values()]
    return pa.RecordBatch.from_arrays(arrays, names=list(columns))


@frozen
class Bits:
    """The groups of bits of a mark, for n properties."""

    n: int

    def reach(self, number: int) -> int:
        """A state that satisfies the claim can be reached."""
        return 1 << number

    def leaves(self, number: int) -> int:
        """A transition goes where the exploration did not."""
        return 1 << self.n + number

    def concerned(self, number: int) -> int:
        """The claim is about the state."""
        return 1 << 2 * self.n + number

    @property
    def all_leaves(self) -> int:
        """The group "leaves"."""
        return ((1 << self.n) - 1) << self.n

    @property
    def flowing(self) -> int:
        """The bits that flow backward."""
        return (1 << 2 * self.n) - 1


@define
class SparkBackward:
    """One backward search over a committed run.

    Attributes:
        cluster: the session, with the kernel shipped.
        log, commits: the run.
        program: what was explored.
        report: called after each round with its number and how many marks rose in it.
        rounds: rounds so far.
    """

    cluster: SparkCluster
    log: CommitLog
    commits: Sequence[Commit]
    program: Program
    report: Callable[[int, int], None]
    rounds: int = 0
    _bits: Bits = field(init=False)
    _marks: list[str] = field(factory=list)

    def __attrs_post_init__(self) -> None:
        """Lay out the marks."""
        self._bits = Bits(len(self.program.recovers))

    @property
    def _place(self) -> Path:
        return self.log.out / FOLDER

    def run(self, stop: threading.Event) -> Recoverability:
        """The recoverability of the explored graph; without findings when it was stopped.

        Raises:
            JobFailedError: when a job fails on all attempts; committed levels stay.
        """
        start, states = time.monotonic(), sum(level.rows for level in self.commits)
        context, name = self.cluster.session.sparkContext, f"kraftcheck-{uuid.uuid4().hex}"
        context.setJobGroup(name, "backward search")
        shutil.rmtree(self._place, ignore_errors=True)
        try:
            with cancel_on(stop, context, name), for_sql(self.cluster.session, 4 * states):
                findings = self._findings(stop)
        except Exception as error:
            if not stop.is_set():
                raise job_error(error, self.cluster.log) from error
            findings = None
        finally:
            shutil.rmtree(self._place, ignore_errors=True)
        return Recoverability(findings, self.rounds, time.monotonic() - start)

    def _findings(self, stop: threading.Event) -> tuple[RecoverabilityFinding, ...] | None:
        rows = self._states()
        own = rows.mapInArrow(marks_task(self.cluster.shipped), "place bigint, bits bigint")
        edges = self._edges(rows)
        cut = edges.where("dst IS NULL").selectExpr("src AS place", f"way & {self._bits.all_leaves}L AS bits")
        changed = self._write_round(own.unionByName(cut).groupBy("place").agg(_any("bits")))
        first = self._counts(changed)
        while True:
            self.rounds += 1
            frontier = changed.where(f"(bits & {self._bits.flowing}L) <> 0").selectExpr("place AS dst", "bits AS got")
            flows = edges.join(frontier, "dst").selectExpr("src AS place", "way & got AS got").where("got <> 0")
            joined = flows.groupBy("place").agg(_any("got")).join(self._all_marks(), "place")
            changed = self._write_round(joined.selectExpr("place", "got & ~bits AS bits").where("bits <> 0"))
            count = changed.count()
            self.report(self.rounds, count)
            if stop.is_set():
                return None
            if not count:
                return self._results(first)

    def _states(self) -> Any:
        """Place and words of every committed state."""
        folders = [(self.log.folder(level.depth), level.files) for level in self.commits]
        files = [on_this_disk(folder / file.name) for folder, files in folders for file in files]
        words = [f"w{i}" for i in range(self.cluster.spec.words)]
        place = f"(shiftleft(CAST(depth AS BIGINT), {PLACE_BITS}) | id) AS place"
        return self.cluster.session.read.parquet(*files).selectExpr(place, *words)

    def _edges(self, rows: Any) -> Any:
        """The transitions that matter, by place: (src, way, dst); dst is null where the exploration did not go."""
        words = [f"w{i}" for i in range(self.cluster.spec.words)]
        schema = ", ".join(["src bigint", "way bigint", *(f"{word} bigint" for word in words)])
        exits = rows.mapInArrow(exits_task(self.cluster.shipped), schema)
        places = rows.withColumnRenamed("place", "dst")
        return self._materialise(exits.join(places, words, "left").select("src", "way", "dst"), "edges")

    def _materialise(self, frame: Any, name: str) -> Any:
        """A data frame computed once, and read again from its files."""
        path, schema = on_this_disk(self._place / name), frame.schema
        frame.write.parquet(path)
        written(self._place / name)
        return self.cluster.session.read.schema(schema).parquet(path)

    def _write_round(self, frame: Any) -> Any:
        """Write the marks that rose in a round, and count them among all marks."""
        changed = self._materialise(frame, f"marks-{self.rounds}")
        self._marks.append(on_this_disk(self._place / f"marks-{self.rounds}"))
        return changed

    def _all_marks(self) -> Any:
        """Every mark: the union of all rounds so far."""
        schema = "place bigint, bits bigint"
        return self.cluster.session.read.schema(schema).parquet(*self._marks).groupBy("place").agg(_any("bits"))

    def _counts(self, marks: Any) -> list[tuple[int, int, bool]]:
        """For each property states concerned, those of them that fail by themselves, whether any state satisfies it."""
        columns = []
        for number in range(self._bits.n):
            reach, about = self._bits.reach(number), self._bits.concerned(number)
            columns += [
                f"count_if((bits & {about}L) <> 0)", f"count_if((bits & {reach | about}L) = {about}L)",
                f"coalesce(bool_or((bits & {reach}L) <> 0), false)",
            ]  # fmt: skip
        row = marks.selectExpr(*columns).collect()[0]
        return [(row[3 * n], row[3 * n + 1], row[3 * n + 2]) for n in range(self._bits.n)]

    def _results(self, first: Sequence[tuple[int, int, bool]]) -> tuple[RecoverabilityFinding, ...]:
        """The verdicts of the fixpoint: the first place, by depth, that is lost or uncertain."""
        columns = []
        for number in range(self._bits.n):
            leaves, about = self._bits.leaves(number), self._bits.concerned(number)
            every = self._bits.reach(number) | leaves | about
            for pattern in (about, about | leaves):
                columns.append(f"min(CASE WHEN (bits & {every}L) = {pattern}L THEN place END)")
        row = self._all_marks().selectExpr(*columns).collect()[0]
        claims = [recovers.claim for recovers in self.program.recovers]
        origins = CommittedOrigins(self.log, self.commits, self.cluster.spec.words)
        findings = []
        for n, (claim, (concerned, failing, satisfied)) in enumerate(zip(claims, first, strict=True)):
            unrecoverable, uncertain = (
                None if number is None else StatePlace.of(number) for number in row[2 * n : 2 * n + 2]
            )
            run_ = None if unrecoverable is None else origins.run_to(unrecoverable)
            findings.append(
                RecoverabilityFinding(
                    claim, concerned, failing, run_, None if uncertain is None else uncertain.depth, satisfied
                )
            )
        return tuple(findings)


def _any(column: str) -> Any:
    """All bits that a group of rows has."""
    from pyspark.sql import functions

    return functions.bit_or(column).alias(column)
