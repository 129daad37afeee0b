"""Random walks of a program by compiled code: what exhaustive search has no room for."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
from attrs import define, field, frozen

from kraftcheck.model.language.system import Property
from kraftcheck.solvers.machine_code.frame import NO_ACTION, FramePlan
from kraftcheck.solvers.machine_code.threads import Crew
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.pruning import Pruning, by_field, fault, prunings
from kraftcheck.solvers.walks.walker import Run, Seen, Walker

CHUNK_RUNS, CHUNK_STEPS = 64, 1 << 20


@frozen
class Occasion:
    """Where a claim was first met: broken, or shown.

    Attributes:
        claim: the property; None: deadlock.
        run: number of the run.
        start: packed state that the run began in.
        instances: action instances up to the occasion.
    """

    claim: Property | None
    run: int
    start: tuple[int, ...]
    instances: tuple[int, ...]


@frozen
class Point:
    """How far a simulation was after a chunk of runs.

    Attributes:
        runs, steps: done so far.
        distinct: different states visited, by 64-bit fingerprint.
        goals: goals reached.
        seconds: since the walks began.
    """

    runs: int
    steps: int
    distinct: int
    goals: int
    seconds: float


@frozen
class Walks:
    """What random walks found; nothing found is no proof.

    Attributes:
        program: what was walked.
        runs, steps, seed: runs finished, steps of all of them together, seed.
        broken: the first occasion of each property that does not hold, deadlock included.
        shown: the first occasion of each goal that was reached.
        missed: goals that no run reached.
        taken: steps by action.
        prunings: the transitions that a field's domain cut, each as often as it was met.
        fault: why some steps that a walk might have taken were left out and should not be; None where none was.
        curve: progress after each chunk of runs.
        seconds, compile_seconds, cached, warnings: as of an exploration.
        cut: why fewer runs than asked were made; None when all were.
    """

    program: Program = field(repr=False)
    runs: int
    steps: int
    seed: int
    broken: tuple[Occasion, ...]
    shown: tuple[Occasion, ...]
    missed: tuple[Property, ...]
    taken: Mapping[str, int]
    prunings: tuple[Pruning, ...]
    fault: str | None
    curve: tuple[Point, ...]
    seconds: float
    compile_seconds: float
    cached: bool
    warnings: tuple[str, ...]
    cut: str | None

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
    """What the runs add up to, in their order."""

    walker: Walker
    seen: Seen
    runs: int = 0
    steps: int = 0
    first: dict[int, Occasion] = field(factory=dict)
    taken: npt.NDArray[np.int64] = field(init=False)
    curve: list[Point] = field(factory=list)

    def __attrs_post_init__(self) -> None:
        """Start from nothing."""
        self.taken = np.zeros(len(self.walker.kinds), dtype=np.int64)

    def add(self, run: Run) -> None:
        """Account for the next run."""
        for number in np.nonzero(run.claims)[0].tolist():
            if number not in self.first:
                step, instance = divmod(int(run.claims[number]) - 1, NO_ACTION + 1)
                instances = [int(i) for i in run.path[:step]] + [instance] * (instance != NO_ACTION)
                claim = claim_of(self.walker.plan, number)
                self.first[number] = Occasion(claim, self.runs, run.start, tuple(instances))
        self.taken += np.bincount(run.path.astype(np.int64), minlength=len(self.taken))
        self.seen.add(run.prints)
        self.runs += 1
        self.steps += len(run.path)

    def chunk(self, crew: Crew, number: int, stop: threading.Event) -> bool:
        """Make the next runs and account for them, or for none once stopped; whether they were made."""
        first, made = self.runs, list[Run | None]([None] * number)

        def work(thread: int, job: int) -> None:
            made[job] = self.walker.run(first + job, thread)

        crew.run(number, work, stop.is_set)
        finished = [run for run in made if run is not None]
        if len(finished) < number:
            return False
        for run in finished:
            self.add(run)
        return True

    def mark(self, seconds: float) -> None:
        """Note how far the runs are."""
        goals = sum(number in self.walker.plan.goals for number in self.first)
        self.curve.append(Point(self.runs, self.steps, self.seen.number, goals, seconds))


def claim_of(plan: FramePlan, number: int) -> Property | None:
    """The property with a claim number; None: deadlock."""
    p = plan.program
    return (*p.always, *p.sometimes, None, *p.steps, *p.happens)[number]


def simulate(
    program: Program,
    runs: int,
    steps: int,
    seed: int,
    *,
    clock: Callable[[], float],
    threads: int = 1,
    schedule: str = "both",
    starts: Sequence[tuple[int, ...]] = (),
    weights: Mapping[str, int] | None = None,
    cache_dir: Path | None = None,
    progress: Callable[[Point], None] | None = None,
    stop: threading.Event | None = None,
    strict: bool = False,
) -> Walks:
    """Walk at random, and see what breaks.

    Args:
        program: the traced system.
        runs, steps: how many runs, of at most so many steps each.
        seed: decides everything that is drawn.
        clock: seconds, from any origin.
        threads: how many; results do not depend on it.
        schedule: a name of `SCHEDULES`.
        starts: packed states to begin in; the initial states by default.
        weights: of actions by name, for the weighted schedule; 1 where not named.
        cache_dir: folder for compiled code; None: keep none.
        progress: called after each chunk of runs.
        stop: once set, the walks end after the runs at work; their chunk does not count.
        strict: whether steps beyond a declared cap are faults too.

    Raises:
        LoweringError: when a term does not fit 64 bits.
    """
    begun, asked = clock(), stop or threading.Event()
    walker = Walker(program, steps, seed, schedule, starts, weights or {}, cache_dir, threads)
    ready = clock()
    totals = _Totals(walker, Seen(walker.library.function("count_new", 4)))
    chunk = max(1, min(CHUNK_RUNS, CHUNK_STEPS // steps))
    with Crew(threads) as crew:
        while totals.runs < runs and not asked.is_set() and totals.chunk(crew, min(chunk, runs - totals.runs), asked):
            totals.mark(clock() - ready)
            if progress is not None:
                progress(totals.curve[-1])
    cut = None if totals.runs == runs else f"stopped after {totals.runs:,} of {runs:,} runs"
    return _result(totals, seed, clock() - ready, ready - begun, cut, strict)


def _result(
    totals: _Totals, seed: int, seconds: float, compile_seconds: float, cut: str | None, strict: bool
) -> Walks:
    walker, plan, program = totals.walker, totals.walker.plan, totals.walker.program
    taken: dict[str, int] = {}
    for kind in program.kinds:
        count = int(totals.taken[kind.first : kind.first + len(kind.instances)].sum())
        taken[kind.action.name] = taken.get(kind.action.name, 0) + count
    left_out = prunings(plan, walker.frames.sum(axis=0))
    broken = tuple(where for number, where in sorted(totals.first.items()) if number not in plan.goals)
    shown = tuple(where for number, where in sorted(totals.first.items()) if number in plan.goals)
    missed = tuple(claim for n in sorted(plan.goals - totals.first.keys()) if (claim := claim_of(plan, n)) is not None)
    return Walks(
        program, totals.runs, totals.steps, seed, broken, shown, missed, taken, left_out,
        fault(left_out, strict), tuple(totals.curve), seconds, compile_seconds, walker.cached, walker.warnings, cut,
    )  # fmt: skip
