"""`kraftcheck simulate`: what it finds, what it says when it finds nothing, its files, and bad input."""

import json
from pathlib import Path

import pytest

from tests.shared.commands import kraftcheck
from tests.toys import DIGRAPH

QUICK = ("--quiet", "--workers", 1, "--runs", 40, "--steps", 20)
TOY = ("simulate", "tests.toys:DIGRAPH", *QUICK)


def test_a_violation_is_shown_and_written(tmp_path: Path) -> None:
    """The shortened counterexample is printed, and the file that is written replays to it."""
    ran = kraftcheck(*TOY, "--property", "never-5", "--out", tmp_path)
    assert (ran.code, ran.last) == (12, "1 refuted (exit 12)")
    assert "never-5 is refuted: Node 5 is not visited." in ran.out
    assert "shortened to 4 steps" in ran.out
    again = kraftcheck("trace", tmp_path / "never-5.itf.json", "--system", "tests.toys:DIGRAPH")
    assert again.code == 0
    assert again.last == "4 steps, not minimised"


def test_nothing_found_is_no_proof() -> None:
    """Walks without a violation end with exit code 0 and say that they prove nothing; no property is said to hold."""
    ran = kraftcheck("simulate", "tests.toys:CLOCK", *QUICK, "--seed", 5)
    assert (ran.code, ran.last) == (0, "nothing found in 40 runs, not a proof (exit 0)")
    assert "seed 5" in ran.out
    assert "hold" not in ran.out
    document = kraftcheck("simulate", "tests.toys:CLOCK", *QUICK, "--json", "-").document()
    assert "holds" not in json.dumps(document)
    assert (document["distinct"], document["steps"], document["refuted"]) == (2, 800, [])


def test_a_goal_never_reached_fails() -> None:
    """A goal that no walk reached is told by name, and the exit code is 21."""
    ran = kraftcheck(*TOY, "--property", "reach-8")
    assert (ran.code, ran.last) == (21, "nothing found in 40 runs, not a proof, 1 goal never reached (exit 21)")
    assert "never reached: reach-8" in ran.out


def test_what_walks_judge_in_vain_is_no_pass() -> None:
    """Asked for ways out alone, which walks do not judge, they say so with exit code 22."""
    ran = kraftcheck("simulate", "tests.toys:VALVE", "--property", "opens", *QUICK)
    assert (ran.code, ran.last.rpartition(", ")[2]) == (22, "no property is judged by walks (exit 22)")


def test_a_deadlock_has_its_own_code() -> None:
    """A walk into a deadlock ends with exit code 11."""
    assert kraftcheck("simulate", "tests.toys:STUCK", *QUICK).code == 11


def test_the_same_seed_finds_the_same_whatever_the_workers() -> None:
    """Documents of one worker and of three are equal, times aside."""
    claims = ("elr-empty-at-min-isr", "leader-active", "loss-is-marked")
    chosen = [word for claim in claims for word in ("--property", claim)]
    words = ("simulate", "elections", "--scope", "tiny", "--runs", 130, "--steps", 30, "--quiet", "--json", "-")
    alone, crowd = (kraftcheck(*words, *chosen, "--workers", number).document() for number in (1, 3))
    for document in (alone, crowd):
        del document["seconds"]
    assert alone == crowd
    assert sorted(one["id"] for one in alone["refuted"]) == sorted(claims)


def test_saturation_is_shown(tmp_path: Path) -> None:
    """The curve is printed, and plotted as SVG and PNG."""
    for kind, head in (("svg", b"<?xml"), ("png", b"\x89PNG")):
        path = tmp_path / f"curve.{kind}"
        ran = kraftcheck("simulate", "tests.toys:CLOCK", *QUICK, "--plot", path)
        assert ran.code == 0
        assert path.read_bytes().startswith(head)
    assert "distinct states by steps: 800: 2" in ran.out


def test_walks_start_where_a_trace_ends(tmp_path: Path) -> None:
    """From a trace's end node 5 is one step away, and the counterexample goes back to the initial state."""
    kraftcheck(*TOY, "--property", "reach-5", "--out", tmp_path)
    ran = kraftcheck(*TOY, "--property", "never-4-to-5", "--from", tmp_path / "reach-5.itf.json", "--json", "-")
    assert ran.code == 12
    assert ran.document()["refuted"][0]["shortened"] == 4


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--weight", "folow=2"), "no action 'folow'; did you mean follow"),
        (("--weight", "follow"), "the weight must be 1 to 1000, as in follow=5"),
        (("--weight", "follow=0"), "the weight must be 1 to 1000"),
        (("--plot", "curve.pdf"), "--plot writes .png or .svg"),
        (("--from", "absent.json"), "cannot read absent.json"),
        (("--seed", "-1"), "-1 is not in the range"),
        (("--schedule", "fair"), "'fair' is not one of"),
    ],
)
def test_bad_input_is_refused_in_one_line(words: tuple[str, ...], told: str) -> None:
    """What cannot be used is refused in one line that says what to give."""
    assert told in kraftcheck(*TOY, *words).refusal()


def test_a_trace_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    """A trace of another system, or whose rules lead elsewhere, is no start."""
    kraftcheck(*TOY, "--property", "reach-5", "--out", tmp_path)
    path = tmp_path / "reach-5.itf.json"
    refused = kraftcheck("simulate", "tests.toys:CLOCK", *QUICK, "--from", path).refusal()
    assert "a trace of tests.toys:DIGRAPH, not of tests.toys:CLOCK" in refused
    document = json.loads(path.read_text(encoding="utf-8"))
    document["states"][1], document["states"][2] = document["states"][2], document["states"][1]
    path.write_text(json.dumps(document), encoding="utf-8")
    assert "not enabled" in kraftcheck(*TOY, "--from", path).refusal()


def test_without_matplotlib_a_plot_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Before any work is done, a plot without its library is refused with what to install."""
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    refused = kraftcheck(*TOY, "--plot", tmp_path / "curve.png").refusal()
    assert "pip install 'kraftcheck[plots]'" in refused
    assert DIGRAPH.name not in refused
