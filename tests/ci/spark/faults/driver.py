"""A driver of the Spark engine as a process of its own, and the processes below it."""

import contextlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import define, field

from kraftcheck.ci.terminal.interrupts import descendants
from tests.ci.spark.faults.space import Space
from tests.shared.commands import start
from tests.shared.places import ROOT

CONF = {"spark.driver.memory": "512m", "spark.executor.memory": "512m", "spark.driver.host": "127.0.0.1"}
"""Of all drivers: the machine of a test has little memory."""

QUICK = {"JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
"""The environment of JVMs that live for seconds: they compile quickly."""

LONG = 900.0  # seconds after which a run that does not go on has failed, on a busy machine too


def words_of(process: int) -> str:
    """The command line of a process; empty once it has ended."""
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""


def below(process: int) -> list[int]:
    """All processes below one, those that were started last first."""
    return sorted(descendants(process), reverse=True)


def send(processes: Sequence[int], number: signal.Signals) -> int:
    """Send a signal to those of some processes that live; how many they were."""
    sent = 0
    for process in processes:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, number)
            sent += 1
    return sent


def awaited(what: Callable[[], bool], seconds: float = LONG) -> None:
    """Wait until something is so."""
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)


@define
class Driver:
    """A driver on a folder, which may be started again and again; its buckets are so few that they are split."""

    space: Space  # what it explores
    out: Path  # the run's folder; what it tells goes beside
    more: tuple[str, ...] = ()  # words of the command line
    conf: Mapping[str, str] = field(factory=dict)  # settings of Spark's
    environment: Mapping[str, str] = field(factory=dict)  # of its processes
    seen: set[int] = field(factory=set)  # all processes that were seen below it
    _process: subprocess.Popen[str] | None = None

    @property
    def process(self) -> subprocess.Popen[str]:
        """The one that was started last."""
        assert self._process is not None
        return self._process

    @property
    def told(self) -> Path:
        """Its document."""
        return self.out.with_name(f"{self.out.name}.json")

    def begin(self, *, resume: bool = False) -> None:
        """Start the driver, anew or where an earlier one ended."""
        settings = {"spark.local.dir": str(self.out.with_name("scratch")), **CONF, **self.conf}
        conf = [word for key, value in settings.items() for word in ("--conf", f"{key}={value}")]
        words = [*self.space.words, "--engine", "spark", "--handover", self.space.handover, "--buckets", 2,
                 "--out", self.out, "--json", self.told, *self.more, *conf]  # fmt: skip
        again = resume and (self.out / "run.json").exists()
        self._process = start([*words, "--resume"] if again else words, environment={**QUICK, **self.environment})

    def processes(self, pattern: str) -> list[int]:
        """The processes below it whose command line has a word."""
        found = below(self.process.pid)
        self.seen.update(found)
        return [process for process in found if pattern in words_of(process)]

    def committed(self) -> int:
        """How many levels count."""
        return len(list((self.out / "levels").glob("*.json")))

    def reaches(self, depth: int) -> bool:
        """Wait until a level counts; False when the driver ended before."""
        awaited(lambda: self.process.poll() is not None or self.committed() > depth)
        return self.process.poll() is None

    def kill(self) -> None:
        """End it by kill -9; what is below it has to follow by itself."""
        self.seen.update(below(self.process.pid))
        self.process.kill()
        self.process.communicate()

    def ended(self) -> tuple[int, str]:
        """Its exit code, and what it wrote to standard error, once it has ended."""
        error = self.process.communicate(timeout=LONG)[1]
        return self.process.returncode, error

    def finish(self, most: int = 3) -> Any:
        """Wait for the end; where it was refused in a line, go on as the line says, some times. The document."""
        for _ in range(most):
            code, error = self.ended()
            if code != 2:
                assert code == 12, error
                return json.loads(self.told.read_text())
            assert (error.startswith("kraftcheck: "), error.count("\n")) == (True, 1), error
            self.begin(resume=True)
        raise AssertionError(f"refused again and again: {error}")


@contextlib.contextmanager
def driven(driver: Driver) -> Iterator[Driver]:
    """A driver that is started; at the end nothing that was below it lives: it followed, or fails the test."""
    driver.begin()
    try:
        yield driver
        awaited(lambda: not any(map(_lives, driver.seen)))
    finally:
        driver.kill()
        send([process for process in driver.seen if _lives(process)], signal.SIGKILL)


def _lives(process: int) -> bool:
    """Whether a process of this test is there still: the number may be another's by now."""
    words = words_of(process)
    return "pyspark" in words or "org.apache.spark" in words or str(ROOT) in words
