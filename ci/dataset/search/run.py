"""A search that an engine goes on with: level by level, committed to a folder, restartable.

The driver holds the commit log and counters: a level is a job, and what comes
back is which file holds what.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping

import numpy as np
import numpy.typing as npt
from attrs import define, field

from kraftcheck.ci.dataset.options import HANDOVER
from kraftcheck.ci.dataset.search.levels import (
    CommittedOrigins,
    JobResult,
    LevelRunner,
    UnfinishedLevelError,
    plan,
)
from kraftcheck.ci.dataset.store.commits import CommitLog
from kraftcheck.ci.dataset.store.dataset import check_files, check_fit
from kraftcheck.ci.dataset.store.levelfiles import Groups, LevelFile, LevelWriter, RowGroup
from kraftcheck.ci.dataset.store.manifests import Commit, PlacedOccurrence, StatePlace
from kraftcheck.ci.dataset.store.objects import AnyPath
from kraftcheck.ci.terminal.refusal import JobFailedError
from kraftcheck.solvers.blocks.tasks import ROW_BITS, BlockKernel, Words
from kraftcheck.solvers.exploration.explore import SearchBudget, SearchProgress
from kraftcheck.solvers.liveness.judge import NO_LIVENESS_SEARCH, Liveness, search_liveness
from kraftcheck.solvers.machine_code.compile import Kernel
from kraftcheck.solvers.machine_code.search_kernel import SHARDS
from kraftcheck.solvers.machine_code.transition import NO_ACTION
from kraftcheck.solvers.program.stop import is_stop, stop_reason
from kraftcheck.solvers.search.backward import NOT_SEARCHED, Recoverability, search_backward
from kraftcheck.solvers.search.levels import FIRST_VIOLATION, HANDED_OVER, Limits, Search
from kraftcheck.solvers.search.visited import NO_PARENT

INITIAL = np.uint64(0xFFFF_FFFF_FFFF_FFFF)
"""The mark of an initial state."""


@define
class NativeStart:
    """A native search that stops before the first large level.

    Attributes:
        handover: states of a level that is left to the engine; 0: even the initial states.
        memory: bytes in use beyond which the next level is left to the engine.
        ends: for each level, how many states each shard had when it was whole.
        counters: for each level the frame before it was expanded.
        claims: for each level the claims recorded before it was expanded.
    """

    handover: int
    memory: int
    search: Search = field(init=False)
    ends: list[list[int]] = field(factory=list)
    counters: list[npt.NDArray[np.int64]] = field(factory=list)
    claims: list[dict[int, int]] = field(factory=list)

    def run(self, kernel: Kernel, threads: int, limits: Limits, stop: object, report: Callable[[Search], None]) -> bool:
        """Search; true when nothing is left to be expanded."""
        self.search = Search(kernel, limits, threads, stop, report, self._on_level)  # type: ignore[arg-type]
        self.search.run()
        return self.search.cut is None

    def _on_level(self, search: Search, ends: list[int]) -> bool:
        self.ends.append(ends)
        self.counters.append(search.counters())
        self.claims.append(dict(search.claims))
        return search.levels[-1] >= self.handover or search.bytes_in_use() > self.memory

    @property
    def handed_over(self) -> bool:
        """Whether it stopped for a large level."""
        return self.search.cut == HANDED_OVER

    def levels(self) -> Iterator[tuple[int, Words, npt.NDArray[np.int64]]]:
        """Each whole level's records with native ids as marks' parents: (depth, records, native ids)."""
        begins = [0] * SHARDS
        for depth, ends in enumerate(self.ends):
            rows, ids = [], []
            for number, shard in enumerate(self.search.store.shards):
                part = slice(begins[number], ends[number])
                marks = shard.parents[part].astype(np.uint64) << np.uint64(16) | shard.actions[part].astype(np.uint64)
                marks[shard.parents[part] == NO_PARENT] = INITIAL
                rows.append(np.column_stack([shard.states[part], marks]))
                ids.append(np.arange(begins[number], ends[number], dtype=np.int64) * SHARDS + number)
            yield depth, np.ascontiguousarray(np.concatenate(rows)), np.concatenate(ids)
            begins = ends


@define
class Export:
    """Writes the levels of a native start and translates their ids.

    Attributes:
        new_ids: the id of a state within its depth, by native id.
        depths: its depth, by native id.
    """

    kernel: BlockKernel
    new_ids: npt.NDArray[np.int64]
    depths: npt.NDArray[np.int32]

    @classmethod
    def of(cls, kernel: BlockKernel, start: NativeStart) -> Export:
        """Room for the ids of a native start."""
        size = (max(start.search.store.counts()) + 1) * SHARDS
        return cls(kernel, np.full(size, -1, dtype=np.int64), np.full(size, -1, dtype=np.int32))

    def write(
        self, folder: AnyPath, depth: int, records: Words, ids: npt.NDArray[np.int64]
    ) -> tuple[LevelFile | None, list[RowGroup], dict[int, int]]:
        """Write one level: its file, its groups, and the first state of each claim about states."""
        spec = self.kernel.spec
        old = records[:, spec.words].copy()
        records[:, spec.words] = ids.view(np.uint64)
        ordered, counts = self.kernel.by_bucket(records)
        order = ordered[:, spec.words].view(np.int64).copy()
        first = np.repeat(np.cumsum(counts) - counts, counts)
        rows = np.arange(len(order)) - first
        buckets = np.repeat(np.arange(spec.buckets), counts)
        self.new_ids[order], self.depths[order] = buckets << ROW_BITS | rows, depth
        by_id = np.argsort(ids, kind="stable")
        marks = old[by_id[np.searchsorted(ids, order, sorter=by_id)]]
        later = marks != INITIAL
        parents = self.new_ids[(marks[later] >> np.uint64(16)).astype(np.int64)].astype(np.uint64)
        marks[later] = parents << np.uint64(16) | marks[later] & np.uint64(0xFFFF)
        ordered[:, spec.words] = marks
        writer = LevelWriter(folder, 0, spec.words, spec.claim_words)
        with writer:
            writer.write_sorted(ordered, counts, self.kernel.claims(ordered))
        return writer.result(), writer.groups, writer.claims

    def occurrence(self, mark: int) -> PlacedOccurrence:
        """Where the state of a native mark was written, and its action instance."""
        native = mark >> 16
        at = StatePlace(int(self.depths[native]), int(self.new_ids[native]))
        if min(at.depth, at.id) < 0:
            raise RuntimeError(f"native state {native} is in no level that was written")
        return PlacedOccurrence(at, mark & NO_ACTION)


@define
class DatasetRun:
    """A distributed search and its result, as `kraftcheck.solvers.exploration.explore.SearchResult`.

    Attributes:
        kernel: the program, compiled for the native start and for judging.
        blocks: functions on blocks, on the driver.
        budget: resources, and where to stop: between levels only.
        stop: set from outside to end it.
        handover: states of the first level that is left to it.
        handed_over: the first depth that the engine expanded; None: none.
        cut: why the search is not complete; None when it is.
        recoverability, liveness: what searches found about `recovers` and liveness properties.
    """

    kernel: Kernel
    blocks: BlockKernel
    log: CommitLog
    budget: SearchBudget
    stop: threading.Event
    report: Callable[[SearchProgress, Commit | None], None]
    engine: str = "spark"
    handover: int = HANDOVER
    commits: list[Commit] = field(factory=list)
    handed_over: int | None = None
    cut: str | None = None
    recoverability: Recoverability = NOT_SEARCHED
    liveness: Liveness = NO_LIVENESS_SEARCH
    _start_time: float = field(factory=time.monotonic)

    @property
    def levels(self) -> list[int]:
        """States of each depth."""
        return [level.rows for level in self.commits if not level.last]

    @property
    def distinct(self) -> int:
        """States of all depths."""
        return sum(self.levels)

    @property
    def generated(self) -> int:
        """Transitions taken, and the initial states."""
        return self.transitions(self.counters()) + len(self.kernel.program.initial)

    def transitions(self, frame: npt.NDArray[np.int64]) -> int:
        """Transitions that a frame counts."""
        plan = self.kernel.plan
        return int(frame[plan.fired : plan.pruned].sum())

    @property
    def claims(self) -> dict[int, PlacedOccurrence]:
        """For each claim that occurred, its first occurrence."""
        occurrences: dict[int, PlacedOccurrence] = {}
        for level in self.commits:
            for number, occurrence in level.claims.items():
                occurrences.setdefault(number, occurrence)
        return occurrences

    @property
    def store(self) -> CommittedOrigins:
        """Where states came from."""
        return CommittedOrigins(self.log, self.commits, self.blocks.spec.words)

    def counters(self) -> npt.NDArray[np.int64]:
        """The frame of all expansions."""
        if not self.commits:
            return np.zeros(self.kernel.plan.size, dtype=np.int64)
        return np.array(self.commits[-1].counters, dtype=np.int64)

    def bytes_in_use(self) -> int:
        """Bytes of the committed files."""
        return sum(level.bytes for level in self.commits)

    def resume(self) -> None:
        """Take up what is committed, once its files are compared with their digests; what is half written goes.

        Raises:
            Refusal: when something committed was changed or lost.
        """
        self.commits = self.log.commits()
        check_fit(self.log, self.commits, self.kernel.program, self.blocks.spec.bucket_bits)
        check_files(self.log, self.commits)
        self.log.sweep(self.commits)
        later = [level.depth for level in self.commits if level.engine != "native"]
        self.handed_over = later[0] - 1 if later else None

    def start(self) -> None:
        """The first levels, natively; every whole one is committed."""
        native = NativeStart(self.handover, self.budget.memory // 2)
        limits = Limits(self.budget.memory, self.budget.max_depth)
        finished = native.run(self.kernel, self.budget.threads, limits, self.stop, self._native_progress)
        export, bits = Export.of(self.blocks, native), self.blocks.spec.bucket_bits
        for depth, records, ids in native.levels():
            file, groups, claims = export.write(self.log.folder(depth), depth, records, ids)
            states = {
                number: PlacedOccurrence(StatePlace(depth, identity), NO_ACTION) for number, identity in claims.items()
            }
            steps = self._steps(export, native.claims[depth])
            files = (file,) if file is not None else ()
            frame, before = tuple(native.counters[depth].tolist()), self.commits[-1].rows if self.commits else 0
            places = Groups.of(groups, bits)
            self._commit(Commit(depth, files, places, counters=frame, claims={**states, **steps}, expanded=before))
        if finished:
            frame = tuple(native.search.counters().tolist())
            steps, before = self._steps(export, native.search.claims), self.commits[-1].rows
            empty = Groups.empty(bits)
            self._commit(Commit(len(self.commits), (), empty, counters=frame, claims=steps, expanded=before))

            def report(search: Search, sweep: int, queue: int) -> None:
                self._native_progress(search)

            self.recoverability = search_backward(native.search, report, time.monotonic)
            self.liveness = search_liveness(native.search, report, time.monotonic)
            self.cut = native.search.cut
        elif self.stop.is_set():
            self.cut = stop_reason(self.stop)

    def _steps(self, export: Export, claims: Mapping[int, int]) -> dict[int, PlacedOccurrence]:
        """The claims about transitions and deadlocks; those about states are read off the levels."""
        first = self.kernel.plan.deadlock
        return {number: export.occurrence(mark) for number, mark in claims.items() if number >= first}

    def _native_progress(self, search: Search) -> None:
        depth = max(0, len(search.levels) - 1)
        seconds = time.monotonic() - self._start_time
        self.report(SearchProgress(depth, search.generated, search.distinct, search.queue, seconds), None)

    @property
    def finished(self) -> bool:
        """Whether nothing is left to be expanded."""
        return bool(self.commits) and self.commits[-1].last

    def expand(self, runner: LevelRunner) -> None:
        """Level by level, until nothing is left or the run is cut; files of lost attempts are removed at the end.

        Raises:
            JobFailedError: when a job fails on all attempts; committed levels stay.
        """
        while not self.finished and self._within_limits():
            level = plan(runner, self.log, self.commits)
            if self.handed_over is None:
                self.handed_over = level.depth - 1
            try:
                result = runner.run(level, self.stop)
            except UnfinishedLevelError as error:
                self.cut = str(error)
                break
            if result is None:
                self.cut = stop_reason(self.stop)
                break
            self._commit(self._commit_of(level.depth, result))
            seconds = time.monotonic() - self._start_time
            progress = SearchProgress(level.depth, self.generated, self.distinct, self.commits[-1].rows, seconds)
            self.report(progress, self.commits[-1])
        self.log.sweep(self.commits)

    def search_backward(self, search: Callable[[], Recoverability]) -> None:
        """Judge the `recovers` properties on what is committed, unless the run was to end early."""
        if self.kernel.program.recovers and not (is_stop(self.cut) or self.cut == FIRST_VIOLATION):
            self.recoverability = search()
            if self.recoverability.findings is None:
                self.cut = stop_reason(self.stop)

    def search_liveness(self, search: Callable[[], Liveness]) -> None:
        """Judge the liveness properties on what is committed, unless the run was to end early."""
        if self.kernel.program.liveness.claims and not (is_stop(self.cut) or self.cut == FIRST_VIOLATION):
            self.liveness = search()
            if self.stop.is_set():
                self.cut = stop_reason(self.stop)

    def report_backward(self, rounds: int, changed: int) -> None:
        """Tell of a round of the backward search; its queue are the marks that rose."""
        seconds = time.monotonic() - self._start_time
        self.report(SearchProgress(len(self.levels) - 1, self.generated, self.distinct, changed, seconds, rounds), None)

    def _commit_of(self, depth: int, result: JobResult) -> Commit:
        """The commit of what a job brought back."""
        plan, before = self.kernel.plan, self.commits[-1].rows
        if result.expanded != before:
            raise JobFailedError(f"the job of level {depth} expanded {result.expanded:,} of {before:,} states")
        frame = plan.join(result.frames)
        steps: dict[int, PlacedOccurrence] = {}
        for number in np.flatnonzero(frame[plan.claims : plan.claims + plan.claim_count]).tolist():
            mark = int(frame[plan.claims + number]) - 1
            steps[number] = PlacedOccurrence(StatePlace(depth - 1, mark >> 16), mark & NO_ACTION)
        frame[plan.claims : plan.claims + plan.claim_count] = frame[plan.enabled] = frame[plan.claim_found] = 0
        total = plan.join(np.stack([self.counters(), frame]))
        states = {
            number: PlacedOccurrence(StatePlace(depth, identity), NO_ACTION)
            for number, identity in result.claims.items()
        }
        claims = {**states, **steps}
        return Commit(
            depth, result.files, result.groups, counters=tuple(total.tolist()), claims=claims, engine=self.engine,
            cost=result.cost, expanded=result.expanded,
        )  # fmt: skip

    def _within_limits(self) -> bool:
        """Whether no limit is reached; else the cut says which."""
        refuted, deepest = not self.kernel.plan.goals.issuperset(self.claims), self.budget.max_depth
        self.cut = self.budget.reached(self.stop, self.distinct, refuted)
        if self.cut is None and deepest is not None and len(self.levels) > deepest:
            self.cut = f"depth limit {deepest}"
        return self.cut is None

    def _commit(self, level: Commit) -> None:
        self.log.commit(level)
        self.commits.append(level)
