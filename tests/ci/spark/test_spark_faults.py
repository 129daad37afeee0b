"""A Python worker that is lost, too little memory, and the entry for clusters; other losses are in `faults`."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kraftcheck.ci.dataset.store.commits import CommitLog
from kraftcheck.ci.spark import services, tasks
from kraftcheck.ci.spark.jobs import SparkCluster
from kraftcheck.solvers.blocks.kernel import block_spec
from kraftcheck.solvers.machine_code.objectcode import ObjectCache
from kraftcheck.solvers.program.trace import trace
from tests import toys
from tests.ci.spark.levels import BUCKET_BITS, begun, facts, finished, native_facts, program_of
from tests.ci.spark.losses import KILLED, Dying, kill_worker
from tests.ci.spark.test_spark import counts
from tests.shared.commands import kraftcheck
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
def test_little_memory_spills_instead_of_failing(session: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a few megabytes of execution memory a level of more candidates, sent as rows, spills, and counts right."""
    program = trace(toys.TWO_PHASE, toys.TWO_PHASE.setting("9", {"managers": 8}))
    run, _ = begun(program, tmp_path, handover=120_000, max_depth=13)
    level = run.commits[-1].depth
    monkeypatch.setattr(services, "is_embedded", lambda master: False)  # as on workers elsewhere
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
    assert re.search(r"Spark 4\S* on local\[1\]", (tmp_path / "out" / "spark.log").read_text())
