"""The benchmark times commands, and refuses to measure wrong counts."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from kraftcheck.ci.bench import __main__ as bench
from kraftcheck.ci.bench import cases, programs
from kraftcheck.ci.bench.cases import BESIDE, NATIVE, OTHERS, PAGE
from kraftcheck.ci.bench.contest import (
    Benchmark,
    Contender,
    Contest,
    Figure,
    MissingToolError,
    WrongSpaceError,
    figures_of,
    numbers,
)
from kraftcheck.ci.terminal.commands import COMMANDS

ROOT = Path(bench.__file__).parent.parent


def measured(folder: Path, *words: str) -> list[dict[str, Any]]:
    """The rows of one run, as JSON."""
    target = folder / "rows.json"
    assert bench.main([*words, "--runs", "1", "--json", str(target)]) == 0
    rows: list[dict[str, Any]] = json.loads(target.read_text())
    return rows


def test_the_benchmark_measures_with_one_and_two_threads(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A case gives a row for each number of threads, as text and as JSON, with the pinned count."""
    rows = measured(tmp_path, "two-phase-commit-7")
    assert [(row["contender"], row["distinct"]) for row in rows] == [("1 thread", 296_448), ("2 threads", 296_448)]
    assert all(row["bytes/state"] <= 48 for row in rows)
    assert all(row["CPU s"] > row["compile s"] > 0 and row["CPU s"] > row["audit s"] > 0 for row in rows)
    assert rows[0]["ratio"] == 1
    assert abs(rows[1]["ratio"] - rows[1]["search s"] / rows[0]["search s"]) < 0.01
    assert capsys.readouterr().out.count("two-phase-commit-7") == 2


def test_two_at_once_have_a_processor_each(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Commands at the same time run on different processors; on one processor they are refused, with the reason."""
    code = "import os, json; on = os.sched_getaffinity(0); print(json.dumps({'on': min(on), 'of': len(on)}))"
    one = Contender("each", lambda folder: [sys.executable, "-c", code], at_once=2)
    found, before = figures_of(one, tmp_path), os.sched_getaffinity(0)
    assert {(figures["on"], figures["of"]) for figures in found} == {(place, 1) for place in sorted(before)[:2]}
    assert os.sched_getaffinity(0) == before
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0})
    monkeypatch.setitem(cases.BENCHMARKS, "start", Benchmark("", (), {"two": Contest([one])}))
    assert bench.main(["--start"]) == 2


def test_walks_are_measured(tmp_path: Path) -> None:
    """Random walks give a row for each number of threads, with the same steps and states."""
    alone, two = measured(tmp_path, "--walks", "directories")
    assert (alone["steps"], alone["distinct"]) == (two["steps"], two["distinct"])
    assert alone["steps"] > 10_000


def test_the_page_and_the_frame_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """A walk over the local page gives one time for each of its steps, and a frame has the states and their columns."""
    monkeypatch.setattr(programs, "STEPS", 4)
    walked = programs.page("directories", "tiny", "fixed", "0")
    assert walked["steps"] == 4
    assert 0 < walked["median"] <= walked["most"] <= walked["longest"]
    made = programs.frame("elections", "tiny", "1000000")
    assert made["states"] == 18_704
    assert made["columns"] > 10
    assert {column.figure for column in PAGE.columns} <= walked.keys()
    assert {column.figure for column in cases.FRAME.columns} <= made.keys()


@pytest.mark.slow
def test_levels_in_files_are_measured_beside_memory() -> None:
    """Both ways find the same, and files have bytes only with levels in files."""
    small = cases._beside_disk("elections --scope tiny --rules fixed")
    rows = list(evolve(cases.DISK, cases={"tiny": small}).rows("tiny", 1))
    assert [row["contender"] for row in rows] == ["native 1", "disk 1", "native 2", "disk 2"]
    assert {row["distinct"] for row in rows} == {18_704}
    assert [row["file B"] > 0 for row in rows] == [False, True, False, True]


@pytest.mark.slow
def test_logs_and_questions_are_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Copies of a captured log have their records, and a synthetic one as many as it was asked for, at least."""
    few = {
        "copies": evolve(cases.LOGS.cases["copies"], before=lambda place: cases._copies(2, place)),
        "short": evolve(cases.LOGS.cases["copies"], before=lambda place: cases._written(3, 2, 500, place)),
    }
    few["down"] = evolve(cases.LOGS.cases["large"], before=lambda place: cases._written(5, 3, 300, place, 4, 3))
    monkeypatch.setitem(cases.BENCHMARKS, "logs", evolve(cases.LOGS, cases=few))
    copies, short, _, status = measured(tmp_path, "--logs", "copies", "short", "down")
    assert status["partitions"] == 12
    assert copies["records"] == 226
    assert short["records"] >= 500
    asked = Contest(cases.QUERY.cases["two-million"].contenders[:1],
                 before=lambda place: cases._explored_into("elections --scope tiny --rules fixed", place))  # fmt: skip
    (row,) = evolve(cases.QUERY, cases={"tiny": asked}).rows("tiny", 1)
    assert row["seconds"] > 0


def test_what_an_installed_package_lacks_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without the captured log of a checkout nothing is measured: one line names it, and the case that needs none."""
    monkeypatch.setattr(cases, "LOG", tmp_path / "captured")
    assert bench.main(["--logs", "copies"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert f"no captured log at {tmp_path / 'captured'}" in line
    assert "million" in line


def test_the_benchmark_runs_without_the_tests(tmp_path: Path) -> None:
    """No module of the tests is loaded by the benchmark of the explorer, which runs where there are none."""
    code = (
        "import sys; from kraftcheck.ci.bench import __main__ as bench\n"
        "print(bench.main(['two-phase-7-symmetry', '--runs', '1']), "
        "[name for name in sys.modules if name.split('.')[0] == 'tests'])"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True,
        text=True, check=True, timeout=300,
    )  # fmt: skip
    assert ran.stdout.splitlines()[-1] == "0 []"


def test_the_start_is_measured(tmp_path: Path) -> None:
    """The start of a command is its processor time, and a command that imports engines takes longer than help."""
    plain, check = measured(tmp_path, "--start", "help", "check-help")
    assert (plain["case"], check["case"]) == ("help", "check-help")
    assert 0 < plain["CPU s"] < check["CPU s"]


def found(name: str, states: int, seconds: float = 1.0) -> Contender:
    """A contender that says that it found so many states in so many seconds."""
    text = json.dumps({"states": {"distinct": states}, "seconds": {"explore": seconds}})
    return Contender(name, lambda folder: [sys.executable, "-c", f"print({text!r})"])


def test_a_wrong_count_is_not_measured() -> None:
    """A contender that finds another number of states than there are, or than the others, ends the benchmark."""
    short = evolve(
        NATIVE, cases={"a": Contest([found("one", 9)], 10), "b": Contest([found("one", 9), found("two", 10)])}
    )
    with pytest.raises(WrongSpaceError, match=r"a: states.distinct is 9 instead of \{10\}"):
        list(short.rows("a", 1))
    with pytest.raises(WrongSpaceError, match=r"b: states.distinct is 9 and 10"):
        list(short.rows("b", 1))


def test_ratios_are_by_the_first_contender() -> None:
    """Each row has the seconds by those of the first, and a quotient of two figures."""
    columns = (
        Figure("ratio", "6.2f", "seconds.explore", times=True),
        Figure("rate", "6.0f", "states.distinct", "seconds.explore", scale=10),
        Figure("none", "6.0f", "nothing"),
    )
    rows = list(Benchmark("", columns, {"a": Contest([found("one", 100, 2.0), found("two", 100, 7.0)])}).rows("a", 2))
    assert [(row["ratio"], row["rate"], row["none"]) for row in rows] == [(1, 5, None), (3.5, 100 / 7 / 10, None)]


def test_the_numbers_of_a_document_have_names() -> None:
    """Keys are joined by dots; entries of a list, and of a table of numbers, are counted and added up."""
    document = {"a": {"b": 1, "c": "text", "d": True}, "levels": {"5": {"s": 2}, "6": {"s": 3}}, "logs": [{"n": 4}]}
    assert numbers(document) == {"a.b": 1, "levels": 2, "levels.s": 5, "logs": 1, "logs.n": 4}


def test_what_a_process_below_takes_counts(tmp_path: Path) -> None:
    """The processor time and the memory of a process that a command starts are its own."""
    work = "data = bytearray(200 << 20); sum(range(30_000_000))"
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {work!r}])"
    (took,) = figures_of(Contender("", lambda folder: [sys.executable, "-c", code]), tmp_path)
    assert took["processor"] > 0.3
    assert took["peak"] > 200 << 20


@pytest.mark.parametrize(
    "make",
    [pytest.param(make, marks=pytest.mark.slow) if make.__name__ == "stateright" else make for make in OTHERS],
    ids=lambda make: make.__name__,
)
def test_every_checker_finds_the_known_space(make: Any, tmp_path: Path) -> None:
    """A checker that is installed finds the known states of three managers, on one thread and on two."""
    for threads in (1, 2):
        try:
            (figures,) = figures_of(make(3, threads), tmp_path)
        except MissingToolError as error:
            pytest.skip(str(error))
        assert figures["states.distinct"] == BESIDE.cases["3"].states


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Where nothing is on the path, the native explorer is measured, and each other checker is named with the mend."""
    monkeypatch.setattr(shutil, "which", lambda program: None)
    rows = BESIDE.run(["3"], 1)
    missing = [text for text in capsys.readouterr().out.splitlines() if text.startswith("missing: ")]
    assert [row["contender"] for row in rows] == ["kraftcheck 1", "kraftcheck 2"]
    assert len(missing) == len(OTHERS)
    assert all("install" in text for text in missing)


def test_a_command_that_fails_is_an_error(tmp_path: Path) -> None:
    """A process that ends badly, or does not say what it should, is no measurement: its output is told."""
    with pytest.raises(RuntimeError, match="ended with 3: no such thing"):
        figures_of(Contender("", lambda folder: ["sh", "-c", "echo no such thing; exit 3"]), tmp_path)
    with pytest.raises(RuntimeError, match="in the output: nothing"):
        figures_of(Contender("", lambda folder: ["echo", "nothing"], {"states": r"(\d+) states"}), tmp_path)


def test_an_unknown_case_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    """A case that does not exist ends with code 2, its name, and those there are."""
    for kind, told in (([], "the benchmark has two-phase-commit-7"), (["--spark"], "--spark has small-levels")):
        with pytest.raises(SystemExit) as left:
            bench.main([*kind, "three-phase-commit"])
        assert left.value.code == 2
        assert f"unknown case: three-phase-commit; {told}" in capsys.readouterr().err


def test_every_command_of_a_benchmark_is_one() -> None:
    """Each contender's words begin with a command of kraftcheck, and cases that are measured by default exist."""
    for one in (NATIVE, *cases.BENCHMARKS.values()):
        assert set(one.default) <= one.cases.keys()
        words = [each.words for case in one.cases.values() for each in case.contenders if not callable(each.words)]
        assert {first for first, *_ in words if not first.startswith("-")} <= COMMANDS.keys()
