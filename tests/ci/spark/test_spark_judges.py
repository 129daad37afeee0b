"""Properties of the whole graph under Spark: the jobs are those of one machine, and the verdicts the native ones."""

from pathlib import Path
from typing import Any

import pytest

from kraftcheck.ci.dataset.liveness import CommittedLiveness
from kraftcheck.ci.spark.jobs import SparkCluster
from kraftcheck.solvers.exploration.explore import conclude
from tests.ci.dataset.test_liveness import claims, committed, natively
from tests.ci.spark.levels import finished, only, program_of
from tests.shared.commands import kraftcheck
from tests.solvers.liveness.toys import LIFT

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]


def test_rounds_of_spark_find_the_native_lasso(session: Any, tmp_path: Path) -> None:
    """Every round a job of Spark: the verdict and the lengths of the lasso are the native ones."""
    program = program_of(only(LIFT, "up"), "idle")
    run, spec = committed(program, tmp_path / "out")
    cluster = SparkCluster.of(session, spec, run.log.out / "spark.log")
    search = CommittedLiveness(cluster, run.log, run.commits, program, 1 << 30, lambda *_: None, collect=0)
    found = search.run(run.stop)
    assert claims(conclude(run, run.kernel, 1.0, 0.0, finished(run).audit, liveness=found)) == natively(program)


@pytest.mark.usefixtures("shared")
def test_the_command_judges_under_spark(tmp_path: Path) -> None:
    """Beyond a bound a liveness property is unknown, with the native engine's words."""
    words = ["explore", "tests.solvers.liveness.toys:DOOR", "--scope", "cut", "--json", "-", "--quiet"]
    native = kraftcheck(*words)
    ran = kraftcheck(*words, "--engine", "spark", "--handover", 0, "--out", tmp_path / "out")
    told = [[(p["id"], p["verdict"], p["detail"]) for p in one.document()["properties"]] for one in (native, ran)]
    assert (ran.code, told[1]) == (native.code, told[0])
    assert (ran.code, ran.document()["spark"]["handed_over"]) == (22, 0)


@pytest.mark.slow
@pytest.mark.usefixtures("shared")
def test_another_default_file_system_is_not_asked(session: Any, tmp_path: Path) -> None:
    """Where Hadoop's default is a cluster's file system, a run and its questions read and write OUT."""
    hadoop = session.sparkContext._jsc.hadoopConfiguration()
    before = hadoop.get("fs.defaultFS")
    hadoop.set("fs.defaultFS", "hdfs://127.0.0.1:9")
    try:
        for number, toy in enumerate(("tests.solvers.liveness.toys:DOOR --scope enough", "tests.toys:VALVE")):
            words, out = ["explore", *toy.split(), "--json", "-", "--quiet"], tmp_path / f"out{number}"
            ran = kraftcheck(*words, "--engine", "spark", "--handover", 0, "--out", out)
            assert ran.code == kraftcheck(*words).code, ran.err
            words = ["query", out, "SELECT count(*) FROM states", "--engine", "spark", "--system", toy.split()[0]]
            told = kraftcheck(*words, "--json", "-")
            assert told.code in (0, 20), told.err
            assert told.document()["rows"] == [[ran.document()["states"]["distinct"]]]
    finally:
        hadoop.set("fs.defaultFS", before)
