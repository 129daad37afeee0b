"""Lassos suspected in walks: they break the property on ints, the verdict stays unknown, and none holds."""

import random
from collections.abc import Mapping
from pathlib import Path
from xml.etree import ElementTree

import pytest

import kraftcheck as kc
from kraftcheck.model.language.system import LIVENESS
from kraftcheck.solvers.program.trace import trace
from kraftcheck.solvers.program.verdict import PackedRun
from kraftcheck.solvers.walks.walks import WalkFinding, with_suspects
from tests.shared.commands import kraftcheck
from tests.solvers.liveness.listed import listed
from tests.solvers.liveness.naive import judge
from tests.solvers.liveness.puzzles import draw_puzzle
from tests.solvers.liveness.toys import DOOR, LIFT
from tests.solvers.walks.test_walks import program_of, walked

NAME = "tests.solvers.liveness.toys:LIFT"
WEAK = ("simulate", NAME, "--scope", "weak", "--runs", "20", "--quiet")


def suspects(scope: str, **more: int) -> Mapping[str, WalkFinding]:
    """The suspected lassos of the lift, by property."""
    return {one.trace.claim: one for one in with_suspects(walked(program_of(LIFT, scope), **more)).suspects}


@pytest.mark.parametrize(
    ("scope", "broken"),
    [("idle", {"top", "bell", "up", "back", "rung"}), ("moving", {"bell", "rung"}), ("weak", {"bell", "rung"}),
     ("fair", set())],
)  # fmt: skip
def test_what_is_broken_is_suspected_and_nothing_else(scope: str, broken: set[str]) -> None:
    """Of the lift exactly the properties are suspected that the search refutes, each by a lasso with its fairness."""
    found = suspects(scope)
    assert found.keys() == broken
    assert all(one.trace.loop is not None for one in found.values())


def test_a_suspected_lasso_is_short_and_does_not_depend_on_threads() -> None:
    """No step of it can be dropped; one thread and three suspect the same."""
    alone, crowd = suspects("weak", threads=1), suspects("weak", threads=3)
    assert alone == crowd
    assert len(alone["bell"].trace.steps) == 4


def test_a_lasso_begins_in_an_initial_state() -> None:
    """Where runs begin elsewhere, the way there is part of the lasso."""
    program = program_of(LIFT, "moving")
    up = next(n for n in range(program.instances) if program.instance(n)[0].name == "up")
    way = PackedRun(program.initial[0], (up, up), program.layout.pack(program.layout.state([2, False])))
    (bell, _) = with_suspects(walked(program, runs_to_starts=(way,)), [way]).suspects
    assert program.layout.pack(bell.trace.initial) == program.initial[0]
    assert bell.steps > 2


def test_a_step_beyond_a_bound_keeps_a_behaviour_going() -> None:
    """A door whose tries a bound cuts is not stuck: nothing is suspected."""
    assert with_suspects(walked(program_of(DOOR, "cut"))).suspects == ()


def test_nothing_that_holds_is_suspected() -> None:
    """On random graphs under random fairness what is suspected is broken, as the naive judge says; some is found."""
    source, found = random.Random(7), 0
    for _ in range(6):
        puzzle = draw_puzzle(source, most=6, fairness=2)
        system = listed(puzzle)
        kinds = {one.trace.claim for one in with_suspects(walked(trace(system, system.setting()), steps=30)).suspects}
        assert kinds <= {kind for kind in LIVENESS if judge(puzzle, kind).stem is not None}
        found += len(kinds)
    assert found > 3


def test_the_command_leaves_a_suspected_property_unknown(tmp_path: Path) -> None:
    """It exits 22, shows the cycle, names who judges it, and writes a file that `trace` runs again."""
    ran = kraftcheck(*WEAK, "--out", tmp_path / "out", "--junit", tmp_path / "a.xml")
    assert ran.code == 22
    assert "7 liveness properties unknown, of which 2 are suspected to fail" in ran.last
    assert "bell is unknown, and suspected to fail" in ran.out
    assert "for ever: steps 1 to 4 again" in ran.out
    assert f"judged by: kraftcheck explore {NAME} --scope weak --property bell" in ran.out
    assert kraftcheck("trace", tmp_path / "out" / "bell.itf.json", "--system", NAME).code == 0
    cases = {case.get("name"): case for case in ElementTree.parse(tmp_path / "a.xml").iter("testcase")}
    assert {name: case.find("error") is not None for name, case in cases.items() if name in ("top", "bell")} == {
        "top": True, "bell": True,
    }  # fmt: skip


def test_the_document_and_the_function_say_that_it_is_suspected() -> None:
    """JSON has the lasso under `suspected`; the verdict of the function is Unknown, with the run and the cycle."""
    document = kraftcheck(*WEAK, "--json", "-").document()
    assert [one["id"] for one in document["suspected"]] == ["bell", "rung"]
    assert document["suspected"][0]["trace"]["loop"]["start"] == 0
    assert document["refuted"] == []
    bell, top = (kc.simulate(LIFT, scope="weak", runs=20).verdict(name) for name in ("bell", "top"))
    assert isinstance(bell, kc.Unknown)
    assert isinstance(top, kc.Unknown)
    assert "seems to break it, for ever: steps 1 to 4 again" in bell.reason
    assert "say nothing of fair behaviours" in top.reason
