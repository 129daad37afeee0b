"""`kraftcheck explore --engine disk`: from options to an exploration with a dataset."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from attrs import frozen

from kraftcheck.ci.dataset.disk.runner import DiskRunner, RoundProgress
from kraftcheck.ci.dataset.options import ClusterOptions
from kraftcheck.ci.dataset.part import DatasetPart
from kraftcheck.ci.dataset.search.bounds import Bounds
from kraftcheck.ci.dataset.search.committed import Place, explore_committed
from kraftcheck.ci.dataset.search.run import DatasetRun
from kraftcheck.ci.dataset.store.digests import check_files
from kraftcheck.ci.systems.subject import Subject
from kraftcheck.solvers.audit.sampling import Sampling
from kraftcheck.solvers.blocks.tasks import BlockSpec, load_block_kernel
from kraftcheck.solvers.exploration.explore import Exploration, SearchProgress
from kraftcheck.solvers.program.program import Program


def explore_on_disk(
    chosen: Subject, traced: Program, bounds: Bounds, options: ClusterOptions, out: str | None,
    cache: Path | None, quiet: bool, sampling: Sampling,
) -> tuple[Exploration, DatasetPart]:  # fmt: skip
    """Explore; levels are committed below `out`. `recovers` and liveness properties stay unknown.

    Raises:
        Refusal: for a folder that cannot be used, a run that cannot be resumed, or a damaged level.
        EngineDisagreement: when ints do not confirm a witness, or the audit finds a difference.
    """
    place = Place(out, options.resume, options.repair, options.buckets)
    return explore_committed(
        chosen, traced, bounds, place, cache, quiet, sampling, DiskEngine(bounds.threads, bounds.memory)
    )  # fmt: skip


@frozen
class DiskEngine:
    """Levels in files, as `ci.dataset.search.committed.LevelEngine`.

    Attributes:
        threads, memory: what a runner may take.
    """

    name = "disk"
    threads: int
    memory: int

    @contextlib.contextmanager
    def opened(self, run: DatasetRun, spec: BlockSpec, begin_event: threading.Event) -> Iterator[DiskRunner]:
        """A runner that reports to the run."""
        start = time.monotonic()

        def report(progress: RoundProgress) -> None:
            if not run.commits:  # a level is being repaired
                return
            left, generated = run.commits[-1].rows - progress.expanded, run.generated + run.transitions(progress.frame)
            distinct, seconds = run.distinct + progress.new, time.monotonic() - start
            run.report(SearchProgress(progress.depth - 1, generated, distinct, left, seconds), None)

        yield DiskRunner(load_block_kernel(spec), self.threads, self.memory, report)

    def go_on(self, run: DatasetRun, runner: DiskRunner, checked: bool) -> None:
        """Expand what is left."""
        if not checked:
            check_files(run.log, run.commits)
        run.expand(runner)
