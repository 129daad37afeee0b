"""Exported tests, compiled and run on the managers of a release."""

from __future__ import annotations

import os
import subprocess
import tempfile
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from pathlib import Path

from kraftcheck.ci.conformance.kafka.jars import JUNIT, SHORT_RUN, jars, program
from kraftcheck.ci.conformance.kafka.java import PACKAGE, TOUR, DriverError, compile_driver, compile_java

LAUNCHER = "org.junit.platform.console.ConsoleLauncher"

PASSES = ""
"""What a test says that passes."""


def run_tests(version: str, tests: Mapping[str, str]) -> dict[str, str]:
    """What each test says on the classes of a release: nothing where it passes, else its failure.

    One compiler and one virtual machine run them all.

    Args:
        version: the release.
        tests: the source of each test by the name of its class.

    Raises:
        Refusal: where Java or the jars are missing, or a test cannot be compiled.
        DriverError: where the runner has not run every test.
    """
    if not tests:
        return {}
    path = os.pathsep.join((compile_driver(version, TOUR), jars(version, JUNIT)))
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(temporary)
        for name, text in tests.items():
            (place / f"{name}.java").write_text(text, encoding="utf-8")
        classes = place / "classes"
        compile_java([place / f"{name}.java" for name in tests], path, classes, "the exported tests")
        command = [program("java"), *SHORT_RUN, "-cp", os.pathsep.join((str(classes), path)), LAUNCHER]
        options = ["execute", "--scan-classpath", str(classes), "--reports-dir", str(place), "--details", "none"]
        ran = subprocess.run([*command, *options], capture_output=True, text=True, check=False)
        report = place / "TEST-junit-jupiter.xml"
        if not report.exists():
            raise DriverError(f"JUnit wrote no report: {(ran.stderr or ran.stdout).strip().splitlines()[:1]}")
        outcomes = {str(case.get("classname")): _outcome(case) for case in ET.parse(report).iter("testcase")}
    missing = [name for name in tests if f"{PACKAGE}.{name}" not in outcomes]
    if missing:
        raise DriverError(f"JUnit did not run {', '.join(missing)}")
    return {name: outcomes[f"{PACKAGE}.{name}"] for name in tests}


def _outcome(case: ET.Element) -> str:
    """PASSES for a case without a child; else what its failure, its error, or its being skipped says."""
    unsuccessful = [part for part in case if part.tag in ("failure", "error", "skipped")]
    return f"{unsuccessful[0].get('message') or unsuccessful[0].tag}" if unsuccessful else PASSES
