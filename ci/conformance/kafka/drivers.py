"""Drivers of Kafka's classes: Java that is compiled against a build, and asked in a process."""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import re
import shutil
import subprocess
import tempfile
import threading
import time
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from types import TracebackType
from typing import IO, Self

import numpy as np

from kraftcheck.ci.conformance.kafka.build import OLDEST_JAVA, Build
from kraftcheck.ci.conformance.kafka.columns import Columns, Rows
from kraftcheck.ci.conformance.kafka.coverage.links import TOOL, misfit_refusal, misfits
from kraftcheck.ci.conformance.kafka.jars import (
    CONTROLLER,
    FOLDER,
    JUNIT,
    SERVER,
    SHORT_RUN,
    cache_folder,
    digest_of,
    digests_below,
    exclusive_cache,
    jars,
    program,
    recorded,
)
from kraftcheck.ci.terminal import machine
from kraftcheck.ci.terminal.files import folder, replace
from kraftcheck.ci.terminal.interrupts import OutOfTime, beside, completed, current, passed
from kraftcheck.ci.terminal.refusal import Refusal

PACKAGE = "org.apache.kafka.controller"  # where drivers live: the classes they drive are package-private


ROWS = "DriverRows"  # what drivers of rows stand on

TOUR, FUZZ = "TourDriver", "FuzzDriver"
"""The drivers of the managers: by states and steps of an explored system, by whole requests."""

CHECKS = "ConformanceDriver"  # the driver of single decisions
IMAGES = "ImagesDriver"  # the driver of a broker's image of the metadata
FETCHER = "FetcherDriver"  # the driver of a follower's fetcher; it stands on the jars of a broker

BROKER = "BrokerDriver"
"""The driver of a broker's directories, moves and proposals; it stands on the jars of a broker too."""


NO_ANSWER = "the process was stopped, since it gave no answer"
"""How the end of a process begins that was waited for in vain."""


PATIENCE = 5
"""How many times as long a process may be silent that has had less than this part of the time of a processor."""


def processor_seconds(process: int) -> float:
    """How long a process has had a processor, in seconds; infinite where the system does not say."""
    status = machine.process_status(process)
    return machine.processor_seconds(status) if status else math.inf


class DriverError(RuntimeError):
    """The process died or wrote something else than answers; the message has the end of its log."""


def compile_driver(build: Build, name: str, kind: str = CONTROLLER) -> str:
    """The class path of a driver for a build, compiled unless cached; raises Refusal without jars or compiler."""
    try:
        return compiled(build, sources(build, name), kind)
    except Refusal as reason:
        raise Refusal(build.unbuilt() or reason.message) from None


def compiled(build: Build, source_files: Sequence[Path], kind: str = CONTROLLER) -> str:
    """The class path of files of Java on the classes of a build; the main class is that of the first file.

    The cache keeps the classes under the digests of their sources and jars, and beside them a record of their own
    digests. Classes that are not those of the record are compiled anew.

    Raises:
        Refusal: as of `compile_driver`, and where the build's classes do not fit each other.
    """
    classes = build.class_path(kind)
    compiler = os.path.realpath(shutil.which("javac") or "")  # a newer one's classes are none for an older Java
    inputs = [[(file.name, digest_of(file)) for file in source_files], kind, build.digests(kind), compiler,
              *([digest_of(TOOL)] if build.first else [])]  # fmt: skip
    key = hashlib.sha256(json.dumps(inputs).encode()).hexdigest()[:16]
    place = folder(cache_folder() / build.like) / f"{source_files[0].stem}-{key}"
    record = place.with_name(f"{place.name}.json")
    if not _stands(place, record):
        _check_java(build)
        _check_links(build, kind)
        with exclusive_cache():
            if not _stands(place, record):  # nor has another process compiled it meanwhile
                _remove(place)
                compile_java(source_files, classes, place, f"what asks Kafka {build}")
                replace(record, json.dumps(digests_below(place), indent=1))
    return os.pathsep.join((str(place), classes))


def _stands(place: Path, record: Path) -> bool:
    return not place.is_symlink() and place.is_dir() and recorded(record) == digests_below(place)


def _check_java(build: Build) -> None:
    """Refuse a Java that is older than the build's classes, or than drivers need."""
    wanted = build.java()
    said = completed([program("java"), "-version"]).stderr
    found = re.search(r'version "(\d+)', said)
    if found is not None and int(found[1]) < wanted:
        needs = f"{build} is compiled for" if wanted > OLDEST_JAVA else "drivers of Kafka's classes need"
        raise Refusal(f"{needs} Java {wanted}, and java on the PATH is {found[1]}")


def _check_links(build: Build, kind: str) -> None:
    """Refuse classes that do not find what they need of each other."""
    paths = build.class_path(kind), jars(build.like, kind)
    if found := misfits(*paths, frozenset(build.changed())) if build.first else ():
        raise misfit_refusal(build, f"{found[0]}{f' (and {len(found) - 1} more)' * (len(found) > 1)}")


def _remove(place: Path) -> None:
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place)
    else:
        place.unlink(missing_ok=True)


def sources(build: Build, name: str) -> tuple[Path, ...]:
    """The files of a driver; those of the managers have one more, of what each line of releases has in its own way."""
    line = "39" if build.like.startswith("3.") else "40"
    managers = tuple(f"managers/{part}" for part in ("TourDriver", ROWS, "ControlManagers", f"TourRelease{line}"))
    broker = (BROKER, "Controller", "Heartbeats", "Assignments", "Moves", "Logs", "Proposals", "Contradiction",
              "GrantingController", "Activation")  # fmt: skip
    scala = ("older/BrokerLifecycleManager",) * (build.like < "4.3")
    of_heartbeats = (f"older/{BROKER}", "Controller", "Heartbeats", *scala)
    of_brokers = (*(f"broker/{part}" for part in broker), *managers)
    fuzz = ("Driver", "Requests", "Records", "Beside", "Settings", "Images", "Logs", "Versions")
    names = {
        TOUR: managers,
        FUZZ: (*(f"fuzz/Fuzz{part}" for part in fuzz), *managers),
        IMAGES: (f"tour/{IMAGES}", f"managers/{ROWS}"),
        CHECKS: (f"change/{CHECKS}", f"managers/{ROWS}"),
        BROKER: tuple(f"broker/{part}" for part in of_heartbeats) if build.like < "4.4" else of_brokers,
        FETCHER: ("fetcher/FetcherDriver", f"fetcher/FetcherRelease{'40' if build.like.startswith('4.0.') else '41'}"),
    }[name]
    return tuple(FOLDER / f"{file}.java" for file in names)


def compile_java(sources: Sequence[Path], class_path: str, place: Path, title: str) -> None:
    """Compile files into a folder, whole or not at all; raises Refusal without a compiler, or where it refuses."""
    javac = program("javac")
    with tempfile.TemporaryDirectory(dir=place.parent, prefix=".classes.") as temporary:
        target = Path(temporary) / "classes"
        options = [*(f"-J{option}" for option in SHORT_RUN), "-nowarn", "-encoding", "UTF-8"]
        command = [javac, *options, "-cp", class_path, "-d", str(target), *map(str, sources)]
        result = completed(command)
        if result.returncode:
            lines = result.stderr.splitlines()
            errors = [line for line in lines if "error:" in line][:1] or [result.stderr.strip()]
            errors += [line.strip() for line in lines if "class file" in line][:2]  # why one cannot be read
            raise Refusal(f"javac cannot compile {title}: {'; '.join(errors)}")
        target.rename(place)


class DriverProcess:
    """A running driver of a build, by the name of its class, which ends with its input."""

    END = b""
    """What tells the driver that no question follows."""

    SILENCE = 120.0
    """Seconds that a driver may take for a block of answers; one that hangs is stopped, and has died of the block."""

    GRACE = 1.0  # seconds that an answer is awaited after the time of the command is over

    def __init__(self, build: Build, name: str, arguments: Sequence[str], options: Sequence[str] = ()) -> None:
        self.build = build
        java, path = program("java"), compile_driver(build, name)
        notes = [] if build.noted is None else build.noted.options()
        self._command = [java, *options, *notes, "-cp", path, f"{PACKAGE}.{name}", *arguments]
        self._begin()

    def _begin(self) -> None:
        self._silent, self._late = 0.0, False
        self._deadline = None if passed() else current()  # of the command: another thread may ask, which has none
        self._log = tempfile.TemporaryFile()  # noqa: SIM115
        self._process = subprocess.Popen(self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log)

    def kill(self) -> None:
        """End the process, whatever it is asked."""
        self._process.kill()

    def restart(self) -> None:
        """Go on with a new process, where this one has died."""
        self._end(killed=True)
        self._begin()

    def __enter__(self) -> Self:
        """The driver."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """End the process; it is killed where it does not end by itself."""
        self._end(killed=kind is not None)

    def _end(self, killed: bool) -> None:
        stdin = self._pipe(self._process.stdin)
        if killed:
            self.kill()
        elif not stdin.closed:
            stdin.write(self.END)
        with contextlib.suppress(BrokenPipeError):  # of a question that a process which died has not read
            stdin.close()
        self._pipe(self._process.stdout).close()
        with self._limited():
            self._process.wait()
        self._log.close()

    def check_end(self) -> None:
        """End the process, which was asked nothing; raises DriverError when it does not end well."""
        with self._limited(), contextlib.suppress(BrokenPipeError):  # it ended before it was told to
            self._pipe(self._process.stdin).write(self.END)
            self._pipe(self._process.stdin).close()
            self._process.wait()
        if self._process.wait():
            raise self._failure()

    @contextlib.contextmanager
    def _limited(self) -> Iterator[None]:
        """Stop the process where what is done with it takes longer than SILENCE, or than the command may.

        One that was begun once that time was over has to do with what is shown, and is not hurried. One that had no
        processor meanwhile, on a busy machine, is silent for PATIENCE times SILENCE before it counts as hanging.
        """
        longest = self.SILENCE * PATIENCE
        left = longest if self._deadline is None else self._deadline.remaining()
        end = min(left + self.GRACE, longest)
        begun, used = time.monotonic(), processor_seconds(self._process.pid)

        def watch(over: threading.Event) -> None:
            for silent in (self.SILENCE, longest):
                if over.wait(max(0.0, min(silent, end) - (time.monotonic() - begun))):
                    return
                if end < silent or processor_seconds(self._process.pid) - used >= self.SILENCE / PATIENCE:
                    break
            self._late, self._silent = end < silent, silent
            self.kill()

        with beside(watch):
            yield

    @staticmethod
    def _pipe(stream: IO[bytes] | None) -> IO[bytes]:
        if stream is None:
            raise DriverError("the process has no pipe")
        return stream

    def _failure(self) -> DriverError:
        code = self._process.wait()
        if self._late:
            raise OutOfTime("the time was over before the classes had answered")
        if self._silent:
            return DriverError(f"{NO_ANSWER} for {self._silent:g} s")
        self._log.seek(0)
        log_lines = self._log.read().decode(errors="replace").strip().splitlines()
        relevant = [line for line in log_lines if not line.startswith(("SLF4J", "\tat "))]
        after = [line.strip() for mark, line in pairwise(relevant) if mark.strip() == "Location:"]  # of a VerifyError
        told = " | ".join([relevant[0], *after] if after else relevant[:3])
        if "SecurityException" in told:
            told += "; a jar that is sealed or signed takes no driver into its packages: name one that is neither"
        return DriverError(f"the process ended with code {code}: {told or 'it wrote no reason'}")


class JavaProcess(DriverProcess):
    """A running driver of rows: `with JavaProcess(...) as driver: driver.ask(rows)`."""

    END = np.int32(0).tobytes()

    def __init__(
        self, build: Build, name: str, arguments: Sequence[str], columns: Columns, options: Sequence[str] = ()
    ) -> None:
        super().__init__(build, name, arguments, options)
        self._columns = columns

    def ask(self, rows: Rows) -> Rows:
        """One answer for each question; raises DriverError when the process ends before it has answered."""
        if not len(rows):
            return np.empty((0, self._columns.width), dtype=np.int32)
        with self._limited():
            try:
                stream = self._pipe(self._process.stdin)
                stream.write(np.int32(len(rows)).tobytes())
                stream.write(np.ascontiguousarray(rows, dtype="<i4").data)
                stream.flush()
            except BrokenPipeError:
                raise self._failure() from None
            data = self._pipe(self._process.stdout).read(len(rows) * self._columns.width * 4)
        if len(data) < len(rows) * self._columns.width * 4:
            raise self._failure()
        return np.frombuffer(data, dtype="<i4").reshape(len(rows), self._columns.width)


class Driver(JavaProcess):
    """A running driver of one check, with so many slots of a list; `latest`: the latest version in production."""

    def __init__(
        self, build: Build, check: str, slots: int, columns: Columns, metadata_version: str = "latest"
    ) -> None:
        # Of the change builder many millions of cases are asked: it is worth compiling well.
        kind = ("-XX:+UseParallelGC", "-Xms256m") if check == "change" else SHORT_RUN
        options = (*kind, "-Xmx1g")
        super().__init__(build, CHECKS, (check, str(slots), metadata_version), columns, options)


LAUNCHER = "org.junit.platform.console.ConsoleLauncher"

PASSES = ""  # what a test says that passes


BROKERS_PACKAGE = "org.apache.kafka.server"  # where the driver of a broker lives


def run_tests(build: Build, tests: Mapping[str, str], driver: str = TOUR) -> dict[str, str]:
    """What each test, by its class, says on a build: PASSES, or its failure; raises Refusal, DriverError if not run."""
    if not tests:
        return {}
    kind, package = (SERVER, BROKERS_PACKAGE) if driver == BROKER else (CONTROLLER, PACKAGE)
    path = os.pathsep.join((compile_driver(build, driver, kind), jars(build.like, JUNIT)))
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(temporary)
        for name, text in tests.items():
            (place / f"{name}.java").write_text(text, encoding="utf-8")
        classes = place / "classes"
        compile_java([place / f"{name}.java" for name in tests], path, classes, "the exported tests")
        command = [program("java"), *SHORT_RUN, "-cp", os.pathsep.join((str(classes), path)), LAUNCHER]
        options = ["execute", "--scan-classpath", str(classes), "--reports-dir", str(place), "--details", "none"]
        ran = completed([*command, *options])
        report = place / "TEST-junit-jupiter.xml"
        if not report.exists():
            raise DriverError(f"JUnit wrote no report: {(ran.stderr or ran.stdout).strip().splitlines()[:1]}")
        outcomes = {str(case.get("classname")): _outcome(case) for case in ET.parse(report).iter("testcase")}
    missing = [name for name in tests if f"{package}.{name}" not in outcomes]
    if missing:
        raise DriverError(f"JUnit did not run {', '.join(missing)}")
    return {name: outcomes[f"{package}.{name}"] for name in tests}


def _outcome(case: ET.Element) -> str:
    """PASSES for a case without a child; else what its failure, its error, or its being skipped says."""
    unsuccessful = [part for part in case if part.tag in ("failure", "error", "skipped")]
    return f"{unsuccessful[0].get('message') or unsuccessful[0].tag}" if unsuccessful else PASSES
