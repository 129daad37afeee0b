"""Liveness under Spark: the verdicts and lassos of the native engine, by jobs or on the driver, and after a stop."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from kraftcheck.ci.dataset.store.manifests import read_sealed, write_sealed
from kraftcheck.ci.spark.jobs import SparkCluster
from kraftcheck.ci.spark.liveness.rounds import DOCUMENT
from kraftcheck.ci.spark.liveness.search import FOLDER, SparkLiveness
from kraftcheck.model.language.system import LIVENESS
from kraftcheck.solvers.exploration.explore import Exploration, SearchBudget, conclude, explore
from kraftcheck.solvers.liveness.judge import Liveness
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.verdict import Refuted
from tests.ci.spark.killed_judge import judged_program
from tests.ci.spark.levels import begun, finished, only, program_of
from tests.shared.commands import kraftcheck
from tests.shared.places import ROOT
from tests.solvers.liveness.toys import DOOR, LIFT

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]


def claims(found: Exploration) -> list[Any]:
    """Each liveness verdict: its class, and of a lasso the lengths of its run and its cycle; else its words."""
    told: list[Any] = []
    for one in found.verdicts:
        if one.kind in LIVENESS:
            verdict = one.verdict
            if isinstance(verdict, Refuted) and verdict.trace.loop is not None:
                told.append((one.claim, verdict.trace.loop.start, len(verdict.trace.steps)))
            else:
                told.append((one.claim, verdict))
    return told


def natively(program: Program) -> list[Any]:
    """What the native engine says."""
    return claims(explore(program, SearchBudget(keep=False), clock=lambda: 0.0))


def committed(program: Program, out: Path) -> Any:
    """A run whose levels are committed, without any job, and its spec."""
    run, runner = begun(program, out)
    run.expand(runner)
    return run, runner.spec


def judged(
    session: Any, program: Program, run: Any, spec: Any, collect: int | None, most: int = 1 << 30
) -> tuple[Liveness, SparkLiveness]:
    """The search for fair behaviours, stopped after so many rounds."""
    stop = threading.Event()

    def report(rounds: int, rows: int) -> None:
        if rounds >= most:
            stop.set()

    cluster = SparkCluster.of(session, spec, run.log.out / "spark.log")
    search = SparkLiveness(cluster, run.log, run.commits, program, 1 << 30, report, collect=collect)
    return search.run(stop), search


def test_jobs_judge_as_the_native_engine_and_go_on_after_a_stop(session: Any, tmp_path: Path) -> None:
    """A search by rounds of jobs that was stopped computes only the rounds that were left, and says the same."""
    program = program_of(DOOR, "enough")
    run, spec = committed(program, tmp_path / "out")
    cut, first = judged(session, program, run, spec, 0, most=7)
    assert (cut.findings, first.computed) == (None, first.rounds)
    kept = tmp_path / "out" / FOLDER
    assert (kept / DOCUMENT).exists()
    whole, second = judged(session, program, run, spec, 0)
    assert second.rounds > first.rounds >= 7
    assert second.computed == second.rounds - first.rounds
    assert claims(conclude(run, run.kernel, 1.0, 0.0, finished(run).audit, liveness=whole)) == natively(program)
    assert not kept.exists()


@pytest.mark.slow
def test_jobs_find_the_native_lasso(session: Any, tmp_path: Path) -> None:
    """A lasso that rounds of jobs find has the lengths of the native one."""
    program = program_of(only(LIFT, "up"), "idle")
    run, spec = committed(program, tmp_path / "out")
    found, _ = judged(session, program, run, spec, 0)
    told = claims(conclude(run, run.kernel, 1.0, 0.0, finished(run).audit, liveness=found))
    assert told == natively(program) == [("up", 1, 1)]


@pytest.mark.usefixtures("shared")
def test_the_command_judges_under_spark(tmp_path: Path) -> None:
    """A region that fits is judged on the driver: beyond a bound it is unknown, with the native engine's words."""
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


def test_rounds_of_another_run_are_dropped(session: Any, tmp_path: Path) -> None:
    """Rounds that belong to other levels are not taken up."""
    program = program_of(DOOR, "enough")
    run, spec = committed(program, tmp_path / "out")
    cut, _ = judged(session, program, run, spec, 0, most=1)
    assert cut.findings is None
    document = tmp_path / "out" / FOLDER / DOCUMENT
    kept, _ = read_sealed(document, "")
    kept["of"][-1][1] += 1
    write_sealed(document, kept)
    whole, again = judged(session, program, run, spec, None)
    assert again.computed == again.rounds
    assert whole.findings is not None


@pytest.mark.slow
@pytest.mark.parametrize("scope", ["fair", "moving", "idle"])
@pytest.mark.parametrize("collect", [0, None])
def test_every_kind_of_property_has_the_native_lasso(
    scope: str, collect: int | None, session: Any, tmp_path: Path
) -> None:
    """By jobs or on the driver, each kind under each fairness has the native verdict and lengths."""
    program = program_of(LIFT, scope)
    run, spec = committed(program, tmp_path / "out")
    found, _ = judged(session, program, run, spec, collect)
    assert claims(conclude(run, run.kernel, 1.0, 0.0, finished(run).audit, liveness=found)) == natively(program)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_a_driver_that_is_killed_while_it_judges_changes_nothing(seed: int, session: Any, tmp_path: Path) -> None:
    """Killed at a random moment, a search goes on after its finished rounds, to the same verdicts and lassos."""
    program = judged_program()
    run, spec = committed(program, tmp_path / "calm")
    calm, search = judged(session, program, run, spec, 0)
    source = random.Random(f"killed judge {seed}")
    kept = kill_judge(tmp_path / "killed", source.randrange(1, search.rounds), source.random())
    run, runner = begun(program, tmp_path / "killed", resume=True)
    assert run.finished
    again, search = judged(session, program, run, runner.spec, 0)
    assert 0 < kept <= search.rounds - search.computed < search.rounds
    assert calm.findings is not None
    assert again.findings is not None
    assert [one.trace for one in calm.findings] == [one.trace for one in again.findings]
    told = claims(conclude(run, run.kernel, 1.0, 0.0, finished(run).audit, liveness=again))
    assert told == natively(program) == [("up", 1, 1)]


def kill_judge(out: Path, rounds: int, delay: float) -> int:
    """Kill a driver some time after it has finished so many rounds; how many it had finished by then."""
    document = out / FOLDER / DOCUMENT
    words = [sys.executable, "-m", "tests.ci.spark.killed_judge", str(out)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    driver = subprocess.Popen(words, cwd=ROOT, env=environment, stderr=subprocess.PIPE, text=True)
    try:
        deadline = time.monotonic() + 240
        while (kept := rounds_in(document)) < rounds:
            assert driver.poll() is None, driver.stderr.read()[-2000:] if driver.stderr else ""
            assert time.monotonic() < deadline
            time.sleep(0.02)
        time.sleep(delay)
    finally:
        driver.send_signal(signal.SIGKILL)
        driver.communicate()
    assert driver.returncode == -signal.SIGKILL
    return kept


def rounds_in(document: Path) -> int:
    """The finished rounds that a document notes."""
    return len(json.loads(document.read_text())["rounds"]) if document.exists() else 0


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_random_systems_have_the_native_verdicts(seed: int, session: Any, tmp_path: Path) -> None:
    """Random systems with random fairness have native verdicts and stems, by jobs and on the driver."""
    from tests.random_systems import building
    from tests.random_systems.claims import Claims
    from tests.random_systems.systems import drawn
    from tests.solvers.liveness.test_random_systems import asked_of, fairness_of, labels_of

    drawn_ = next(one for one in map(drawn, range(100 * seed, 100 * seed + 100)) if 4 <= len(one.graph.depth) <= 60)
    source = random.Random(f"spark {seed}")
    labels = labels_of(drawn_.graph)
    declared, _ = fairness_of(source, drawn_, labels)
    system = building.build(drawn_.machine)
    asked = asked_of(Claims(source, drawn_.machine, drawn_.graph), drawn_.machine, system)[0]
    program = program_of(evolve(system, properties=lambda _: asked, fairness=lambda _: declared))
    for number, collect in enumerate((0, None)):
        run, spec = committed(program, tmp_path / f"out{number}")
        found, _ = judged(session, program, run, spec, collect)
        told = claims(conclude(run, run.kernel, 1.0, 0.0, finished(run).audit, liveness=found))
        assert [one[:2] for one in told] == [one[:2] for one in natively(program)]
