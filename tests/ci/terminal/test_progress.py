"""Progress: what it says, when, and where; and work that can be abandoned."""

from __future__ import annotations

import io
import os
import signal
import threading

import pytest

from kraftcheck.ci.terminal.interrupts import Stop
from kraftcheck.ci.terminal.progress import (
    PLAIN_SECONDS,
    TERMINAL_SECONDS,
    Interrupted,
    Meter,
    progress_meter,
    run_interruptibly,
    stop_flag,
)
from kraftcheck.solvers.search.explore import SearchProgress
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
    assert loud.err.startswith("depth 0: ")
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
