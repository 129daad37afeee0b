"""The benchmark of levels in files: `python -m kraftcheck.ci.bench --disk [--runs N] [--json FILE] [CASE ...]`.

Explores each case natively and with levels in files, judging deadlocks alone, in one run: so ratios mean something
where seconds do not.
"""

from __future__ import annotations

import statistics
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from attrs import frozen

from kraftcheck.ci.bench.benchmark import Benchmark, WrongSpaceError, column
from kraftcheck.ci.dataset.search.bounds import HANDOVER, Bounds
from kraftcheck.ci.systems.subject import Subject, program, subject
from kraftcheck.solvers.exploration.explore import explore
from kraftcheck.solvers.machine_code.compile import load_kernel
from kraftcheck.solvers.machine_code.objectcache import ObjectCache
from kraftcheck.solvers.program.verdict import DEADLOCK

THREADS = (1, 2)
MEMORY = 12 << 30
BUCKET_BITS = 6

CASES = {
    "two-million": ("elections", "default", "fixed"),
    "twenty-five-million": ("elections", "default", "kafka-4.0"),
    "replication": ("replication", "one-crash", "fixed"),
}
"""System, scope and rules by the name of the case."""


@frozen
class DiskRow:
    """Medians of one case with one number of threads: processor seconds, and bytes a state in memory and in files."""

    case: str = column("case", "<20")
    threads: int = column("threads", "7")
    distinct: int = column("distinct", "12,")
    generated: int = column("generated", "13,")
    native: float = column("native s", "9.1f")
    disk: float = column("disk s", "8.1f")
    ratio: float = column("ratio", "6.2f")
    native_bytes: float = column("native B", "8.1f")
    visited_bytes: float = column("disk B", "7.1f")
    file_bytes: float = column("file B", "7.1f")


@frozen
class _Found:
    """What one run found and took."""

    distinct: int
    generated: int
    depth: int
    seconds: float
    memory: float
    files: float = 0.0


def _native(chosen: Subject, threads: int, cache: Path) -> _Found:
    traced = program(chosen)
    load_kernel(traced, cache, quick=False)
    start = time.process_time()
    result = explore(
        traced, clock=time.perf_counter, threads=threads, memory=MEMORY, cache_dir=cache, keep=False, quick=False
    )
    spent = time.process_time() - start
    return _Found(result.distinct, result.generated, result.depth, spent, result.bytes_per_state)


def _disk(chosen: Subject, threads: int, cache: Path) -> _Found:
    from kraftcheck.ci.dataset.decoding import decoding
    from kraftcheck.ci.dataset.disk.runner import DiskRunner
    from kraftcheck.ci.dataset.search.run import DatasetRun
    from kraftcheck.ci.dataset.store.commits import CommitLog, identity
    from kraftcheck.ci.dataset.store.lease import lease_on
    from kraftcheck.solvers.blocks.kernel import block_spec
    from kraftcheck.solvers.blocks.tasks import load_block_kernel

    traced = program(chosen)
    kernel, blocks = load_kernel(traced, cache), load_block_kernel(block_spec(traced, BUCKET_BITS, ObjectCache(cache)))
    bounds, never = Bounds(HANDOVER, MEMORY, threads), threading.Event()
    with tempfile.TemporaryDirectory(prefix="kraftcheck-bench-") as place, lease_on(Path(place)) as lease:
        log = CommitLog(Path(place), lease)
        log.begin(identity(chosen, traced, BUCKET_BITS), decoding(traced))
        run = DatasetRun(kernel, blocks, log, bounds, never, lambda *_: None, "disk")
        start = time.process_time()
        run.start()
        runner = DiskRunner(blocks, threads, MEMORY)
        run.expand(runner)
        spent = time.process_time() - start
        sizes = (runner.bytes_in_use / run.distinct, run.bytes_in_use() / run.distinct)
    return _Found(run.distinct, run.generated, len(run.levels) - 1, spent, *sizes)


def measure(case: str, runs: int) -> Iterator[DiskRow]:
    """The medians of several runs of both engines, for each number of threads.

    Raises:
        WrongSpaceError: when two runs differ in distinct states, transitions or depth.
    """
    system, scope, rules = CASES[case]
    chosen = subject(system, scope, {}, rules, (DEADLOCK,))  # levels in files are not searched backward
    with tempfile.TemporaryDirectory(prefix="kraftcheck-cache-") as cache:
        for threads in THREADS:
            pairs = [(_native(chosen, threads, Path(cache)), _disk(chosen, threads, Path(cache))) for _ in range(runs)]
            if len({(one.distinct, one.generated, one.depth) for pair in pairs for one in pair}) != 1:
                raise WrongSpaceError(f"{case}: {pairs}")
            native, disk = pairs[-1]
            alone, files = (statistics.median(pair[engine].seconds for pair in pairs) for engine in (0, 1))
            yield DiskRow(
                case, threads, native.distinct, native.generated, alone, files, files / alone, native.memory,
                disk.memory, disk.files,
            )  # fmt: skip


BENCHMARK = Benchmark(DiskRow, tuple(CASES), measure, note=(
    "medians of {runs}; processor seconds of the search (compiled before); bytes a state: in memory natively, in "
    "memory with levels in files, in these files"
))  # fmt: skip
