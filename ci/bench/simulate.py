"""The simulation of clusters: `python -m kraftcheck.ci.bench --simulate [CASE or OUT ...]`.

A case is explored by Spark on one core and on two; each run predicts the other, which shows the error of the model.
What it predicts for more cores and larger spaces follows from the run on two. OUT is the folder of a run by Spark that
is finished: its own times are taken, and nothing is run.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from attrs import evolve, frozen

from kraftcheck.ci.bench import spark as bench_spark
from kraftcheck.ci.bench.simulation import Simulation, levels_of
from kraftcheck.ci.dataset.search.run import DatasetRun
from kraftcheck.ci.dataset.store.dataset import Dataset
from kraftcheck.ci.dataset.store.manifests import Commit
from kraftcheck.ci.dataset.store.objects import on_disk
from kraftcheck.ci.spark.times import NAME, JobTimes, read_times
from kraftcheck.ci.systems.subject import subject
from kraftcheck.ci.terminal.refusal import Refusal

CASES = {case.name: case for case in bench_spark.CASES if case.name in ("one-million", "two-million")}
CORES = (1, 2, 64, 128, 256, 512)
SCALES = (1, 100, 10_000)
BUCKETS = 4096


@frozen
class SimulationRow:
    """A prediction.

    Attributes:
        case: the case or the folder.
        of_cores: those of the run that it follows from.
        cores, scale, buckets: of the run that it is about.
        states: that this run would have.
        seconds, busy, opens: as in `Prediction`.
        measured: seconds that such a run took; 0: it was not run.
    """

    case: str
    of_cores: int
    cores: int
    scale: int
    buckets: int
    states: int
    seconds: float
    busy: float
    opens: int
    measured: float = 0.0


def measure(cases: Sequence[str]) -> list[SimulationRow]:
    """Measure and print cases, one of a million states by default.

    Raises:
        Refusal: for a folder without the times of a run.
    """
    rows = []
    for case in cases or ("one-million",):
        found = _of_case(case) if case in CASES else {0: _of_folder(Path(case))}
        rows += _checks(case, {cores: one for cores, one in found.items() if cores})
        cores = max(found)
        rows += _table(case, cores, *found[cores][:2])
    return rows


Found = tuple[Simulation, int, float]
"""A model, the states of its run, and the seconds that its jobs took."""


def _of_case(name: str) -> dict[int, Found]:
    """By cores the model of a run."""
    case, found = evolve(CASES[name], memory=None), dict[int, Found]()
    chosen = subject(case.system, case.scope, {}, case.rules)
    with tempfile.TemporaryDirectory(prefix="kraftcheck-cache-") as cache:
        for cores in (1, 2):

            def use(run: DatasetRun, cores: int = cores) -> None:
                folders = [(on_disk(run.log.folder(level.depth)), level.files) for level in run.commits]
                files = [folder / file.name for folder, files in folders for file in files]
                found[cores] = _found(run.commits, read_times(on_disk(run.log.out)), run.blocks.spec.buckets, files)

            bench_spark.spark(case, chosen, cores, Path(cache), use)
    return found


def _of_folder(out: Path) -> Found:
    """The model of the run in a folder."""
    data = Dataset.open(out, verify=False)
    try:
        jobs = read_times(out)
        return _found(data.commits, jobs, int(data.of["buckets"]), [on_disk(path) for path in data.files()])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise Refusal(f"{out / NAME}: {error}; only a run by this version of --engine spark has the times") from error


def _found(commits: Sequence[Commit], jobs: Sequence[JobTimes], buckets: int, files: Sequence[Path]) -> Found:
    levels = levels_of(commits, jobs)
    model = Simulation.of(levels, buckets, files)
    first, last = levels[0].job, levels[-1].job
    return model, sum(level.rows for level in commits), last.start + last.seconds - first.start


def _checks(case: str, found: dict[int, Found]) -> list[SimulationRow]:
    """What each run predicts for itself and the others, beside what they took."""
    if found:
        print(f"{'case':20} {'from cores':>10} {'to cores':>8} {'predicted s':>11} {'measured s':>10} {'error':>7}")
    rows = []
    for of_cores, (model, states, _) in found.items():
        for cores, (_, _, measured) in found.items():
            one = model.predict(cores)
            row = SimulationRow(
                case, of_cores, cores, 1, model.buckets, states, one.seconds, one.busy, one.opens, measured
            )
            error = one.seconds / measured - 1
            print(f"{case:20} {of_cores:10} {cores:8} {one.seconds:11.1f} {measured:10.1f} {error:+7.0%}", flush=True)
            rows.append(row)
    return rows


def _table(case: str, of_cores: int, model: Simulation, states: int) -> list[SimulationRow]:
    """Predictions for more cores and larger spaces, with as many levels."""
    print(f"\n{'states':>15} {'buckets':>7} {'cores':>6} {'seconds':>10} {'core hours':>10} {'busy':>5} {'opens':>10}")
    rows = []
    for scale in SCALES:
        buckets = max(model.buckets, BUCKETS if scale > 1 else 0)
        for cores in CORES:
            one = model.predict(cores, scale, buckets)
            row = SimulationRow(
                case, of_cores, cores, scale, buckets, scale * states, one.seconds, one.busy, one.opens
            )
            print(f"{row.states:15,} {buckets:7,} {cores:6} {one.seconds:10,.1f} {one.seconds * cores / 3600:10,.2f} "
                  f"{one.busy:5.0%} {one.opens:10,}", flush=True)  # fmt: skip
            rows.append(row)
    print(
        f"\na task without work {model.task_seconds:.3f} s, a file opened {1000 * model.open_seconds:.2f} ms, a job "
        f"{model.job_seconds:.2f} s and {1000 * model.dispatch_seconds:.1f} ms a task in the driver, between jobs "
        f"{model.driver_seconds:.2f} s. Left out: network, shared storage, lost tasks, memory, the native start"
    )
    return rows
