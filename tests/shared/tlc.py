"""TLC, the model checker of TLA+, from Maven: what it says of a module."""

import re
import subprocess
from pathlib import Path

import pytest
from attrs import frozen

from kraftcheck.ci.bench.cases import tlc_jar
from kraftcheck.ci.bench.contest import MissingToolError


@frozen
class Answer:
    """What TLC found."""

    # distinct, generated: numbers of states
    distinct: int
    generated: int
    levels: int  # states on the longest of the shortest paths
    violated: dict[str, int]  # the properties that it refuted, each with the states of its counterexample
    text: str  # its whole output


def jar() -> Path:
    """TLC's jar; a test without Java, Maven or a registry is skipped, and says so."""
    try:
        return tlc_jar()
    except MissingToolError as error:
        pytest.skip(f"TLC is not run: {error}")


def _states(text: str) -> int:
    """The states of the first trace in a text."""
    numbers = [int(number) for number in re.findall(r"^State (\d+):", text, flags=re.MULTILINE)]
    return next((at for at, number in enumerate(numbers) if number != at + 1), len(numbers))


def output(module: Path) -> str:
    """What TLC prints of a module and the configuration beside it."""
    command = ["java", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xss16m",
               f"-Djava.io.tmpdir={module.parent}", "-cp", str(jar()), "tlc2.TLC",
               "-workers", "1", "-continue", "-metadir", str(module.parent / "states"), module.stem]  # fmt: skip
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=module.parent).stdout


def tlc(module: Path) -> Answer:
    """What TLC says of a module and the configuration beside it; every violation is counted, not the first alone."""
    text = output(module)
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
