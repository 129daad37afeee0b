"""Requests to stop, and their reasons in the words of a verdict."""

from __future__ import annotations

import threading

STOPPED = "stopped on request"

TIME_LIMIT = "time limit of"  # how the reason of a time limit begins


class StopFlag(threading.Event):
    """A flag that asks an engine to end."""

    reason = STOPPED  # why, in the words of a verdict


def stop_reason(stop: threading.Event) -> str:
    """Why a flag is set; a plain event is set on request."""
    return stop.reason if isinstance(stop, StopFlag) else STOPPED


def is_stop(cut: str | None) -> bool:
    """Whether a search was cut from outside, and not by a limit of its own."""
    return cut is not None and (cut == STOPPED or cut.startswith(TIME_LIMIT))
