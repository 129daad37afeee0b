"""The benchmark of levels in files: `python -m kraftcheck.ci.bench --disk [--runs N] [--json FILE] [CASE ...]`.

Explores each case natively and with levels in files, judging deadlocks alone, in one run: so ratios mean something
where seconds do not.
"""

from __future__ import annotations

import statistics
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from attrs import frozen

from kraftcheck.ci.dataset.search.bounds import HANDOVER, Bounds
from kraftcheck.ci.systems.subject import Subject, program, subject
from kraftcheck.solvers.exploration.explore import explore
from kraftcheck.solvers.machine_code.compile import load_kernel
from kraftcheck.solvers.machine_code.objectcache import ObjectCache
from kraftcheck.solvers.program.verdict import DEADLOCK


class WrongSpaceError(AssertionError):
    """An engine found another space than the others, or than there is: nothing is measured."""


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

    case: str
    threads: int
    distinct: int
    generated: int
    native: float
    disk: float
    native_bytes: float
    visited_bytes: float
    file_bytes: float

    @property
    def ratio(self) -> float:
        """The processor time of levels in files, of the native search's."""
        return self.disk / self.native


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


def measure(case: str, threads: int, runs: int, cache: Path) -> DiskRow:
    """The medians of several runs of both engines.

    Raises:
        WrongSpaceError: when two runs differ in distinct states, transitions or depth.
    """
    system, scope, rules = CASES[case]
    chosen = subject(system, scope, {}, rules, (DEADLOCK,))  # levels in files are not searched backward
    pairs = [(_native(chosen, threads, cache), _disk(chosen, threads, cache)) for _ in range(runs)]
    if len({(one.distinct, one.generated, one.depth) for pair in pairs for one in pair}) != 1:
        raise WrongSpaceError(f"{case}: {pairs}")
    native, disk = pairs[-1]
    return DiskRow(
        case, threads, native.distinct, native.generated, statistics.median(pair[0].seconds for pair in pairs),
        statistics.median(pair[1].seconds for pair in pairs), native.memory, disk.memory, disk.files,
    )  # fmt: skip


HEADER = (
    f"{'case':20} {'threads':>7} {'distinct':>12} {'generated':>13} {'native s':>9} {'disk s':>8} {'ratio':>6} "
    f"{'native B':>8} {'disk B':>7} {'file B':>7}"
)


def measure_cases(cases: Sequence[str], runs: int) -> list[DiskRow]:
    """Measure cases (all for none) and print a table as they come; raises as `measure` does."""
    print(HEADER)
    rows = []
    with tempfile.TemporaryDirectory(prefix="kraftcheck-cache-") as cache:
        for case in cases or CASES:
            for threads in THREADS:
                row = measure(case, threads, runs, Path(cache))
                rows.append(row)
                print(
                    f"{row.case:20} {row.threads:7} {row.distinct:12,} {row.generated:13,} {row.native:9.1f} "
                    f"{row.disk:8.1f} {row.ratio:6.2f} {row.native_bytes:8.1f} {row.visited_bytes:7.1f} "
                    f"{row.file_bytes:7.1f}",
                    flush=True,
                )
    print("\nprocessor seconds of the search (compiled before); bytes a state: in memory natively, in memory with")
    print("levels in files, in these files")
    return rows
