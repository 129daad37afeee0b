"""Small levels in the driver: the files that jobs of Spark write, without a job; what is not small is left to Spark."""

import functools
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from attrs import evolve

from kraftcheck.ci.dataset import disk, jobs
from kraftcheck.ci.dataset.disk import DiskRunner
from kraftcheck.ci.dataset.search.levels import plan
from kraftcheck.ci.dataset.search.run import DatasetRun
from kraftcheck.ci.dataset.store.levelfiles import footer
from kraftcheck.ci.dataset.store.objects import GONE
from kraftcheck.ci.spark import jobs as spark_jobs
from kraftcheck.ci.spark import tasks
from kraftcheck.ci.spark.jobs import SMALL, WORD_BYTES, SparkCluster
from kraftcheck.ci.spark.services import JvmServices
from kraftcheck.ci.terminal.refusal import JobFailedError
from kraftcheck.model.language.system import System
from kraftcheck.solvers.blocks.expansion import Expansion
from kraftcheck.solvers.blocks.tasks import load_block_kernel
from tests import toys
from tests.ci.spark.levels import InProcess, begun, facts, finished, native_facts, program_of


class NoSparkError(RuntimeError):
    """Spark was asked for a job."""


def cluster(runner: InProcess, out: Path, rows: int = SMALL) -> SparkCluster:
    """A cluster of two cores that takes no job."""

    def refuse(*_: object) -> None:
        raise NoSparkError

    context = SimpleNamespace(defaultParallelism=2, broadcast=refuse, master="local[2]")
    driver = DiskRunner(load_block_kernel(runner.spec), 2, 1 << 30)
    session = SimpleNamespace(sparkContext=context)
    return SparkCluster(session, JvmServices(session), lambda: runner.spec, runner.spec, out / "log", rows, driver)


def digests(run: Any) -> Any:
    """Size and digest of every file of a run, and where its rows are, by level."""
    files = [[(file.rows, file.bytes, file.sha256) for file in level.files] for level in run.commits]
    groups = [[(group.bucket, group.group, group.rows, group.first) for group in level.groups] for level in run.commits]
    return files, groups


@pytest.mark.parametrize(
    ("system", "scope"), [(toys.HASTY, "5"), (toys.STUCK, None)], ids=lambda one: getattr(one, "name", one)
)
def test_small_levels_have_the_files_of_jobs(
    system: System, scope: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without any job of Spark's a run of small levels has the bytes that jobs write, in whatever order they come."""
    monkeypatch.setattr(tasks, "Expansion", functools.partial(Expansion, capacity=1))
    monkeypatch.setattr(disk, "JOB_ROWS", 7)
    monkeypatch.setattr(jobs, "GROUP_RECORDS", 4)
    program = program_of(system, scope)
    by_jobs, runner = begun(program, tmp_path / "jobs")
    by_jobs.expand(runner)
    here, runner = begun(program, tmp_path / "here")
    here.expand(cluster(runner, tmp_path))
    assert here.commits[-1].last
    assert digests(here) == digests(by_jobs)
    assert facts(finished(here)) == native_facts(program)
    assert all(level.cost["shuffles"] == level.cost["shuffled"] == 0 for level in here.commits[1:])


def test_larger_levels_are_left_to_spark(tmp_path: Path) -> None:
    """A level of as many states as the limit, or after more visited states than the driver holds, is Spark's."""
    run, runner = begun(program_of(toys.HASTY, "5"), tmp_path, handover=500)
    level, rows = plan(runner, run.log, run.commits), run.commits[-1].rows
    one = cluster(runner, tmp_path, rows + 1)
    one.driver.memory = run.distinct * WORD_BYTES * runner.spec.words
    assert rows >= 500
    assert one.is_small(level)
    assert not cluster(runner, tmp_path, rows).is_small(level)
    one.driver.memory -= 1
    assert not one.is_small(level)
    with pytest.raises(NoSparkError):
        cluster(runner, tmp_path, rows).run(level, threading.Event())


def test_what_the_driver_has_no_room_for_is_left_to_spark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a table would outgrow its share, nothing is held, and the level is a job of Spark's."""
    run, runner = begun(program_of(toys.HASTY, "5"), tmp_path, handover=2_000)
    level, one = plan(runner, run.log, run.commits), cluster(runner, tmp_path)
    monkeypatch.setattr(spark_jobs, "WORD_BYTES", 0)
    one.driver.memory = runner.spec.buckets
    with pytest.raises(NoSparkError):
        one.run(level, threading.Event())
    assert not one.driver.visited


def by_cluster(run: DatasetRun, one: SparkCluster, depth: int) -> tuple[int, list[int]]:
    """The states of a level that is made again after those before it, and the buckets that have some."""
    level = plan(one, run.log, run.commits[:depth])
    result = one.run(evolve(level, folder=str(run.log.out / "levels" / f"{GONE}again" / str(depth))), threading.Event())
    assert result is not None
    return result.groups.rows, result.groups.table["bucket"].tolist()


def test_only_committed_states_are_dropped(tmp_path: Path) -> None:
    """A level that is made twice, and one before it, have the states that they had at first."""
    run, runner = begun(program_of(toys.HASTY, "3"), tmp_path)
    run.expand(runner)
    one = cluster(runner, tmp_path)
    for depth in (4, 4, 6, 3, 3):
        expected = run.commits[depth]
        assert by_cluster(run, one, depth) == (expected.rows, expected.groups.table["bucket"].tolist())


def test_a_visited_state_that_is_not_there_is_damage(tmp_path: Path) -> None:
    """Levels with fewer states than their manifests say end the run."""
    run, runner = begun(program_of(toys.HASTY, "5"), tmp_path, handover=500)
    level, one = plan(runner, run.log, run.commits), cluster(runner, tmp_path)
    twice = evolve(level, visited=(*level.visited[:-1], level.visited[0]))
    with pytest.raises(JobFailedError, match="states up to there instead of"):
        one.run(twice, threading.Event())


def test_damage_is_told_as_of_a_job(tmp_path: Path) -> None:
    """A damaged level that the driver reads for a small one ends the run in the line that names the file."""
    run, runner = begun(program_of(toys.HASTY, "5"), tmp_path, handover=500)
    path = tmp_path / "levels" / f"depth={run.commits[-1].depth}" / run.commits[-1].files[0].name
    path.write_bytes(path.read_bytes()[:100])
    footer.cache_clear()
    with pytest.raises(JobFailedError, match=r"part-.*restore the file or explore again into another --out"):
        run.expand(cluster(runner, tmp_path))
