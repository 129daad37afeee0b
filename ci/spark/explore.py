"""`kraftcheck explore --engine spark`: from options to an exploration with a dataset."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

from attrs import frozen

from kraftcheck.ci.dataset.part import DatasetPart
from kraftcheck.ci.dataset.search.bounds import Bounds
from kraftcheck.ci.dataset.search.committed import Place, explore_committed
from kraftcheck.ci.dataset.search.compaction import Compaction
from kraftcheck.ci.dataset.search.run import DatasetRun
from kraftcheck.ci.dataset.store.objects import AnyPath, ObjectPath
from kraftcheck.ci.spark.backward.search import SparkBackward
from kraftcheck.ci.spark.checking import check_on, check_sight_on
from kraftcheck.ci.spark.jobs import SparkCluster
from kraftcheck.ci.spark.liveness.search import SparkLiveness
from kraftcheck.ci.spark.options import ClusterOptions, default_buckets
from kraftcheck.ci.spark.session import parse_conf, start_session, stopped_at_the_end
from kraftcheck.ci.spark.shipping import ship_sources
from kraftcheck.ci.spark.small import SMALL, VISITED_BYTES
from kraftcheck.ci.systems.subject import Subject
from kraftcheck.solvers.audit.sampling import Sampling
from kraftcheck.solvers.blocks.tasks import BlockSpec
from kraftcheck.solvers.liveness.judge import Liveness
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
    buckets = default_buckets(options.master, bounds.threads)
    place = Place(out, options.resume, options.repair, options.buckets, target, buckets)
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
        with _work_folder(run.log.out) as here:
            place = here / LOG
            begin_event.clear()
            joins = bool(run.kernel.program.liveness.claims)
            session = start_session(self.master, self.threads, self.conf, place, schedules_only=not joins)
            begin_event.set()
            try:
                with stopped_at_the_end(session, place):
                    ship_sources(session, here / SOURCES)
                    if run.log.lease is not None and not session.sparkContext.master.startswith("local"):
                        check_sight_on(session, run.log.lease.sight(), place)
                    yield SparkCluster.of(session, spec, place, self.small, min(self.memory // 4, VISITED_BYTES))
            finally:
                (here / SOURCES).unlink(missing_ok=True)

    def go_on(self, run: DatasetRun, runner: SparkCluster, checked: bool) -> None:
        """Expand what is left under Spark, then search backward."""
        program = run.kernel.program
        if not checked:
            check_on(runner.session, run.log, run.commits, runner.log)
        compaction = Compaction(run.log, runner.spec.words, runner.merge, run.stop)
        compaction.open(run.commits)
        run.expand(runner, compaction)
        runner.visited.clear()
        backward = SparkBackward(runner, run.log, run.commits, program, self.memory, run.report_backward)
        run.search_backward(lambda: backward.run(run.stop))
        if isinstance(run.log.out, ObjectPath):  # its rounds are files that Spark itself writes and reads
            run.liveness = Liveness(None, "liveness is judged under Spark in an --out that is a folder")
            return
        live = SparkLiveness(runner, run.log, run.commits, program, self.memory, run.report_backward)
        run.search_liveness(lambda: live.run(run.stop))


@contextlib.contextmanager
def _work_folder(out: AnyPath) -> Iterator[Path]:
    """Where the driver keeps Spark's log and the sources: the run's folder, of a URL one of this disk.

    Its log is put beside the run at the end; after an error it stays here too.
    """
    if isinstance(out, Path):
        yield out
        return
    here = Path(tempfile.mkdtemp(prefix="kraftcheck-spark-"))
    try:
        yield here
    finally:
        if (here / LOG).exists():
            with contextlib.suppress(OSError):
                (out / LOG).put((here / LOG).read_bytes())
    shutil.rmtree(here, ignore_errors=True)
