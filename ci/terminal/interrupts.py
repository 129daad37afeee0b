"""Ctrl-C: one line, exit code 130, within two seconds, whatever the process is doing.

Python runs its handlers between bytecodes of the main thread, so that a call of a compiler or a solver delays them.
The operating system acts at once: it writes the signal's number into a pipe, and a thread reads it. The main
thread has a second to unwind; then the process ends where it is, and its children with it.

Nothing is imported here but the standard library, and what imports nothing else: the watch begins before all other
imports.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

import click
from attrs import frozen

from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.solvers.program.stop import TIME_LIMIT, StopFlag
from kraftcheck.solvers.program.verdict import Incomplete, Unknown, Verdict

EXIT_INTERRUPTED = 130

GRACE_SECONDS = 1.0  # how long the main thread may unwind before the process is ended
CHILD_SECONDS = 0.4  # how long children may take to end by themselves

LINE = b"kraftcheck: interrupted\n"


class Interrupted(Exception):
    """Work was asked to stop before there was anything to report."""


class OutOfTime(Interrupted):
    """The time of the command was over while something was awaited; it may have come later."""

    answered: int = 0  # how many answers of a sequence had come


class Stop(StopFlag):
    """A flag that Ctrl-C, SIGTERM and the end of a time limit set.

    Attributes:
        awaits_report: whether Ctrl-C waits for the report of what is stopped, however long that takes.
        asked_by: the signal that set it first; None while it is not set.
        signalled: whether the thread that reads signals has read one since.
    """

    def __init__(self, awaits_report: bool) -> None:
        super().__init__()
        self.awaits_report, self.signalled = awaits_report, False
        self.asked_by: int | None = None

    def expire(self, reason: str) -> None:
        """Set the flag because the time is over; a signal that came before is the reason already."""
        if not self.is_set():
            self.reason = reason
            self.set()

    def ask(self, number: int) -> None:
        """Set the flag on behalf of a signal."""
        if self.asked_by is None:
            self.asked_by = number
        _watch.stop_requested = _watch.begun
        self.set()


class _Watch:
    """State that the main thread and the thread that reads signals share.

    Attributes:
        unread: signals that a handler took before the thread read them, and whose flag has been left since.
    """

    def __init__(self, begun: bool) -> None:
        self.stops: list[Stop] = []
        self.terminal = 2
        self.lock = threading.RLock()  # a handler may run while this thread holds it
        self.announced, self.stop_requested = False, False
        self.begun, self.unread = begun, 0


_watch = _Watch(begun=False)


def begin() -> None:
    """Watch for Ctrl-C from now on, until the process ends."""
    global _watch
    _watch = _Watch(begun=True)
    with contextlib.suppress(OSError):  # there is none
        _watch.terminal = os.dup(2)  # standard error may lead to a log while a signal arrives
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.signal(signal.SIGINT, _interrupt)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    threading.Thread(target=_read_signals, args=(reader, _watch), name="signals", daemon=True).start()


def end() -> None:
    """Ignore Ctrl-C from now on: the outcome has been printed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.close(signal.set_wakeup_fd(-1))
    if _watch.terminal != 2:
        os.close(_watch.terminal)
        _watch.terminal = 2
    _watch.begun = _watch.stop_requested = False


def interrupted() -> bool:
    """Whether the user has been told that the run is interrupted; then it has no other outcome."""
    return _watch.announced


def stop_requested() -> bool:
    """Whether a signal has set a flag: the work may have been complete by then, but no other work begins."""
    return _watch.stop_requested


def announce() -> None:
    """Say so, once; what is written to standard error afterwards is noise of the unwinding, and is dropped."""
    with _watch.lock:
        if _watch.announced:
            return
        _watch.announced = True
        place = _watch.terminal
        with contextlib.suppress(OSError):  # before the lock is free: the other thread goes on to its noise
            place = os.dup(2) if place == 2 else place
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, one that is led back is not used
    with contextlib.suppress(OSError):
        os.write(place, (b"\r\x1b[K" if os.isatty(place) else b"") + LINE)


def abandon(code: int) -> NoReturn:
    """End the process where it is, and every process that it started."""
    end_children()
    os._exit(code)


def _interrupt(number: int, frame: FrameType | None) -> None:
    announce()
    raise KeyboardInterrupt


def _read_signals(reader: int, watch: _Watch) -> None:
    """Act on each signal as it arrives; on SIGTERM nothing but flags."""
    while data := os.read(reader, 1):
        number = data[0]
        with watch.lock:
            stops = [stop for stop in watch.stops if not stop.signalled]
            for stop in stops:
                stop.signalled = True
                stop.ask(number)
            taken = not stops and watch.unread > 0
            watch.unread -= taken
        if taken or number != signal.SIGINT:
            continue
        if not stops:
            announce()
        elif all(stop.awaits_report for stop in stops):
            continue
        threading.Thread(target=_force, args=(watch,), name="interrupt", daemon=True).start()
    os.close(reader)


def _force(watch: _Watch) -> None:
    """End the process, unless it has come to its end by itself, or to a report of what was stopped."""
    stops = list(watch.stops)
    time.sleep(GRACE_SECONDS)
    if watch is not _watch or (not watch.announced and not any(stop in watch.stops for stop in stops)):
        return
    announce()
    abandon(EXIT_INTERRUPTED)


@contextmanager
def register_stop(stop: Stop) -> Iterator[None]:
    """Meanwhile a signal sets this flag, even while the main thread is in a call that hears nothing."""
    watch = _watch
    watch.stops.append(stop)
    try:
        yield
    finally:
        with watch.lock:
            watch.stops.remove(stop)
            watch.unread += stop.asked_by is not None and not stop.signalled and not watch.stops


@contextlib.contextmanager
def beside(watch: Callable[[threading.Event], object]) -> Iterator[None]:
    """Let a thread watch meanwhile; its event says that it need no longer."""
    over = threading.Event()
    watcher = threading.Thread(target=watch, args=(over,), name="watch", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()


@contextlib.contextmanager
def called_on(stop: threading.Event, act: Callable[[], object]) -> Iterator[None]:
    """Call `act` in another thread once the flag is set meanwhile."""

    def watch(over: threading.Event) -> None:
        while not over.wait(0.1):
            if stop.is_set():
                act()
                return

    with beside(watch):
        yield


def end_children() -> None:
    """Ask every descendant to end, then end it."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        for child in descendants(os.getpid()):
            with contextlib.suppress(OSError):
                os.kill(child, number)
        deadline = time.monotonic() + CHILD_SECONDS
        while time.monotonic() < deadline and descendants(os.getpid()):
            time.sleep(0.02)


def descendants(process: int) -> list[int]:
    """The processes that a process started, and those that they started; the ended ones aside."""
    parents = _parents()
    processes = [process]
    for parent_ in processes:
        processes += [child for child, parent in parents.items() if parent == parent_]
    return processes[1:]


def _parents() -> Mapping[int, int]:
    """The parent of every living process: from /proc, or from `ps` where there is none."""
    parents = {}
    for place in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, parent = place.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[:2]
            if state != "Z":
                parents[int(place.parent.name)] = int(parent)
    if not parents:
        output = subprocess.run(["ps", "-A", "-o", "pid=,ppid="], capture_output=True, text=True, check=False).stdout
        parents = {int(child): int(parent) for child, parent in (line.split() for line in output.splitlines())}
    return parents


_KEY = "kraftcheck.time_limit"
_OF_PYTHON: ContextVar[Deadline | None] = ContextVar("deadline", default=None)
_SECONDS = {"h": 3600, "m": 60, "s": 1}
_DURATION = re.compile(r"(?:(\d{1,6})h)?(?:(\d{1,6})m)?(?:(\d{1,6}(?:\.\d{1,3})?)s)?", re.ASCII)


@frozen
class Deadline:
    """The moment at which work ends."""

    end: float  # on the clock of `time.monotonic`
    text: str  # the limit as it was given

    @property
    def reason(self) -> str:
        """Why the work is incomplete."""
        return f"{TIME_LIMIT} {self.text}"

    def remaining(self) -> float:
        """Seconds that are left, 0 once it has passed."""
        return max(0.0, self.end - time.monotonic())


def duration(text: str, option: str = "--time-limit") -> float:
    """Seconds from `90s`, `10m`, `2h`, `1h30m`; `option` is what was given.

    >>> duration("1h30m")
    5400.0

    Raises:
        Refusal: for anything else, and for no time at all.
    """
    found = _DURATION.fullmatch(text) if isinstance(text, str) else None
    seconds = sum(float(n) * _SECONDS[u] for n, u in zip(found.groups("0"), "hms", strict=True)) if found else 0.0
    if seconds <= 0:
        raise Refusal(f"{option} takes a time such as 90s, 10m or 1h30m, not {str(text)[:40]!r}")
    return seconds


def current() -> Deadline | None:
    """The deadline of the running command, or of the Python function; None without a limit."""
    context = click.get_current_context(silent=True)
    return _OF_PYTHON.get() if context is None else context.meta.get(_KEY)


@contextlib.contextmanager
def limited(text: str | None) -> Iterator[None]:
    """Meanwhile work ends after this time, such as `90s`; None: no limit; raises Refusal for no time, or one over."""
    before = _OF_PYTHON.set(None if text is None else Deadline(time.monotonic() + duration(text, "time_limit"), text))
    try:
        yield
    except Interrupted as error:
        raise Refusal(str(error)) from error
    finally:
        _OF_PYTHON.reset(before)


def passed() -> bool:
    """Whether the time of the running command is over: no further part of its work begins."""
    deadline = current()
    return deadline is not None and deadline.remaining() == 0


def within(seconds: float) -> float:
    """The time that one piece of work may take which cannot be stopped: no more than is left of the limit."""
    deadline = current()
    return seconds if deadline is None else max(0.001, min(seconds, deadline.remaining()))


def completed(command: Sequence[str], **options: Any) -> subprocess.CompletedProcess[str]:
    """A program that has ended, with what it wrote; raises OutOfTime, and ends it, once the time is over."""
    deadline = current()
    left = None if deadline is None else deadline.remaining()
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=left, **options)
    except subprocess.TimeoutExpired:
        raise OutOfTime(f"the time was over before {Path(command[0]).name} had ended") from None


def overdue(verdict: Verdict) -> Verdict:
    """A verdict for which there was no answer in time is incomplete, once the time is over."""
    deadline = current()
    if isinstance(verdict, Unknown) and deadline is not None and passed():
        return Incomplete(f"{deadline.reason}; {verdict.reason}")
    return verdict


def _note(context: click.Context, parameter: click.Parameter, text: str | None) -> None:
    if text is not None:
        context.meta[_KEY] = Deadline(time.monotonic() + duration(text), text)


time_limit: Callable[[Callable[..., Any]], Callable[..., Any]] = click.option(
    "--time-limit", metavar="DURATION", callback=_note, expose_value=False,
    help="Stop after this time, such as 90s, 10m or 1h30m (verdict incomplete).",
)  # fmt: skip
