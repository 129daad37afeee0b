"""Running a checker as a process of its own, and what it took."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from attrs import frozen


class MissingToolError(Exception):
    """A checker that cannot be run here; the message names it and the mend."""


@frozen
class Ran:
    """A process that has ended well: its output, seconds of the wall and of all processors, peak bytes of memory."""

    text: str
    seconds: float
    processor_seconds: float
    peak: int


@frozen
class Found:
    """What a checker found: distinct states, seconds of the search by its own account, and its process."""

    states: int
    seconds: float
    ran: Ran


class Checker(Protocol):
    """Something that explores two-phase commit."""

    @property
    def name(self) -> str:
        """As in the table."""

    def explore(self, managers: int, threads: int, folder: Path) -> Found:
        """Explore it; `folder` is empty.

        Raises:
            MissingToolError: when the checker is not on this machine.
        """


def need(program: str, mend: str) -> None:
    """Refuse to go on without a program on the path."""
    if shutil.which(program) is None:
        raise MissingToolError(f"{program}: not on PATH; {mend}")


def run(command: Sequence[str], folder: Path) -> Ran:
    """Run a command in a folder, with its output in a file there.

    Raises:
        RuntimeError: when it fails, with the end of its output.
    """
    output = folder / "output.txt"
    start = time.perf_counter()
    with output.open("wb") as stream:
        process = subprocess.Popen(command, cwd=folder, stdout=stream, stderr=subprocess.STDOUT)
        _, status, used = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    text = output.read_text(encoding="utf-8", errors="replace")
    if process.returncode:
        raise RuntimeError(f"{command[0]} ended with {process.returncode}: {text[-1000:]}")
    return Ran(text, seconds, used.ru_utime + used.ru_stime, 1024 * used.ru_maxrss)
