"""Commands about `recovers` properties: exit code 13, traces that say what never comes again, documents."""

from __future__ import annotations

import json
from pathlib import Path

from tests.shared.commands import kraftcheck

VALVE = ("explore", "tests.toys:VALVE", "--quiet")


def test_a_lost_state_exits_13_and_says_what_never_comes(tmp_path: Path) -> None:
    """The trace ends with what the ints looked at, and the document has it as numbers."""
    ran = kraftcheck(*VALVE, "--property", "opens-by-itself", "--json", tmp_path / "told.json")
    assert (ran.code, ran.last) == (13, "1 refuted, 1 holds (exit 13)")
    assert "never again: nothing that can follow by open satisfies it (all 1 state checked on ints)" in ran.out
    assert "searched backward in 2 rounds" in ran.out
    told = json.loads((tmp_path / "told.json").read_text())
    (found, _) = told["properties"]
    assert (found["kind"], found["verdict"], found["depth"]) == ("recovers", "refuted", 2)
    assert found["closure"] == {"states": 1, "complete": True}
    assert told["seconds"]["backward"] > 0


def test_a_property_that_holds_counts_its_cases() -> None:
    """The table says how many states recover; an idle property is vacuous, exit code 21."""
    ran = kraftcheck(*VALVE, "--property", "opens-unless-stuck", "-v")
    assert (ran.code, "4 states recover" in ran.out) == (0, True)
    idle = kraftcheck(*VALVE, "--property", "never-needed")
    assert (idle.code, "no reachable state has to recover" in idle.out) == (21, True)


def test_beyond_a_bound_is_unknown() -> None:
    """Exit code 22 where a bound may have cut the way out."""
    ran = kraftcheck(*VALVE, "--budget", "0", "--json", "-")
    (found, _) = ran.document()["properties"]
    assert (ran.code, found["verdict"]) == (22, "unknown")
    assert found["detail"].endswith("recovers, if at all, only beyond a bound that pruned transitions")


def test_a_written_trace_is_followed_again(tmp_path: Path) -> None:
    """`trace` follows the file, looks again at what can follow, and shortens it no further."""
    kraftcheck(*VALVE, "--property", "opens-by-itself", "--out", tmp_path)
    file = tmp_path / "opens-by-itself.itf.json"
    ran = kraftcheck("trace", file, "--minimise", "--system", "tests.toys:VALVE")
    assert (ran.code, ran.last) == (0, "2 steps, shortest as the file says")
    assert "never again: nothing that can follow by open satisfies it" in ran.out


def test_a_trace_to_where_it_recovers_is_refused(tmp_path: Path) -> None:
    """A file whose last step is taken out ends where the valve is open: refused in one line."""
    kraftcheck(*VALVE, "--property", "opens-by-itself", "--out", tmp_path)
    file = tmp_path / "opens-by-itself.itf.json"
    document = json.loads(file.read_text())
    document["states"].pop()
    file.write_text(json.dumps(document))
    told = kraftcheck("trace", file, "--system", "tests.toys:VALVE").refusal()
    assert "opens-by-itself holds there, or can hold again" in told


def test_list_shows_the_way_out() -> None:
    """`list` tells the kind and the actions of the way out, for people and in the document."""
    ran = kraftcheck("list", "elections", "--json", "-").document()["systems"][0]["properties"]
    (found,) = [claim for claim in ran if claim["id"] == "unclean-leader-returns"]
    assert (found["kind"], found["by"]) == ("recovers", {"balance_timer": {}, "unclean_timer": {}})
    assert found["sentence"] == "where unclean election is allowed, a live replica gives a live leader"
    assert "(by" in kraftcheck("list", "elections").out
