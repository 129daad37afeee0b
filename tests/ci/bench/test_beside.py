"""Two-phase commit is measured beside other checkers, and what is missing is named."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from attrs import evolve, frozen

from kraftcheck.ci.bench import __main__ as bench
from kraftcheck.ci.bench.benchmark import WrongSpaceError
from kraftcheck.ci.bench.beside import compare
from kraftcheck.ci.bench.beside.compare import (
    BENCHMARK,
    CHECKERS,
    STATES,
    THREADS,
    Checker,
    Found,
    MissingToolError,
    Own,
    Ran,
    Spin,
    Stateright,
    Tlc,
    measure,
    run,
)


@frozen
class Fixed:
    """A checker that finds as many states as it is told to, in as many seconds."""

    name: str
    states: int
    seconds: float = 1.0

    def explore(self, managers: int, threads: int, folder: Path) -> Found:
        """As `Checker.explore`."""
        return Found(self.states, self.seconds, Ran("", self.seconds, self.seconds, 1000 * self.states))


@pytest.mark.parametrize("checker", [Own(), Spin(), Tlc(), pytest.param(Stateright(), marks=pytest.mark.slow)],
                         ids=lambda checker: checker.name)  # fmt: skip
def test_every_checker_finds_the_known_space(checker: Checker, tmp_path: Path) -> None:
    """A checker that is installed finds the known states of three managers, on one thread and on two."""
    for threads in THREADS:
        folder = tmp_path / str(threads)
        folder.mkdir()
        try:
            found = checker.explore(3, threads, folder)
        except MissingToolError as error:
            pytest.skip(str(error))
        assert found.states == STATES["3"]
        assert found.seconds >= 0
        assert found.ran.processor_seconds >= 0
        assert found.ran.peak > 0


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Where nothing is on the path, the native explorer is measured, and each other checker is named with the mend."""
    monkeypatch.setattr(shutil, "which", lambda program: None)
    rows = BENCHMARK.run(["3"], 1)
    missing = [text for text in capsys.readouterr().out.splitlines() if text.startswith("missing: ")]
    assert {row.checker for row in rows} == {Own().name}
    assert len(missing) == len(CHECKERS) - 1
    assert all("install" in text for text in missing)


def test_a_wrong_space_is_an_error() -> None:
    """A checker that finds one state too few ends the benchmark, with its name."""
    with pytest.raises(WrongSpaceError, match="Short"):
        list(measure("5", 1, [Fixed("Short", STATES["5"] - 1)]))


def test_ratios_are_those_of_the_search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each row has the seconds by those of the first checker and the bytes by the states, as JSON too."""
    first = Fixed("First", STATES["7"], 2.0)
    rows = [*measure("7", 2, [first, evolve(first, name="Second", seconds=7.0)])]
    assert [(row.checker, row.threads, row.times, row.bytes_per_state) for row in rows] == [
        (name, threads, times, 1000) for threads in THREADS for name, times in (("First", 1.0), ("Second", 3.5))
    ]
    monkeypatch.setattr(compare, "BENCHMARK", evolve(BENCHMARK, measure=lambda case, runs: rows))
    target = tmp_path / "rows.json"
    assert bench.main(["--beside", "7", "--json", str(target)]) == 0
    assert [row["times"] for row in json.loads(target.read_text())] == [1.0, 3.5, 1.0, 3.5]


def test_a_checker_that_fails_is_an_error(tmp_path: Path) -> None:
    """A process that ends badly is no measurement: its output is told."""
    with pytest.raises(RuntimeError, match="no such thing"):
        run(["sh", "-c", "echo no such thing; exit 3"], tmp_path)
