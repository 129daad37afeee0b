"""`explore --reduce orders`: what it prints, writes and refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.shared.commands import kraftcheck

WALKING = "tests.solvers.search.orders.ports:WALKING"


def test_a_reduced_search_says_so(tmp_path: Path) -> None:
    """The report says how much was left out, and calls no trace shortest; neither does the trace's file."""
    ran = kraftcheck("explore", WALKING, "--reduce", "orders", "--quiet", "--json", "-", "--out", tmp_path / "out")
    told = ran.document()
    assert ran.code == 11
    assert told["orders"]["reduced"] > 0
    assert told["orders"]["left_out"] >= told["orders"]["reduced"]
    deadlock = next(one for one in told["properties"] if one["id"] == "deadlock")
    assert (deadlock["verdict"], deadlock["detail"]) == ("refuted", "in 16 steps")
    written = json.loads((tmp_path / "out" / "deadlock.itf.json").read_text(encoding="utf-8"))
    assert written["#meta"]["kraftcheck"]["shortest"] is False
    again = kraftcheck("trace", tmp_path / "out" / "deadlock.itf.json", "--system", WALKING)
    assert again.code == 0


def test_a_full_search_has_no_orders() -> None:
    """Without the option the document's key is null, and the deadlock is at its shortest."""
    told = kraftcheck("explore", WALKING, "--quiet", "--json", "-").document()
    assert told["orders"] is None
    assert "shortest" in next(one for one in told["properties"] if one["id"] == "deadlock")["detail"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["tests.toys:VALVE"], "property opens (recovers) is about all that may follow"),
        ([WALKING, "--symmetry", "on"], "cannot be combined with --symmetry on"),
        ([WALKING, "--engine", "spark"], "works with --engine native, not with spark"),
        ([WALKING, "--find", "arrived == {}"], "--find asks for the shortest way"),
    ],
)
def test_what_cannot_be_judged_that_way_is_refused(words: list[str], message: str) -> None:
    """One line names what is in the way, and the exit code is 2."""
    ran = kraftcheck("explore", *words, "--reduce", "orders", "--quiet")
    assert ran.code == 2
    assert message in ran.err
    assert len(ran.err.strip().splitlines()) == 1
