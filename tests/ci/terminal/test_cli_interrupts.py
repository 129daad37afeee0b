"""Ctrl-C, SIGTERM and closed streams at any moment: one line, or a report of what was covered."""

import json
import os
import random
import re
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
from tests.ci.unclean_recovery.snapshots import cluster, log, written
from tests.shared.commands import kraftcheck, start
from tests.shared.places import ROOT
from tests.shared.samples import one_in

SOON = 15  # seconds that an interrupted process may take on a machine with much other work; two where it has none

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
    """How a process ended after a signal."""

    # code, out, err: exit code, and what it wrote
    code: int
    out: str
    err: str
    seconds: float  # from the signal to its end
    left: list[int]  # processes that it had started and that live on


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
    one_in(
        3,
        [
            ("explore", "replication", "--scope", "medium", "--rules", "fixed", "--no-cache", "--quiet"),
            ("prove", "replication", "--rules", "fixed", "--workers", 1, "--quiet"),
            ("prove", "replication", "--rules", "fixed", "--workers", 2, "--quiet"),
            ("prove", "elections", "--rules", "fixed", "--bmc", 40, "--quiet"),
            ("prove", "elections", "--rules", "fixed", "--pdr", "--quiet"),
            (
                "simulate",
                "replication",
                "--scope",
                "large",
                "--rules",
                "fixed",
                "--no-cache",
                "--runs",
                10**6,
                "--quiet",
            ),
            ("check", "--quiet"),
            ("bugs", "--quiet"),
            ("explain", "--quiet"),
        ],
    ),
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
    ended = interrupted(
        WATCHED, ("conform", "--kafka", "4.1.2", "--tour", "directories", "--scope", "small", "--quiet"), delay
    )
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


LONG = ("explore", "tests.toys:TWO_PHASE", "--managers", 10, "--workers", 1)
"""An exploration of tens of seconds, after a compilation of a fraction of one."""


def wait_for_search(cache: Path) -> None:
    """Wait until the kernel has been compiled, and the search has had a moment."""
    deadline = time.monotonic() + 30
    while not list(cache.rglob("*.o")):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    time.sleep(0.4)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["ctrl-c", "sigterm"])
def test_a_stopped_exploration_reports(number: signal.Signals, tmp_path: Path) -> None:
    """A signal ends a long search within two seconds with exit 20, a report that says incomplete, no traceback."""
    process = start(LONG, environment={"XDG_CACHE_HOME": str(tmp_path)})
    wait_for_search(tmp_path)
    process.send_signal(number)
    asked = time.monotonic()
    out, err = process.communicate(timeout=20)
    assert time.monotonic() - asked < 2
    assert (process.returncode, {*err.splitlines()}) == (20, {"compiling ..."})
    assert "incomplete: stopped on request" in out
    assert re.fullmatch(r"[123] incomplete(, [12] holds)? \(exit 20\)", out.splitlines()[-1])
    assert [path.name for path in tmp_path.iterdir()] == ["kraftcheck"]


def test_a_stopped_comparison_begins_no_other_search(tmp_path: Path) -> None:
    """SIGTERM in the search of one side ends a comparison within two seconds, in one line that says incomplete."""
    words = ("diff", "fixed", "fixed+fenced-leader-acceptable", "elections", "--workers", 1, "--quiet")
    process = start(words, environment={"XDG_CACHE_HOME": str(tmp_path)})
    wait_for_search(tmp_path)
    process.send_signal(signal.SIGTERM)
    asked = time.monotonic()
    out, err = process.communicate(timeout=60)
    assert time.monotonic() - asked < 2
    assert (process.returncode, err) == (20, "")
    assert re.fullmatch(r"incomplete: stopped between two parts of the work \(exit 20\)\n", out)


SLOW_COMPILER = """
import sys, time
import kraftcheck.solvers.machine_code.compile
from tests.toys import TWO_PHASE as SYSTEM

def object_code(*given, **options):
    print("compiling", file=sys.stderr, flush=True)
    time.sleep(60)

kraftcheck.solvers.machine_code.compile.object_code = object_code
"""
"""A system whose kernel takes a minute to compile."""


@pytest.mark.parametrize(
    ("number", "code", "told", "said"),
    [
        (signal.SIGINT, 130, "", "kraftcheck: interrupted\n"),
        (signal.SIGTERM, 20, "incomplete: stopped before there was anything to report (exit 20)\n", ""),
    ],
    ids=["ctrl-c", "sigterm"],
)
def test_a_stop_while_compiling_ends_at_once(
    number: signal.Signals, code: int, told: str, said: str, tmp_path: Path
) -> None:
    """A signal while a kernel is being made does not wait for the compiler, and claims nothing."""
    (tmp_path / "slow_compiler.py").write_text(SLOW_COMPILER)
    process = start(("explore", "slow_compiler:SYSTEM", "--no-cache"), tmp_path)
    assert process.stderr is not None
    assert [process.stderr.readline() for _ in range(2)] == ["compiling ...\n", "compiling\n"]
    process.send_signal(number)
    assert process.communicate(timeout=20) == (told, said)
    assert process.returncode == code


EARLY = """
import os, signal, sys
from kraftcheck.ci.main import main

class Signalling:
    def find_spec(self, name, *_):
        if name == "kraftcheck.ci.terminal.interrupts":
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Signalling())
main()
"""


def test_ctrl_c_in_the_first_moment_is_one_line() -> None:
    """While what watches for Ctrl-C is still imported, it ends the command at once, as later, and quietly."""
    ran = subprocess.run([sys.executable, "-c", EARLY, "list"], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert (ran.returncode, ran.stdout, ran.stderr) == (130, "", "kraftcheck: interrupted\n")


SIGNALLED = """
import os, signal, sys
import kraftcheck.ci.logs.recovery.tool as tool
from kraftcheck.ci.main import main

decide, asked = tool.designate_all, []

def designate_all(*given):
    def stopped():
        asked.append(stop())
        if len(asked) == 2:
            os.kill(os.getpid(), signal.SIGTERM)
        return stop()

    *others, stop, epochs = given
    return decide(*others, stopped, epochs)

tool.designate_all = designate_all
main()
"""
"""The command line in a process that gets a SIGTERM when its first election request has been answered."""


def test_a_stopped_recovery_writes_what_was_elected(tmp_path: Path) -> None:
    """SIGTERM between two requests ends with exit 1: what the first elected is written, the rest is as before."""
    count, served = 1100, 1000
    path = written(tmp_path / "cluster.json", cluster({1: [log(n, 5, 10) for n in range(count)]}, count))
    words = ("unclean-recovery", "--snapshot", str(path), "--all-offline-partitions", "--automated-recovery")
    ran = subprocess.run(
        [sys.executable, "-c", SIGNALLED, *words],
        cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert ran.returncode == 1
    assert ran.stdout.splitlines()[-1] == f"{count} partition(s), {count - served} failed (exit 1)"
    assert "Traceback" not in ran.stderr
    assert ran.stderr.count("INTERRUPTED") == count - served
    entries = json.loads(path.read_text(encoding="utf-8"))["topics"][0]["partitions"]
    assert [entry["leader"] for entry in entries] == [1] * served + [-1] * (count - served)
    assert [left.name for left in tmp_path.iterdir()] == ["cluster.json"]


STOPPED_READING = """
import os, signal
import kraftcheck.ci.logs.recovery.tool as tool
from kraftcheck.ci.main import main

read = tool.read_snapshot

def read_snapshot(*place):
    os.kill(os.getpid(), signal.SIGTERM)
    return read(*place)

tool.read_snapshot = read_snapshot
main()
"""
"""The command line in a process that gets a SIGTERM while it reads the snapshot."""


def test_a_recovery_stopped_before_it_elects_changes_nothing(tmp_path: Path) -> None:
    """SIGTERM while the snapshot is still being read ends the run, not with 0, and no file is there or changed."""
    path = written(tmp_path / "cluster.json", cluster({1: [log(0, 5, 10)]}, 1))
    before, output = path.read_bytes(), tmp_path / "after.json"
    words = ("unclean-recovery", "--snapshot", path, "--all-offline-partitions", "--automated-recovery", "--output")
    ran = subprocess.run(
        [sys.executable, "-c", STOPPED_READING, *map(str, (*words, output))],
        cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert ran.returncode in (-signal.SIGTERM, 128 + signal.SIGTERM)
    assert (ran.stdout, "Traceback" in ran.stderr) == ("", False)
    assert [left.name for left in tmp_path.iterdir()] == ["cluster.json"]
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "words",
    [
        "list",
        "list --json -",
        "explore tests.toys:DIGRAPH --json -",
        "conform --vectors tests/vectors/directory_id.json",
    ],
)
def test_a_reader_that_goes_away_gives_no_traceback(words: str) -> None:
    """Output into a closed pipe ends quietly with an exit code above 0."""
    reader, writer = os.pipe()
    os.close(reader)
    try:
        process = start(words.split(), stdout=writer)
        _, err = process.communicate(timeout=30)
    finally:
        os.close(writer)
    assert process.returncode == 141
    assert "Traceback" not in err
    assert "Exception ignored" not in err


def test_a_full_disk_gives_no_traceback() -> None:
    """Output that cannot be written is one line and exit code 2."""
    with open("/dev/full", "w") as full:
        process = start(["list"], stdout=full)
        _, err = process.communicate(timeout=30)
    assert process.returncode == 2
    assert err.startswith("kraftcheck: ")
    assert err.endswith("No space left on device\n")
    assert err.count("\n") == 1


@pytest.mark.parametrize("closed", ["stdout", "stderr"])
def test_closed_streams_change_no_verdict(closed: str) -> None:
    """With standard output or error closed by the caller the exit code is still the verdict's."""
    number = {"stdout": 1, "stderr": 2}[closed]
    command = [sys.executable, "-m", "kraftcheck.ci.main", "explore", "tests.toys:STUCK"]
    code = "import os, sys; os.close(int(sys.argv[1])); os.execv(sys.argv[2], sys.argv[2:])"
    ran = subprocess.run(
        [sys.executable, "-c", code, str(number), *command], cwd=ROOT, capture_output=True, text=True, timeout=30
    )
    assert ran.returncode == 11
    assert "Traceback" not in ran.stdout + ran.stderr
