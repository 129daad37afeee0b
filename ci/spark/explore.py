"""`kraftcheck explore --engine spark`: from options to an exploration with a dataset."""

from __future__ import annotations

import threading
from pathlib import Path

from kraftcheck.ci.spark.backward import SparkBackward
from kraftcheck.ci.spark.committed import Place, explore_committed
from kraftcheck.ci.spark.engine import SparkRun
from kraftcheck.ci.spark.jobs import SparkCluster
from kraftcheck.ci.spark.liveness.search import SparkLiveness
from kraftcheck.ci.spark.options import Bounds, ClusterOptions
from kraftcheck.ci.spark.part import SparkPart
from kraftcheck.ci.spark.session import parse_conf, start_session
from kraftcheck.ci.spark.shipping import ship_sources
from kraftcheck.ci.spark.store.digests import check_on
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
) -> tuple[Exploration, SparkPart]:  # fmt: skip
    """Explore; levels are committed below `out`.

    Raises:
        Refusal: for options that do not fit, a folder that cannot be used, a run that cannot be
            resumed, or a Spark that cannot be started or fails.
        EngineDisagreement: when ints do not confirm a witness, or the audit finds a difference.
    """
    conf = parse_conf(options.conf)

    def go_on(run: SparkRun, spec: BlockSpec, checked: bool, begin_event: threading.Event) -> None:
        """Expand what is left under Spark, then search backward; while Spark starts, a stop does not wait."""
        place, program = run.log.out / LOG, run.kernel.program
        begin_event.clear()
        session = start_session(options.master, bounds.threads, conf, place)
        begin_event.set()
        try:
            ship_sources(session, run.log.out / SOURCES)
            cluster = SparkCluster.of(session, spec, place)
            if not checked:
                check_on(session, run.log, run.commits, place)
            run.expand(cluster)
            backward = SparkBackward(cluster, run.log, run.commits, program, run.report_backward)
            run.search_backward(lambda: backward.run(run.stop))
            live = SparkLiveness(cluster, run.log, run.commits, program, bounds.memory, run.report_backward)
            run.search_liveness(lambda: live.run(run.stop))
        finally:
            session.stop()
            (run.log.out / SOURCES).unlink(missing_ok=True)

    target = portable() if options.portable_code else None
    place = Place("spark", out, options.resume, options.buckets, target)
    return explore_committed(chosen, traced, bounds, place, cache, quiet, sampling, go_on)
