"""A Spark session of the caller's: it is used, left as it was, and never stopped."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import kraftcheck as kc
from kraftcheck.ci.dataset.options import ClusterOptions
from kraftcheck.ci.spark.explore import check_session
from tests import toys

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]


def test_an_exploration_uses_the_callers_session(session: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It finds what the native engine finds, in jobs of that application; settings, views and the session stay."""
    for place in ("explore.start_session", "explore.stopped_at_the_end"):
        monkeypatch.setattr(f"kraftcheck.ci.spark.{place}", None)
    monkeypatch.setattr(type(session), "stop", None)
    session.conf.set("spark.sql.adaptive.enabled", "true")
    session.range(1).createOrReplaceTempView("mine")
    before = [view.name for view in session.catalog.listTables()]
    try:
        out = tmp_path / "out"
        told = kc.explore(toys.TWO_PHASE, scope="3", engine="spark", session=session, out=out, cluster={"handover": 0})
        native = kc.explore(toys.TWO_PHASE, scope="3")
        assert told.document["states"]["levels"] == native.document["states"]["levels"]
        assert {name: type(one) for name, one in told.verdicts.items()} == {
            name: type(one) for name, one in native.verdicts.items()
        }
        assert told.document["spark"]["handed_over"] == 0
        assert session.conf.get("spark.sql.adaptive.enabled") == "true"
        assert [view.name for view in session.catalog.listTables()] == before
        assert session.sql("SELECT count(*) FROM mine").first()[0] == 1
    finally:
        session.catalog.dropTempView("mine")
        session.conf.set("spark.sql.adaptive.enabled", "false")
    assert "what is before is where its driver was started" in (out / "spark.log").read_text()


def test_what_a_session_leaves_out_is_refused(session: Any) -> None:
    """A session chooses the cluster, one of Spark Connect has no JVM here, and no other engine takes one."""
    with pytest.raises(kc.Refusal, match="leave out master and conf"):
        check_session(session, ClusterOptions(master="local[1]"))
    with pytest.raises(kc.Refusal, match=r"a SparkSession of this process \(pyspark.sql\), not of Spark Connect"):
        check_session(SimpleNamespace(), ClusterOptions())
    with pytest.raises(kc.Refusal, match="session is an option of --engine spark"):
        kc.explore("elections", scope="tiny", rules="fixed", session=session)


def test_an_older_spark_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A Spark without the functions of jobs is one line that says which is needed."""
    monkeypatch.setattr("pyspark.__version__", "4.0.2")
    with pytest.raises(kc.Refusal, match=r"needs Spark 4.1 or newer and pyspark is 4.0.2; take a newer cluster"):
        kc.explore("elections", scope="tiny", rules="fixed", engine="spark")
