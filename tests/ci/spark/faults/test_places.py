"""What a user's cluster has not: the driver's working folder, its modules, its packages, its Python."""

import os
import signal
import stat
import sys
from pathlib import Path

import pytest

from tests.ci.spark.faults.cluster import Standalone
from tests.ci.spark.faults.driver import CONF, LONG, QUICK, Driver, below, driven
from tests.ci.spark.faults.space import MEDIUM, said
from tests.shared.commands import start
from tests.shared.places import ROOT

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.xdist_group("spark")]

TANK = """
import kraftcheck as kc
from attrs import frozen
from steps import STEPS

@frozen
class Tank:
    level: kc.Word

def fill(s: Tank, by: kc.Word) -> Tank:
    return Tank(s.level + by)

SYSTEM = kc.System(
    name="tank", summary="fills", layout=Tank(kc.ints(0, 9)), initial=[Tank(0)],
    actions=[kc.Action("fill", fill, lambda s, by: s.level + by <= 9, {"by": STEPS})],
    properties=[kc.sometimes("full", "it is full", lambda s: s.level == 9)], quiescent=lambda s: s.level > 7,
)
"""

SETTINGS = [word for key, value in CONF.items() for word in ("--conf", f"{key}={value}")]


def ended(words: list[object], folder: Path) -> tuple[int, str]:
    """Exit code and both outputs of a command in a folder that holds no kraftcheck."""
    process = start(words, folder, environment={**QUICK, "PYTHONPATH": str(ROOT)})
    out, err = process.communicate(timeout=LONG)
    return process.returncode, out + err


def test_a_cluster_has_what_the_driver_names_by_a_relative_path(cluster: Standalone, tmp_path: Path) -> None:
    """Workers, whose working folder is another, write into a relative --out, and sweep a system whose module, with one
    that it imports, only the driver has."""
    (tmp_path / "steps.py").write_text("STEPS = (2, 3)\n")
    (tmp_path / "tank.py").write_text(TANK)
    on = ["--master", cluster.url, *SETTINGS]
    explore = ["explore", "tank.py:SYSTEM", "--engine", "spark", "--handover", 0, "--out", "run", "--quiet", *on]
    code, said = ended(explore, tmp_path)
    assert code == 0, said
    code, said = ended(["sweep", "run", "--system", "tank.py:SYSTEM", *on], tmp_path)
    assert (code, said.strip().splitlines()[-1][:11]) == (0, "every state"), said


def test_a_worker_without_a_package_is_found_before_any_level(cluster: Standalone, tmp_path: Path) -> None:
    """A run whose workers lack a package that only the backward search imports ends in one line that names it."""
    poor = tmp_path / "poor"
    poor.mkdir()
    (poor / "click.py").write_text("raise ModuleNotFoundError(\"No module named 'click'\")\n")
    lacking = {"spark.executorEnv.PYTHONPATH": f"{poor}{os.pathsep}{ROOT}"}
    driver = Driver(MEDIUM, tmp_path / "out", ("--master", cluster.url), lacking)
    with driven(driver):
        code, err = driver.ended()
    assert (code, "workers lack a package: No module named 'click'" in err) == (2, True), err
    assert not any("spark" in file.read_text() for file in (driver.out / "levels").glob("*.json"))


def test_workers_run_the_python_that_a_setting_names(tmp_path: Path) -> None:
    """`--conf spark.pyspark.python` chooses the Python of workers."""
    python, called = tmp_path / "python", tmp_path / "called"
    python.write_text(f'#!/bin/sh\ntouch {called}\nexec {sys.executable} "$@"\n')
    python.chmod(python.stat().st_mode | stat.S_IXUSR)
    with driven(Driver(MEDIUM, tmp_path / "out", conf={"spark.pyspark.python": str(python)})) as driver:
        driver.finish()
    assert called.exists()


def test_a_signal_to_the_group_of_processes_stops_a_run(tmp_path: Path) -> None:
    """SIGTERM to the driver, its JVM and its workers alike ends a run as incomplete, and it can be resumed."""
    driver = Driver(MEDIUM, tmp_path / "out")
    with driven(driver):
        assert driver.reaches(9)
        for process in (driver.process.pid, *below(driver.process.pid)):
            os.kill(process, signal.SIGTERM)
        assert driver.ended() == (20, "")
        driver.begin(resume=True)
        assert said(driver.finish()) == MEDIUM.native()
