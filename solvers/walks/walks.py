"""Random walks of a program: runs are made in parallel, and their findings and coverage are collected."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import define, evolve, field, frozen

from kraftcheck.model.language.system import Property
from kraftcheck.solvers.machine_code.threads import ThreadPool
from kraftcheck.solvers.machine_code.transition import NO_ACTION, FramePlan, prunings
from kraftcheck.solvers.program.premises import without_premises
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.stop import STOPPED, stop_reason
from kraftcheck.solvers.program.trace import Pruning, by_field, pruning_fault
from kraftcheck.solvers.program.verdict import DEADLOCK, PackedRun, Trace, TraceStep
from kraftcheck.solvers.reference.confirm import NoCounterexample, confirm, lasso_trace, run
from kraftcheck.solvers.reference.interpreter import BUDGET, Integers, Move, shrink
from kraftcheck.solvers.traces.render import minimise, repeated_text
from kraftcheck.solvers.walks.walker import FingerprintSet, Walker, WalkPlan, WalkRun

CHUNK_RUNS, CHUNK_STEPS = 64, 1 << 20

SAMPLED_RUNS, SAMPLED_STEPS = 32, 100
"""The runs that are kept where there is liveness, from the first one, and the steps of each."""


@frozen
class WalkedRun:
    """The beginning of a run."""

    run: int
    start: tuple[int, ...]  # packed state that it began in
    instances: tuple[int, ...]

    def whole(self, runs: Sequence[PackedRun]) -> PackedRun:
        """It from an initial state on; `runs` lead to states that runs may have begun in, besides the initial ones."""
        before = next((one for one in runs if one.end == self.start), PackedRun(self.start, (), self.start))
        return PackedRun(before.initial, (*before.instances, *self.instances), ())


@frozen
class Occurrence(WalkedRun):
    """The run up to the first occurrence of a claim, broken or shown: of a property, or None: of deadlock."""

    claim: Property | None


@frozen
class WalkFinding:
    """A property that a walk broke, or a goal that it reached.

    Or a lasso that a walk seems to have gone through; walks judge no liveness, so its property stays unknown.
    """

    run: int  # number of the run
    steps: int  # steps from the initial state to the occurrence, or to the end of the cycle, as walked
    trace: Trace  # a shortened one, confirmed on ints


@frozen
class WalkProgress:
    """The progress of a simulation after a chunk of runs."""

    runs: int
    steps: int
    distinct: int  # different states visited, by 64-bit fingerprint
    goals: int
    seconds: float  # since the walks began


@frozen
class Walks:
    """The result of random walks; the absence of findings is no proof."""

    program: Program = field(repr=False)
    # runs, steps, seed: runs finished, steps of all of them together, seed
    runs: int
    steps: int
    seed: int
    broken: tuple[Occurrence, ...]  # the first occurrence of each property that does not hold, deadlock included
    goals_shown: tuple[Occurrence, ...]  # the first occurrence of each goal that was reached
    goals_missed: tuple[Property, ...]  # goals that no run reached
    steps_by_action: Mapping[str, int]
    prunings: tuple[Pruning, ...]  # the transitions that a field's domain cut, each as often as it was met
    # why some steps that a walk might have taken were left out and should not be; None where none was
    fault: str | None
    curve: tuple[WalkProgress, ...]  # progress after each chunk of runs
    # seconds, compile_seconds, cached, warnings: as of an exploration
    seconds: float
    compile_seconds: float
    cached: bool
    warnings: tuple[str, ...]
    cut: str | None  # why fewer runs were made than requested; None when all were
    # where there is liveness, the beginnings of the first runs
    sampled: tuple[WalkedRun, ...] = field(default=(), repr=False)
    suspects: tuple[WalkFinding, ...] = ()  # lassos suspected among them

    @property
    def pruned(self) -> Mapping[str, int]:
        """How many transitions the domain of each field cut."""
        return by_field(self.prunings)

    @property
    def distinct(self) -> int:
        """Different states visited, by fingerprint."""
        return self.curve[-1].distinct if self.curve else 0


@define
class _Totals:
    """Totals over the runs, in their order."""

    walker: Walker
    fingerprints: FingerprintSet
    runs: int = 0
    steps: int = 0
    first: dict[int, Occurrence] = field(factory=dict)
    instance_counts: npt.NDArray[np.int64] = field(init=False)
    frame: npt.NDArray[np.int64] = field(init=False)
    curve: list[WalkProgress] = field(factory=list)
    sampled: list[WalkedRun] = field(factory=list)

    def __attrs_post_init__(self) -> None:
        """Start from nothing."""
        self.instance_counts = np.zeros(len(self.walker.kinds), dtype=np.int64)
        self.frame = np.zeros(self.walker.plan.size, dtype=np.int64)

    @property
    def number(self) -> int:
        """The number of the next run."""
        return self.walker.made.numbers.start + self.runs

    def add(self, run: WalkRun) -> None:
        """Account for the next run."""
        for number in np.nonzero(run.claims)[0].tolist():
            if number not in self.first:
                step, instance = divmod(int(run.claims[number]) - 1, NO_ACTION + 1)
                instances = [int(i) for i in run.path[:step]] + [instance] * (instance != NO_ACTION)
                claim = claim_of(self.walker.plan, number)
                self.first[number] = Occurrence(self.number, run.start, tuple(instances), claim)
        if self.walker.program.liveness.claims and self.runs < SAMPLED_RUNS:
            sampled = tuple(run.path[:SAMPLED_STEPS].tolist())
            self.sampled.append(WalkedRun(self.number, run.start, sampled))
        self.instance_counts += np.bincount(run.path.astype(np.int64), minlength=len(self.instance_counts))
        self.fingerprints.add(run.prints)
        self.runs += 1
        self.steps += len(run.path)

    def add_chunk(self, chunk: WalkedChunk) -> None:
        """Account for the next runs."""
        for made in chunk.runs:
            self.add(made)
        self.frame += chunk.frame

    def mark(self, seconds: float) -> None:
        """Note how far the runs are."""
        goals = sum(number in self.walker.plan.goals for number in self.first)
        self.curve.append(WalkProgress(self.runs, self.steps, self.fingerprints.number, goals, seconds))


def claim_of(plan: FramePlan, number: int) -> Property | None:
    """The property with a claim number; None: deadlock."""
    p = plan.program
    return (*p.always, *p.sometimes, None, *p.steps, *p.happens)[number]


@frozen
class WalkedChunk:
    """Runs that follow each other."""

    runs: Sequence[WalkRun]
    frame: npt.NDArray[np.int64]  # what their frames counted, all together


Chunks = Callable[[Walker, threading.Event], Iterator[WalkedChunk]]
"""Makes all runs of a walker in order, chunk by chunk; ends early once stopped."""


def chunk_ranges(plan: WalkPlan) -> Iterator[range]:
    """The numbers of the runs of a plan, by chunk."""
    size, end = max(1, min(CHUNK_RUNS, CHUNK_STEPS // plan.steps)), plan.numbers.stop
    return (range(first, min(first + size, end)) for first in range(plan.numbers.start, end, size))


def threaded(walker: Walker, stop: threading.Event) -> Iterator[WalkedChunk]:
    """The chunks by threads of this process."""
    with ThreadPool(walker.made.threads) as pool:
        for numbers in chunk_ranges(walker.made):
            chunk = walked_chunk(walker, numbers, pool, stop)
            if chunk is None:
                return
            yield chunk


def walked_chunk(walker: Walker, numbers: range, pool: ThreadPool, stop: threading.Event) -> WalkedChunk | None:
    """The runs with these numbers; None once stopped."""
    results = list[WalkRun | None]([None] * len(numbers))

    def walk_run(thread: int, job: int) -> None:
        results[job] = walker.run(numbers[job], thread)

    walker.frames[:] = 0
    pool.run(len(numbers), walk_run, stop.is_set)
    finished = [run for run in results if run is not None]
    return WalkedChunk(finished, walker.frames.sum(axis=0)) if len(finished) == len(numbers) else None


def simulate(
    program: Program, plan: WalkPlan, *, clock: Callable[[], float],
    progress: Callable[[WalkProgress], None] | None = None, stop: threading.Event | None = None,
    on_compile: Callable[[], None] | None = None, chunks: Chunks = threaded,
) -> Walks:  # fmt: skip
    """Walk at random, and collect the claims that break.

    Args:
        clock: seconds, from any origin.
        progress: called after each chunk of runs.
        stop: once set, the walks end after the runs at work; their chunk does not count.
        on_compile: called before code is compiled that the cache does not have.
        chunks: makes the runs.

    Raises:
        LoweringError: when a term does not fit 64 bits.
    """
    start, stop_event, runs = clock(), stop or threading.Event(), len(plan.numbers)
    program = without_premises(program)
    walker = Walker(program, plan, on_compile)
    compiled = clock()
    totals = _Totals(walker, FingerprintSet(walker.library.function("count_new", 4)))
    for chunk in chunks(walker, stop_event):
        totals.add_chunk(chunk)
        totals.mark(clock() - compiled)
        if progress is not None:
            progress(totals.curve[-1])
    cut = None if totals.runs == runs else _cut_text(stop_event, totals.runs, runs)
    return _result(totals, plan.seed, clock() - compiled, compiled - start, cut, plan.strict)


def _cut_text(stop: threading.Event, done: int, runs: int) -> str:
    reason = stop_reason(stop)
    return f"{'stopped' if reason == STOPPED else reason + ','} after {done:,} of {runs:,} runs"


def _result(totals: _Totals, seed: int, seconds: float, compile_seconds: float, cut: str | None, strict: bool) -> Walks:
    walker, plan, program = totals.walker, totals.walker.plan, totals.walker.program
    steps_by_action: dict[str, int] = {}
    for kind in program.kinds:
        count = int(totals.instance_counts[kind.first : kind.first + len(kind.instances)].sum())
        steps_by_action[kind.action.name] = steps_by_action.get(kind.action.name, 0) + count
    pruned = prunings(plan, totals.frame)
    broken = tuple(where for number, where in sorted(totals.first.items()) if number not in plan.goals)
    goals_shown = tuple(where for number, where in sorted(totals.first.items()) if number in plan.goals)
    missed = sorted(plan.goals - totals.first.keys())
    goals_missed = tuple(claim for number in missed if (claim := claim_of(plan, number)) is not None)
    return Walks(
        program, totals.runs, totals.steps, seed, broken, goals_shown=goals_shown, goals_missed=goals_missed,
        steps_by_action=steps_by_action, prunings=pruned,
        fault=pruning_fault(pruned, strict), curve=tuple(totals.curve), seconds=seconds,
        compile_seconds=compile_seconds, cached=walker.cached, warnings=walker.warnings,
        cut=cut, sampled=tuple(totals.sampled),
    )  # fmt: skip


SMALL_BUDGET = 1_000  # steps for shrinking what is not shown


def moves_of(program: Program, instances: Sequence[int]) -> list[Move]:
    """Instance numbers as the engine on ints names them."""
    owner = [(number, kind.first) for number, kind in enumerate(program.kinds) for _ in kind.instances]
    return [Move(owner[instance][0], instance - owner[instance][1]) for instance in instances]


def confirm_occurrence(
    program: Program, engine: Integers, occurrence: Occurrence, runs: Sequence[PackedRun], budget: int
) -> WalkFinding:
    """The finding of an occurrence: shortened, and confirmed on ints.

    Args:
        runs: to states that runs may have begun in, besides the initial ones.
        budget: steps for shrinking.

    Raises:
        EngineDisagreement: when ints do not confirm it.
    """
    claim = occurrence.claim.id if occurrence.claim is not None else DEADLOCK
    whole = occurrence.whole(runs)
    confirm(program, occurrence.claim, whole.initial, whole.instances, None)
    starts, initial = map(program.layout.unpack, program.initial), program.layout.unpack(whole.initial)
    run = shrink(engine, initial, moves_of(program, whole.instances), claim, [*starts], budget)
    short = [program.kinds[move.action].first + move.row for move in run.moves]
    trace = confirm(program, occurrence.claim, program.layout.pack(run.start), short, None)
    return WalkFinding(occurrence.run, len(whole.instances), trace)


def confirm_findings(walks: Walks, runs: Sequence[PackedRun] = (), long_searches: int = 3) -> tuple[WalkFinding, ...]:
    """The findings that break a property, shortest first; raises as `confirm_occurrence` does.

    Args:
        runs: to states that runs may have begun in.
        long_searches: how many are worth a long search for a shorter run: those that were walked in the fewest steps.
    """
    engine = Integers(walks.program.system, walks.program.setting)
    by_length = sorted(walks.broken, key=lambda where: len(where.instances))
    findings_ = [
        confirm_occurrence(walks.program, engine, where, runs, BUDGET if number < long_searches else SMALL_BUDGET)
        for number, where in enumerate(by_length)
    ]
    return tuple(sorted(findings_, key=lambda finding_: (len(finding_.trace.steps), finding_.trace.claim)))


def witnesses(walks: Walks, runs: Sequence[PackedRun] = ()) -> tuple[WalkFinding, ...]:
    """The findings that show a goal; raises as `confirm_occurrence` does."""
    engine = Integers(walks.program.system, walks.program.setting)
    return tuple(confirm_occurrence(walks.program, engine, where, runs, SMALL_BUDGET) for where in walks.goals_shown)


LASSOS_TRIED = 60  # lassos of one property that are tried on ints, each in milliseconds


def with_suspects(walks: Walks, runs: Sequence[PackedRun] = ()) -> Walks:
    """The walks with the lassos that they seem to have gone through, one at most for each liveness property.

    Args:
        runs: to states that runs may have begun in, besides the initial ones.
    """
    program = walks.program
    searches = [_Search(program, live.claim) for live in program.liveness.claims]
    for walked in walks.sampled:
        waiting = [search for search in searches if search.suspect is None]
        if waiting:
            whole = walked.whole(runs)
            first, steps = run(program, whole.initial, whole.instances)
        for search in waiting:
            search.look(walked.run, whole, first, steps)
    return evolve(walks, suspects=tuple(one.suspect for one in searches if one.suspect is not None))


def unknown_text(suspect: WalkFinding | None, size: str) -> str:
    """Why a liveness property is unknown after walks of some size, and where one is suspected to break it."""
    if suspect is None:
        return f"{size} say nothing of fair behaviours"
    loop = suspect.trace.loop
    assert loop is not None, suspect
    repeated = repeated_text(loop.start, len(suspect.trace.steps))
    return f"{size} do not judge fair behaviours; run {suspect.run} seems to break it, for ever: {repeated}"


@define
class _Search:
    """The search for a lasso that breaks one property."""

    program: Program
    claim: Property
    suspect: WalkFinding | None = None
    tried: int = 0
    _halts: set[Any] = field(factory=set)

    def look(self, number: int, whole: PackedRun, first: Any, steps: Sequence[TraceStep]) -> None:
        """Look for a lasso in a run."""
        states = [first, *(step.state for step in steps)]
        for start, end in self._candidates(states):
            if self.tried == LASSOS_TRIED:
                return
            self.tried += 1
            if self._breaks(first, steps[:end], start):
                trace = minimise(self.program, self.claim, whole.initial, whole.instances[:end], start)
                self.suspect = WalkFinding(number, end, trace)
                return

    def _breaks(self, first: Any, steps: Sequence[TraceStep], start: int) -> bool:
        try:
            lasso_trace(self.program, self.claim, first, steps, start)
        except NoCounterexample:
            return False
        return True

    def _candidates(self, states: Sequence[Any]) -> Iterator[tuple[int, int]]:
        """Where cycles may begin and end: of each part of the run without the goal the longest, then places to stay."""
        goal = [bool(self.claim.holds(state)) for state in states]
        anywhere = self.claim.kind == "eventually_always"
        parts = [range(len(states))] if anywhere else list(_stretches(goal))
        for part in parts:
            seen: dict[Any, int] = {}
            pairs = [(seen.setdefault(states[n], n), n) for n in part]
            start, end = max(pairs, key=lambda pair: pair[1] - pair[0])
            if start < end:
                yield start, end
        for part in parts:
            for number in part:
                if not goal[number] and states[number] not in self._halts:
                    self._halts.add(states[number])
                    yield number, number


def _stretches(goal: Sequence[bool]) -> Iterator[range]:
    """The longest stretches of a run in which the goal is false."""
    begin = None
    for number, holds in enumerate([*goal, True]):
        if not holds and begin is None:
            begin = number
        if holds and begin is not None:
            yield range(begin, number)
            begin = None
