"""`kraftcheck trace --export junit`: counterexamples as tests of Kafka's own managers, compiled and run."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from ci.kafka.jars import JUNIT, jars, program
from tests.commands import ROOT, kraftcheck

pytestmark = pytest.mark.xdist_group("kafka")

TRACES = ROOT / "tests" / "traces"
LAUNCHER = "org.junit.platform.console.ConsoleLauncher"

SHOWN = [("B1", "4.0.2"), ("B2", "4.1.2"), ("B4", "4.1.2"), ("B4", "4.4.0"), ("B7", "4.0.2"), ("B7", "4.1.2")]
"""Defects, and releases that have them."""

MENDED = [("B1", "4.1.2", "leader"), ("B2", "4.4.0", "elr")]
"""Defects, releases that have them no more, and what is otherwise there."""


def exported(defect: str, folder: Path) -> Path:
    """The test of a defect's trace, written to a folder."""
    ran = kraftcheck("trace", TRACES / f"{defect}.itf.json", "--export", "junit", "--out", folder)
    assert ran.code == 0, ran.err
    (found,) = folder.glob("*Test.java")
    return found


def ran_on(version: str, test: Path) -> tuple[int, str]:
    """Exit code and output of a test that is compiled and run on the classes of a release."""
    path = os.pathsep.join((jars(version), jars(version, JUNIT)))
    sources = [str(source) for source in test.parent.glob("*.java")]
    classes = test.parent / "classes"
    subprocess.run([program("javac"), "-nowarn", "-cp", path, "-d", str(classes), *sources], check=True)
    name = f"org.apache.kafka.controller.{test.stem}"
    command = [program("java"), "-cp", os.pathsep.join((str(classes), path)), LAUNCHER, "execute", "--select-class"]
    done = subprocess.run([*command, name, "--disable-ansi-colors"], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


@pytest.mark.slow
def test_a_test_says_what_the_trace_says(tmp_path: Path) -> None:
    """Each step is an event, each state is asserted, and an exception is asserted where the controller resigns."""
    test = exported("B7", tmp_path / "b7")
    text = test.read_text(encoding="utf-8")
    assert test.name == "ControllerStaysTest.java"
    assert [line.split('"')[1] for line in text.splitlines() if "managers.act(" in line] == [
        "fence", "assign", "delete_topic", "heartbeat",
    ]  # fmt: skip
    assert text.count("TourDriver.RESIGNED") == 1
    assert 'assertEquals(List.of(), sorted(after1.isr), "isr")' in text
    assert (tmp_path / "b7" / "TourDriver.java").exists()


def test_what_cannot_be_exported_is_refused(tmp_path: Path) -> None:
    """A folder is needed, and one that can be written."""
    trace = TRACES / "B4.itf.json"
    assert kraftcheck("trace", trace, "--export", "junit").refusal() == (
        "--export needs the folder to write to: --out FOLDER"
    )
    file = tmp_path / "taken"
    file.write_text("", encoding="utf-8")
    assert "cannot write the test" in kraftcheck("trace", trace, "--export", "junit", "--out", file).refusal()


def test_a_removed_replica_enters_the_elr_of_a_release(tmp_path: Path) -> None:
    """B4 on the managers of 4.1.2: the exported test compiles, and passes."""
    code, out = ran_on("4.1.2", exported("B4", tmp_path))
    assert code == 0, out
    assert "1 tests successful" in out


@pytest.mark.slow
@pytest.mark.parametrize(("defect", "version"), SHOWN)
def test_releases_show_their_defects(defect: str, version: str, tmp_path: Path) -> None:
    """The exported test passes on a release that has the defect."""
    code, out = ran_on(version, exported(defect, tmp_path))
    assert code == 0, out
    assert "1 tests successful" in out


@pytest.mark.slow
@pytest.mark.parametrize(("defect", "version", "field"), MENDED)
def test_mended_releases_fail(defect: str, version: str, field: str, tmp_path: Path) -> None:
    """On a release without the defect the same test fails, at the field that tells."""
    code, out = ran_on(version, exported(defect, tmp_path))
    assert code == 1
    assert f"{field} ==> expected:" in out
