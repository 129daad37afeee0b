"""Progress of long work on standard error, and a stop flag for Ctrl-C and SIGTERM."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TextIO

from attrs import define, field

from solvers.explorer import Progress

TERMINAL_SECONDS = 0.2
PLAIN_SECONDS = 5.0


@define
class Meter:
    """Writes a line about an exploration: in place on a terminal, a plain line now and then elsewhere.

    Attributes:
        stream: where to.
        clock: seconds.
    """

    stream: TextIO
    clock: Callable[[], float]
    _next: float = field(init=False)
    _seen: tuple[float, int, int] = (0.0, 0, 0)
    _open: bool = False

    def __attrs_post_init__(self) -> None:
        """The first line comes after one interval."""
        self._next = self.clock() + self._interval()

    def _interval(self) -> float:
        return TERMINAL_SECONDS if self.stream.isatty() else PLAIN_SECONDS

    def __call__(self, now: Progress) -> None:
        """Take note of progress; write when it is time."""
        if self.clock() < self._next:
            return
        self._next = self.clock() + self._interval()
        then, generated, distinct = self._seen
        span = max(now.seconds - then, 1e-9)
        text = (
            f"depth {now.depth}: {now.generated:,} generated ({(now.generated - generated) / span:,.0f}/s), "
            f"{now.distinct:,} distinct ({(now.distinct - distinct) / span:,.0f}/s), {now.queue:,} in the frontier"
        )
        self._seen = (now.seconds, now.generated, now.distinct)
        if self.stream.isatty():
            self.stream.write(f"\r\x1b[K{text}")
            self._open = True
        else:
            self.stream.write(text + "\n")
        self.stream.flush()

    def close(self) -> None:
        """Clear the line on a terminal."""
        if self._open:
            self.stream.write("\r\x1b[K")
            self.stream.flush()
            self._open = False


@contextmanager
def stoppable() -> Iterator[threading.Event]:
    """A flag that Ctrl-C and SIGTERM set; a second signal does what it always does."""
    flag = threading.Event()
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def ask(number: int, frame: FrameType | None) -> None:
        flag.set()
        for known, handler in before.items():
            signal.signal(known, handler)

    for number in before:
        signal.signal(number, ask)
    try:
        yield flag
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def metered(quiet: bool) -> Iterator[Meter | None]:
    """A meter on standard error, or none."""
    meter = None if quiet else Meter(sys.stderr, time.monotonic)
    try:
        yield meter
    finally:
        if meter is not None:
            meter.close()
