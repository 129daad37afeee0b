"""`kraftcheck explore --engine spark`: from options to an exploration with a dataset."""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
import tempfile
import threading
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from attrs import frozen

from kraftcheck.ci.dataset.jobs import RESULT_SCHEMA
from kraftcheck.ci.dataset.options import ClusterOptions, default_buckets, default_handover
from kraftcheck.ci.dataset.search.run import DatasetRun
from kraftcheck.ci.dataset.store.levelfiles import Sight
from kraftcheck.ci.dataset.store.objects import AnyPath
from kraftcheck.ci.spark.jobs import SMALL, VISITED_BYTES, SparkCluster
from kraftcheck.ci.spark.services import services_of
from kraftcheck.ci.spark.session import DEFAULTS, job_error, parse_conf, start_session, stopped_at_the_end
from kraftcheck.ci.spark.tasks import sight_task
from kraftcheck.ci.terminal.refusal import JobFailedError, Refusal
from kraftcheck.solvers.blocks.tasks import BlockSpec
from kraftcheck.solvers.exploration.explore import SearchBudget
from kraftcheck.solvers.machine_code.objectcode import CodeTarget, portable


def check_sight_on(cluster: SparkCluster, sight: Sight) -> None:
    """Let the workers prove that they see the run, before any work; those that come later look for themselves."""
    tasks = 4 * cluster.cores
    try:
        rows = cluster.session.range(0, tasks, 1, tasks).mapInArrow(sight_task(sight), RESULT_SCHEMA).collect()
    except Exception as error:
        raise job_error(error, cluster.log) from error
    if len(rows) != tasks:
        raise JobFailedError(f"{len(rows)} of {tasks} tasks looked for {sight[0]}; --resume goes on")


PACKAGE = Path(__file__).parents[2]
"""The package's folder: in a checkout it holds links to the four layers, which are followed."""


def ship_sources(session: Any, archive: Path) -> None:
    """Send this package to a cluster's workers, who fetch `archive` while the session lives; an embedded one has it."""
    services = services_of(session)
    if services.embedded:
        return
    with zipfile.ZipFile(archive, "w") as bundle:
        for path in sorted(source_files()):
            bundle.write(path, path.relative_to(PACKAGE.parent))
    services.ship(archive)


def source_files() -> Iterator[Path]:
    """What workers need of this package: rules, and their facts."""
    for folder, _, names in os.walk(PACKAGE, followlinks=True):
        yield from (Path(folder, name) for name in names if name.endswith((".py", ".toml")))


LOG = "spark.log"
SOURCES = "sources.zip"

_sent: set[str] = set()
"""The applications of callers that have this package: the archive is fetched as long as one of them runs."""


def check_session(session: Any, options: ClusterOptions) -> None:
    """Refuse a session that cannot run the jobs of levels, and options that choose another."""
    if options.master is not None or options.conf:
        raise Refusal("session has its master and settings; leave out master and conf of cluster")
    if not hasattr(session, "newSession"):
        raise Refusal(f"session is a {type(session).__name__} of {type(session).__module__}; the engine takes a "
                      "SparkSession of pyspark.sql, of this process or of Spark Connect")  # fmt: skip


@contextlib.contextmanager
def lent(session: Any, log: Path) -> Iterator[Any]:
    """A session beside a caller's, of its application, whose settings stay; its JVM's warnings are logged here too."""
    own = session.newSession()
    services = services_of(own)
    for key, value in DEFAULTS.items():
        if key.startswith("spark.sql."):
            own.conf.set(key, value)
    end = services.log_to(log)
    try:
        application = services.application
        if application not in _sent:
            archives = tempfile.mkdtemp(prefix="kraftcheck-sources-")
            atexit.register(shutil.rmtree, archives, ignore_errors=True)
            ship_sources(own, Path(archives, SOURCES))
            _sent.add(application)
        yield own
    finally:
        end()


@frozen
class SparkEngine:
    """Spark, as `ci.dataset.search.committed.LevelEngine`."""

    name = "spark"
    master: str | None
    conf: Mapping[str, str]
    threads: int  # of the session, where it is local
    memory: int  # bytes that arcs or a region may take in the driver
    small: int  # levels with fewer states are expanded in the driver
    # buckets, target: as of the protocol
    buckets: int
    target: CodeTarget | None
    session: Any = None  # of a caller, which goes on after it; None: one of its own

    @classmethod
    def of(cls, options: ClusterOptions, budget: SearchBudget, session: Any = None) -> SparkEngine:
        """Spark as options have it, or a caller's session; raises Refusal for settings that do not fit."""
        if session is not None:
            check_session(session, options)
        master = options.master if session is None else services_of(session).master
        return cls(
            options.master, parse_conf(options.conf), budget.threads, budget.memory,
            min(default_handover(options), SMALL), default_buckets(master, budget.threads),
            portable() if options.portable_code else None, session,
        )  # fmt: skip

    @contextlib.contextmanager
    def opened(self, run: DatasetRun, spec: BlockSpec, begin_event: threading.Event) -> Iterator[SparkCluster]:
        """A session with what workers need; while Spark starts, a stop does not wait."""
        with _work_folder(run.log.out) as here:
            place = here / LOG
            if self.session is not None:
                with lent(self.session, place) as session:
                    yield self._cluster(run, spec, session, place)
                return
            begin_event.clear()
            session = start_session(self.master, self.threads, self.conf, place, schedules_only=True)
            begin_event.set()
            try:
                with stopped_at_the_end(session, place):
                    ship_sources(session, here / SOURCES)
                    yield self._cluster(run, spec, session, place)
            finally:
                (here / SOURCES).unlink(missing_ok=True)

    def _cluster(self, run: DatasetRun, spec: BlockSpec, session: Any, log: Path) -> SparkCluster:
        """What runs the jobs of levels, once workers see the run."""
        cluster = SparkCluster.of(session, spec, log, self.small, min(self.memory // 4, VISITED_BYTES))
        if run.log.lease is not None and not cluster.services.master.startswith("local"):
            check_sight_on(cluster, run.log.lease.sight())
        return cluster

    def go_on(self, run: DatasetRun, runner: SparkCluster) -> None:
        """Expand what is left under Spark, then judge."""
        run.expand(runner)
        runner.driver.forget()
        run.judge(runner, self.memory)


@contextlib.contextmanager
def _work_folder(out: AnyPath) -> Iterator[Path]:
    """Where the driver keeps log and sources: the run's folder, else one of this disk, whose log goes there last."""
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
