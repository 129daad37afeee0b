"""`kraftcheck explore --engine spark`: from options to an exploration with a dataset."""

from __future__ import annotations

import contextlib
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from kraftcheck.ci.spark.auditing import audit_run
from kraftcheck.ci.spark.backward import SparkBackward
from kraftcheck.ci.spark.decoding import decoding
from kraftcheck.ci.spark.engine import SparkRun
from kraftcheck.ci.spark.jobs import SparkCluster
from kraftcheck.ci.spark.liveness.search import SparkLiveness
from kraftcheck.ci.spark.options import Bounds, ClusterOptions
from kraftcheck.ci.spark.part import SparkPart
from kraftcheck.ci.spark.repair import repair
from kraftcheck.ci.spark.session import parse_conf, start_session
from kraftcheck.ci.spark.shipping import ship_sources
from kraftcheck.ci.spark.store.commits import CommitLog, identity
from kraftcheck.ci.spark.store.digests import check_on
from kraftcheck.ci.spark.store.lease import lease_on
from kraftcheck.ci.spark.store.manifests import Commit
from kraftcheck.ci.systems.subject import Subject
from kraftcheck.ci.terminal.files import folder
from kraftcheck.ci.terminal.progress import Meter, progress_meter, run_interruptibly, stop_flag
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.solvers.audit.sampling import Sampling
from kraftcheck.solvers.blocks.kernel import block_spec
from kraftcheck.solvers.blocks.tasks import BlockSpec, load_block_kernel
from kraftcheck.solvers.machine_code.compile import Kernel, load_kernel
from kraftcheck.solvers.machine_code.objectcache import ObjectCache
from kraftcheck.solvers.machine_code.objectcode import portable
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.search.explore import Exploration, SearchProgress, conclude

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
    bits = _bucket_bits(options.buckets)
    conf = parse_conf(options.conf)
    if options.resume and out is None:
        raise Refusal("--resume needs the --out of the run to go on with")
    if options.repair and not options.resume:
        raise Refusal("--repair mends the --out of an earlier run; give --resume too")
    with _folder(out) as place, lease_on(place) as lease:
        log = CommitLog(place, lease)
        if options.resume and options.buckets is None and log.exists():
            bits = _bucket_bits(int(log.read_run()["identity"].get("buckets", 1 << bits)))
        _refuse_constraint(traced)
        _open(log, identity(chosen, traced, bits), traced, resume=options.resume)
        start = time.monotonic()
        with progress_meter(quiet) as meter:
            kernel = load_kernel(traced, cache, on_compile=None if meter is None else meter.compiling)
        target = portable() if options.portable_code else None
        spec = block_spec(traced, bits, ObjectCache(cache), target)
        compiled = time.monotonic()
        run, resumed = _run_search(log, kernel, spec, bounds, options, conf, quiet)
        seconds = time.monotonic() - compiled
        audit = audit_run(run, sampling)
        result = conclude(run, kernel, seconds, compiled - start, audit, run.recoverability, run.liveness,
                          strict=bounds.strict)  # fmt: skip
        costs = {level.depth: level.cost for level in run.commits if level.engine == "spark"}
        return result, SparkPart(run.handed_over, out, resumed, costs)


def _bucket_bits(buckets: int | None) -> int:
    number = 64 if buckets is None else buckets
    if number & (number - 1) or not 2 <= number <= 1 << 16:
        raise Refusal(f"--buckets takes a power of two, such as {1 << number.bit_length()}, not {number}")
    return number.bit_length() - 1


@contextlib.contextmanager
def _folder(out: str | None) -> Iterator[Path]:
    """The run's folder; a temporary one when it is not to be kept."""
    if out is not None:
        yield folder(Path(out))
        return
    with tempfile.TemporaryDirectory(prefix="kraftcheck-", ignore_cleanup_errors=True) as name:
        yield Path(name)


def _refuse_constraint(traced: Program) -> None:
    if traced.within is not None:
        raise Refusal(f"{traced.system.name} has within=, whose states Spark does not count; explore without Spark")


def _open(log: CommitLog, of: Mapping[str, Any], traced: Program, *, resume: bool) -> None:
    if resume:
        log.check_same(of)
    elif log.exists():
        raise Refusal(f"{log.out} holds an exploration already; --resume goes on with it, another --out begins anew")
    else:
        log.begin(of, decoding(traced))


def _run_search(
    log: CommitLog, kernel: Kernel, spec: BlockSpec, bounds: Bounds, options: ClusterOptions,
    conf: Mapping[str, str], quiet: bool,
) -> tuple[SparkRun, int | None]:  # fmt: skip
    with stop_flag(awaits_report=True) as stop, progress_meter(quiet) as meter:
        run = SparkRun(kernel, load_block_kernel(spec), log, bounds, stop, _reporter(meter))
        begin_event = threading.Event()
        begin_event.set()
        return run, run_interruptibly(lambda: _search(run, spec, options, conf, begin_event), stop, begin_event)


def _search(
    run: SparkRun, spec: BlockSpec, options: ClusterOptions, conf: Mapping[str, str], begin_event: threading.Event
) -> int | None:
    """Resume or start, then go on under Spark if something is left; while Spark starts, a stop does not wait."""
    place = run.log.out / LOG
    resumed, checked = None, True
    if options.resume:
        if options.repair:
            for line in repair(run, lambda: _cluster(run, spec, options, conf, begin_event)).lines():
                sys.stderr.write(f"{line}\n")
        checked = run.resume()
        resumed = len(run.commits) - 1 if run.commits else None
    if resumed is None:
        run.start()
        if run.finished or run.cut is not None:
            return resumed
    program = run.kernel.program
    if run.finished and checked and not (program.recovers or program.liveness.claims):
        return resumed
    with _cluster(run, spec, options, conf, begin_event) as cluster:
        if not checked:
            check_on(cluster.session, run.log, run.commits, place)
        run.expand(cluster)
        backward = SparkBackward(cluster, run.log, run.commits, program, run.report_backward)
        run.search_backward(lambda: backward.run(run.stop))
        live = SparkLiveness(cluster, run.log, run.commits, program, run.bounds.memory, run.report_backward)
        run.search_liveness(lambda: live.run(run.stop))
    return resumed


@contextlib.contextmanager
def _cluster(
    run: SparkRun, spec: BlockSpec, options: ClusterOptions, conf: Mapping[str, str], begin_event: threading.Event
) -> Iterator[SparkCluster]:
    """A session with what workers need."""
    place = run.log.out / LOG
    begin_event.clear()
    session = start_session(options.master, run.bounds.threads, conf, place)
    begin_event.set()
    try:
        ship_sources(session, run.log.out / SOURCES)
        yield SparkCluster.of(session, spec, place)
    finally:
        session.stop()
        (run.log.out / SOURCES).unlink(missing_ok=True)


def _reporter(meter: Meter | None) -> Any:
    """Progress: as the native search's while it works, then a line a level."""
    last = [0.0, 0, 0]

    def report(progress: SearchProgress, level: Commit | None) -> None:
        if meter is None:
            return
        if level is None and not progress.sweep:
            meter(progress)
            return
        meter.close()
        if level is None:
            sys.stderr.write(
                f"backward round {progress.sweep}: {progress.queue:,} marks rose, {progress.seconds - last[0]:.1f} s\n"
            )
            last[0] = progress.seconds
            return
        span = max(progress.seconds - last[0], 1e-9)
        shuffled, spilled = level.cost["shuffled"] / 1e6, level.cost["spilled"] / 1e6
        sys.stderr.write(
            f"level {progress.depth}: {level.rows:,} new, {progress.distinct:,} distinct "
            f"({(progress.distinct - last[2]) / span:,.0f}/s), "
            f"{progress.generated:,} generated ({(progress.generated - last[1]) / span:,.0f}/s), "
            f"{shuffled:,.1f} MB shuffled, "
            f"{spilled:,.1f} MB spilled, {span:.1f} s\n"
        )
        last[:] = progress.seconds, progress.generated, progress.distinct

    return report
