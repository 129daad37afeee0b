"""What this machine gives to two searches: `python -m kraftcheck.ci.bench --processes [--runs N] [CASE ...]`.

Two processors that share caches, a memory bus or a core are less than twice one. So two searches on one thread each run
at the same time, in processes that share nothing, each on a processor of its own, beside one alone. Two threads of one
search can hardly gain more: 2 divided by the slowdown is the most that may be asked of them.
"""

from __future__ import annotations

import functools
import multiprocessing
import os
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

from attrs import frozen

from kraftcheck.ci.bench.disk import WrongSpaceError
from kraftcheck.ci.bench.native.cases import CASES, Case
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.solvers.exploration.explore import Exploration, explore
from kraftcheck.solvers.machine_code.compile import load_kernel
from kraftcheck.solvers.program.program import Program


class Clocks:
    """A wall clock that records the processor time with each reading.

    On a machine with other work only the processor's tells what a search takes.
    """

    def __init__(self) -> None:
        self.readings: list[tuple[float, float]] = []

    def __call__(self) -> float:
        """Seconds of the wall; noted."""
        self.readings.append((time.perf_counter(), time.process_time()))
        return self.readings[-1][0]

    def processor(self, result: Exploration) -> float:
        """Seconds of all processors in the search: those up to its end, less those between readings for compiling."""
        wall, start = self.readings[0]
        end = next(n for n, (at, _) in enumerate(self.readings) if at - wall - result.compile_seconds == result.seconds)
        compiling = sum(self.readings[n + 1][1] - self.readings[n][1] for n in range(1, end, 2))
        return self.readings[end][1] - start - compiling


NAMES = tuple(case.name for case in CASES)
DEFAULT = ("two-phase-commit-9",)


@frozen
class ProcessRow:
    """Medians of one case.

    Attributes:
        case, distinct: the case, and its states.
        alone, each, threads: seconds of the wall: one search; each of two at the same time; one on two threads.
        alone_processor, each_processor, threads_processor: seconds of processors of the same.
        load: processes that wanted a processor before the measurement, on average over a minute.
    """

    case: str
    distinct: int
    alone: float
    each: float
    threads: float
    alone_processor: float
    each_processor: float
    threads_processor: float
    load: float

    @property
    def most(self) -> float:
        """The ratio of one thread to two that these processes leave room for."""
        return 2 * self.alone_processor / self.each_processor

    @property
    def ratio(self) -> float:
        """The ratio of one thread to two."""
        return self.alone / self.threads


@frozen
class Run:
    """One search: states, seconds of the wall, seconds of processors."""

    distinct: int
    wall: float
    processor: float


def _case(name: str) -> Case:
    return next(case for case in CASES if case.name == name)


@functools.lru_cache
def _program(name: str, cache: Path) -> Program:
    """A case, its code compiled and kept in a folder."""
    program = _case(name).program()
    load_kernel(program, cache, quick=False)
    return program


def _prepare(name: str, cache: Path) -> None:
    """Trace and compile a case, which takes no part in what is measured."""
    _program(name, cache)


def search(name: str, cache: Path, threads: int) -> Run:
    """Explore a case.

    Raises:
        WrongSpaceError: as `Case.check`.
    """
    case, clocks = _case(name), Clocks()
    result = explore(_program(name, cache), clock=clocks, threads=threads, max_states=case.max_states, keep=False,
                     cache_dir=cache, quick=False)  # fmt: skip
    case.check(result)
    return Run(result.distinct, result.seconds, clocks.processor(result))


def _pin(processors: set[int]) -> None:
    """Keep this process on some processors, where the system knows how."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, processors)


@contextmanager
def _workers() -> Iterator[tuple[ProcessPoolExecutor, ProcessPoolExecutor, ProcessPoolExecutor]]:
    """Two processes on a processor each, and one on both.

    Raises:
        Refusal: when this process may use one processor only.
    """
    usable = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else list(range(os.cpu_count() or 1))
    if len(usable) < 2:
        raise Refusal("two searches at the same time need two processors, and there is one")
    places = ({usable[0]}, {usable[1]}, set(usable[:2]))
    context = multiprocessing.get_context("spawn")
    with ExitStack() as stack:
        first, second, both = (stack.enter_context(ProcessPoolExecutor(1, context, _pin, (place,))) for place in places)
        yield first, second, both


def measure(name: str, runs: int) -> ProcessRow:
    """The medians of several runs: one search alone, two at the same time, one on two threads, in turn."""
    load = os.getloadavg()[0]
    alone: list[Run] = []
    each: list[Run] = []
    threads: list[Run] = []
    with tempfile.TemporaryDirectory(prefix="kraftcheck-cache-") as folder, _workers() as workers:
        cache, (first, second, both) = Path(folder), workers
        for worker in workers:
            worker.submit(_prepare, name, cache).result()
        for _ in range(runs):
            alone.append(first.submit(search, name, cache, 1).result())
            pair = [worker.submit(search, name, cache, 1) for worker in (first, second)]
            each += [one.result() for one in pair]
            threads.append(both.submit(search, name, cache, 2).result())
    if len({run.distinct for run in (*alone, *each, *threads)}) != 1:
        raise WrongSpaceError(f"{name}: {alone}, {each}, {threads}")
    one, two, shared = _medians(alone), _medians(each), _medians(threads)
    return ProcessRow(name, alone[0].distinct, one[0], two[0], shared[0], one[1], two[1], shared[1], load)


def _medians(runs: Sequence[Run]) -> tuple[float, float]:
    """Seconds of the wall, and of processors."""
    return statistics.median(run.wall for run in runs), statistics.median(run.processor for run in runs)


HEADER = (
    f"{'system':20} {'distinct':>12} {'alone s':>8} {'each s':>8} {'threads s':>9} {'alone CPU':>9} {'each CPU':>9} "
    f"{'threads CPU':>11} {'most':>5} {'ratio':>5} {'load':>5}"
)


def measure_cases(cases: Sequence[str], runs: int) -> list[ProcessRow]:
    """Measure cases (a large one for none) and print a table as they come; raises as `measure` does."""
    print(HEADER)
    rows = []
    for name in cases or DEFAULT:
        rows.append(row := measure(name, runs))
        print(
            f"{row.case:20} {row.distinct:12,} {row.alone:8.2f} {row.each:8.2f} {row.threads:9.2f} "
            f"{row.alone_processor:9.2f} {row.each_processor:9.2f} {row.threads_processor:11.2f} {row.most:5.2f} "
            f"{row.ratio:5.2f} {row.load:5.1f}",
            flush=True,
        )
    print("\nalone: one search on one thread; each: one of two at the same time; threads: one search on two threads;")
    print("most: 2 / what processor time each of two takes of that alone; ratio: alone s / threads s;")
    print("load: average before the run; only without other work do alone and ratio say what the machine gives")
    return rows
