"""The simulation of clusters: `python -m kraftcheck.ci.bench --simulate [CASE or OUT ...]`.

A case is explored by an embedded Spark on one core and on two, and by standalone clusters of workers of one core each.
Each run predicts itself, which shows how well tasks are scheduled, and that on two cores predicts the others. What is
predicted for more cores and larger spaces follows from it, too. OUT is the folder of a run by Spark that is finished:
its own times are taken, and nothing is run.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import evolve, frozen

from kraftcheck.ci.bench import spark as bench_spark
from kraftcheck.ci.bench.clusters.simulation import Prediction, Simulation, levels_of, opened, spread
from kraftcheck.ci.bench.clusters.standalone import standalone
from kraftcheck.ci.dataset.search.run import DatasetRun
from kraftcheck.ci.dataset.store.dataset import Dataset
from kraftcheck.ci.dataset.store.manifests import Commit
from kraftcheck.ci.dataset.store.objects import on_disk
from kraftcheck.ci.spark.times import NAME, JobTimes, read_times
from kraftcheck.ci.systems.subject import subject
from kraftcheck.ci.terminal.refusal import Refusal

CASES = {case.name: case for case in bench_spark.CASES if case.name in ("one-million", "two-million")}
RUNS = (("embedded", 1), ("embedded", 2), ("cluster", 2), ("cluster", 4))
"""Where a case is explored, and on how many cores."""

FROM = ("embedded", 2)
"""The run that predicts the others."""

CORES = (1, 2, 64, 128, 256, 512)
SCALES = (1, 100, 10_000)


@frozen
class SimulationRow:
    """A prediction.

    Attributes:
        case: the case or the folder.
        of: the run that it follows from.
        about: the run that it is about.
        cores, scale: of that run.
        states: that it would have.
        predicted: of it.
        measured: of the run itself; None: it was not run.
        load: of the machine when that had ended.
    """

    case: str
    of: str
    about: str
    cores: int
    scale: int
    states: int
    predicted: Prediction
    measured: Prediction | None = None
    load: float = 0.0


def measure(cases: Sequence[str]) -> list[SimulationRow]:
    """Measure and print cases, one of a million states by default.

    Raises:
        Refusal: for a folder without the times of a run.
    """
    rows = []
    for case in cases or ("one-million",):
        if case in CASES:
            found = _of_case(case)
            rows += _checks(case, found)
            chosen = found[FROM]
        else:
            chosen = _of_folder(Path(case))
        rows += _table(case, chosen)
    return rows


@frozen
class Found:
    """A run: its model, its states, and what was measured of it; the load of the machine when it had ended."""

    name: str
    cores: int
    model: Simulation
    states: int
    measured: Prediction
    load: float


def _of_case(name: str) -> dict[tuple[str, int], Found]:
    """The runs of a case."""
    case, found = evolve(CASES[name], memory=None), dict[tuple[str, int], Found]()
    chosen = subject(case.system, case.scope, {}, case.rules)
    with tempfile.TemporaryDirectory(prefix="kraftcheck-cache-") as cache:
        for where, cores in RUNS:

            def use(run: DatasetRun, where: str = where, cores: int = cores) -> None:
                folders = [(on_disk(run.log.folder(level.depth)), level.files) for level in run.commits]
                files = [folder / file.name for folder, files in folders for file in files]
                found[where, cores] = _found(f"{where} {cores}", run.commits, read_times(on_disk(run.log.out)), files)

            with _place(where, cores) as start_on:
                bench_spark.spark(case, chosen, cores, Path(cache), use, start_on)
    return found


@contextlib.contextmanager
def _place(where: str, cores: int) -> Iterator[Callable[[int, Mapping[str, str], Path], Any]]:
    """What starts a session there."""
    if where == "embedded":
        yield bench_spark.embedded
        return
    with tempfile.TemporaryDirectory(prefix="kraftcheck-cluster-") as folder, standalone(Path(folder), cores) as one:
        yield one.session


def _of_folder(out: Path) -> Found:
    """The model of the run in a folder."""
    data = Dataset.open(out, verify=False)
    try:
        jobs = read_times(out)
        files = [on_disk(path) for path in data.files()]
        return _found(str(out), data.commits, jobs, files)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise Refusal(f"{out / NAME}: {error}; only a run by this version of --engine spark has the times") from error


def _found(name: str, commits: Sequence[Commit], jobs: Sequence[JobTimes], files: Sequence[Path]) -> Found:
    levels = levels_of(commits, jobs)
    model = Simulation.of(levels, commits[0].groups.bits, files)
    first, last = levels[0].job, levels[-1].job
    seconds, cores = last.start + last.seconds - first.start, max(level.job.cores for level in levels)
    stages = [stage for level in levels for stage in level.job.stages]
    work = sum(sum(spread(stage.seconds, stage.tasks)) for stage in stages)
    tasks, opens = sum(stage.tasks for stage in stages), opened(commits, cores)
    buckets = 1 << max(level.groups.bits for level in commits)
    measured = Prediction(seconds, work / (cores * seconds), tasks, work, opens, buckets)
    return Found(name, cores, model, sum(level.rows for level in commits), measured, os.getloadavg()[0])


def _checks(case: str, found: Mapping[tuple[str, int], Found]) -> list[SimulationRow]:
    """What each run predicts for itself, and one of them for the others, beside what was measured."""
    print(f"{case}; predicted / measured\n{'from':11} {'for':11} {'seconds':>15} {'error':>6} {'tasks':>9} "
          f"{'s in tasks':>15} {'error':>6} {'files opened':>13} {'load':>5}")  # fmt: skip
    rows, source, every = list[SimulationRow](), found[FROM], list(found.values())
    for of, about in [(one, one) for one in every] + [(source, one) for one in every if one is not source]:
        one, real = of.model.predict(about.cores), about.measured
        rows.append(SimulationRow(case, of.name, about.name, about.cores, 1, about.states, one, real, about.load))
        print(f"{of.name:11} {about.name:11} {f'{one.seconds:.1f} / {real.seconds:.1f}':>15} "
              f"{one.seconds / real.seconds - 1:+6.0%} {f'{one.tasks} / {real.tasks}':>9} "
              f"{f'{one.work:.1f} / {real.work:.1f}':>15} {one.work / real.work - 1:+6.0%} "
              f"{f'{one.opens} / {real.opens}':>13} {about.load:5.1f}", flush=True)  # fmt: skip
    _costs(every)
    return rows


def _costs(every: Sequence[Found]) -> None:
    """What each model has for a task without work, a file opened, a job, a task in the driver, and between jobs."""
    print(f"\n{'fixed costs':11} {'task s':>7} {'open ms':>8} {'job s':>6} {'ms a task':>10} {'between s':>10}")
    for one in every:
        model = one.model
        print(f"{one.name:11} {model.task_seconds:7.3f} {1000 * model.open_seconds:8.2f} {model.job_seconds:6.2f} "
              f"{1000 * model.dispatch_seconds:10.1f} {model.driver_seconds:10.2f}")  # fmt: skip


def _table(case: str, found: Found) -> list[SimulationRow]:
    """Predictions for more cores and larger spaces, with as many levels."""
    print(f"\n{'states':>15} {'buckets':>7} {'cores':>6} {'seconds':>10} {'core hours':>10} {'busy':>5} {'opens':>10}")
    rows, model = [], found.model
    for scale in SCALES:
        for cores in CORES:
            one = model.predict(cores, scale)
            row = SimulationRow(case, found.name, "", cores, scale, scale * found.states, one)
            print(f"{row.states:15,} {one.buckets:7,} {cores:6} {one.seconds:10,.1f} "
                  f"{one.seconds * cores / 3600:10,.2f} {one.busy:5.0%} {one.opens:10,}", flush=True)  # fmt: skip
            rows.append(row)
    print("\nLeft out: network, shared storage, lost tasks, memory, the native start")
    return rows
