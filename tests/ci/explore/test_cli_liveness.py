"""Commands about liveness: lassos as text and as files, exit codes; every other engine says that it knows nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import kraftcheck as kc
from kraftcheck.ci.testing.judging import JudgementRequest
from kraftcheck.properties.kinds import weak_fairness
from kraftcheck.solvers.hypothesis.machine import machine
from kraftcheck.solvers.reference.interpreter import Integers
from tests.shared.commands import kraftcheck
from tests.solvers.liveness.toys import LIFT

NAME = "tests.solvers.liveness.toys:LIFT"
WEAK = ("explore", NAME, "--scope", "weak", "--quiet")


def written(folder: Path, name: str = "bell") -> tuple[Path, Any]:
    """The file of a lasso, and what it holds."""
    kraftcheck(*WEAK, "--out", folder)
    file = folder / f"{name}.itf.json"
    return file, json.loads(file.read_text())


def test_a_lasso_exits_13_and_says_why_it_is_fair() -> None:
    """The trace says what is repeated, and of every constraint where it is taken or not enabled."""
    ran = kraftcheck(*WEAK, "--property", "bell", "--json", "-")
    (found, _) = ran.document()["properties"]
    assert (ran.code, found["kind"], found["verdict"], found["depth"]) == (13, "eventually", "refuted", 4)
    assert found["loop"] == {
        "start": 0,
        "fairness": [
            {"name": "WF(up)", "taken": [1, 2, 3], "disabled": [3]},
            {"name": "WF(down)", "taken": [4], "disabled": [0, 1, 2]},
            {"name": "WF(ring)", "taken": [], "disabled": [0, 1, 3]},
        ],
    }
    text = kraftcheck(*WEAK, "--property", "bell").out
    assert "a run of 0 steps into a cycle of 4" in text
    assert "for ever: steps 1 to 4 again, for state 4 is state 0" in text
    assert "fair: WF(up): taken in steps 1, 2, 3" in text
    assert "fair: WF(ring): not enabled in states 0, 1, 3" in text
    ran = kraftcheck("explore", NAME, "--scope", "idle", "--property", "up", "--quiet")
    assert ran.code == 13, ran.err
    halt = ran.out
    assert "a run of 1 step into a halt" in halt
    assert "for ever: nothing happens any more" in halt


def test_a_written_lasso_is_replayed(tmp_path: Path) -> None:
    """The ITF file has the field `loop`, and `trace` shows the same lasso again."""
    file, document = written(tmp_path / "out")
    assert document["loop"] == 0
    ran = kraftcheck("trace", file, "--system", NAME)
    assert (ran.code, "fair: WF(ring): not enabled in states 0, 1, 3" in ran.out) == (0, True)
    copy = tmp_path / "copy.itf.json"
    kraftcheck("trace", file, "--system", NAME, "--out", copy)
    assert json.loads(copy.read_text())["loop"] == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.update(loop=1), "the last state is not state 1, where the cycle begins"),
        (lambda d: d.update(loop=9), "there is no state 9 where a cycle could begin"),
        (lambda d: d.update(loop="x"), "key loop: not an int"),
        (lambda d: d.pop("loop"), "key loop: missing: only a lasso breaks bell"),
        (lambda d: d.update(states=d["states"][:1]), "the cycle is not fair: WF(up) is enabled and never taken"),
        (lambda d: d["#meta"]["kraftcheck"].update(property="in-house"), "no lasso breaks in-house"),
        (lambda d: d["#meta"]["kraftcheck"].update(property="top"), "state 3 satisfies it"),
    ],
)
def test_a_lasso_that_is_none_is_refused(tmp_path: Path, change: Any, message: str) -> None:
    """A file whose cycle does not close, is not fair, or breaks nothing is refused in one line."""
    file, document = written(tmp_path / "out")
    change(document)
    file.write_text(json.dumps(document))
    assert message in kraftcheck("trace", file, "--system", NAME).refusal()


def test_a_lasso_is_drawn_in_every_format(tmp_path: Path) -> None:
    """Each picture says where the cycle goes on, and which constraints are satisfied there."""
    file, _ = written(tmp_path / "out")
    files = {name: tmp_path / f"a.{name}" for name in ("html", "svg", "mermaid", "dot")}
    ran = kraftcheck("trace", file, "--system", NAME, *(w for name, path in files.items() for w in (f"--{name}", path)))
    assert (ran.code, ran.last) == (0, "4 steps, 0 into the cycle (shortest as the file says) and 4 around")
    for path in files.values():
        text = path.read_text(encoding="utf-8")
        assert "for ever: steps 1 to 4 again" in text
        assert "WF(ring): not enabled in states 0, 1, 3" in text


def test_a_lasso_is_no_test_of_kafka(tmp_path: Path) -> None:
    """What goes on for ever is not exported as a test, which has to end."""
    file, _ = written(tmp_path / "out")
    ran = kraftcheck("trace", file, "--system", NAME, "--export", "junit", "--out", tmp_path / "kafka")
    assert "the trace is a lasso, which never ends" in ran.refusal()


def test_a_lasso_is_shortened(tmp_path: Path) -> None:
    """Rounds on the way and rounds of the cycle are dropped; what is left is fair, and breaks the property."""
    file, document = written(tmp_path / "out")
    first, *around = document["states"]
    long = {**document, "states": [first, *around * 5], "loop": 8}
    long["#meta"]["kraftcheck"]["shortest"] = False
    file.write_text(json.dumps(long))
    assert kraftcheck("trace", file, "--system", NAME).last == "20 steps, not minimised"
    ran = kraftcheck("trace", file, "--system", NAME, "--minimise", "--out", tmp_path / "short.itf.json")
    assert (ran.code, ran.last) == (0, "4 steps, no step can be dropped, 16 dropped")
    short = json.loads((tmp_path / "short.itf.json").read_text())
    assert (short["loop"], len(short["states"])) == (0, 5)
    assert kraftcheck("trace", tmp_path / "short.itf.json", "--system", NAME).code == 0


def test_reports_have_the_cycle(tmp_path: Path) -> None:
    """JUnit's failure and SARIF's last step say what is repeated for ever, and how that is fair."""
    kraftcheck(*WEAK, "--property", "bell", "--junit", tmp_path / "a.xml", "--sarif", tmp_path / "a.sarif")
    text = (tmp_path / "a.xml").read_text()
    assert "for ever: steps 1 to 4 again, for state 4 is state 0" in text
    assert "fair: WF(ring): not enabled in states 0, 1, 3" in text
    (result,) = json.loads((tmp_path / "a.sarif").read_text())["runs"][0]["results"]
    last = result["codeFlows"][0]["threadFlows"][0]["locations"][-1]["location"]["message"]["text"]
    assert "4. down(): floor: 3 -> 0; for ever: steps 1 to 4 again" in last
    assert last.endswith("fair: WF(ring): not enabled in states 0, 1, 3")


@pytest.mark.parametrize(
    "words", [("prove",), ("prove", "--k", "2"), ("prove", "--pdr"), ("explain",)]
)
def test_proofs_and_mutants_refuse_liveness(words: tuple[str, ...]) -> None:
    """Induction, Spacer and `explain` name the properties that they do not judge, and who does."""
    told = kraftcheck(words[0], NAME, *words[1:]).refusal()
    assert "no liveness (top, bell, up, back, rung, attic, inside); `kraftcheck explore` does" in told


def test_proofs_of_other_properties_go_on() -> None:
    """A property that is named and no liveness is proven as ever."""
    kc.prove(LIFT, properties=["in-house"]).assert_holds()
    with pytest.raises(kc.Refusal, match="prove judges no liveness"):
        kc.prove(LIFT)


def test_walks_leave_liveness_unknown() -> None:
    """Random walks exit 22, name what they do not judge, and their verdicts are unknown."""
    ran = kraftcheck("simulate", NAME, "--runs", "5", "--quiet")
    assert (ran.code, "7 liveness properties unknown" in ran.last) == (22, True)
    assert "not judged by walks: top, bell, up, back, rung, attic, inside" in ran.out
    result = kc.simulate(LIFT, runs=5)
    assert {type(result.verdict(name)) for name in ("top", "inside")} == {kc.Unknown}
    with pytest.raises(kc.Refusal, match="the engine simulate judges no liveness"):
        JudgementRequest.of(LIFT, engine="simulate")


def test_machines_refuse_liveness() -> None:
    """A Hypothesis machine checks finite runs, of which liveness says nothing."""
    with pytest.raises(ValueError, match="lift: machines check safety only; leave the liveness out: top, bell"):
        machine(Integers(LIFT, LIFT.setting()))


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
def test_a_native_start_judges_liveness_for_spark() -> None:
    """Where nothing is handed over to Spark, its engine says of liveness what the native one says."""
    told = [kraftcheck("explore", NAME, *engine, "--quiet", "--json", "-") for engine in ((), ("--engine", "spark"))]
    native, ran = ([(p["id"], p["verdict"], p["depth"]) for p in one.document()["properties"]] for one in told)
    assert (told[1].code, ran) == (told[0].code, native)
    assert {"holds", "vacuous"} <= {verdict for _, verdict, _ in ran}


def test_symmetry_leaves_liveness_unknown() -> None:
    """So does a search up to symmetry: exit code 22; the property is named, and what to do instead judges it."""
    ran = kraftcheck("explore", "tests.solvers.liveness.toys:PAIR", "--symmetry", "on", "--quiet", "--json", "-")
    assert (ran.code, ran.document()["properties"][0]["verdict"]) == (22, "unknown")
    (unknown,) = (one for one in ran.document()["properties"] if one["verdict"] == "unknown")
    assert unknown["id"] == "one"
    assert unknown["detail"].endswith("which fairness does not allow for; explore all of them, with --symmetry off")
    ran = kraftcheck("explore", "tests.solvers.liveness.toys:PAIR", "--symmetry", "off", "--quiet", "--json", "-")
    assert (ran.code, ran.document()["properties"][0]["verdict"]) == (0, "holds")


def test_the_function_judges_liveness() -> None:
    """`kraftcheck.explore` gives the verdicts of a system of one's own."""
    result = kc.explore(LIFT, scope="fair")
    assert isinstance(result.verdict("bell"), kc.Holds)
    assert isinstance(kc.explore(LIFT, scope="weak").verdict("bell"), kc.Refuted)


def test_list_shows_what_is_fair() -> None:
    """`list` says of a liveness property what it takes to be fair."""
    told = " ".join(kraftcheck("list", NAME).out.split())
    assert "The lift comes to the top. (under WF(up), WF(down), WF(ring), SF(ring))" in told
    assert weak_fairness("a", "b", each=["x"], having={"y": (1, 2)}).text == "WF(a or b(each x, y=1 or 2))"
