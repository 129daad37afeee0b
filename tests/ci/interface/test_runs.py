"""Tests of what Python asks beside verdicts: searches for a state, datasets, finished runs, checks, distances."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from attrs import frozen

import kraftcheck as kc
from tests.ci.interface.test_interface import tank
from tests.shared.commands import kraftcheck
from tests.shared.places import TESTS


@frozen
class Counters:
    """Three counters."""

    one: kc.Word
    two: kc.Word
    three: kc.Word


def test_a_state_is_found_by_an_expression() -> None:
    """`find` returns the shortest way, judges nothing else, and says what is not reachable."""
    found = kc.explore(tank(), find="level == 2")
    assert (found.last_line, found.exit_code) == ("found in 2 steps (exit 0)", 0)
    assert [len(trace.steps) for trace in found.traces(goals=True)] == [2]
    none = kc.explore(tank(), find="level == 1 and level == 2")
    assert none.exit_code == 21
    assert len(found.judged) == len(none.judged) == 1


def test_one_expression_is_an_invariant() -> None:
    """`invariant` adds one expression to those of `invariants`, for every engine."""
    for ask in (kc.explore, kc.prove):
        asked = ask(tank(), invariant="level < 5", invariants=["level != 5"])
        asked.assert_holds("level < 5", "level != 5")
    assert "level < 2" in kc.simulate(tank(), invariant="level < 2", runs=50).refuted


@pytest.mark.parametrize("engine", ["native", "disk"])
def test_a_finished_run_is_opened(engine: str, tmp_path: Path) -> None:
    """What a search leaves in its folder is read again: the same counterexamples, and the dataset of disk."""
    system, out = "tests.toys:DIGRAPH", tmp_path / "run"
    asked = kc.explore(system, engine=engine, out=out, **({"cluster": {"handover": 0}} if engine == "disk" else {}))
    run = kc.open(out, system=system)
    assert {claim: len(trace.steps) for claim, trace in run.traces.items()} == {
        claim: len(asked.trace(claim).steps) for claim in asked.refuted
    }
    assert asked.refuted
    if engine == "native":
        assert run.document == json.loads(json.dumps(asked.document))
        with pytest.raises(kc.Refusal, match="has no dataset"):
            run.sql("SELECT 1")
    else:
        answer = kc.query(out, "SELECT count(*) AS n FROM states", system=system)
        assert (answer.columns, answer.rows, answer.complete) == (["n"], [(asked.exploration.distinct,)], True)
        assert run.sql("SELECT count(*) AS n FROM states").rows == answer.rows
        assert int(answer.to_pandas().n[0]) == asked.exploration.distinct


def test_an_engine_gives_the_verdicts_of_the_other() -> None:
    """The disk engine finds the same verdicts and lengths as the native one."""
    here, there = (kc.explore("tests.toys:DIGRAPH", engine=engine) for engine in ("native", "disk"))
    assert [(one.claim, type(one.verdict), one.depth) for one in here.judged] == [
        (one.claim, type(one.verdict), one.depth) for one in there.judged
    ]


def test_time_ends_a_search() -> None:
    """Past `time_limit` verdicts are incomplete, and say why; the next call has no limit."""
    counters = kc.System(
        name="counters", summary="many states", layout=Counters(*[kc.ints(0, 4000)] * 3), initial=[Counters(0, 0, 0)],
        actions=[
            kc.Action("one", lambda s: Counters(s.one + 1, s.two, s.three), lambda s: s.one < 4000),
            kc.Action("two", lambda s: Counters(s.one, s.two + 1, s.three), lambda s: s.two < 4000),
            kc.Action("three", lambda s: Counters(s.one, s.two, s.three + 1), lambda s: s.three < 4000),
        ],
        properties=[],
    )  # fmt: skip
    asked = kc.explore(counters, time_limit="4s")
    assert asked.exit_code == 20
    assert asked.verdict("deadlock").cut.startswith("time limit of 4s")
    assert kc.explore(tank(4)).exit_code == 0


def test_reports_are_those_of_the_command(tmp_path: Path) -> None:
    """JUnit, SARIF and JSON of a result are what the command writes, times aside."""
    sarif = tmp_path / "run.sarif"
    ran = kraftcheck("explore", "tests.toys:DIGRAPH", "--sarif", sarif, "--quiet")
    asked = kc.explore("tests.toys:DIGRAPH")
    assert ran.code == asked.exit_code == 12
    assert json.loads(asked.sarif())["runs"][0]["results"] == json.loads(sarif.read_text())["runs"][0]["results"]
    assert 'name="never-5"' in asked.junit()


def test_a_check_is_the_command() -> None:
    """`kc.check` compares the rows that it is asked for, and a row with an unknown name is refused."""
    report = kc.check("elr-index", scope="tiny", rules="fixed", built_in=True)
    report.assert_holds()
    assert "0 unexpected" in str(report)
    assert [run["system"] for run in report.document["runs"]] == ["elr-index"]


def test_a_table_is_checked(tmp_path: Path) -> None:
    """A table of runs is executed, and an expectation that fails is in the report."""
    table = tmp_path / "kraftcheck.toml"
    table.write_text('[[runs]]\nsystem = "elr-index"\nscope = "tiny"\nrules = "fixed"\n'
                     'expect = {controller-stays = "refuted"}\n')  # fmt: skip
    report = kc.check(config=table)
    assert report.exit_code == 12
    with pytest.raises(AssertionError, match="expected refuted, got holds"):
        report.assert_holds()


def test_a_status_is_that_of_the_command() -> None:
    """`kc.status` says what the command says, with its exit code; anything but 0 is no pass."""
    ran = kraftcheck("status", TESTS / "captured" / "no-elr")
    report = kc.status(TESTS / "captured" / "no-elr")
    assert (report.exit_code, report.text) == (ran.code, ran.out) == (10, ran.out)
    with pytest.raises(AssertionError, match="one fault from offline"):
        report.assert_holds()


def test_distances_are_those_of_the_command() -> None:
    """`kc.whatif` counts faults as the command does."""
    place = TESTS / "captured" / "elr"
    ran = kraftcheck("whatif", place, "--faults", "1", "--json", "-")
    assert kc.whatif(place, faults=1).document == ran.document()
