"""The simulation of clusters: a model of tasks that agrees with the run that it was made from."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from attrs import evolve

from kraftcheck.ci.bench.clusters.simulate import measure
from kraftcheck.ci.bench.clusters.simulation import LevelTimes, Simulation, makespan, opened, spread
from kraftcheck.ci.dataset.search.levels import splits, task_sizes
from kraftcheck.ci.dataset.store.groups import Groups, RowGroup
from kraftcheck.ci.spark.times import QUANTILES, JobTimes, StageTimes, read_times
from kraftcheck.ci.terminal.refusal import Refusal
from tests import toys
from tests.ci.spark.levels import begun, program_of


def level(number: int, rows: int, seconds: float, cores: int = 2) -> LevelTimes:
    """A level of tasks that all take as long, planned as the engine plans it; the driver takes a second."""
    split, targets = task_sizes(rows, 10 * rows, cores)
    groups = Groups.of((RowGroup(bucket, "part", 0, rows // 64) for bucket in range(64)), 6)
    counts = (len(splits(groups, split)), min(64, targets))
    stages = tuple(StageTimes(count, (seconds,) * len(QUANTILES), 10, 20) for count in counts)
    wall = sum(makespan([seconds] * count, cores) for count in counts) + 1.0
    return LevelTimes(JobTimes(f"level {number}", 100.0 * number, wall, cores, stages), rows, 10 * rows)


LEVELS = [level(1, 100_000, 0.1), level(2, 1_000_000, 1.0), level(3, 3_000_000, 2.0)]


def test_tasks_go_to_the_first_core_that_is_idle() -> None:
    """Tasks that are begun in order end when the longest chain of a core does."""
    assert makespan([3, 1, 1, 1], 2) == 3
    assert makespan([1, 1, 1, 3], 2) == 4
    assert makespan([2.0] * 7, 4) == 4
    assert makespan([], 4) == 0


def test_values_have_the_quantiles_that_they_were_made_from() -> None:
    """Of many values the mean and the ends are those of the quantiles, whatever their number; none is twice."""
    quantiles = [float(step) for step in range(21)]
    for count in (1, 2, 7, 100):
        values = spread(quantiles, count)
        assert len(set(values)) == count
        assert sum(values) / count == pytest.approx(10.0)
    assert min(spread(quantiles, 100)) < 0.2 < 19.8 < max(spread(quantiles, 100))


def test_a_run_predicts_itself() -> None:
    """On as many cores the model gives the seconds of the jobs that it was made from, and what was between them."""
    model = Simulation.of(LEVELS, 6, [])
    jobs = sum(one.job.seconds for one in LEVELS)
    assert model.predict(2).seconds == pytest.approx(jobs + len(LEVELS) * model.driver_seconds, rel=0.01)


def test_more_cores_are_faster_up_to_the_work() -> None:
    """Twice the cores take less, at least half; no number of cores takes less than the driver and one task do."""
    model = evolve(Simulation.of(LEVELS, 6, []), driver_seconds=0.0)
    times = [model.predict(cores, 100).seconds for cores in (2, 4, 8, 512)]
    assert all(b < a <= 2.05 * b for a, b in itertools.pairwise(times[:3]))
    assert times[-1] > model.job_seconds * len(LEVELS)
    assert model.predict(2, 100).seconds > 50 * model.predict(2).seconds


def test_buckets_are_split_for_many_cores() -> None:
    """A space with fewer buckets than there are cores has them split, and is as fast as with many from the start."""
    few, many = (evolve(Simulation.of(LEVELS, bits, []), driver_seconds=0.0).predict(512, 1000) for bits in (6, 12))
    assert 1024 <= few.buckets <= many.buckets
    assert few.seconds < 1.1 * many.seconds
    assert Simulation.of(LEVELS, 6, []).predict(2).buckets == 64


def test_opening_files_costs() -> None:
    """A late level opens the files of levels before it: where that is slow, more tasks take longer."""
    model = Simulation.of(LEVELS, 12, [])
    slow = evolve(model, open_seconds=0.1)
    assert slow.predict(512, 1000).seconds > model.predict(512, 1000).seconds
    assert slow.predict(512, 1000).opens == model.predict(512, 1000).opens
    assert model.predict(512).opens > model.predict(2).opens
    native = evolve(model, levels=tuple(evolve(one, native=3) for one in model.levels))
    assert native.predict(2).opens > model.predict(2).opens


def test_deep_spaces_open_few_files() -> None:
    """Old levels are merged: with twice as many levels not four times as many files are opened, but about twice."""
    model = Simulation.of(LEVELS, 12, [])
    some, more = (evolve(model, levels=model.levels * times).predict(64, 1000).opens for times in (20, 40))
    assert 1.8 * some < more < 2.5 * some


def test_times_are_read_as_they_were_written(tmp_path: Path) -> None:
    """Of a level that was made again the last times count; a folder without times is refused in a line."""
    again = evolve(LEVELS[0].job, seconds=9.0)
    for job in (LEVELS[0].job, LEVELS[1].job, again):
        job.append(tmp_path)
    assert read_times(tmp_path) == [again, LEVELS[1].job]
    with pytest.raises(Refusal, match="holds no exploration"):
        measure([str(tmp_path)])
    with pytest.raises(ValueError, match="Spark made no level"):
        Simulation.of([], 6, [])


def test_a_prediction_has_the_tasks_and_the_work_of_its_run() -> None:
    """On as many cores a run predicts as many tasks as it had, and the seconds that they took together."""
    stages = [stage for one in LEVELS for stage in one.job.stages]
    one = Simulation.of(LEVELS, 6, []).predict(2)
    assert one.tasks == sum(stage.tasks for stage in stages)
    assert one.work == pytest.approx(sum(stage.tasks * stage.seconds[0] for stage in stages), rel=0.01)


def test_files_are_opened_by_the_tasks_that_sift_their_buckets(tmp_path: Path) -> None:
    """Each task of a second stage opens those files before it that hold one of its buckets; merged levels are fewer."""
    run, runner = begun(program_of(toys.HASTY, "5"), tmp_path)
    run.expand(runner)
    assert opened(run.commits) == sum(
        len(level.files) for at, _ in enumerate(run.commits) if at for level in run.commits[:at]
    )
    assert opened(run.commits[:1]) == 0
    assert 0 < opened(run.commits, 2) < opened(run.commits)
