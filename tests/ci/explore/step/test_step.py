"""`kraftcheck step`: commands by a pipe, properties at each step, files, searches, and its ends."""

import io
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path
from unittest import mock

import pytest

from kraftcheck.ci.explore.step import COMMANDS
from tests.shared.commands import Ran, kraftcheck
from tests.shared.places import ROOT

DIGRAPH = "tests.toys:DIGRAPH"
COUNTER = "tests.toys:COUNTER"


def stepped(*commands: str, system: str = DIGRAPH, words: tuple[object, ...] = ()) -> Ran:
    """A script of commands, one a line."""
    with mock.patch("sys.stdin", io.StringIO("".join(f"{command}\n" for command in commands))):
        return kraftcheck("step", system, *words)


def said(ran: Ran, command: str) -> str:
    """What a command of a script printed."""
    assert ran.code == 0, ran.err
    return ran.out.partition(f"\n> {command}\n")[2].partition("\n> ")[0]


def test_a_step_is_taken_by_its_number() -> None:
    """The enabled steps are numbered; a number takes one, and shows what changed, the properties, and what is next."""
    ran = stepped("5", "take 6")
    assert "    5  follow(edge=(source=0, target=6))" in ran.out.partition("> 5")[0]
    assert said(ran, "5").splitlines()[:2] == ["  1  follow(edge=(source=0, target=6))", "      node: 0 -> 6"]
    assert "    7  follow(edge=(source=7, target=4))" in said(ran, "take 6")
    assert "5  follow" not in said(ran, "take 6")


def test_why_and_disabled_name_the_conjuncts() -> None:
    """Of a disabled step the conjuncts that are false are shown, of all of them too, and of one action by its name."""
    ran = stepped("why 1", "why 0", "disabled", "disabled esc")
    assert said(ran, "why 1") == "    1  follow(edge=(source=1, target=2)): false: at the edge's source"
    assert said(ran, "why 0").endswith("enabled")
    assert "escape(): false: guard" in said(ran, "disabled")
    assert "1-4, 6-9  follow: false: at the edge's source" in said(ran, "disabled")
    assert said(ran, "disabled esc").strip() == "10  escape(): false: guard"


def test_properties_are_shown_after_each_step() -> None:
    """What fails is named with its conjunct at the step that breaks it; `properties` has them all."""
    ran = stepped("goto node == 4", "properties", "4", "undo")
    assert "fails" not in said(ran, "goto node == 4")
    assert "  holds: never-5\n" in said(ran, "properties")
    broken = said(ran, "4")
    assert "  fails: never-5\n  fails: never-4-to-5 (not from 4 to 5)\n" in broken
    assert "properties: 2 fails, 1 shown, 1 not shown" in broken
    assert "fails" not in said(ran, "undo")


def test_the_run_goes_back_and_begins_elsewhere() -> None:
    """`undo`, `back` and `initial` change the run; `path` shows what is left of it, `state` the fields."""
    ran = stepped("5", "6", "undo 2", "path", "5", "6", "back 1", "state")
    assert "follow" not in said(ran, "path")
    assert said(ran, "state").strip() == "node = 6"
    clock = stepped("initial", "initial 1", "state", system="tests.toys:CLOCK")
    assert said(clock, "initial").splitlines()[0] == "2 initial states; the run began in 0"
    assert said(clock, "state").strip() == "hand = 1"


def test_goto_takes_the_shortest_way_from_here() -> None:
    """The steps to a state that satisfies an expression are appended; where there is none, nothing happens."""
    ran = stepped("0", "goto node == 5", "path")
    assert said(ran, "goto node == 5").startswith(
        "found in 4 steps: node == 5\n  2  follow(edge=(source=1, target=2))\n"
    )
    assert [line[:5].strip() for line in said(ran, "path").splitlines() if "follow" in line] == [
        "1",
        "2",
        "3",
        "4",
        "5",
    ]
    absent = stepped("0", "goto node == 8", "state")
    assert said(absent, "goto node == 8") == "not reachable from here: none of 8 states satisfies node == 8"
    assert said(absent, "state").strip() == "node = 1"
    assert said(stepped("goto node == 0"), "goto node == 0").startswith("found in 0 steps")


def test_goto_says_unknown_where_its_budget_ends() -> None:
    """A search that is cut says that it does not know."""
    ran = stepped("goto node == 5", words=("--max-states", 2))
    assert said(ran, "goto node == 5").startswith("unknown: state limit 2")


@pytest.mark.parametrize("claim", ["run", "never-5"])
def test_a_run_is_saved_and_loaded(claim: str, tmp_path: Path) -> None:
    """`trace` shows what `save` wrote, --from begins there and `load` goes on from there, and it is the same file."""
    target = 4 if claim == "run" else 5
    path = tmp_path / "run.itf.json"
    assert f"wrote {path}" in stepped(f"goto node == {target}", f"save {path}").out
    shown = kraftcheck("trace", path, "--system", DIGRAPH)
    assert shown.code == 0
    assert shown.out.startswith(f"{claim}: ")
    assert ("again:" in shown.out) == (claim != "run")
    again = stepped("state", f"save {path}2", words=("--from", path))
    assert said(again, "state").strip() == f"node = {target}"
    assert said(stepped(f"load {path}", "state"), "state").strip() == f"node = {target}"
    assert (tmp_path / "run.itf.json2").read_text() == path.read_text()
    if claim == "run":
        minimised = kraftcheck("trace", path, "--system", DIGRAPH, "--minimise")
        assert "a run that is about no property cannot be shortened" in minimised.refusal()


def test_a_trace_of_explore_is_a_beginning(tmp_path: Path) -> None:
    """A counterexample can be stepped through: it is loaded whole, and its steps can be taken back."""
    kraftcheck("explore", DIGRAPH, "--property", "never-5", "--quiet", "--out", tmp_path / "out")
    ran = stepped("back 0", words=("--from", tmp_path / "out" / "never-5.itf.json"))
    assert "fails: never-5" in ran.out.partition("\n> ")[0]
    assert "node = 0" in said(ran, "back 0")


def test_an_expression_is_one_of_the_properties() -> None:
    """--invariant is judged at each step beside the others."""
    ran = stepped("5", words=("--invariant", "node < 6"))
    assert "fails: node < 6" in said(ran, "5")


def test_a_step_beyond_the_scope_is_told_apart() -> None:
    """A step whose effect no field has room for is listed as such, and refused."""
    ran = stepped("1", "1", system=COUNTER)
    assert "add(n=2)   beyond the scope: count = 6 is outside its domain 0..5" in ran.out
    refused = stepped("1", "1", "1", system=COUNTER)
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert "take: add(n=2) leads beyond the scope" in refused.err


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("tak 3", "no command 'tak'; did you mean take"),
        ("1", "take: follow(edge=(source=1, target=2)) is not enabled: false: at the edge's source"),
        ("take", "take takes a number, not ''"),
        ("999", "take: there is no action instance 999; numbers are 0..10"),
        ("why 99", "why: there is no action instance 99"),
        ("undo", "undo: there is no step -1"),
        ("back 3", "back: there is no step 3"),
        ("initial 1", "initial: there is no initial state 1"),
        ("goto", "goto takes an expression"),
        ("goto nod == 1", "column 1: no field nod"),
        ("save", "save takes the name of a file"),
        ("load absent.json", "absent.json"),
    ],
)
def test_a_refused_command_ends_a_script(line: str, says: str) -> None:
    """One line on standard error, exit code 2, and what follows is not done."""
    ran = stepped(line, "state")
    assert ran.code == 2
    assert says in ran.err
    assert ran.err.count("\n") == 1
    assert "> state" not in ran.out


def test_quit_comments_and_blank_lines() -> None:
    """`quit` ends the script; a blank line and one that begins with # are passed over; `help` names every command."""
    ran = stepped("", "# a comment", "help", "quit", "nonsense")
    assert ran.code == 0
    assert [line.split()[0] for line in said(ran, "help").splitlines()] == list(COMMANDS)


def test_options_that_the_file_decides_are_refused(tmp_path: Path) -> None:
    """Beside --from neither scope nor rules nor bounds are given, and the file is of the system that is named."""
    path = tmp_path / "run.itf.json"
    stepped(f"save {path}")
    assert "comes from the file of --from" in kraftcheck("step", DIGRAPH, "--from", path, "--scope", "x").refusal()
    assert "DIGRAPH" in kraftcheck("step", COUNTER, "--from", path).refusal()


def test_a_terminal_prompts_goes_on_after_a_refusal_and_ends_with_the_input() -> None:
    """In a terminal a refused command is one line, the session goes on, and Ctrl-D ends it with exit code 0."""
    ran = in_terminal(b"nonsense\n0\n\x04")
    assert ran.code == 0
    assert "no command 'nonsense'" in ran.out
    assert "node: 0 -> 1" in ran.out


def test_ctrl_c_ends_it_quietly() -> None:
    """At the prompt Ctrl-C ends the session in one line, without a traceback."""
    ran = in_terminal(b"0\n", interrupt=True)
    assert ran.code == 130
    assert "Traceback" not in ran.out
    assert ran.out.rstrip().endswith("kraftcheck: interrupted")


def in_terminal(keys: bytes, interrupt: bool = False) -> Ran:
    """A session in a terminal of its own; everything that it shows."""
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "kraftcheck.ci.main", "step", DIGRAPH], cwd=ROOT, stdin=slave, stdout=slave,
        stderr=slave, env={**os.environ, "TERM": "dumb", "PYTHONPATH": str(ROOT)}, start_new_session=True,
    )  # fmt: skip
    os.close(slave)
    shown = _until(master, b"> ")
    os.write(master, keys)
    if interrupt:
        shown += _until(master, b"\n> ")
        process.send_signal(signal.SIGINT)
    shown += _until(master, None)
    os.close(master)
    return Ran(process.wait(20), shown.decode(), "")


def _until(master: int, mark: bytes | None) -> bytes:
    """What is shown until a mark, or until the end."""
    shown, ends = b"", time.monotonic() + 30
    while time.monotonic() < ends and (mark is None or mark not in shown):
        try:
            part = os.read(master, 4096)
        except OSError:  # the other side is closed
            break
        if not part:
            break
        shown += part
    return shown
