"""Every engine, trace and table reads the words that other people's specifications are written with."""

import json
from pathlib import Path

import pytest

import kraftcheck as kc
from tests.examples.two_phase import FAULTY, TWO_PHASE
from tests.shared.commands import kraftcheck


def test_traces_show_names(tmp_path: Path) -> None:
    """A counterexample in text, in its file and replayed from it has the names of enumerations, sets and queues."""
    ran = kraftcheck("explore", "tests.examples.two_phase:FAULTY", "-v", "--quiet", "--out", tmp_path / "out")
    assert ran.code == 12
    assert "coordinator: INIT -> COMMITTED" in ran.out
    assert "messages: {1, 2} -> {commit, 1, 2}" in ran.out
    path = tmp_path / "out" / "consistent.itf.json"
    states = json.loads(path.read_text())["states"]
    assert {state["coordinator"] for state in states} == {"INIT", "COMMITTED"}
    assert kraftcheck("trace", path, "--system", "tests.examples.two_phase:FAULTY").code == 0


def test_provers_and_walks_read_the_same_words() -> None:
    """Bounded checking finds the faulty coordinator where the search does; walks find it too."""
    name = "tests.examples.two_phase:FAULTY"
    bounded = kraftcheck("prove", name, "--bmc", "7", "--property", "consistent", "--quiet")
    assert (bounded.code, "7 steps" in bounded.text) == (12, True)
    shorter = kraftcheck("prove", name, "--bmc", "6", "--property", "consistent", "--quiet")
    assert (shorter.code, "no counterexample of at most 6 steps" in shorter.text) == (20, True)
    assert kc.simulate(FAULTY, runs=200, seed=1).exit_code == 12


def test_tables_show_names() -> None:
    """A data frame of the states has the names of an enumeration."""
    states = kc.explore(TWO_PHASE).states()
    frame = states.to_pandas()
    assert {*frame["coordinator"]} == {"INIT", "COMMITTED", "ABORTED"}
    assert sum(frame["coordinator"] == "COMMITTED") == sum(state.coordinator == 1 for state in states)


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
@pytest.mark.usefixtures("shared")
def test_questions_in_sql_show_names(tmp_path: Path) -> None:
    """A question about a dataset of Spark has the names too, and counts as the states do."""
    name, out = "tests.examples.two_phase:TWO_PHASE", tmp_path / "out"
    assert kraftcheck("explore", name, "--engine", "spark", "--out", out, "--quiet").code == 0
    question = "SELECT coordinator, count(*) AS n FROM states GROUP BY coordinator"
    ran = kraftcheck("query", out, question, "--system", name)
    assert ran.code == 0
    states = kc.explore(TWO_PHASE).states()
    committed = sum(state.coordinator == 1 for state in states)
    assert f"COMMITTED {committed}" in ran.text.replace("|", "").replace("  ", " ")
