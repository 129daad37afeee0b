"""Spark on a cluster whose workers share no disk with each other but a store of objects: the same as natively."""

import json
from pathlib import Path

import pytest

from kraftcheck.ci.dataset.store.dataset import Dataset
from kraftcheck.ci.dataset.store.objects import ObjectPath
from tests.ci.spark.faults import space
from tests.ci.spark.faults.cluster import HOST, standalone
from tests.shared.commands import kraftcheck, start
from tests.shared.places import ROOT

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.xdist_group("spark")]

SYSTEM = (f"{space.__name__}:HEALING", "--scope", 7)
QUESTION = "SELECT depth, count(*) AS states FROM states GROUP BY depth ORDER BY depth"


def test_a_cluster_explores_into_a_store(store: ObjectPath, tmp_path: Path) -> None:
    """Executors of a standalone cluster commit to a URL; all verdicts are native, and both engines answer there."""
    report, memory = tmp_path / "report.json", ("--conf", "spark.driver.memory=512m")
    with standalone(tmp_path, 2, {"PYTHONPATH": str(ROOT)}) as one:
        cluster = ("--master", one.url, "--conf", "spark.executor.memory=512m", "--conf", f"spark.driver.host={HOST}")
        words = ("explore", *SYSTEM, "--engine", "spark", "--out", store, "--handover", 20_000, "--buckets", 16,
                 *cluster, *memory)  # fmt: skip
        driver = start([*words, "--json", report, "--quiet"])
        out, err = driver.communicate(timeout=400)
        assert driver.returncode == 12, f"{out[-1000:]}{err[-2000:]}"
        asked = start(["query", store, QUESTION, "--system", SYSTEM[0], "--engine", "spark", *cluster, *memory])
        answer, err = asked.communicate(timeout=200)
        assert asked.returncode == 0, f"{answer[-1000:]}{err[-2000:]}"
    native = kraftcheck("explore", *SYSTEM, "--json", "-", "--quiet").document()
    assert space.said(json.loads(report.read_bytes())) == space.said(native)
    data = Dataset.open(store)
    assert data.complete
    assert "spark" in {level.engine for level in data.levels}
    assert (store / "spark.log").exists()
    assert kraftcheck("query", store, QUESTION, "--system", SYSTEM[0]).out == answer
