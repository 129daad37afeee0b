"""Work in a copy of this process, which may hang or die."""

from __future__ import annotations

import json
import math
import os
import resource
import select
import signal
import time
import traceback
from collections.abc import Callable
from typing import Any

PATIENCE = 8
"""How many seconds may pass for each that a processor may work: beside other work, all takes longer."""


def in_child(work: Callable[[], Any], seconds: float) -> Any:
    """What some work gives in a child of this process, as JSON has it; None: it died, or took longer.

    Args:
        work: what to do.
        seconds: how long a processor may work at it; a whole number of them, rounded up.

    Raises:
        RuntimeError: what the work raises.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(seconds), math.ceil(seconds) + 1))
        _work(work, writing)
    os.close(writing)
    text, end = b"", time.monotonic() + PATIENCE * seconds
    while select.select([reading], [], [], max(0.0, end - time.monotonic()))[0]:
        read = os.read(reading, 1 << 16)
        if not read:
            break
        text += read
    os.close(reading)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    if not text:
        return None
    given, fault = json.loads(text)
    if fault:
        raise RuntimeError(fault)
    return given


def _work(work: Callable[[], Any], writing: int) -> None:
    """Do it, with nothing shown, and end."""
    os.setsid()
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in range(3):
        os.dup2(nowhere, descriptor)
    try:
        done = json.dumps([work(), ""])
    except BaseException:  # whatever it is, who asked raises it
        done = json.dumps([None, traceback.format_exc()])
    with os.fdopen(writing, "w") as pipe:
        pipe.write(done)
    os._exit(0)
