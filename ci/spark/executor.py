"""Spark as an executor of calls: each call is a job of one task, which any worker takes."""

from __future__ import annotations

import contextlib
import functools
import pickle
import shutil
import sys
import sysconfig
import tempfile
import threading
import uuid
import zipfile
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Any, ParamSpec, TypeVar

from kraftcheck.ci.dataset.jobs import Batches
from kraftcheck.ci.spark.explore import LOG, PACKAGE, SOURCES, ship_sources
from kraftcheck.ci.spark.session import job_error, parse_conf, start_session, stopped_at_the_end

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

SCHEMA = "payload binary"

_INSTALLED = {Path(place).resolve() for place in (sys.prefix, sys.base_prefix, *sysconfig.get_paths().values())}


class SparkExecutor(Executor):
    """Calls on the workers of a session, as many at a time as it has cores.

    What a call raises is raised where its result is taken. A task whose worker dies is tried again by Spark; after
    the last try the result raises JobFailedError, in one line.
    """

    def __init__(self, session: Any, log: Path) -> None:
        self._session, self._log = session, log
        self.again = 0  # tasks that were tried again
        self._group, self._ended = f"kraftcheck-{uuid.uuid4().hex}", threading.Event()
        self.cores = int(session.sparkContext.defaultParallelism)  # how many calls are answered at a time
        self._jobs = ThreadPoolExecutor(self.cores, thread_name_prefix="job")

    def submit(
        self, fn: Callable[Arguments, Result], /, *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> Future[Result]:
        """The future result of a call, whose parts are pickled now."""
        return self._jobs.submit(self._called, pickled((fn, args, kwargs)))

    def _called(self, call: bytes) -> Any:
        context, name = self._session.sparkContext, f"{self._group}-{uuid.uuid4().hex}"
        context.setJobGroup(name, "kraftcheck", interruptOnCancel=True)
        context.addJobTag(self._group)
        try:
            (row,) = self._session.range(0, 1, 1, 1).mapInArrow(_task(call), SCHEMA).collect()
        except Exception as error:
            raise job_error(error, self._log) from error
        self.again += self._failed(context.statusTracker(), name)
        result, raised = pickle.loads(row.payload)
        if raised is not None:
            raise raised
        return result

    def _failed(self, tracker: Any, group: str) -> int:
        """The attempts of a call that failed before the one whose result is here."""
        jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(group)]
        stages = [tracker.getStageInfo(stage) for job in jobs if job is not None for stage in job.stageIds]
        return sum(int(stage.numFailedTasks) for stage in stages if stage is not None)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End; with `cancel_futures` calls at work are given up too."""
        from py4j.protocol import Py4JError

        if cancel_futures:
            with contextlib.suppress(Py4JError, OSError):  # a JVM that has gone has no job left
                self._session.sparkContext.cancelJobsWithTag(self._group)
        self._jobs.shutdown(wait, cancel_futures=cancel_futures)


def _task(call: bytes) -> Callable[[Batches], Batches]:
    def run(batches: Batches) -> Iterator[Any]:
        import pyarrow as pa
        from pyspark.cloudpickle import dumps

        unpack_sources()
        for _ in batches:
            function, args, kwargs = pickle.loads(call)
            try:
                told = dumps((function(*args, **kwargs), None))  # type: ignore[no-untyped-call]
            except Exception as error:  # told to the driver: another try would raise it again
                told = dumps((None, error))  # type: ignore[no-untyped-call]
            yield pa.RecordBatch.from_arrays([pa.array([told], type=pa.binary())], names=["payload"])

    return run


def unpack_sources() -> None:
    """Let this process import from files what it imports from an archive: rules and their sources are read as files."""
    archive = next((place for place in Path(__file__).parents if place.suffix == ".zip"), None)
    if archive is None:
        return
    folder = archive.with_suffix("")
    if not folder.exists():
        draft = Path(tempfile.mkdtemp(dir=archive.parent))
        with zipfile.ZipFile(archive) as bundle:
            bundle.extractall(draft)
        with contextlib.suppress(OSError):  # another process of this executor was quicker
            draft.rename(folder)
    sys.path.insert(0, str(folder))
    for name in [name for name in sys.modules if name.partition(".")[0] == PACKAGE.name]:
        del sys.modules[name]


def _is_of_users(module: ModuleType) -> bool:
    """Whether a module is neither installed nor of kraftcheck, so that workers may not have it."""
    file = getattr(module, "__file__", None)
    if file is None or module.__name__.partition(".")[0] in (PACKAGE.name, "__main__"):
        return False
    return not _is_installed(file)


@functools.cache
def _is_installed(file: str) -> bool:
    return any(Path(file).resolve().is_relative_to(place) for place in _INSTALLED)


def pickled(value: object) -> bytes:
    """A value as workers get it: what users' modules define goes with it, since workers may not have them."""
    from pyspark import cloudpickle

    beside = [one for one in list(sys.modules.values()) if _is_of_users(one)]
    for one in beside:
        cloudpickle.register_pickle_by_value(one)  # type: ignore[no-untyped-call]
    try:
        return bytes(cloudpickle.dumps(value))  # type: ignore[no-untyped-call]
    finally:
        for one in beside:
            cloudpickle.unregister_pickle_by_value(one)  # type: ignore[no-untyped-call]


@contextlib.contextmanager
def spark_executor(master: str | None, conf: tuple[str, ...], workers: int) -> Iterator[SparkExecutor]:
    """An executor on its own session; Spark's log stays after a fault; raises Refusal where Spark does not start."""
    settings, here = parse_conf(conf), Path(tempfile.mkdtemp(prefix="kraftcheck-spark-"))
    session = start_session(master, workers, settings, here / LOG)
    with stopped_at_the_end(session, here / LOG):
        ship_sources(session, here / SOURCES)
        executor = SparkExecutor(session, here / LOG)
        try:
            yield executor
        finally:
            executor.shutdown(cancel_futures=True)
    shutil.rmtree(here, ignore_errors=True)
