"""Progress on standard error, and work that a signal can stop."""

from __future__ import annotations

import contextlib
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from types import FrameType
from typing import TextIO, TypeVar

from attrs import define, field, frozen

from kraftcheck.ci.terminal import interrupts
from kraftcheck.ci.terminal.interrupts import Interrupted, Stop, announce, register_stop, stop_requested
from kraftcheck.solvers.exploration.explore import SearchProgress
from kraftcheck.solvers.program.stop import STOPPED

TERMINAL_SECONDS = 0.2
PLAIN_SECONDS = 5.0
GRACE_SECONDS = 0.5

Result = TypeVar("Result")


@frozen
class WholeSize:
    """The size of a space that an earlier run explored whole."""

    # distinct, generated: states, and transitions with the initial states
    distinct: int
    generated: int


@define
class Meter:
    """Writes a line about an exploration: in place on a terminal, a plain line now and then elsewhere."""

    stream: TextIO  # where to
    clock: Callable[[], float]  # seconds
    # the size of the space by an earlier run; None where there was none: then no time is estimated
    expected: WholeSize | None = None
    _next: float = field(init=False)
    _last: tuple[float, int, int] = (0.0, 0, 0)
    _open: bool = False

    def __attrs_post_init__(self) -> None:
        """The first line comes after one interval."""
        self._next = self.clock() + self._interval()

    def _interval(self) -> float:
        return TERMINAL_SECONDS if self.stream.isatty() else PLAIN_SECONDS

    def __call__(self, progress: SearchProgress) -> None:
        """Record progress, and write a line when one is due."""
        before, generated, distinct = self._last
        span = max(progress.seconds - before, 1e-9)
        text = (
            f"depth {progress.depth}: {progress.generated:,} generated "
            f"({(progress.generated - generated) / span:,.0f}/s), "
            f"{progress.distinct:,} distinct ({(progress.distinct - distinct) / span:,.0f}/s), "
            f"{progress.queue:,} in the frontier{self._left(progress)}"
        )
        if progress.sweep:
            text = f"backward sweep {progress.sweep}: {progress.queue:,} of {progress.distinct:,} states left"
        if self.write_when_due(text):
            self._last = (progress.seconds, progress.generated, progress.distinct)

    def _left(self, progress: SearchProgress) -> str:
        """The time that is left at the rate so far, where an earlier run knows what is left."""
        if self.expected is None or not 0 < progress.generated <= self.expected.generated:
            return ""
        left = self.expected.generated - progress.generated
        seconds = progress.seconds * left / progress.generated
        return f", about {duration(seconds)} left (an earlier run found {self.expected.distinct:,} states)"

    def compiling(self) -> None:
        """Say at once that code is being compiled: it may take seconds, in which nothing else happens."""
        self.write_now("compiling ...")

    def write_now(self, text: str) -> None:
        """Write a line whether or not one is due."""
        self._next = self.clock()
        self.write_when_due(text)

    def write_when_due(self, text: str) -> bool:
        """Write a line if an interval has passed; whether it did."""
        if self.clock() < self._next:
            return False
        self._next = self.clock() + self._interval()
        if self.stream.isatty():
            width = shutil.get_terminal_size().columns
            self._write(f"\r\x1b[K{text[: width - 1]}")
            self._open = True
        else:
            self._write(text + "\n")
        return True

    def _write(self, text: str) -> None:
        """Write; that nobody reads progress is no reason to stop the work."""
        try:
            self.stream.write(text)
            self.stream.flush()
        except OSError:
            self._next = float("inf")

    def close(self) -> None:
        """Clear the line on a terminal."""
        if self._open:
            self._write("\r\x1b[K")
            self._open = False


def duration(seconds: float) -> str:
    """Seconds as people say them.

    >>> duration(0.2), duration(75.4), duration(7300)
    ('1 s', '1 min 15 s', '2 h 1 min')
    """
    whole = max(1, round(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


@define
class ProgressTally:
    """Writes how much of some work is done, as a `Meter` does."""

    noun: str  # what is counted
    meter: Meter  # writes the lines

    def __call__(self, count: int, total: int) -> None:
        """Record the count, and write a line when one is due."""
        self.meter.write_when_due(f"{count:,} of {total:,} {self.noun}")


@contextmanager
def progress_tally(quiet: bool, noun: str) -> Iterator[ProgressTally | None]:
    """A tally on standard error, or none."""
    with progress_meter(quiet) as meter:
        yield None if meter is None else ProgressTally(noun, meter)


@contextmanager
def stop_flag(awaits_report: bool = False, signals: bool = True) -> Iterator[Stop]:
    """A flag that Ctrl-C, SIGTERM and the end of --time-limit set; after that Ctrl-C does what it always does.

    SIGTERM does not: `timeout` sends it to a process and to its group, so that one request to stop arrives twice.

    Args:
        awaits_report: whether Ctrl-C waits for what is reported of the stopped work; else the process ends in any case.
        signals: whether signals set it: not where Python asks, whose handlers stay, nor in a thread beside the first.

    Raises:
        Interrupted: where a signal has set an earlier flag, whose work was complete all the same, or time is over.
    """
    deadline = interrupts.current()
    if deadline is not None and interrupts.passed():
        raise Interrupted(f"{deadline.reason} between two parts of the work")
    signals = signals and threading.current_thread() is threading.main_thread()
    if signals and stop_requested():
        raise Interrupted("stopped between two parts of the work")
    flag = Stop(awaits_report)
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM) if signals}

    def ask(number: int, frame: FrameType | None) -> None:
        flag.ask(number)
        signal.signal(signal.SIGINT, before[signal.SIGINT])

    for number in before:
        signal.signal(number, ask)
    timer = None if deadline is None else threading.Timer(deadline.remaining(), flag.expire, [deadline.reason])
    try:
        with register_stop(flag) if signals else contextlib.nullcontext():
            if timer is not None:
                timer.daemon = True
                timer.start()
            yield flag
    finally:
        if timer is not None:
            timer.cancel()
        for number, handler in before.items():
            signal.signal(number, handler)


def interruptible(work: Callable[[Stop], Result]) -> Result:
    """The result of work on a thread of its own, as Python asks for it: Ctrl-C stops it, and is raised there."""
    begun = threading.Event()
    begun.set()
    with stop_flag(signals=False) as stop:
        return run_interruptibly(lambda: work(stop), stop, begun)


@contextmanager
def progress_meter(quiet: bool, expected: WholeSize | None = None) -> Iterator[Meter | None]:
    """A meter on standard error, or none; `expected` as a meter takes it."""
    meter = None if quiet else Meter(sys.stderr, time.monotonic, expected)
    try:
        yield meter
    finally:
        if meter is not None:
            meter.close()


def run_interruptibly(work: Callable[[], Result], stop: Stop, begin_event: threading.Event) -> Result:
    """The result of work done on a thread of its own, so that signals are heard whatever it does.

    Args:
        work: is expected to end soon after `stop` is set, once it has set `begin_event`.
        stop: set by signals.
        begin_event: until it is set, the work is abandoned on a stop: a compiler does not ask.

    Raises:
        Interrupted: when the work was abandoned on SIGTERM.
        KeyboardInterrupt: when it was abandoned on Ctrl-C, or where nothing else listens to that, which sets `stop`.
    """
    outcome: Future[Result] = Future()

    def run_work() -> None:
        try:
            outcome.set_result(work())
        except BaseException as error:
            outcome.set_exception(error)

    threading.Thread(target=run_work, name="work", daemon=True).start()
    while not outcome.done():
        try:
            wait([outcome], timeout=0.1)  # Python may miss a signal just before it begins to wait, so no wait is long
        except KeyboardInterrupt:
            stop.set()
            wait([outcome], timeout=GRACE_SECONDS)
            raise
        if stop.is_set() and not begin_event.is_set():
            wait([outcome], timeout=GRACE_SECONDS)
            if not outcome.done() and not begin_event.is_set():
                if stop.asked_by == signal.SIGINT:
                    announce()
                    raise KeyboardInterrupt
                reason = "stopped" if stop.reason == STOPPED else stop.reason
                raise Interrupted(f"{reason} before there was anything to report")
    return outcome.result()
