"""Counterexamples: every one replays, is shown, is found again, and gets shorter where it can."""

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from itf_py import trace_from_json

from kraftcheck.ci.run.result import REPORT
from kraftcheck.ci.terminal.files import MARK
from kraftcheck.model.language.layout import Nothing
from kraftcheck.properties.register.verdicts import EXPECTED
from kraftcheck.solvers.program.trace import trace as traced
from kraftcheck.solvers.reference.confirm import EngineDisagreement
from kraftcheck.solvers.traces.itf import ACTION, PICKS
from kraftcheck.solvers.traces.render import (
    DEADLOCKED,
    already_false,
    call,
    every_property,
    lines,
    minimise,
    replay_trace,
    show,
)
from tests import toys
from tests.shared.commands import Ran, kraftcheck

REFUTED = sorted(c for c, v in EXPECTED["elections", "tiny", "kafka-4.0"].items() if v.startswith("refuted"))
STEP_LINE = re.compile(r" {0,2}\d+  (\w+)\((.*)\)")


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The counterexamples of `elections` at scope tiny under kafka-4.0."""
    folder = tmp_path_factory.mktemp("traces")
    ran = kraftcheck("explore", "elections", "--scope", "tiny", "--rules", "kafka-4.0", "--quiet", "--out", folder)
    assert ran.code == 12
    return folder


def steps(ran: Ran) -> list[str]:
    """The lines of steps."""
    return [line for line in ran.out.splitlines() if STEP_LINE.fullmatch(line)]


def again(ran: Ran) -> list[str]:
    """The words of the reproduction command, without the program's name."""
    return shlex.split(next(line for line in ran.out.splitlines() if "again: " in line).partition("again: ")[2])[1:]


def test_every_counterexample_is_written(out: Path) -> None:
    """There is a file for each refuted property, and no other."""
    names = {MARK, REPORT, *(f"{claim}.itf.json" for claim in REFUTED)}
    assert {path.name for path in out.iterdir()} == names


@pytest.mark.parametrize("claim", REFUTED)
def test_every_counterexample_replays(claim: str, out: Path) -> None:
    """Each file is read by the ITF library and by `trace`, which shows all its steps and the failing property."""
    path = out / f"{claim}.itf.json"
    length = int(EXPECTED["elections", "tiny", "kafka-4.0"][claim].split()[1])
    read = trace_from_json(json.loads(path.read_text()))
    assert len(read.states) == length + 1
    assert isinstance(read.states[0].values["isr"], frozenset)
    ran = kraftcheck("trace", path)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith(f"{claim}: ")
    assert len(steps(ran)) == length
    assert f"     fails: {claim}\n" in ran.out
    assert ran.last == f"{length} step{'' if length == 1 else 's'}, shortest as the file says"


@pytest.mark.parametrize("claim", ["leader-active", "elr-leavers-have-a-reason"])
def test_the_reproduction_command_finds_the_same_trace(claim: str, out: Path, tmp_path: Path) -> None:
    """The `again:` line of a state or step property, when run, writes the same file."""
    name = f"{claim}.itf.json"
    words = again(kraftcheck("trace", out / name))
    assert words[:2] == ["explore", "elections"]
    assert words[-2:] == ["--property", claim]
    assert kraftcheck(*words, "--quiet", "--out", tmp_path).code == 12
    assert (tmp_path / name).read_text() == (out / name).read_text()


def test_a_trace_is_what_happened_and_what_changed(out: Path) -> None:
    """Steps are numbered calls, only changed fields are listed below them, then property and conjunct."""
    shown = kraftcheck("trace", out / "leader-active.itf.json").out
    assert "  0  initial state\n" in shown
    assert "  1  new_incarnation(broker=0, clean=no, dirs={0})\n      fenced: {} -> {0}\n     fails: " in shown
    broker = kraftcheck("trace", out / "isr-active-while-led.itf.json").out
    assert "     fails: isr-active-while-led\n      false: broker 0\n" in broker


def test_full_shows_whole_states(out: Path) -> None:
    """--full lists every field of every state, changed or not."""
    path = out / "elr-empty-at-min-isr.itf.json"
    fields = len(json.loads(path.read_text())["vars"]) - 2
    whole = kraftcheck("trace", path, "--full").out
    assert len(re.findall(r"^      \w+ = ", whole, flags=re.MULTILINE)) == 3 * fields
    assert "->" not in whole
    changed = kraftcheck("trace", path).out
    assert len(re.findall(r"^      \w+ = ", changed, flags=re.MULTILINE)) == fields
    assert "      isr: {0,1} -> {0}\n" in changed


def padded(path: Path, at: int) -> Any:
    """A document with two irrelevant steps before a state: unclean election allowed, and forbidden again."""
    document = json.loads(path.read_text())
    states = document["states"]
    before = states[at - 1]
    detour = []
    for allowed in (not before["unclean_election"], before["unclean_election"]):
        detour.append({**before, "unclean_election": allowed, ACTION: "set_unclean_election", PICKS: {}})
    document["states"] = [*states[:at], *detour, *states[at:]]
    document["#meta"]["kraftcheck"]["shortest"] = False
    return document


@pytest.mark.parametrize("claim", ["leader-active", "controller-stays", "leader-is-replica"])
@pytest.mark.parametrize("at", [1, -1])
def test_minimise_gives_back_the_shortest_length(claim: str, at: int, out: Path, tmp_path: Path) -> None:
    """Irrelevant steps, wherever they are, are dropped; what is written is as short and says so honestly."""
    path = out / f"{claim}.itf.json"
    length = len(json.loads(path.read_text())["states"]) - 1
    (tmp_path / "long.json").write_text(json.dumps(padded(path, 1 if at == 1 else length)))
    told = kraftcheck("trace", tmp_path / "long.json")
    assert told.last == f"{length + 2} steps, not minimised"
    ran = kraftcheck("trace", tmp_path / "long.json", "--minimise", "--out", tmp_path / "short.json")
    assert ran.code == 0
    assert len(steps(ran)) == length
    assert ran.last == f"{length} step{'' if length == 1 else 's'}, no step can be dropped, 2 dropped"
    short = kraftcheck("trace", tmp_path / "short.json")
    assert (short.code, len(steps(short))) == (0, length)
    assert short.last.endswith(", not minimised")


def test_a_detour_leaves_as_a_whole() -> None:
    """A loop, of which no step can be dropped alone, is dropped; a shorter way not taken is not sought."""
    program = traced(toys.DIGRAPH, toys.DIGRAPH.setting())
    claim = program.always[0]
    ways = {edge: number for number, edge in enumerate(toys.EDGES)}
    around = [(0, 1), (1, 2), (2, 2), (2, 3), (3, 4), (4, 5), (5, 0), (0, 6), (6, 7), (7, 4), (4, 5)]
    short = minimise(program, claim, program.initial[0], [ways[edge] for edge in around])
    assert [state.node for state in short.states] == [0, 1, 2, 3, 4, 5]


def test_steps_before_the_last_that_break_the_property_are_marked() -> None:
    """Where the property is false already, the step says so; nothing is said of a shortest trace."""
    program = traced(toys.DIGRAPH, toys.DIGRAPH.setting())
    ways = {edge: number for number, edge in enumerate(toys.EDGES)}
    once = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)]
    for claim in (program.always[0], program.steps[0]):
        short = replay_trace(program, claim, program.initial[0], [ways[edge] for edge in once])
        assert already_false(claim, short) == {}
        twice = replay_trace(program, claim, program.initial[0], [ways[edge] for edge in [*once, (5, 0), *once]])
        told = "not from 4 to 5" if claim is program.steps[0] else "never-5"
        assert already_false(claim, twice) == {5: (f"already false: {told}",)}
        shown = lines(twice, marks=already_false(claim, twice))
        assert shown[shown.index("  5  follow(edge=(source=4, target=5))") + 2] == f"      already false: {told}"
    assert already_false(None, twice) == {}


def test_every_property_is_told_of_at_every_step(out: Path) -> None:
    """--verbose names below each state what fails there, states and steps alike, or that nothing does."""
    program = traced(toys.DIGRAPH, toys.DIGRAPH.setting())
    ways = {edge: number for number, edge in enumerate(toys.EDGES)}
    run = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)]
    marks = every_property(
        program, replay_trace(program, program.always[0], program.initial[0], [ways[e] for e in run])
    )
    assert {number for number, said in marks.items() if said == ("every property holds",)} == {0, 1, 2, 3, 4}
    assert marks[5] == ("false: never-5", "false: never-4-to-5 (not from 4 to 5)")
    shown = kraftcheck("trace", out / "isr-active-while-led.itf.json", "--verbose").out
    assert "      false: isr-active-while-led (broker 0)\n" in shown


def test_minimise_wants_a_counterexample() -> None:
    """A run that does not break the property is not shortened."""
    program = traced(toys.DIGRAPH, toys.DIGRAPH.setting())
    with pytest.raises(EngineDisagreement):
        minimise(program, program.always[0], program.initial[0], [0])


def test_a_trace_under_other_rules_is_refused(out: Path, tmp_path: Path) -> None:
    """A trace that mended rules do not follow is refused with the first state, step or property that differs."""
    document = json.loads((out / "elr-empty-at-min-isr.itf.json").read_text())
    document["#meta"]["kraftcheck"]["rules"] = "fixed"
    (tmp_path / "old.json").write_text(json.dumps(document))
    refusal = kraftcheck("trace", tmp_path / "old.json").refusal()
    assert refusal.endswith("the last one does not lead to it: elr-empty-at-min-isr holds")


@pytest.mark.parametrize(
    ("words", "claim", "length", "fails"),
    [
        (("tests.toys:HASTY", "--scope", "3"), "consistent", 7, "false: no one aborted or no one committed"),
        (("tests.toys:DIGRAPH",), "never-4-to-5", 4, "false: not from 4 to 5"),
        (("tests.toys:STUCK",), "deadlock", 3, DEADLOCKED),
        (("tests.shared.faulty:STRANGE_WORDS",), "[bold]/odd id", 0, "fails: [bold]/odd id"),
    ],
)
def test_users_traces_work(words: tuple[str, ...], claim: str, length: int, fails: str, tmp_path: Path) -> None:
    """Traces of a user's own system, of states, steps, initial states and deadlock, are written, shown, found again."""
    ran = kraftcheck("explore", *words, "--property", claim, "--quiet", "--out", tmp_path / "one")
    assert len(steps(ran)) == length
    (path,) = (tmp_path / "one").glob("*.itf.json")
    shown = kraftcheck("trace", path, "--minimise", "--system", words[0])
    assert (shown.code, len(steps(shown))) == (0, length)
    assert f"      {fails}\n" in shown.out or f"     {fails}\n" in shown.out
    assert again(shown) == again(ran)
    kraftcheck(*again(shown), "--quiet", "--out", tmp_path / "two")
    assert (tmp_path / "two" / path.name).read_text() == path.read_text()


def test_single_bounds_are_in_the_reproduction_command() -> None:
    """The command names the bounds that differ from the scope's, and only those."""
    ran = kraftcheck("explore", "tests.toys:HASTY", "--scope", "5", "--managers", 3, "--quiet")
    assert again(ran) == ["explore", "tests.toys:HASTY", "--scope", "5", "--managers", "3", "--property", "consistent"]
    assert "--managers" not in again(kraftcheck("explore", "tests.toys:HASTY", "--scope", "3", "--quiet"))


def test_unwritable_out_is_refused(tmp_path: Path) -> None:
    """A minimised trace that cannot be written is refused before anything is shown."""
    kraftcheck("explore", "tests.toys:STUCK", "--quiet", "--out", tmp_path)
    words = ("trace", tmp_path / "deadlock.itf.json", "--system", "tests.toys:STUCK", "--out", tmp_path)
    assert "it is a folder" in kraftcheck(*words).refusal()


def test_values_are_shown_in_few_words() -> None:
    """Truths are yes and no, a leader of -1 is none, records and tuples show their parts."""
    assert (show(True), show(Nothing(-1)), show(-1)) == ("yes", "none", "-1")
    assert show((1, False)) == "[1, no]"
    assert show(toys.Edge(1, 2)) == "(source=1, target=2)"
    assert (
        call("follow", {"edge": toys.Edge(1, 2), "leader": Nothing(-1)})
        == "follow(edge=(source=1, target=2), leader=none)"
    )
    assert call("tick", {}) == "tick()"
