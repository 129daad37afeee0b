"""What stands still and goes on: a worker that Spark gave up, a slow attempt, a driver that lost its lease."""

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kraftcheck.ci.dataset.store.commits import NAME
from kraftcheck.ci.dataset.store.dataset import Dataset
from tests import toys
from tests.ci.spark.faults.cluster import Standalone
from tests.ci.spark.faults.driver import LONG, QUICK, Driver, awaited, below, driven, send
from tests.ci.spark.faults.slow import SCOPE
from tests.ci.spark.faults.space import MEDIUM, assert_whole, said
from tests.ci.spark.levels import begun, facts, finished, native_facts, program_of
from tests.ci.spark.test_spark_lease import tree
from tests.shared.commands import kraftcheck
from tests.shared.places import ROOT

IMPATIENT = {
    "spark.network.timeout": "4s", "spark.executor.heartbeatInterval": "500ms", "spark.network.timeoutInterval": "1s",
    "spark.storage.blockManagerHeartbeatTimeoutMs": "4000",
}  # fmt: skip
"""Spark gives up an executor that it has not heard of for some seconds."""


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
@pytest.mark.slow
@pytest.mark.parametrize("seed", range(300, 304))
def test_a_worker_that_stood_still_changes_nothing(seed: int, cluster: Standalone, tmp_path: Path) -> None:
    """A worker is stopped until Spark has lost it, and goes on while others do its tasks: the result is native."""
    drawn = random.Random(seed)
    driver = Driver(MEDIUM, tmp_path / "out", ("--master", cluster.url), IMPATIENT)
    log = driver.out / "spark.log"
    with driven(driver):
        assert driver.reaches(drawn.randrange(10, 12))  # Spark has made levels, and has large ones left
        worker = cluster.workers[drawn.randrange(2)]
        awaited(lambda: bool(below(worker.pid)) or driver.process.poll() is not None)
        stopped = [worker.pid, *below(worker.pid)]
        assert send(stopped, signal.SIGSTOP) > 1
        try:
            awaited(lambda: "Lost executor" in log.read_text() or driver.process.poll() is not None)
            lost = log.read_text().count("Lost executor")
            time.sleep(drawn.uniform(0, 4))
        finally:
            send(stopped, signal.SIGCONT)
        assert said(driver.finish()) == MEDIUM.native()
    assert lost
    assert_whole(driver.out)


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
@pytest.mark.slow
def test_two_attempts_that_both_write_count_once(cluster: Standalone, tmp_path: Path) -> None:
    """With speculation on, a task and its repetition both write a whole file: one counts, and the other is removed."""
    process = slow("speculate", cluster.url, tmp_path / "out")
    told = json.loads(process.communicate(timeout=LONG)[0])
    assert told["facts"] == json.loads(json.dumps(native_facts(program_of(toys.HASTY, SCOPE))))
    assert {f"{depth}-0-{attempt}" for depth in told["slow"] for attempt in (0, 1)} <= set(told["wrote"])
    assert told["left"] == sorted(told["committed"])
    assert len(told["left"]) == len(set(told["left"]))


def slow(*words: object) -> subprocess.Popen[str]:
    """A process of `tests.ci.spark.faults.slow`."""
    return subprocess.Popen(
        [sys.executable, "-m", "tests.ci.spark.faults.slow", *map(str, words)], cwd=ROOT,
        env={**os.environ, **QUICK, "PYTHONPATH": str(ROOT)}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


@pytest.mark.parametrize(
    "seed", [*range(400, 403), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(403, 430))]
)
def test_a_driver_that_stood_still_beyond_its_lease_commits_nothing(seed: int, tmp_path: Path) -> None:
    """A second driver is refused while the first stands still; without its lease the first changes nothing more."""
    drawn, program = random.Random(seed), program_of(toys.HASTY, SCOPE)
    with slow("stepwise", tmp_path) as first:
        assert first.stdout is not None
        depth = drawn.randrange(4, 14)
        while int(first.stdout.readline()) < depth:
            pass
        time.sleep(drawn.uniform(0, 0.06))
        first.send_signal(signal.SIGSTOP)
        try:
            before = tree(tmp_path)
            words = ("explore", "tests.toys:HASTY", "--scope", SCOPE, "--engine", "disk", "--out", tmp_path)
            assert f"in use by another driver (process {first.pid} on " in kraftcheck(*words, "--resume").refusal()
            assert tree(tmp_path) == before
            (tmp_path / NAME).unlink()
            run, runner = begun(program, tmp_path, resume=True)
            run.expand(runner)
            assert facts(finished(run)) == native_facts(program)
            after = tree(tmp_path)
        finally:
            first.send_signal(signal.SIGCONT)
        _, error = first.communicate(timeout=60)
        assert first.returncode != 0
        assert re.search("this driver stops|look whether its driver lives|No such file", error), error
    now = tree(tmp_path)
    assert {name: now.get(name) for name in after} == after
    again, _ = begun(program, tmp_path, resume=True)
    assert again.finished
    assert tree(tmp_path) == {**after, NAME: (tmp_path / NAME).read_bytes()}
    assert Dataset.open(tmp_path).complete
