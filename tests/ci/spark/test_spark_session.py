"""A Spark session of the caller's: it is used, left as it was, and never stopped."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import kraftcheck as kc
from kraftcheck.ci.dataset.options import ClusterOptions
from kraftcheck.ci.spark.explore import check_session
from tests import toys
from tests.shared.places import ROOT

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
    """A session chooses the cluster, it is one of Spark's, and no other engine takes one."""
    with pytest.raises(kc.Refusal, match="leave out master and conf"):
        check_session(session, ClusterOptions(master="local[1]"))
    with pytest.raises(kc.Refusal, match=r"a SparkSession of pyspark.sql, of this process or of Spark Connect"):
        check_session(SimpleNamespace(), ClusterOptions())
    with pytest.raises(kc.Refusal, match="session is an option of --engine spark"):
        kc.explore("elections", scope="tiny", rules="fixed", session=session)


def test_an_older_spark_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A Spark without the functions of jobs is one line that says which is needed."""
    monkeypatch.setattr("pyspark.__version__", "4.0.2")
    with pytest.raises(kc.Refusal, match=r"needs Spark 4.1 or newer and pyspark is 4.0.2; take a newer cluster"):
        kc.explore("elections", scope="tiny", rules="fixed", engine="spark")


CONNECTED = """
import json, os, sys, threading, time, traceback
import kraftcheck as kc
from pyspark.sql import SparkSession
from kraftcheck.ci.spark.services import services_of
from tests import toys
from tests.shared.places import ROOT

def asleep(batches):
    for batch in batches:
        time.sleep(300)
        yield batch

def told():
    session = SparkSession.builder.remote("local[2]").getOrCreate()
    session.conf.set("spark.sql.adaptive.enabled", "true")
    cluster = {"handover": 0, "buckets": 8}
    run = kc.explore(toys.TWO_PHASE, scope="3", engine="spark", session=session, out=sys.argv[1], cluster=cluster)
    stop, begun = threading.Event(), time.monotonic()
    threading.Timer(1, stop.set).start()
    try:
        with services_of(session).job("asleep", stop):
            session.range(0, 2, 1, 2).mapInArrow(asleep, "id long").collect()
        ended = "it was not cancelled"
    except Exception as error:
        ended = type(error).__name__
    found = {
        "levels": run.document["states"]["levels"], "handed_over": run.document["spark"]["handed_over"],
        "verdicts": {name: type(one).__name__ for name, one in run.verdicts.items()}, "text": str(run),
        "adaptive": session.conf.get("spark.sql.adaptive.enabled"), "rows": session.range(3).count(), "ended": ended,
        "seconds": time.monotonic() - begun,
    }
    with open(sys.argv[2], "w") as file:
        json.dump(found, file)

def main():  # the server's end is not waited for
    try:
        told()
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)

if __name__ == "__main__":
    main()
"""


def test_a_session_of_spark_connect_runs_the_jobs_too(tmp_path: Path) -> None:
    """Without a JVM here the jobs find what the native engine finds, are cancelled, and what they moved is not told."""
    script, found, log = tmp_path / "connected.py", tmp_path / "found.json", tmp_path / "log"
    script.write_text(CONNECTED, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYSPARK_PYTHON": sys.executable}
    words = [sys.executable, script, tmp_path / "out", found]
    with log.open("wb") as file:
        process = subprocess.Popen(
            words, env=environment, stdout=file, stderr=file, cwd=tmp_path, start_new_session=True
        )
        try:
            assert process.wait(timeout=500) == 0, log.read_text(encoding="utf-8", errors="replace")[-3000:]
        finally:
            os.killpg(process.pid, signal.SIGKILL)  # with the server
    told, native = json.loads(found.read_text(encoding="utf-8")), kc.explore(toys.TWO_PHASE, scope="3")
    assert told["levels"] == native.document["states"]["levels"]
    assert told["verdicts"] == {name: type(one).__name__ for name, one in native.verdicts.items()}
    assert (told["handed_over"], told["adaptive"], told["rows"]) == (0, "true", 3)
    assert "handed over to Spark at level 0\n" in told["text"]
    assert told["ended"] != "it was not cancelled"
    assert told["seconds"] < 200
    assert "its server has its messages" in (tmp_path / "out" / "spark.log").read_text(encoding="utf-8")
