"""An exploration whose levels are committed: begun, resumed, repaired, and audited."""

from __future__ import annotations

import contextlib
import itertools
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
from attrs import evolve, frozen

from kraftcheck.ci.dataset.disk import DiskRunner
from kraftcheck.ci.dataset.documents import decoding
from kraftcheck.ci.dataset.jobs import LocalJobs
from kraftcheck.ci.dataset.options import BUCKETS, NATIVE, ClusterOptions, DatasetPart, default_handover
from kraftcheck.ci.dataset.search.levels import CommittedOrigins, LevelRunner
from kraftcheck.ci.dataset.search.run import BlockPlan, DatasetRun
from kraftcheck.ci.dataset.store.commits import CommitLog, identity, lease_on
from kraftcheck.ci.dataset.store.dataset import damage_refused, unfit
from kraftcheck.ci.dataset.store.levelfiles import Groups, read_states, verify
from kraftcheck.ci.dataset.store.manifests import Commit
from kraftcheck.ci.dataset.store.objects import AnyPath
from kraftcheck.ci.dataset.store.stores import place_of
from kraftcheck.ci.systems.subject import Subject
from kraftcheck.ci.terminal.files import folder
from kraftcheck.ci.terminal.progress import Meter, progress_meter, run_interruptibly, stop_flag
from kraftcheck.ci.terminal.refusal import JobFailedError, Refusal
from kraftcheck.solvers.audit.audit import Audit, audit_space
from kraftcheck.solvers.audit.comparison import BlockEngine
from kraftcheck.solvers.audit.sampling import Packed, Rows, Sampling, one_by_one
from kraftcheck.solvers.blocks.kernel import block_spec
from kraftcheck.solvers.blocks.tasks import BlockSpec, load_block_kernel
from kraftcheck.solvers.exploration.explore import Exploration, SearchBudget, SearchProgress, conclude
from kraftcheck.solvers.machine_code.objectcode import CodeTarget, ObjectCache
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.stop import stop_reason


def repair(run: DatasetRun) -> str:
    """Give up the first damaged level and all later ones, to be explored again; says which; raises without run.json."""
    log = run.log
    commits, damaged = log.undamaged_manifests()
    why = "its manifest was damaged"
    if (foreign := next(unfit(commits, run.kernel.program, run.blocks.spec.bucket_bits), None)) is not None:
        damaged, commits = foreign.depth, commits[: foreign.depth]
        why = "its counters, claims or buckets are another run's"
    files = [(level.depth, file) for level in commits for file in level.files]
    with ThreadPoolExecutor() as pool:
        found = pool.map(lambda entry: verify(log.folder(entry[0]), entry[1]), files)
    for (depth, _), damage in zip(files, found, strict=True):
        if damage is not None:
            damaged, why = depth, damage
            break
    if damaged is None:
        return "repaired: nothing was damaged"
    log.forget(damaged)
    return f"repaired: level {damaged} and later ones are explored again: {why}"


GROUPS = 4  # most row groups of a level that candidates are read from


class CommittedSpace(CommittedOrigins):
    """The committed levels, as `kraftcheck.solvers.audit.sampling.ExploredLevels`."""

    @property
    def sizes(self) -> list[int]:
        """See `Space`."""
        return [level.rows for level in self.commits if not level.last]

    def _read(self, depth: int, groups: Groups) -> Iterator[Rows]:
        for _, together in itertools.groupby(groups, lambda group: (group.file, group.group)):
            for _, states in read_states(self.log.folder(depth), together, self.words):
                yield states

    def some(self, depth: int, count: int) -> Rows:
        """See `Space`; of a level of many row groups a few are read."""
        groups = self.commits[depth].groups
        rows = np.concatenate(list(self._read(depth, groups[:: -(-len(groups) // GROUPS)])))
        return rows[:: max(1, len(rows) // count)]

    def states(self) -> Iterator[Packed]:
        """See `Space`."""
        for depth in range(len(self.sizes)):
            for rows in self._read(depth, self.commits[depth].groups):
                yield from one_by_one(rows)


def audit_run(run: DatasetRun, sampling: Sampling) -> Audit:
    """Compare a sample of the levels by the code that made them, not whether successors were visited.

    Raises:
        EngineDisagreement: naming what differs, and in which state.
    """
    start, program = time.monotonic(), run.kernel.program
    space = CommittedSpace(run.log, run.commits, program.layout.words)
    audit = audit_space(program, [BlockEngine(program, run.blocks)], space, sampling, run.generated)
    return evolve(audit, seconds=time.monotonic() - start)


R = TypeVar("R", bound=LevelRunner)


class LevelEngine(Protocol[R]):
    """The engine that expands the levels from the handover on."""

    @property
    def name(self) -> str:
        """Its name on the command line."""

    @property
    def buckets(self) -> int:
        """Parts of the visited set, unless the options say otherwise."""

    @property
    def target(self) -> CodeTarget | None:
        """The processor to compile for; None: this one."""

    def opened(self, run: DatasetRun, spec: BlockSpec, begin_event: threading.Event) -> AbstractContextManager[R]:
        """What runs the jobs of levels; the event is set as long as a stop has to wait for a report."""

    def go_on(self, run: DatasetRun, runner: R) -> None:
        """Expand what is left, and judge what it can."""


@frozen
class DiskEngine:
    """Levels in files, as `LevelEngine`."""

    name, buckets, target = "disk", BUCKETS, None
    threads: int
    memory: int

    @contextlib.contextmanager
    def opened(self, run: DatasetRun, spec: BlockSpec, begin_event: threading.Event) -> Iterator[DiskRunner]:
        """A runner that reports to the run."""
        yield DiskRunner(load_block_kernel(spec), self.threads, self.memory, run.on_round)

    def go_on(self, run: DatasetRun, runner: DiskRunner) -> None:
        """Expand what is left, then judge."""
        run.expand(runner)
        runner.forget()
        run.judge(LocalJobs(runner.spec, self.threads), self.memory)


def explore_committed(
    chosen: Subject, traced: Program, budget: SearchBudget, options: ClusterOptions, engine: LevelEngine[Any],
    kept: str | None, quiet: bool,
) -> tuple[Exploration, DatasetPart]:  # fmt: skip
    """Explore, the first levels in this process; levels go below `kept`; raises Refusal, EngineDisagreement."""
    bits = _bucket_bits(engine.buckets if options.buckets is None else options.buckets)
    if options.resume and kept is None:
        raise Refusal("--resume needs the --out of the run to go on with")
    if options.repair and not options.resume:
        raise Refusal("--repair mends the --out of an earlier run; give --resume too")
    with _folder(kept) as out, lease_on(out) as lease, damage_refused():
        log = CommitLog(out, lease)
        if options.resume and options.buckets is None and log.exists():
            bits = _bucket_bits(log.read_run().identity["buckets"])
        refuse_constraint(traced, engine.name)
        _open(log, identity(chosen, traced, bits), traced, resume=options.resume)
        start, cache, made = time.monotonic(), ObjectCache(budget.cache_dir), list[str]()
        with progress_meter(quiet) as meter:

            def compiling() -> None:
                made.append("code")
                if meter is not None:
                    meter.compiling()

            spec = block_spec(traced, bits, cache, engine.target, compiling)
        kernel = BlockPlan(traced, not made, tuple(cache.warnings))
        compiled = time.monotonic()
        with stop_flag(awaits_report=True) as stop, progress_meter(quiet) as meter:
            run = DatasetRun(kernel, load_block_kernel(spec), log, budget, stop, report=_reporter(meter),
                             engine=engine.name, handover=default_handover(options))  # fmt: skip
            begin_event = threading.Event()
            begin_event.set()
            resumed = run_interruptibly(lambda: _search(run, spec, options, engine, begin_event), stop, begin_event)
        seconds = time.monotonic() - compiled
        audit = audit_run(run, budget.sampling)
        result = conclude(run, kernel, seconds, compiled - start, audit, run.recoverability, run.liveness,
                          strict=budget.strict)  # fmt: skip
        costs = {level.depth: level.cost for level in run.commits if level.engine != NATIVE}
        return result, DatasetPart(run.handed_over, kept, resumed, costs, engine.name)


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


STOP_SECONDS = 0.5  # how long a signal that others have got may take to arrive here


def _search(
    run: DatasetRun, spec: BlockSpec, options: ClusterOptions, engine: LevelEngine[Any], begin_event: threading.Event
) -> int | None:
    """Resume or start, then go on if something is left; the level after which it was resumed."""
    resumed = None
    if options.resume:
        if options.repair:
            sys.stderr.write(f"{repair(run)}\n")
        run.resume()
        resumed = len(run.commits) - 1 if run.commits else None
    if resumed is None:
        run.start()
        if run.finished or run.cut is not None:
            return resumed
    program = run.kernel.program
    if not run.finished or program.recovers or program.liveness.claims:
        try:
            with engine.opened(run, spec, begin_event) as runner:
                engine.go_on(run, runner)
        except JobFailedError:
            if not run.stop.wait(STOP_SECONDS):
                raise
            run.cut = stop_reason(run.stop)  # a signal to the group of processes reached what does the work first
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
