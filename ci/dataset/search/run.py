"""A search that an engine goes on with, level by level, each a job and a commit: which file has what."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt
from attrs import define, field, frozen

from kraftcheck.ci.dataset.backward.search import CommittedBackward
from kraftcheck.ci.dataset.disk import DiskRunner, RoundProgress
from kraftcheck.ci.dataset.jobs import JobRunner, LocalJobs
from kraftcheck.ci.dataset.liveness import CommittedLiveness
from kraftcheck.ci.dataset.options import HANDOVER, NATIVE
from kraftcheck.ci.dataset.search.levels import CommittedOrigins, JobResult, LevelRunner, UnfinishedLevelError, plan
from kraftcheck.ci.dataset.store.commits import CommitLog
from kraftcheck.ci.dataset.store.dataset import check_files, check_fit
from kraftcheck.ci.dataset.store.levelfiles import Groups, LevelWriter
from kraftcheck.ci.dataset.store.manifests import Commit, PlacedOccurrence, StatePlace
from kraftcheck.ci.terminal.refusal import JobFailedError
from kraftcheck.solvers.blocks.tasks import BlockKernel
from kraftcheck.solvers.exploration.explore import Planned, SearchBudget, SearchProgress
from kraftcheck.solvers.liveness.backward import NOT_SEARCHED, Recoverability
from kraftcheck.solvers.liveness.judge import NO_LIVENESS_SEARCH, Liveness
from kraftcheck.solvers.machine_code.transition import NO_ACTION, FramePlan
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.stop import is_stop, stop_reason
from kraftcheck.solvers.search.levels import FIRST_VIOLATION

INITIAL = np.uint64(0xFFFF_FFFF_FFFF_FFFF)  # the mark of an initial state


@frozen
class BlockPlan:
    """The part of the code on blocks that verdicts need, as `kraftcheck.solvers.exploration.explore.Planned`."""

    program: Program
    cached: bool = False
    warnings: tuple[str, ...] = ()
    plan: FramePlan = field(init=False)

    @plan.default
    def _laid_out(self) -> FramePlan:
        return FramePlan(self.program)


@define
class DatasetRun:
    """A distributed search and its result, as `kraftcheck.solvers.exploration.explore.SearchResult`."""

    kernel: Planned  # the program, and the places of its counters
    blocks: BlockKernel  # functions on blocks, on the driver
    log: CommitLog
    budget: SearchBudget  # resources, and where to stop: between levels only
    stop: threading.Event  # set from outside to end it
    report: Callable[[SearchProgress, Commit | None], None]
    engine: str = "spark"
    handover: int = HANDOVER  # states of the first level that is left to it
    commits: list[Commit] = field(factory=list)
    handed_over: int | None = None  # the first depth that the engine expanded; None: none
    cut: str | None = None  # why the search is not complete; None when it is
    # recoverability, liveness: what searches found about `recovers` and liveness properties
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
        """Take up what is committed, files compared with digests; half-written ones go; raises Refusal for others."""
        self.commits = self.log.commits()
        check_fit(self.log, self.commits, self.kernel.program, self.blocks.spec.bucket_bits)
        check_files(self.log, self.commits)
        self.log.sweep(self.commits)
        later = [level.depth for level in self.commits if level.engine != NATIVE]
        self.handed_over = later[0] - 1 if later else None

    def start(self) -> None:
        """The first levels, in this process; what is found whole so is judged here too; raises as `judge`."""
        self._commit(self._initial())
        runner = DiskRunner(self.blocks, self.budget.threads, self.budget.memory // 2, self.on_round)
        deepest = self.budget.max_depth
        while not (self.finished or self.commits[-1].rows >= self.handover):
            if deepest is not None and len(self.levels) > deepest:
                return
            try:
                made = runner.run(plan(runner, self.log, self.commits), self.stop)
            except UnfinishedLevelError:
                return
            if made is None:
                self.cut = stop_reason(self.stop)
                return
            self._commit(self._commit_of(len(self.commits), made, NATIVE))
        if self.finished:
            self.judge(LocalJobs(self.blocks.spec, self.budget.threads), self.budget.memory)

    def _initial(self) -> Commit:
        spec, program = self.blocks.spec, self.kernel.program
        states = np.array(program.initial, dtype=np.uint64)
        records, counts = self.blocks.by_bucket(np.column_stack([states, np.full(len(states), INITIAL)]))
        with LevelWriter(self.log.folder(0), 0, spec.words, spec.claim_words) as writer:
            writer.write_sorted(records, counts, self.blocks.claims(records))
        (file,) = filter(None, [writer.result()])
        return Commit(0, (file,), Groups.of(writer.groups, spec.bucket_bits), expanded=0,
                      counters=tuple(self.counters().tolist()), claims=_of_states(0, writer.claims))  # fmt: skip

    def on_round(self, progress: RoundProgress) -> None:
        """Tell of a round of the level that is being made in this process."""
        left, generated = self.commits[-1].rows - progress.expanded, self.generated + self.transitions(progress.frame)
        seconds = time.monotonic() - self._start_time
        told = SearchProgress(progress.depth - 1, generated, self.distinct + progress.new, left, seconds)
        self.report(told, None)

    @property
    def finished(self) -> bool:
        """Whether nothing is left to be expanded."""
        return bool(self.commits) and self.commits[-1].last

    def expand(self, runner: LevelRunner) -> None:
        """Level by level, until nothing is left or the run is cut; lost files go at the end; raises JobFailedError."""
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
            self._commit(self._commit_of(level.depth, result, self.engine))
            seconds = time.monotonic() - self._start_time
            progress = SearchProgress(level.depth, self.generated, self.distinct, self.commits[-1].rows, seconds)
            self.report(progress, self.commits[-1])
        self.log.sweep(self.commits)

    def judge(self, runner: JobRunner, memory: int) -> None:
        """Judge `recovers` and liveness on what is committed, unless it was to end early; raises as these searches."""
        program = self.kernel.program
        of = (runner, self.log, self.commits, program, memory, self._on_backward)
        if program.recovers and not self._ends_early:
            self.recoverability = CommittedBackward(*of).run(self.stop)
            if self.recoverability.findings is None:
                self.cut = stop_reason(self.stop)
        if program.liveness.claims and not self._ends_early:
            self.liveness = CommittedLiveness(*of).run(self.stop)
            if self.stop.is_set():
                self.cut = stop_reason(self.stop)

    @property
    def _ends_early(self) -> bool:
        return is_stop(self.cut) or self.cut == FIRST_VIOLATION

    def _on_backward(self, rounds: int, changed: int) -> None:
        """Tell of a round of the backward search; its queue are the marks that rose."""
        seconds = time.monotonic() - self._start_time
        self.report(SearchProgress(len(self.levels) - 1, self.generated, self.distinct, changed, seconds, rounds), None)

    def _commit_of(self, depth: int, result: JobResult, engine: str) -> Commit:
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
        claims = {**_of_states(depth, result.claims), **steps}
        return Commit(
            depth, result.files, result.groups, counters=tuple(total.tolist()), claims=claims, engine=engine,
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


def _of_states(depth: int, claims: Mapping[int, int]) -> dict[int, PlacedOccurrence]:
    return {number: PlacedOccurrence(StatePlace(depth, one), NO_ACTION) for number, one in claims.items()}
