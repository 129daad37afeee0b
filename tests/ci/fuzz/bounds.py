"""The bounds of a case: its time, its memory, its exit code, and how it may speak."""

import collections
import faulthandler
import random
import resource
import shutil
import signal
import time
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

from attrs import frozen

from kraftcheck.ci.terminal import commands
from kraftcheck.ci.verdicts import command as verdicts
from tests.shared.commands import Ran, kraftcheck

MOST_BYTES = 1 << 30
SECONDS = 60.0

_SPACE = 8 << 30  # address space that a case may take more: what has no end ends there, and not where the machine does


class Late(BaseException):
    """A case takes too long; no reader takes it for an error of its own."""


@contextmanager
def bounded(seconds: float = SECONDS, most: int = MOST_BYTES) -> Iterator[None]:
    """Within this many seconds and bytes, or the test fails.

    The alarm repeats, so that whoever drops it meets the next; code that never comes back to Python ends the process.
    """
    late: list[float] = []

    def ring(*_: object) -> None:
        late.append(time.monotonic())
        raise Late(f"it took more than {seconds} s")

    kept, limits = signal.signal(signal.SIGALRM, ring), resource.getrlimit(resource.RLIMIT_AS)
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak of memory begins here
    before = _status("VmRSS")
    resource.setrlimit(resource.RLIMIT_AS, (_status("VmSize") + _SPACE, limits[1]))
    faulthandler.dump_traceback_later(2 * seconds + 60, exit=True)
    signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, kept)
        faulthandler.cancel_dump_traceback_later()
        resource.setrlimit(resource.RLIMIT_AS, limits)
    grown = _status("VmHWM") - before
    assert not late, f"it took more than {seconds} s, and went on"
    assert grown < most, f"{grown:,} bytes more"


def _status(name: str) -> int:
    """Bytes of memory, as Linux counts them for this process."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return int(next(line for line in lines if line.startswith(f"{name}:")).split()[1]) << 10


def fault(ran: Ran, codes: frozenset[int]) -> str:
    """How a command broke its word; empty where it did not."""
    if ran.code not in codes:
        return f"exit code {ran.code}"
    if ran.code == 2 and not (ran.err.startswith("kraftcheck: ") and ran.err.count("\n") == 1):
        return "a refusal is not one line"
    if "no memory left" in ran.err:
        return "it takes all memory that there is"
    return spoken(ran.out + ran.err)


def spoken(text: str) -> str:
    """What is wrong with a text for a terminal, or for a page that shows it by lines; empty where nothing is."""
    for line in text.split("\n"):
        if line.lstrip().startswith(("::", "##[")):
            return f"a line is a command of a CI job: {line[:80]!r}"
        if hidden := [one for one in line if unicodedata.category(one) in ("Cc", "Cf", "Cs", "Zl", "Zp")]:
            return f"hidden characters are not shown: {hidden[:5]!r}"
    return ""


@contextmanager
def _going_on() -> Iterator[None]:
    """A command that drops work at the end of its time limit would end the process: here it ends the command."""

    def end(code: int) -> None:
        raise SystemExit(code)

    with mock.patch.object(commands, "abandon", end), mock.patch.object(verdicts, "abandon", end):
        yield


@frozen
class Reader:
    """A reader with what is drawn for it."""

    name: str  # of the reader; the seed of a case has it too
    codes: frozenset[int]  # how a command may end
    # writes changed input into a folder, and gives command lines that read it; it looks itself at what they wrote, and
    # at readers that are no command
    cases: Callable[[random.Random, Path], Iterator[Sequence[object]]]

    def tried(self, seed: int, place: Path) -> collections.Counter[int]:
        """The exit codes of one case: a folder of input, and all commands on it."""
        draw, codes = random.Random(f"{self.name} {seed}"), collections.Counter[int]()
        with bounded(), _going_on():
            for words in self.cases(draw, place):
                ran = kraftcheck(*words)
                wrong = fault(ran, self.codes)
                assert not wrong, (self.name, seed, wrong, list(map(str, words)), ran.out[-300:], ran.err[-2000:])
                codes[ran.code] += 1
        return codes


def tried_for(
    seconds: float, first: int, place: Path, tried: Callable[[int, Path], collections.Counter[int]]
) -> collections.Counter[int]:
    """The exit codes of cases from a seed on, for so long; only the folder of a case that fails is left."""
    codes, end, seed = collections.Counter[int](), time.monotonic() + seconds, first
    while time.monotonic() < end:
        codes += tried_in(seed, place, tried)
        seed += 1
    return codes


def tried_in(
    seed: int, place: Path, tried: Callable[[int, Path], collections.Counter[int]]
) -> collections.Counter[int]:
    """The exit codes of one case in a folder of its own, which is removed where it passes."""
    folder = place / str(seed)
    folder.mkdir()
    codes = tried(seed, folder)
    shutil.rmtree(folder)
    return codes
