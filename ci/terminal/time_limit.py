"""`--time-limit`: the moment at which a command ends its work, and says what it has covered."""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any

import click
from attrs import frozen

from kraftcheck.ci.terminal.interrupts import Interrupted
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.solvers.program.stop import TIME_LIMIT
from kraftcheck.solvers.program.verdict import Incomplete, Unknown, Verdict

_KEY = "kraftcheck.time_limit"
_OF_PYTHON: ContextVar[Deadline | None] = ContextVar("deadline", default=None)
_SECONDS = {"h": 3600, "m": 60, "s": 1}
_DURATION = re.compile(r"(?:(\d{1,6})h)?(?:(\d{1,6})m)?(?:(\d{1,6}(?:\.\d{1,3})?)s)?", re.ASCII)


@frozen
class Deadline:
    """The moment at which work ends.

    Attributes:
        end: on the clock of `time.monotonic`.
        text: the limit as it was given.
    """

    end: float
    text: str

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
    """Meanwhile work ends after this time, such as `90s`; None: no limit.

    Raises:
        Refusal: for another text, and where the time was over before there was anything to report.
    """
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
