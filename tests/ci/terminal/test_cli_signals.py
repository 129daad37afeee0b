"""Ctrl-C, SIGTERM, readers that go away and closed streams, in processes of their own."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.ci.unclean_recovery.snapshots import cluster, log, written
from tests.shared.commands import start
from tests.shared.places import ROOT

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
