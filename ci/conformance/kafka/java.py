"""The driver process: Java with Kafka's own classes, which answers rows of questions."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Self

import numpy as np

from kraftcheck.ci.conformance.kafka.columns import Columns, Rows
from kraftcheck.ci.conformance.kafka.jars import (
    CONTROLLER,
    FOLDER,
    SHORT_RUN,
    cache_folder,
    digest_of,
    exclusive_cache,
    jars,
    listed,
    program,
)
from kraftcheck.ci.terminal.files import folder, replace
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.solvers.machine_code.regular import open_regular

PACKAGE = "org.apache.kafka.controller"
"""Where drivers live: the classes they drive are package-private."""


TOUR, FUZZ = "TourDriver", "FuzzDriver"
"""The drivers of the managers: by states and steps of an explored system, by whole requests."""

FETCHER = "FetcherDriver"
"""The driver of a follower's fetcher; it stands on the jars of a broker."""

BROKER = "BrokerDriver"
"""The driver of a broker's directories, moves and proposals; it stands on the jars of a broker too."""


class DriverError(RuntimeError):
    """The process died or wrote something else than answers; the message has the end of its log."""


def print_answers(versions: Sequence[str], answers: Callable[[str], Iterable[str]]) -> int:
    """Print a line for each answer of each release; the exit code is 2 for what cannot be asked."""
    try:
        if not versions:
            raise Refusal("name releases, as in 4.4.0")
        for version in versions:
            for line in answers(version):
                print(f"{version}  {line}")
    except (Refusal, DriverError) as reason:
        print(f"error: {reason}", file=sys.stderr)
        return 2
    return 0


def compile_driver(version: str, name: str, kind: str = CONTROLLER) -> str:
    """The class path of a driver, compiled for a version where the cache does not hold it yet.

    Args:
        version: the release.
        name: of the driver's class.
        kind: the set of jars that it stands on.

    Raises:
        Refusal: where jars or a compiler are missing, or the version's classes are not those the driver knows.
    """
    return compiled(version, sources(version, name), kind)


def compiled(version: str, source_files: Sequence[Path], kind: str = CONTROLLER) -> str:
    """The class path of files of Java on the jars of a version; the main class is that of the first file.

    The cache keeps the classes under the digests of their sources and jars, and beside them a record of their own
    digests. Classes that are not those of the record are compiled anew.

    Raises:
        Refusal: as of `compile_driver`.
    """
    classes = jars(version, kind)
    inputs = [[(file.name, digest_of(file)) for file in source_files], kind, sorted(listed(version, kind).items())]
    key = hashlib.sha256(json.dumps(inputs).encode()).hexdigest()[:16]
    place = folder(cache_folder() / version) / f"{source_files[0].stem}-{key}"
    record = place.with_name(f"{place.name}.json")
    with exclusive_cache():
        if place.is_symlink() or not place.is_dir() or _recorded(record) != _digests_below(place):
            _remove(place)
            compile_java(source_files, classes, place, f"the driver for Kafka {version}")
            replace(record, json.dumps(_digests_below(place), indent=1))
    return os.pathsep.join((str(place), classes))


def _recorded(record: Path) -> object:
    """The digests that were written down when classes were compiled; None where this user has written none."""
    try:
        handle = open_regular(record)
    except OSError:
        return None
    with os.fdopen(handle, "rb") as file:
        if os.fstat(handle).st_uid != os.geteuid():
            return None
        try:
            return json.load(file)
        except (ValueError, RecursionError):
            return None


def _digests_below(place: Path) -> dict[str, str | None]:
    """SHA-256 by path of everything below a folder; None for what is no regular file, a link to a folder too."""
    found: dict[str, str | None] = {}
    for where, folders, files in os.walk(place):
        here = Path(where)
        links = [name for name in folders if (here / name).is_symlink()]
        found.update({str((here / name).relative_to(place)): digest_of(here / name) for name in (*files, *links)})
    return dict(sorted(found.items()))


def _remove(place: Path) -> None:
    """Remove what is in a place, be it a folder, a link or anything else."""
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place)
    else:
        place.unlink(missing_ok=True)


def sources(version: str, name: str) -> tuple[Path, ...]:
    """The files of a driver; those of the managers have one more, of what each line of releases has in its own way."""
    line = "39" if version.startswith("3.") else "40"
    managers = ("TourDriver", "ControlManagers", f"TourRelease{line}")
    broker = (BROKER, "Controller", "Heartbeats", "Assignments", "Moves", "Logs", "Proposals", "Contradiction",
              "GrantingController")  # fmt: skip
    names = {
        TOUR: managers,
        FUZZ: ("fuzz/FuzzDriver", "fuzz/FuzzRequests", "fuzz/FuzzRecords", *managers),
        BROKER: (*(f"broker/{part}" for part in broker), *managers),
        FETCHER: ("fetcher/FetcherDriver", f"fetcher/FetcherRelease{'40' if version.startswith('4.0.') else '41'}"),
    }.get(name, (name,))
    return tuple(FOLDER / f"{file}.java" for file in names)


def compile_java(sources: Sequence[Path], class_path: str, place: Path, title: str) -> None:
    """Compile files into a folder, whole or not at all.

    Raises:
        Refusal: where there is no compiler, or it refuses a file.
    """
    javac = program("javac")
    with tempfile.TemporaryDirectory(dir=place.parent, prefix=".classes.") as temporary:
        target = Path(temporary) / "classes"
        options = [*(f"-J{option}" for option in SHORT_RUN), "-nowarn", "-encoding", "UTF-8"]
        command = [javac, *options, "-cp", class_path, "-d", str(target), *map(str, sources)]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        if result.returncode:
            errors = [line for line in result.stderr.splitlines() if "error:" in line] or [result.stderr.strip()]
            raise Refusal(f"javac cannot compile {title}: {errors[0]}")
        target.rename(place)


class DriverProcess:
    """A running driver, which ends with its input.

    Args:
        version: Kafka's release.
        name: of the driver's class.
        arguments: its arguments.
        options: of the virtual machine.
    """

    END = b""
    """What tells the driver that no question follows."""

    def __init__(self, version: str, name: str, arguments: Sequence[str], options: Sequence[str] = ()) -> None:
        java, path = program("java"), compile_driver(version, name)
        self._command = [java, *options, "-cp", path, f"{PACKAGE}.{name}", *arguments]
        self._begin()

    def _begin(self) -> None:
        self._log = tempfile.TemporaryFile()  # noqa: SIM115
        self._process = subprocess.Popen(
            self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log
        )

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
            self._process.kill()
        elif not stdin.closed:
            stdin.write(self.END)
        with contextlib.suppress(BrokenPipeError):  # of a question that a process which died has not read
            stdin.close()
        self._pipe(self._process.stdout).close()
        self._process.wait()
        self._log.close()

    def check_end(self) -> None:
        """End the process, which was asked nothing.

        Raises:
            DriverError: when it does not end well, so that no question is to blame.
        """
        self._pipe(self._process.stdin).write(self.END)
        self._pipe(self._process.stdin).close()
        if self._process.wait():
            raise self._failure()

    @staticmethod
    def _pipe(stream: IO[bytes] | None) -> IO[bytes]:
        if stream is None:
            raise DriverError("the driver has no pipe")
        return stream

    def _failure(self) -> DriverError:
        code = self._process.wait()
        self._log.seek(0)
        log_lines = self._log.read().decode(errors="replace").strip().splitlines()
        relevant = [line for line in log_lines if not line.startswith(("SLF4J", "\tat "))]
        return DriverError(f"the driver ended with code {code}: {' | '.join(relevant[:3]) or 'it wrote no reason'}")


class JavaProcess(DriverProcess):
    """A running driver of rows: `with JavaProcess(...) as driver: driver.ask(rows)`.

    Args:
        columns: those of an answer; the others as of any driver.
    """

    END = np.int32(0).tobytes()

    def __init__(
        self, version: str, name: str, arguments: Sequence[str], columns: Columns, options: Sequence[str] = ()
    ) -> None:
        super().__init__(version, name, arguments, options)
        self._columns = columns

    def ask(self, rows: Rows) -> Rows:
        """One answer for each question.

        Raises:
            DriverError: when the process ends before it has answered.
        """
        if not len(rows):
            return np.empty((0, self._columns.width), dtype=np.int32)
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
    """A running driver of one check.

    Args:
        version: Kafka's release.
        check: `change`, `merge`, `reassignment` or `registration`.
        slots: slots of a list.
        columns: those of an answer.
        metadata_version: a constant of `MetadataVersion`, or `latest`: the latest in production.
    """

    def __init__(
        self, version: str, check: str, slots: int, columns: Columns, metadata_version: str = "latest"
    ) -> None:
        # Of the change builder many millions of cases are asked: it is worth compiling well.
        kind = ("-XX:+UseParallelGC", "-Xms256m") if check == "change" else SHORT_RUN
        options = (*kind, "-Xmx1g")
        super().__init__(version, "ConformanceDriver", (check, str(slots), metadata_version), columns, options)
