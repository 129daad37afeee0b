"""Ctrl-C at any moment: one line and exit code 130, or a report of what was cut; soon, and no process is left."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from attrs import frozen

from kraftcheck.ci.prove.broken import attempt, rows
from kraftcheck.ci.run.questions import search_budget
from kraftcheck.ci.terminal.interrupts import EXIT_INTERRUPTED, LINE, Interrupted, descendants
from kraftcheck.ci.verdicts.defects import explore_defect
from kraftcheck.properties.register.defects import BUGS
from kraftcheck.solvers.program.stop import STOPPED
from tests.shared.commands import kraftcheck
from tests.shared.places import ROOT
from tests.shared.samples import one_in

SOON = 15
"""Seconds that an interrupted process may take on a machine with much other work; two where it has none."""

WATCHED = """
import sys
from kraftcheck.ci import main
from kraftcheck.ci.terminal import interrupts
begin = interrupts.begin

def begun():
    begin()
    print("begun", flush=True)

interrupts.begin = begun
main.main()
"""
"""The command line in a process that says when it watches for signals: before anything is imported."""


@frozen
class Ended:
    """How a process ended after a signal.

    Attributes:
        code, out, err: exit code, and what it wrote.
        seconds: from the signal to its end.
        left: processes that it had started and that live on.
    """

    code: int
    out: str
    err: str
    seconds: float
    left: list[int]


def living(process: int) -> bool:
    """Whether a process runs."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def interrupted(code: str, words: tuple[object, ...], delay: float, until: int | None = 0) -> Ended:
    """Start a process, and send it SIGINT so long after its first line, and once it has so many descendants.

    Where that number is None, the process sends the signal itself.
    """
    command = [sys.executable, "-c", code, *map(str, words)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        command, cwd=ROOT, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        time.sleep(delay)
        deadline = time.monotonic() + 120
        while until is not None and len(descendants(process.pid)) < until:
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.05)
        children = descendants(process.pid)
        if until is not None:
            process.send_signal(signal.SIGINT)
        asked = time.monotonic()
        out, err = process.communicate(timeout=120)
        seconds = time.monotonic() - asked
    deadline = time.monotonic() + SOON
    while any(map(living, children)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return Ended(process.returncode, out, err, seconds, [child for child in children if living(child)])


def check_ended(ended: Ended) -> None:
    """One line and 130, or a report that says incomplete and 20."""
    assert ended.seconds < SOON
    assert ended.left == []
    if ended.code == 20:
        assert ended.err == ""
        assert "incomplete" in ended.out or "rows NOT checked" in ended.out
    else:
        assert (ended.code, ended.err) == (EXIT_INTERRUPTED, LINE.decode())


@pytest.mark.parametrize("seed", one_in(2, range(6)))
def test_at_any_moment_of_an_exploration(seed: int) -> None:
    """While modules are imported, the system is traced and compiled, and the search is on."""
    delay = random.Random(f"explore {seed}").uniform(0, 3.0)
    words = ("explore", "tests.toys:TWO_PHASE", "--managers", 10, "--workers", 1, "--quiet", "--no-cache")
    check_ended(interrupted(WATCHED, words, delay))


@pytest.mark.parametrize("seed", range(3))
def test_while_modules_are_imported(seed: int) -> None:
    """From the first moment on there is one line, and nothing else."""
    delay = random.Random(f"import {seed}").uniform(0, 0.3)
    ended = interrupted(WATCHED, ("check",), delay)
    check_ended(ended)
    assert (ended.code, ended.out) == (EXIT_INTERRUPTED, "")


@pytest.mark.parametrize(
    "words",
    one_in(3, [
        ("explore", "replication", "--scope", "medium", "--rules", "fixed", "--no-cache", "--quiet"),
        ("prove", "replication", "--rules", "fixed", "--workers", 1, "--quiet"),
        ("prove", "replication", "--rules", "fixed", "--workers", 2, "--quiet"),
        ("prove", "elections", "--rules", "fixed", "--bmc", 40, "--quiet"),
        ("prove", "elections", "--rules", "fixed", "--pdr", "--quiet"),
        ("simulate", "replication", "--scope", "large", "--rules", "fixed", "--no-cache", "--runs", 10**6, "--quiet"),
        ("check", "--quiet"),
        ("bugs", "--quiet"),
        ("explain", "--quiet"),
    ]),
    ids=lambda words: " ".join(map(str, words[:2])) if words[0] != "prove" else " ".join(map(str, words[4:6])),
)
def test_every_long_command(words: tuple[object, ...]) -> None:
    """In compilers, solvers, worker processes and searches."""
    delay = random.Random(f"{words}").uniform(2.5, 8.0)
    check_ended(interrupted(WATCHED, words, delay))


LATE = """
import os, signal, time
from kraftcheck.ci import main
from kraftcheck.ci.run import questions as native
from kraftcheck.ci.terminal import interrupts
begin, explore = interrupts.begin, native.explore

def begun():
    begin()
    print("begun", flush=True)

def interrupted_when_complete(*args, **options):
    result = explore(*args, **options)
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(0.5)
    return result

interrupts.begin, native.explore = begun, interrupted_when_complete
main.main()
"""
"""The command line in a process whose searches are complete when the signal comes."""


@pytest.mark.parametrize("words", [("check", "--quiet", "--workers", "1"), ("bugs", "--quiet")], ids=["check", "bugs"])
def test_a_signal_after_the_end_of_a_search_begins_no_other(words: tuple[str, ...]) -> None:
    """The first of many searches is reported as complete, and the command ends as incomplete."""
    ended = interrupted(LATE, words, 0.0, until=None)
    check_ended(ended)
    assert ended.code == 20


HELD = """
import subprocess, sys, threading, time
import z3
from kraftcheck.ci.terminal import interrupts
z3.set_param("ctrl_c", False)
interrupts.begin()
stubborn = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(90)"
child = subprocess.Popen([sys.executable, "-c", stubborn])
x, y = z3.BitVecs("x y", 128)
solver = z3.Solver()
solver.add(x * y == 1000000000000000003 * 1000000000000000009, z3.UGT(x, 1), z3.UGT(y, 1))
solver.add(z3.ULT(x, 2**62), z3.ULT(y, 2**62))
print("begun", flush=True)
solver.check()
"""
"""A main thread in a call that takes minutes and hears nothing, and a child that does not end when asked to."""


def test_a_call_that_hears_nothing_is_left() -> None:
    """A solver in the main thread does not hold the end up, nor does a child that ignores SIGTERM."""
    ended = interrupted(HELD, (), 1.5, until=1)
    check_ended(ended)
    assert ended.code == EXIT_INTERRUPTED


SWALLOWED = """
import time
from kraftcheck.ci.terminal import interrupts
interrupts.begin()
print("begun", flush=True)
while True:
    try:
        time.sleep(60)
    except BaseException:
        print("noise of a library", file=__import__("sys").stderr)
"""


NOISY = """
import hashlib, os, sys, time
from kraftcheck.ci.terminal import interrupts
write = os.write

def slow(place, data):
    time.sleep(4)
    return write(place, data)

interrupts.begin()
os.write = slow
print("begun", flush=True)
try:
    hashlib.pbkdf2_hmac("sha256", b"word", b"salt", 3_000_000)  # no handler runs meanwhile, but other threads do
except KeyboardInterrupt:
    print("noise of a library", file=sys.stderr, flush=True)
time.sleep(60)
"""
"""The main thread unwinds, with words of its own, before the thread that reads signals has written its line."""


def test_what_is_said_while_the_line_is_written_is_dropped() -> None:
    """One line is all that standard error gets, however late the line itself is."""
    ended = interrupted(NOISY, (), 0.2)
    check_ended(ended)
    assert ended.code == EXIT_INTERRUPTED


LATE_READER = """
import os, sys, time
from kraftcheck.ci.terminal import interrupts
from kraftcheck.ci.terminal.progress import stop_flag
read = os.read

def slow(place, size):
    data = read(place, size)
    time.sleep(0.5)
    return data

os.read = slow
interrupts.begin()
with stop_flag(awaits_report=True) as stop:
    print("begun", flush=True)
    while not stop.is_set():
        time.sleep(0.01)
time.sleep(1.5)
code = 130 if interrupts.interrupted() else 10
interrupts.end()
sys.exit(code)
"""
"""Work that a handler has stopped, and that is left before the thread that reads signals has read the signal."""


def test_a_signal_that_is_read_late_is_taken_once() -> None:
    """The report of stopped work is the outcome, though the thread that reads signals comes after its end."""
    assert interrupted(LATE_READER, (), 0.2).code == 10


def test_a_swallowed_interruption_ends_all_the_same() -> None:
    """Code that catches the exception and goes on, with words of its own, is ended, and its words are dropped."""
    ended = interrupted(SWALLOWED, (), 0.2)
    check_ended(ended)
    assert ended.code == EXIT_INTERRUPTED


def test_a_tour_is_interrupted() -> None:
    """Whether the jars are fetched, the graph is explored or Java answers, a tour ends as soon."""
    delay = random.Random("tour").uniform(3, 9)
    ended = interrupted(WATCHED, ("conform", "--kafka", "4.1.2", "--tour", "elections", "--scope", "small"), delay)
    check_ended(ended)
    assert ended.code == EXIT_INTERRUPTED


def test_a_stopped_proof_is_not_a_broken_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """`bugs --engine z3` does not take what was not asked any more for a proof that a defect breaks."""
    monkeypatch.setattr("kraftcheck.ci.prove.broken.run_proof", lambda *_: SimpleNamespace(stopped=True))
    with pytest.raises(Interrupted, match="stopped in the proofs of elections"):
        attempt(next(row for row in rows() if row.system == "elections"), 1, True)


def test_a_stopped_search_is_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    """`bugs` does not go on with the defect after the right rules, or with the next one."""
    monkeypatch.setattr("kraftcheck.ci.run.questions.run", lambda *_, **__: SimpleNamespace(cut=STOPPED))
    bug = BUGS[0]
    with pytest.raises(Interrupted, match=f"stopped in the search of {bug.variant}"):
        explore_defect(bug, bug.base, search_budget(1, 1 << 20), quiet=True)


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
@pytest.mark.parametrize("command", ["query", "sweep"])
def test_a_query_takes_its_virtual_machine_along(command: str, tmp_path: Path) -> None:
    """While Spark starts or works, Ctrl-C ends query and sweep, the JVM, and Python's workers."""
    words = ("--engine", "spark", "--handover", 10**6, "--out", tmp_path / "out", "--quiet")
    assert kraftcheck("explore", "elections", "--scope", "tiny", "--rules", "fixed", *words).code == 0
    question = ["SELECT count(*) FROM transitions", "--engine", "spark"] if command == "query" else []
    asked = (command, tmp_path / "out", *question)
    ended = interrupted(WATCHED, asked, 4, until=1)
    check_ended(ended)
    assert ended.code == EXIT_INTERRUPTED
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["levels", "run.json"]
