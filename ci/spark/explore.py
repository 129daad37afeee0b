"""`kraftcheck explore --engine spark`: from options to an exploration with a dataset."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

from attrs import frozen

from kraftcheck.ci.dataset.part import DatasetPart
from kraftcheck.ci.dataset.search.bounds import Bounds
from kraftcheck.ci.dataset.search.committed import Place, explore_committed
from kraftcheck.ci.dataset.search.run import DatasetRun
from kraftcheck.ci.spark.backward.search import SparkBackward
from kraftcheck.ci.spark.checking import check_on
from kraftcheck.ci.spark.jobs import SparkCluster
from kraftcheck.ci.spark.liveness.search import SparkLiveness
from kraftcheck.ci.spark.options import ClusterOptions
from kraftcheck.ci.spark.session import parse_conf, start_session
from kraftcheck.ci.spark.shipping import ship_sources
from kraftcheck.ci.spark.small import SMALL
from kraftcheck.ci.systems.subject import Subject
from kraftcheck.solvers.audit.sampling import Sampling
from kraftcheck.solvers.blocks.tasks import BlockSpec
from kraftcheck.solvers.machine_code.objectcode import portable
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.search.explore import Exploration

LOG = "spark.log"
SOURCES = "sources.zip"


def explore_with_spark(
    chosen: Subject, traced: Program, bounds: Bounds, options: ClusterOptions, out: str | None,
    cache: Path | None, quiet: bool, sampling: Sampling,
) -> tuple[Exploration, DatasetPart]:  # fmt: skip
    """Explore; levels are committed below `out`.

    Raises:
        Refusal: for options that do not fit, a folder that cannot be used, a run that cannot be
            resumed, or a Spark that cannot be started or fails.
        EngineDisagreement: when ints do not confirm a witness, or the audit finds a difference.
    """
    target = portable() if options.portable_code else None
    place = Place(out, options.resume, options.repair, options.buckets, target)
    engine = SparkEngine(options.master, parse_conf(options.conf), bounds.threads, bounds.memory,
                         min(bounds.handover, SMALL))  # fmt: skip
    return explore_committed(chosen, traced, bounds, place, cache, quiet, sampling, engine)


@frozen
class SparkEngine:
    """Spark, as `ci.dataset.search.committed.LevelEngine`.

    Attributes:
        master, conf: where Spark runs, and its settings.
        threads: of the session, where it is local.
        memory: bytes that arcs or a region may take in the driver.
        small: levels with fewer states are expanded in the driver.
    """

    name = "spark"
    master: str | None
    conf: Mapping[str, str]
    threads: int
    memory: int
    small: int

    @contextlib.contextmanager
    def opened(self, run: DatasetRun, spec: BlockSpec, begin_event: threading.Event) -> Iterator[SparkCluster]:
        """A session with what workers need; while Spark starts, a stop does not wait."""
        place = run.log.out / LOG
        begin_event.clear()
        session = start_session(self.master, self.threads, self.conf, place)
        begin_event.set()
        try:
            ship_sources(session, run.log.out / SOURCES)
            yield SparkCluster.of(session, spec, place, self.small)
        finally:
            session.stop()
            (run.log.out / SOURCES).unlink(missing_ok=True)

    def go_on(self, run: DatasetRun, runner: SparkCluster, checked: bool) -> None:
        """Expand what is left under Spark, then search backward."""
        program = run.kernel.program
        if not checked:
            check_on(runner.session, run.log, run.commits, run.log.out / LOG)
        run.expand(runner)
        backward = SparkBackward(runner, run.log, run.commits, program, self.memory, run.report_backward)
        run.search_backward(lambda: backward.run(run.stop))
        live = SparkLiveness(runner, run.log, run.commits, program, self.memory, run.report_backward)
        run.search_liveness(lambda: live.run(run.stop))
