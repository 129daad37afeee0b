"""The tasks of the Spark engine run one after the other in this process, with attempts that fail on purpose."""

import contextlib
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
from attrs import define, evolve, field

from kraftcheck.ci.dataset.documents import decoding
from kraftcheck.ci.dataset.search.committed import audit_run
from kraftcheck.ci.dataset.search.levels import JobResult
from kraftcheck.ci.dataset.search.run import BlockPlan, DatasetRun
from kraftcheck.ci.dataset.store.commits import CommitLog, Lease, identity, lease_on
from kraftcheck.ci.dataset.store.levelfiles import LevelJob
from kraftcheck.ci.dataset.store.manifests import Commit
from kraftcheck.ci.dataset.store.objects import GONE, AnyPath
from kraftcheck.ci.spark.jobs import job_result
from kraftcheck.ci.spark.tasks import expand_task, sift_task
from kraftcheck.ci.systems.subject import Subject
from kraftcheck.model.language.system import System
from kraftcheck.solvers.audit.sampling import DEFAULT
from kraftcheck.solvers.blocks.kernel import block_spec
from kraftcheck.solvers.blocks.tasks import MOST_BUCKET_BITS, BlockSpec, load_block_kernel
from kraftcheck.solvers.exploration.explore import Exploration, SearchBudget, conclude, explore
from kraftcheck.solvers.machine_code.objectcode import ObjectCache
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.trace import trace

BUCKET_BITS = 3

HELD: dict[AnyPath, contextlib.ExitStack] = {}  # the leases that runs of this process have


class AttemptLostError(RuntimeError):
    """An attempt that dies on purpose."""


@define
class InProcess:
    """Runs levels as Spark would."""

    spec: BlockSpec  # what was shipped
    cores: int = 2  # what a plan reckons with
    # asked for each batch that a task gives, (stage, task, batch): whether the first attempt dies there
    lost: Callable[[str, int, int], bool] = lambda stage, task, batch: False
    before: Callable[[LevelJob], None] = lambda level: None  # called before each level
    levels: list[LevelJob] = field(factory=list)
    sees: bool = False  # whether tasks look for the lease of their driver
    files: bool = False  # whether candidates go from task to task in files
    most_bits: int = MOST_BUCKET_BITS  # of the number of a bucket

    def run(self, level: LevelJob, stop: threading.Event) -> JobResult | None:
        """Both stages of a level."""
        self.before(level)
        self.levels.append(level)
        level = level if self.sees else evolve(level, sight=None)
        folder = Path(level.folder).with_name(f"{GONE}candidates") if self.files else None
        if folder is not None:
            folder.mkdir(exist_ok=True)
        first, second = expand_task(self._shipped, level, folder), sift_task(self._shipped, level, folder)
        rows: list[dict[str, Any]] = []
        for number in range(len(level.splits)):
            batch = pa.RecordBatch.from_pydict({"id": [number]})
            rows += self._attempts("expand", number, lambda one=batch: first(iter([one])))
        rows.sort(key=lambda row: (row["bucket"], row["source"], row["part"]))
        results: list[dict[str, Any]] = []
        for target in range(level.targets):
            mine = [row for row in rows if row["target"] % level.targets == target]
            results += self._attempts("sift", target, lambda part=mine: second(batches(part)))
        cost = {
            "expand_tasks": len(level.splits), "sift_tasks": level.targets, "cores": level.cores, "shuffled": 0.0,
            "spilled": 0.0,
        }  # fmt: skip
        return job_result([SimpleNamespace(**row) for row in results], cost, level.bits)

    def _shipped(self) -> BlockSpec:
        return self.spec

    def _attempts(self, stage: str, task: int, work: Callable[[], Iterator[Any]]) -> list[dict[str, Any]]:
        """What the attempt gives that is not lost."""
        try:
            given = []
            for number, batch in enumerate(work()):
                if self.lost(stage, task, number):
                    raise AttemptLostError
                given.append(batch)
        except AttemptLostError:
            given = list(work())
        return [row for batch in given for row in batch.to_pylist()]


def batches(rows: list[dict[str, Any]]) -> Iterator[Any]:
    """Rows in batches of three, as Spark hands them to a task."""
    for at in range(0, len(rows), 3):
        part = rows[at : at + 3]
        names = ("target", "bucket", "source", "part")
        columns = [pa.array([row[name] for row in part], pa.int32()) for name in names]
        yield pa.RecordBatch.from_arrays(
            [*columns, pa.array([row["block"] for row in part], pa.binary())], names=[*names, "block"]
        )


def program_of(system: System, scope: str | None = None, rules: Any = None) -> Program:
    """The traced system."""
    return trace(system, system.setting(scope, rules=rules))


def only(system: System, *names: str) -> System:
    """A system with some of its properties."""
    every = system.properties
    chosen = every if callable(every) else lambda _: every
    return evolve(system, properties=lambda setting: [one for one in chosen(setting) if one.id in names])


def _lease(out: AnyPath) -> Lease:
    """The lease on a folder; a run of this process that had it is over."""
    if out in HELD:
        HELD.pop(out).close()
    out.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as stack:
        lease = stack.enter_context(lease_on(out))
        HELD[out] = stack.pop_all()
    return lease


def begun(
    program: Program, out: AnyPath, cache: Path | None = None, handover: int = 0, resume: bool = False, **limits: Any
) -> tuple[DatasetRun, InProcess]:
    """A run in a folder that is begun (or taken up), and what runs its levels."""
    spec = block_spec(program, BUCKET_BITS, ObjectCache(cache))
    log = CommitLog(out, _lease(out))
    subject = Subject(program.system.name, program.system, program.setting, None, program.system)
    of = identity(subject, program, BUCKET_BITS)
    reports: list[Commit | None] = []
    run = DatasetRun(
        BlockPlan(program), load_block_kernel(spec), log, SearchBudget(1 << 30, **limits), threading.Event(),
        lambda now, level: reports.append(level), handover=handover,
    )  # fmt: skip
    if resume:
        log.check_same(of)
        run.resume()
    else:
        log.begin(of, decoding(program))
    if not run.commits:
        run.start()
    return run, InProcess(spec)


def finished(run: DatasetRun) -> Exploration:
    """What a run found."""
    return conclude(run, run.kernel, 1.0, 0.0, audit_run(run, DEFAULT), run.recoverability)


def facts(result: Exploration) -> dict[str, Any]:
    """What must be the same, whichever engine explored."""
    names = ("distinct", "generated", "depth", "levels", "fired", "never_true", "never_false", "pruned")
    judged = [v for v in result.verdicts if v.kind != "recovers"]
    verdicts = [(v.claim, v.kind, type(v.verdict).__name__, v.depth) for v in judged]
    return {**{name: getattr(result, name) for name in names}, "verdicts": verdicts}


def native_facts(program: Program, cache: Path | None = None) -> dict[str, Any]:
    """The same of the native engine."""
    return facts(explore(program, SearchBudget(cache_dir=cache, keep=False), clock=lambda: 0.0))
