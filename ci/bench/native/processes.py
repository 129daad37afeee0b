"""What this machine gives to two searches: `python -m kraftcheck.ci.bench --processes [--runs N] [CASE ...]`.

Two processors that share caches, a memory bus or a core are less than twice one. So two searches on one thread each run
at the same time, in processes that share nothing, each on a processor of its own, beside one alone. Two threads of one
search can hardly gain more: 2 divided by the slowdown is the most that may be asked of them.
"""

from __future__ import annotations

import functools
import multiprocessing
import os
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

from attrs import frozen

from kraftcheck.ci.bench.benchmark import Benchmark, Spent, WrongSpaceError, column, medians
from kraftcheck.ci.bench.native.cases import CASES, case_of
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


@frozen
class ProcessRow:
    """Medians of one case: seconds of the wall, then of processors.

    Attributes:
        alone: of one search on one thread.
        each: of one of two at the same time.
        threads: of one search on two threads.
        most: the ratio of one thread to two that these processes leave room for.
        ratio: of one thread to two.
    """

    case: str = column("system", "<20")
    distinct: int = column("distinct", "12,")
    alone: float = column("alone s", "8.2f")
    each: float = column("each s", "8.2f")
    threads: float = column("threads s", "9.2f")
    alone_processor: float = column("alone CPU", "9.2f")
    each_processor: float = column("each CPU", "9.2f")
    threads_processor: float = column("threads CPU", "11.2f")
    most: float = column("most", "5.2f")
    ratio: float = column("ratio", "5.2f")
    load: float = column("load", "5.1f")


@frozen
class Run:
    """One search: its states, and what it took."""

    distinct: int
    spent: Spent


@functools.lru_cache
def _program(name: str, cache: Path) -> Program:
    """A case, its code compiled and kept in a folder."""
    program = case_of(name).program()
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
    case, clocks = case_of(name), Clocks()
    result = explore(_program(name, cache), clock=clocks, threads=threads, max_states=case.max_states, keep=False,
                     cache_dir=cache, quick=False)  # fmt: skip
    case.check(result)
    return Run(result.distinct, Spent(result.seconds, clocks.processor(result)))


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


def measure(name: str, runs: int) -> Iterator[ProcessRow]:
    """The medians of several runs: one search alone, two at the same time, one on two threads, in turn."""
    load = os.getloadavg()[0]
    alone, each, threads = list[Run](), list[Run](), list[Run]()
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
    one, two, shared = (medians(run.spent for run in found) for found in (alone, each, threads))
    yield ProcessRow(
        name, alone[0].distinct, one[0], two[0], shared[0], one[1], two[1], shared[1], 2 * one[1] / two[1],
        one[0] / shared[0], load,
    )  # fmt: skip


BENCHMARK = Benchmark(
    ProcessRow, tuple(case.name for case in CASES), measure,
    ("two-phase-commit-9",),
    "medians of {runs}; alone: one search on one thread; each: one of two at the same time; threads: one on two;\n"
    "most: 2 / what processor time each of two takes of that alone; ratio: alone s / threads s;\n"
    "load: average before the run; only without other work do alone and ratio say what the machine gives",
)  # fmt: skip
