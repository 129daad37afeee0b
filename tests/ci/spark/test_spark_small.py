"""Small levels in the driver: the files that jobs of Spark write, without a job; what is not small is left to Spark."""

from __future__ import annotations

import functools
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from attrs import evolve

from kraftcheck.ci.dataset.search.levels import JobFailedError, plan
from kraftcheck.ci.dataset.store.levelfiles import footer
from kraftcheck.ci.spark import small, tasks
from kraftcheck.ci.spark.jobs import SparkCluster
from kraftcheck.ci.spark.small import SMALL, is_small
from kraftcheck.model.language.system import System
from kraftcheck.solvers.blocks.expansion import Expansion
from tests import toys
from tests.ci.spark.levels import InProcess, begun, facts, finished, native_facts, program_of


class NoSparkError(RuntimeError):
    """Spark was asked for a job."""


def cluster(runner: InProcess, out: Path, rows: int = SMALL) -> SparkCluster:
    """A cluster of two cores that takes no job."""

    def refuse(*_: object) -> None:
        raise NoSparkError

    context = SimpleNamespace(defaultParallelism=2, setJobGroup=refuse, master="local[2]")
    return SparkCluster(SimpleNamespace(sparkContext=context), lambda: runner.spec, runner.spec, out / "log", rows)


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
    program = program_of(system, scope)
    by_jobs, runner = begun(program, tmp_path / "jobs")
    by_jobs.expand(runner)
    here, runner = begun(program, tmp_path / "here")
    here.expand(cluster(runner, tmp_path))
    assert here.commits[-1].last
    assert digests(here) == digests(by_jobs)
    assert facts(finished(here)) == native_facts(program)
    assert all(level.cost["shuffles"] == level.cost["shuffled"] == 0 for level in here.commits[1:])


def test_larger_levels_are_left_to_spark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A level of as many states as the limit, of more tasks, or with much to read becomes a job of Spark's."""
    run, runner = begun(program_of(toys.HASTY, "5"), tmp_path, handover=500)
    level, rows = plan(runner, run.log, run.commits), run.commits[-1].rows
    assert rows >= 500
    assert is_small(level, rows + 1)
    assert not is_small(level, rows)
    assert not is_small(evolve(level, targets=2), rows + 1)
    assert not is_small(evolve(level, splits=(level.splits[0], level.splits[0][:0])), rows + 1)
    monkeypatch.setattr(small, "MOST_VISITED", run.distinct - 1)
    assert not is_small(level, rows + 1)
    with pytest.raises(NoSparkError):
        cluster(runner, tmp_path, rows).run(level, threading.Event())


def test_damage_is_told_as_of_a_job(tmp_path: Path) -> None:
    """A damaged level that the driver reads for a small one ends the run in the line that names the file."""
    run, runner = begun(program_of(toys.HASTY, "5"), tmp_path, handover=500)
    path = tmp_path / "levels" / f"depth={run.commits[-1].depth:05}" / run.commits[-1].files[0].name
    path.write_bytes(path.read_bytes()[:100])
    footer.cache_clear()
    with pytest.raises(JobFailedError, match=r"part-.*restore the file or explore again into another --out"):
        run.expand(cluster(runner, tmp_path))
