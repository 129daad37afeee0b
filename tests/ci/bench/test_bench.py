"""The benchmark runs, and refuses to measure wrong counts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from attrs import evolve

from kraftcheck.ci.bench import __main__ as bench
from kraftcheck.ci.bench import conformance, logs, proofs, serve
from kraftcheck.ci.bench.benchmark import WrongSpaceError
from kraftcheck.ci.bench.native import cases, processes, search
from kraftcheck.ci.prove.broken import BrokenProof
from kraftcheck.model.rules.ruleset import parse

ROOT = Path(bench.__file__).parent.parent


def test_the_benchmark_measures_with_one_and_two_threads(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A case gives a row for each number of threads, as text and as JSON, with the pinned count."""
    target = tmp_path / "rows.json"
    assert bench.main(["two-phase-commit-7", "--runs", "1", "--json", str(target)]) == 0
    rows = json.loads(target.read_text())
    assert [(row["threads"], row["distinct"]) for row in rows] == [(1, 296_448), (2, 296_448)]
    assert all(row["bytes_per_state"] <= 48 for row in rows)
    assert all(0 < row["processor_seconds"] <= 2.1 * row["seconds"] for row in rows)
    assert capsys.readouterr().out.count("two-phase-commit-7") == 2


def test_two_processes_are_measured_beside_two_threads(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One search, two at the same time and one on two threads find the pinned count and take processor time."""
    target = tmp_path / "rows.json"
    assert bench.main(["--processes", "two-phase-commit-7", "--runs", "1", "--json", str(target)]) == 0
    (row,) = json.loads(target.read_text())
    assert row["distinct"] == 296_448
    for of in ("alone", "each", "threads"):
        assert 0 < row[f"{of}_processor"] <= (2.1 if of == "threads" else 1.1) * row[of]
    head, line, *_ = capsys.readouterr().out.splitlines()
    told = dict(zip(head.split()[-3:], line.split()[-3:], strict=True))
    assert abs(float(told["most"]) - 2 * row["alone_processor"] / row["each_processor"]) < 0.01
    assert abs(float(told["ratio"]) - row["alone"] / row["threads"]) < 0.01


def test_two_processes_need_two_processors(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """On one processor nothing is measured of two searches at the same time, and the command says why."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0})
    assert bench.main(["--processes", "two-phase-commit-7", "--runs", "1"]) == 2
    assert "two processors" in capsys.readouterr().err


def test_a_process_with_another_count_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A search that finds another number of states than it must measures nothing."""
    (case,) = (case for case in cases.CASES if case.name == "two-phase-commit-7")
    monkeypatch.setattr(cases, "CASES", [evolve(case, distinct=1)])
    with pytest.raises(WrongSpaceError, match="296,448 states instead of 1"):
        processes.search("two-phase-commit-7", tmp_path, 1)


@pytest.mark.slow
def test_ways_of_compiling_are_measured(capsys: pytest.CaptureFixture[str]) -> None:
    """Each case gives a line with the seconds of both ways and what the second takes of the first."""
    assert bench.main(["--compilers", "two-phase-7-symmetry", "--runs", "1"]) == 0
    head, row = capsys.readouterr().out.splitlines()
    thorough, quick, ratio, *search = (float(word) for word in row.split()[1:])
    assert (head.split()[0], row.split()[0], len(search)) == ("system", "two-phase-7-symmetry", 3)
    assert min(quick, thorough, *search) > 0
    assert abs(ratio - quick / thorough) < 0.1


def test_walks_are_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Random walks give a row for each number of threads, with the same steps and states."""
    target = tmp_path / "rows.json"
    assert bench.main(["--walks", "directories", "--runs", "1", "--json", str(target)]) == 0
    alone, two = json.loads(target.read_text())
    assert (alone["steps"], alone["distinct"]) == (two["steps"], two["distinct"])
    assert alone["steps"] > 10_000
    assert capsys.readouterr().out.count("directories") == 2


def test_the_page_is_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A walk over the local page gives one time for each of its steps."""
    monkeypatch.setattr(serve, "STEPS", 4)
    target = tmp_path / "rows.json"
    assert bench.main(["--serve", "directories", "--runs", "2", "--json", str(target)]) == 0
    (row,) = json.loads(target.read_text())
    assert row["steps"] == 8
    assert 0 < row["median"] <= row["most"] <= row["longest"]
    assert row["processor"] > 0


def test_logs_are_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading and replaying give a row each, over as many records as the copies of the log have."""
    monkeypatch.setattr(logs, "COPIES", {"read": 2, "replay": 1})
    target = tmp_path / "rows.json"
    assert bench.main(["--logs", "--runs", "1", "--json", str(target)]) == 0
    read, replayed = json.loads(target.read_text())
    assert (read["case"], replayed["case"]) == ("read", "replay")
    assert read["records"] > 2 * replayed["records"] > 400
    with pytest.raises(SystemExit):
        bench.main(["--logs", "explore"])


def test_what_an_installed_package_lacks_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without the captured log of a checkout nothing is measured: one line names it, and the cases that need none."""
    monkeypatch.setattr(logs, "LOG", tmp_path / "captured")
    assert bench.main(["--logs", "replay"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert f"no captured log at {tmp_path / 'captured'}" in line
    assert "million" in line


def test_the_benchmark_runs_without_the_tests(tmp_path: Path) -> None:
    """No module of the tests is loaded by the benchmark of the explorer, which runs where there are none."""
    code = (
        "import sys; from kraftcheck.ci.bench import __main__ as bench\n"
        "print(bench.main(['two-phase-commit-7', '--runs', '1']), "
        "[name for name in sys.modules if name.split('.')[0] == 'tests'])"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True,
        text=True, check=True, timeout=300,
    )  # fmt: skip
    assert ran.stdout.splitlines()[-1] == "0 []"


@pytest.mark.xdist_group("kafka")
def test_the_audit_is_measured(tmp_path: Path) -> None:
    """The audit's share of a run is its time beside the whole, of a sample that is the same in each run."""
    target = tmp_path / "rows.json"
    assert bench.main(["--audit", "directories-tiny", "--runs", "2", "--json", str(target)]) == 0
    (row,) = json.loads(target.read_text())
    assert (row["case"], row["distinct"]) == ("directories-tiny", 10_043)
    assert 0 < row["audit_seconds"] < row["whole_seconds"]
    assert row["states"] > 4
    assert 0 < row["share"] < 1


def test_the_start_is_measured(tmp_path: Path) -> None:
    """The start of a command is its processor time, and a command that imports engines takes longer than help."""
    target = tmp_path / "rows.json"
    assert bench.main(["--start", "help", "check-help", "--runs", "1", "--json", str(target)]) == 0
    plain, check = json.loads(target.read_text())
    assert (plain["case"], check["case"]) == ("help", "check-help")
    assert 0 < plain["seconds"] < check["seconds"]


def test_proofs_are_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Variants that break proofs are counted and timed beside the budget; one that breaks none is not measured."""
    monkeypatch.setitem(proofs.CASES, "elections-bugs", (lambda: proofs.broken("elections", 1), 300))
    target = tmp_path / "rows.json"
    assert bench.main(["--proofs", "elections-bugs", "--runs", "1", "--json", str(target)]) == 0
    (row,) = json.loads(target.read_text())
    assert (row["case"], row["count"], row["budget"]) == ("elections-bugs", 1, 300)
    assert 0 < row["processor"] <= 3 * row["seconds"]
    monkeypatch.setattr(proofs, "attempt_any", lambda row, *_, **__: BrokenProof(row, ()))
    with pytest.raises(proofs.UnprovenError, match=r"elections\+.* proven all the same"):
        bench.main(["--proofs", "elections-bugs", "--runs", "1"])


def test_conformance_is_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A case counts what was asked, and the time of both sides; under another rule set nothing is measured."""
    monkeypatch.setitem(conformance.CASES, "drawn-5", 4_000)
    monkeypatch.setattr(conformance, "BATCH", 2_000)
    target = tmp_path / "rows.json"
    assert bench.main(["--conform", "drawn-5", "--runs", "1", "--json", str(target)]) == 0
    (row,) = json.loads(target.read_text())
    assert row["cases"] == 4_000
    assert min(row["model_seconds"], row["kafka_seconds"]) > 0
    monkeypatch.setattr(conformance, "parse", lambda _: parse("kafka-4.0.2"))
    with pytest.raises(conformance.DifferenceError, match="last_known"):
        bench.main(["--conform", "drawn-5", "--runs", "1"])


def test_a_wrong_count_is_not_measured() -> None:
    """A case that finds another number of states than it must is an error."""
    wrong = evolve(search.CASES[0], distinct=296_447)
    with pytest.raises(WrongSpaceError, match="296,448 states instead of 296447"):
        search.measured(wrong, 1, 1)


def test_an_unknown_case_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    """A case that does not exist ends with code 2 and its name."""
    with pytest.raises(SystemExit) as left:
        bench.main(["three-phase-commit"])
    assert left.value.code == 2
    assert "unknown case: three-phase-commit" in capsys.readouterr().err
