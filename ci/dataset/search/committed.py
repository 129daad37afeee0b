"""An exploration whose levels are committed to a folder, whatever engine expands them."""

from __future__ import annotations

import contextlib
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol, TypeVar

from attrs import frozen

from kraftcheck.ci.dataset.decoding import decoding
from kraftcheck.ci.dataset.part import DatasetPart
from kraftcheck.ci.dataset.search.auditing import audit_run
from kraftcheck.ci.dataset.search.bounds import BUCKETS, Bounds
from kraftcheck.ci.dataset.search.levels import LevelRunner
from kraftcheck.ci.dataset.search.repair import repair
from kraftcheck.ci.dataset.search.run import DatasetRun
from kraftcheck.ci.dataset.store.commits import CommitLog, identity
from kraftcheck.ci.dataset.store.digests import damage_refused
from kraftcheck.ci.dataset.store.lease import lease_on
from kraftcheck.ci.dataset.store.manifests import Commit
from kraftcheck.ci.dataset.store.objects import AnyPath
from kraftcheck.ci.dataset.store.stores import place_of
from kraftcheck.ci.systems.subject import Subject
from kraftcheck.ci.terminal.files import folder
from kraftcheck.ci.terminal.progress import Meter, progress_meter, run_interruptibly, stop_flag
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.solvers.audit.sampling import Sampling
from kraftcheck.solvers.blocks.kernel import block_spec
from kraftcheck.solvers.blocks.tasks import BlockSpec, load_block_kernel
from kraftcheck.solvers.exploration.explore import Exploration, SearchProgress, conclude
from kraftcheck.solvers.machine_code.compile import load_kernel
from kraftcheck.solvers.machine_code.objectcache import ObjectCache
from kraftcheck.solvers.machine_code.objectcode import CodeTarget
from kraftcheck.solvers.program.program import Program

R = TypeVar("R", bound=LevelRunner)


class LevelEngine(Protocol[R]):
    """The engine that expands the levels that the native start leaves."""

    @property
    def name(self) -> str:
        """Its name on the command line."""

    def opened(self, run: DatasetRun, spec: BlockSpec, begin_event: threading.Event) -> AbstractContextManager[R]:
        """What runs the jobs of levels; the event is set as long as a stop has to wait for a report."""

    def go_on(self, run: DatasetRun, runner: R, checked: bool) -> None:
        """Expand what is left, and judge what it can; `checked`: the files were compared with their digests."""


@frozen
class Place:
    """Where levels are committed, and how.

    Attributes:
        out: the folder; None: a temporary one.
        resume: go on after the last committed level there.
        repair: derive damaged level files again before that.
        buckets: parts of the visited set; None: what the run to resume has, else the default.
        target: the processor to compile for; None: this one.
        default: the default.
    """

    out: str | None
    resume: bool
    repair: bool
    buckets: int | None
    target: CodeTarget | None = None
    default: int = BUCKETS


def explore_committed(
    chosen: Subject, traced: Program, bounds: Bounds, place: Place, cache: Path | None, quiet: bool,
    sampling: Sampling, engine: LevelEngine[R],
) -> tuple[Exploration, DatasetPart]:  # fmt: skip
    """Explore; the first levels natively, the others by the engine.

    Raises:
        Refusal: for options that do not fit, a folder that cannot be used, or a run that cannot be resumed.
        EngineDisagreement: when ints do not confirm a witness, or the audit finds a difference.
    """
    bits = _bucket_bits(place.default if place.buckets is None else place.buckets)
    if place.resume and place.out is None:
        raise Refusal("--resume needs the --out of the run to go on with")
    if place.repair and not place.resume:
        raise Refusal("--repair mends the --out of an earlier run; give --resume too")
    with _folder(place.out) as out, lease_on(out) as lease, damage_refused():
        log = CommitLog(out, lease)
        if place.resume and place.buckets is None and log.exists():
            bits = _bucket_bits(log.read_run().identity["buckets"])
        refuse_constraint(traced, engine.name)
        _open(log, identity(chosen, traced, bits), traced, resume=place.resume)
        start = time.monotonic()
        with progress_meter(quiet) as meter:
            kernel = load_kernel(traced, cache, on_compile=None if meter is None else meter.compiling)
        spec = block_spec(traced, bits, ObjectCache(cache), place.target)
        compiled = time.monotonic()
        with stop_flag(awaits_report=True) as stop, progress_meter(quiet) as meter:
            run = DatasetRun(kernel, load_block_kernel(spec), log, bounds, stop, _reporter(meter), engine.name)
            begin_event = threading.Event()
            begin_event.set()
            resumed = run_interruptibly(lambda: _search(run, spec, place, engine, begin_event), stop, begin_event)
        seconds = time.monotonic() - compiled
        audit = audit_run(run, sampling)
        result = conclude(run, kernel, seconds, compiled - start, audit, run.recoverability, run.liveness,
                          strict=bounds.strict)  # fmt: skip
        costs = {level.depth: level.cost for level in run.commits if level.engine != "native"}
        return result, DatasetPart(run.handed_over, place.out, resumed, costs, engine.name)


def _bucket_bits(number: int) -> int:
    if number & (number - 1) or not 2 <= number <= 1 << 16:
        raise Refusal(f"--buckets takes a power of two, such as {1 << number.bit_length()}, not {number}")
    return number.bit_length() - 1


@contextlib.contextmanager
def _folder(out: str | None) -> Iterator[AnyPath]:
    """The run's folder; a temporary one when it is not to be kept."""
    if out is not None:
        place = place_of(out)
        yield folder(place) if isinstance(place, Path) else place
        return
    with tempfile.TemporaryDirectory(prefix="kraftcheck-", ignore_cleanup_errors=True) as name:
        yield Path(name)


def refuse_constraint(traced: Program, engine: str) -> None:
    """Refuse a program with a constraint, which only the native engine counts."""
    if traced.within is not None:
        raise Refusal(
            f"{traced.system.name} has within=, whose states the engine {engine} does not count; explore natively"
        )


def _open(log: CommitLog, of: Mapping[str, Any], traced: Program, *, resume: bool) -> None:
    if resume:
        log.check_same(of, decoding(traced))
    elif log.exists():
        raise Refusal(f"{log.out} holds an exploration already; --resume goes on with it, another --out begins anew")
    else:
        log.begin(of, decoding(traced))


def _search(
    run: DatasetRun, spec: BlockSpec, place: Place, engine: LevelEngine[R], begin_event: threading.Event
) -> int | None:
    """Resume or start, then go on if something is left; the level after which it was resumed."""
    resumed, checked = None, True
    if place.resume:
        if place.repair:
            for line in repair(run, lambda: engine.opened(run, spec, begin_event)).lines():
                sys.stderr.write(f"{line}\n")
        checked = run.resume()
        resumed = len(run.commits) - 1 if run.commits else None
    if resumed is None:
        run.start()
        if run.finished or run.cut is not None:
            return resumed
    program = run.kernel.program
    if not (run.finished and checked and not (program.recovers or program.liveness.claims)):
        with engine.opened(run, spec, begin_event) as runner:
            engine.go_on(run, runner, checked)
    return resumed


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
        moved = (f"{level.cost[name] / 1e6:,.1f} MB {name}, " for name in ("shuffled", "spilled") if name in level.cost)
        sys.stderr.write(
            f"level {progress.depth}: {level.rows:,} new, {progress.distinct:,} distinct "
            f"({(progress.distinct - last[2]) / span:,.0f}/s), "
            f"{progress.generated:,} generated ({(progress.generated - last[1]) / span:,.0f}/s), "
            f"{''.join(moved)}{span:.1f} s\n"
        )
        last[:] = progress.seconds, progress.generated, progress.distinct

    return report
