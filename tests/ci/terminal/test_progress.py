"""Progress: what it says, when, and where; and work that can be abandoned."""

import io
import os
import re
import signal
import threading
from pathlib import Path

import pytest

from kraftcheck.ci.terminal.interrupts import Stop
from kraftcheck.ci.terminal.progress import (
    PLAIN_SECONDS,
    TERMINAL_SECONDS,
    Interrupted,
    Meter,
    WholeSize,
    progress_meter,
    run_interruptibly,
    stop_flag,
)
from kraftcheck.solvers.exploration.explore import SearchProgress
from tests.shared.commands import kraftcheck


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


class Gone(io.StringIO):
    """A stream whose reader has gone."""

    def write(self, text: str) -> int:
        raise BrokenPipeError


class Clock:
    """A clock that is set by hand."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_plain_lines_tell_depth_counts_rates_and_frontier() -> None:
    """Where there is no terminal, each interval adds a line with the rates since the line before."""
    clock, stream = Clock(), io.StringIO()
    meter = Meter(stream, clock)
    clock.now = PLAIN_SECONDS
    meter(SearchProgress(depth=3, generated=20_000, distinct=5_000, queue=1_234, seconds=4.0))
    clock.now = 2 * PLAIN_SECONDS
    meter(SearchProgress(depth=4, generated=30_000, distinct=5_500, queue=7, seconds=5.0))
    meter.close()
    assert stream.getvalue().splitlines() == [
        "depth 3: 20,000 generated (5,000/s), 5,000 distinct (1,250/s), 1,234 in the frontier",
        "depth 4: 30,000 generated (10,000/s), 5,500 distinct (500/s), 7 in the frontier",
    ]


def test_the_time_left_is_told_where_an_earlier_run_knows_the_size() -> None:
    """With the size of an earlier run the rest is estimated at the rate so far; past that size nothing is made up."""
    clock, stream = Clock(), io.StringIO()
    meter = Meter(stream, clock, WholeSize(distinct=80_000, generated=400_000))
    for turn, generated in enumerate((0, 100_000, 400_001), start=1):
        clock.now = turn * PLAIN_SECONDS
        meter(SearchProgress(depth=3, generated=generated, distinct=20_000, queue=5, seconds=25.0))
    first, second, third = stream.getvalue().splitlines()
    assert second.endswith("5 in the frontier, about 1 min 15 s left (an earlier run found 80,000 states)")
    assert first.endswith("5 in the frontier")
    assert third.endswith("5 in the frontier")


def test_an_earlier_run_of_the_same_space_is_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only a whole run is kept, by program and setting: another scope, a limit or --no-cache has no estimate."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("kraftcheck.ci.terminal.progress.PLAIN_SECONDS", 0.0)
    monkeypatch.setattr("kraftcheck.ci.run.questions.WORTH_SECONDS", 0.0)
    system, scope = "tests.toys:TWO_PHASE", ("--scope", "5")
    assert " left (" not in kraftcheck("explore", system, *scope, "--max-depth", "3").err
    assert " left (" not in kraftcheck("explore", system, *scope, "--no-cache").err
    assert " left (" not in kraftcheck("explore", system, *scope).err
    [kept] = (tmp_path / "kraftcheck" / "sizes").iterdir()
    again = kraftcheck("explore", system, *scope)
    [states] = re.findall(r"^([\d,]+) distinct states", again.out, re.MULTILINE)
    assert f" left (an earlier run found {states} states)" in again.err
    for other in (("--scope", "3"), (*scope, "--max-depth", "3"), (*scope, "--stop-at-first"), (*scope, "--no-cache")):
        assert " left (" not in kraftcheck("explore", system, *other).err, other
    kept.write_text('{"distinct": 9, "generated": "many"}', encoding="utf-8")
    assert " left (" not in kraftcheck("explore", system, *scope).err


def test_compiling_is_shown_at_once_and_only_where_it_happens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A search and walks say that they compile before they do; with code from the cache, or --quiet, they do not."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    search, walks = ("explore", "tests.toys:CLOCK"), ("simulate", "tests.toys:CLOCK", "--runs", "2", "--steps", "2")
    for words in (search, walks):
        assert kraftcheck(*words, "--no-cache", "--quiet").err == ""
        assert kraftcheck(*words).err.splitlines()[0] == "compiling ..."
        assert "compiling" not in kraftcheck(*words).err
        assert kraftcheck(*words, "--no-cache").err.splitlines()[0] == "compiling ..."


def test_nothing_is_written_before_an_interval_has_passed() -> None:
    """A run shorter than one interval says nothing."""
    clock, stream = Clock(), io.StringIO()
    meter = Meter(stream, clock)
    clock.now = PLAIN_SECONDS - 0.01
    meter(SearchProgress(1, 2, 3, 4, 1.0))
    meter.close()
    assert stream.getvalue() == ""


def test_a_terminal_is_written_in_place() -> None:
    """On a terminal each line replaces the one before, and the last is cleared."""
    clock, stream = Clock(), Terminal()
    meter = Meter(stream, clock)
    for turn in (1, 2):
        clock.now = turn * TERMINAL_SECONDS
        meter(SearchProgress(turn, 10, 10, 0, clock.now))
    meter.close()
    assert "\n" not in stream.getvalue()
    assert stream.getvalue().startswith("\r\x1b[Kdepth 1: ")
    assert "\r\x1b[Kdepth 2: " in stream.getvalue()
    assert stream.getvalue().endswith("\r\x1b[K")


def test_a_line_fits_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """A line is cut to the terminal's width, for a wrapped line could not be replaced."""
    monkeypatch.setenv("COLUMNS", "30")
    clock, stream = Clock(), Terminal()
    meter = Meter(stream, clock)
    clock.now = TERMINAL_SECONDS
    meter(SearchProgress(1, 10**9, 10**9, 10**9, 1.0))
    assert len(stream.getvalue().removeprefix("\r\x1b[K")) == 29


def test_a_reader_that_goes_away_stops_no_work() -> None:
    """When nobody reads progress any more it ends, and the work goes on."""
    clock = Clock()
    meter = Meter(Gone(), clock)
    clock.now = PLAIN_SECONDS
    meter(SearchProgress(1, 1, 1, 1, 1.0))
    clock.now *= 100
    meter(SearchProgress(2, 2, 2, 2, 2.0))
    meter.close()
    assert meter._next == float("inf")


def test_quiet_has_no_meter(monkeypatch: pytest.MonkeyPatch) -> None:
    """--quiet writes no progress although every round would; without it standard error has lines."""
    monkeypatch.setattr("kraftcheck.ci.terminal.progress.PLAIN_SECONDS", 0.0)
    loud = kraftcheck("explore", "tests.toys:TWO_PHASE", "--scope", "5")
    assert loud.err.removeprefix("compiling ...\n").startswith("depth 0: ")
    assert loud.err.rstrip().endswith(" in the frontier")
    assert "in the frontier" not in loud.out
    assert kraftcheck("explore", "tests.toys:TWO_PHASE", "--scope", "5", "--quiet").err == ""
    with progress_meter(quiet=True) as meter:
        assert meter is None


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_sets_the_flag_and_gives_back_the_handlers(number: signal.Signals) -> None:
    """A signal only sets the flag, SIGTERM again and again; then Ctrl-C, and after the block both, do the usual."""
    before = {known: signal.getsignal(known) for known in (signal.SIGINT, signal.SIGTERM)}
    with stop_flag() as flag:
        assert not flag.is_set()
        assert signal.getsignal(number) is not before[number]
        os.kill(os.getpid(), number)
        assert flag.wait(1)
        os.kill(os.getpid(), signal.SIGTERM)
        assert signal.getsignal(signal.SIGINT) is before[signal.SIGINT]
    assert {known: signal.getsignal(known) for known in before} == before


def test_attended_work_gives_its_result_and_its_error() -> None:
    """Work done on a thread of its own returns and raises as if it had been called."""
    stop, begun = Stop(awaits_report=True), threading.Event()
    assert run_interruptibly(lambda: 7, stop, begun) == 7
    with pytest.raises(ZeroDivisionError):
        run_interruptibly(lambda: 1 // 0, stop, begun)


def test_work_that_has_begun_is_waited_for() -> None:
    """Work that looks at the flag is not abandoned: it ends by itself, with a result."""
    stop, begun = Stop(awaits_report=True), threading.Event()
    begun.set()

    def work() -> str:
        stop.set()
        threading.Event().wait(0.3)
        return "report"

    assert run_interruptibly(work, stop, begun) == "report"


def test_work_that_does_not_ask_is_abandoned(monkeypatch: pytest.MonkeyPatch) -> None:
    """Work that has not begun to look at the flag is left behind after a moment, on SIGTERM as what is incomplete."""
    monkeypatch.setattr("kraftcheck.ci.terminal.progress.GRACE_SECONDS", 0.05)
    stop, release = Stop(awaits_report=True), threading.Event()
    stop.ask(signal.SIGTERM)
    with pytest.raises(Interrupted, match="before there was anything to report"):
        run_interruptibly(release.wait, stop, threading.Event())
    release.set()
