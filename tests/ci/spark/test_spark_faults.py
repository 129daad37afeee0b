"""Losses for real: a Python worker, an executor, the driver, the disk; and too little memory. Nothing is lost."""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from kraftcheck.ci.dataset.store.commits import CommitLog
from kraftcheck.ci.spark import tasks
from kraftcheck.ci.spark.jobs import SparkCluster
from kraftcheck.solvers.blocks.kernel import block_spec
from kraftcheck.solvers.machine_code.objectcache import ObjectCache
from kraftcheck.solvers.program.trace import trace
from tests import toys
from tests.ci.spark.faults.cluster import standalone
from tests.ci.spark.levels import BUCKET_BITS, begun, facts, finished, native_facts, program_of
from tests.ci.spark.losses import KILLED, Dying, kill_worker
from tests.ci.spark.standalone import EXECUTOR_KILLED, HOST_KILLED
from tests.ci.spark.test_spark import counts
from tests.shared.commands import kraftcheck, start
from tests.shared.places import ROOT

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]


@pytest.mark.parametrize("stage", ["expand_task", "sift_task"])
def test_a_killed_worker_changes_nothing(
    stage: str, session: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A Python worker that is killed within a level is replaced; counts, verdicts and traces are the native ones."""
    program = program_of(toys.HASTY, "5")
    run, _ = begun(program, tmp_path, handover=1300)
    depth = run.commits[-1].depth + 1
    monkeypatch.setattr(tasks, stage, Dying(getattr(tasks, stage), kill_worker, depth, tmp_path / KILLED))
    run.expand(SparkCluster.of(session, block_spec(program, BUCKET_BITS, ObjectCache(None)), tmp_path / "log"))
    assert (tmp_path / KILLED).exists()
    assert facts(finished(run)) == native_facts(program)
    assert run.handed_over == depth - 1
    named = {file.name for level in run.commits for file in level.files}
    assert {path.name for path in (tmp_path / "levels").rglob("*.parquet")} == named


@pytest.mark.slow
def test_a_lost_executor_changes_nothing(tmp_path: Path) -> None:
    """An executor that dies with its shuffle files makes Spark repeat them elsewhere; the result is the native one."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    ran = subprocess.run(
        [sys.executable, "-m", "tests.ci.spark.losses", str(tmp_path)],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    told = json.loads(ran.stdout)
    native = native_facts(program_of(toys.HASTY, "5"))
    assert told["facts"] == json.loads(json.dumps(native))
    assert (tmp_path / KILLED).exists()
    assert len(told["before"]) == 2
    assert not set(told["before"]) <= set(told["after"])


@pytest.mark.slow
def test_a_standalone_cluster_that_loses_a_worker_and_an_executor_changes_nothing(tmp_path: Path) -> None:
    """With half of its workers killed within a level, then an executor, a run has the native result, each file once."""
    out = tmp_path / "out"
    with standalone(tmp_path, 2, {"PYTHONPATH": str(ROOT)}) as cluster:
        ran = subprocess.run(
            [sys.executable, "-m", "tests.ci.spark.standalone", cluster.url, str(out)],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
        )
    assert ran.returncode == 0, ran.stderr[-2000:]
    told = json.loads(ran.stdout)
    assert told["facts"] == json.loads(json.dumps(native_facts(program_of(toys.HASTY, "5"))))
    assert (out / HOST_KILLED).exists()
    assert (out / EXECUTOR_KILLED).exists()
    assert len(told["before"]) == 2
    assert not set(told["before"]) & set(told["after"])
    assert sorted(path.name for path in (out / "levels").rglob("*.parquet")) == sorted(told["committed"])


@pytest.mark.slow
def test_a_killed_driver_resumes(shared: None, tmp_path: Path) -> None:
    """A driver killed within a level leaves whole levels; --resume ends with the counts of an uninterrupted run."""
    words = ("explore", "tests.toys:TWO_PHASE", "--scope", 7, "--engine", "spark", "--handover", 20_000, "--quiet")
    out = tmp_path / "out"
    log = CommitLog(out)
    driver = start([*words, "--out", out, "--workers", 1, "--conf", "spark.driver.memory=512m"])
    try:
        deadline = time.monotonic() + 240
        while not any(level.engine == "spark" for level in committed(log)):
            assert driver.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.05)
    finally:
        driver.send_signal(signal.SIGKILL)
        driver.communicate()
    before = len(committed(log))
    told = kraftcheck(*words, "--out", out, "--resume", "--json", "-").document()
    native = kraftcheck("explore", "tests.toys:TWO_PHASE", "--scope", 7, "--quiet", "--json", "-").document()
    assert counts(told) == counts(native)
    assert before - 1 <= told["spark"]["resumed"] < len(native["states"]["levels"]) - 1


def committed(log: CommitLog) -> Any:
    """The levels that count so far."""
    return log.commits() if log.exists() else []


@pytest.mark.slow
def test_a_full_disk_is_one_line_and_loses_nothing(shared: None, tmp_path: Path) -> None:
    """Where files may not grow the run ends in one line; with room again it resumes to the native counts."""
    words = ("explore", "tests.toys:TWO_PHASE", "--scope", 7, "--engine", "spark", "--handover", 2_000, "--quiet")
    out = tmp_path / "out"
    limit = 400_000
    driver = start(
        [*words, "--out", out, "--workers", 1, "--conf", "spark.driver.memory=512m", "--conf",
         f"spark.local.dir={tmp_path}"],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )  # fmt: skip
    told, error = driver.communicate(timeout=280)
    assert driver.returncode == 2, error
    assert (told, error.count("\n")) == ("", 1)
    assert "--resume" in error
    assert any(level.engine == "spark" for level in CommitLog(out).commits())
    again = kraftcheck(*words, "--out", out, "--resume", "--json", "-").document()
    native = kraftcheck("explore", "tests.toys:TWO_PHASE", "--scope", 7, "--quiet", "--json", "-").document()
    assert counts(again) == counts(native)


@pytest.mark.slow
def test_little_memory_spills_instead_of_failing(session: Any, tmp_path: Path) -> None:
    """With a few megabytes of execution memory a level of more candidates than that spills, and counts right."""
    program = trace(toys.TWO_PHASE, toys.TWO_PHASE.setting("9", {"managers": 8}))
    run, _ = begun(program, tmp_path, handover=120_000, max_depth=13)
    level = run.commits[-1].depth
    run.expand(SparkCluster.of(session, block_spec(program, BUCKET_BITS, ObjectCache(None)), tmp_path / "log"))
    spilled = {one.depth: one.cost["spilled"] for one in run.commits if one.depth > level}
    assert len(spilled) > 0
    assert max(spilled.values()) > 0
    assert run.levels == native_facts_to(program, len(run.levels))


def native_facts_to(program: Any, levels: int) -> list[int]:
    """The sizes of the first levels by the native engine."""
    return list(native_facts(program)["levels"][:levels])


def test_the_entry_of_clusters_runs_where_it_was_copied_to(tmp_path: Path) -> None:
    """A copy of `submit.py` beside no package takes the installed one."""
    copy = shutil.copy(ROOT / "ci" / "spark" / "submit.py", tmp_path)
    ran = subprocess.run([sys.executable, copy, "nothing"], cwd=tmp_path, capture_output=True, text=True)
    assert (ran.returncode, "there is no system" in ran.stderr or "nothing" in ran.stderr) == (2, True), ran.stderr



@pytest.mark.slow
def test_spark_submit_runs_the_same_job(tmp_path: Path) -> None:
    """`spark-submit ci/spark/submit.py` on a master finds what the native engine finds, and keeps its log."""
    submit = Path(sys.executable).with_name("spark-submit")
    words = [submit, "--master", "local[1]", "--driver-memory", "512m", ROOT / "ci" / "spark" / "submit.py",
             "tests.toys:DIGRAPH", "--handover", "0", "--out", tmp_path / "out", "--json", tmp_path / "told.json",
             "--quiet"]  # fmt: skip
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable,
                   "PYTHONPATH": str(ROOT)}  # fmt: skip
    ran = subprocess.run(list(map(str, words)), cwd=tmp_path, env=environment, capture_output=True, text=True)
    native = kraftcheck("explore", "tests.toys:DIGRAPH", "--json", "-", "--quiet")
    assert ran.returncode == native.code, ran.stderr[-2000:]
    assert counts(json.loads((tmp_path / "told.json").read_text())) == counts(native.document())
    assert CommitLog(tmp_path / "out").commits()[-1].last
    assert re.search(r"WARN kraftcheck: Spark 4\S* on local\[1\]", (tmp_path / "out" / "spark.log").read_text())
