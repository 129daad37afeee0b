"""The jars of a Kafka release: fetched once by Maven, kept in a cache folder, all of them checked by digest."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import threading
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import IO, Self

import numpy as np

from kraftcheck.ci.conformance.kafka.columns import Columns, Rows
from kraftcheck.ci.terminal import machine
from kraftcheck.ci.terminal.files import folder, replace
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.solvers.machine_code.regular import open_regular

FOLDER = Path(__file__).parent
POM = FOLDER / "pom.xml"
DIGESTS = FOLDER / "digests.txt"

CONTROLLER, SERVER, JUNIT = "controller", "server", "junit"
"""The sets of jars, which are profiles of the pom: the controller's classes, the broker, a runner of tests."""

SHORT_RUN = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
"""Options of a virtual machine that runs for a second or two: half the processor time."""


def known_versions() -> tuple[str, ...]:
    """The releases whose digests are listed, oldest first."""
    versions = {name.partition("/")[0] for name in digests()} - {JUNIT}
    return tuple(sorted(versions, key=lambda version: [int(part) for part in version.split(".")]))


@lru_cache(maxsize=1)
def digests() -> Mapping[str, str]:
    """SHA-256 of every jar by its place in the cache folder, as in `4.4.0/controller/kafka-clients-4.4.0.jar`."""
    pairs = (line.split() for line in DIGESTS.read_text(encoding="utf-8").splitlines())
    return MappingProxyType({name: digest for digest, name in pairs})


def listed(version: str, kind: str) -> dict[str, str]:
    """SHA-256 by file name of the jars that make up a class path: these, and no others."""
    start = f"{_home(version, kind)}/"
    return {name.removeprefix(start): digest for name, digest in digests().items() if name.startswith(start)}


def _home(version: str, kind: str) -> str:
    """Where a set of jars is in the cache folder."""
    return JUNIT if kind == JUNIT else f"{version}/{kind}"


def cache_folder() -> Path:
    """Where jars and compiled drivers are kept: kraftcheck/kafka in the user's cache folder, for this user alone.

    Raises:
        Refusal: where it is a link, or belongs to another user, who could put classes there.
    """
    place = folder(machine.cache_folder() / "kafka")
    if place.is_symlink():
        raise Refusal(f"{place} is a link, behind which others may put classes; remove it")
    status = place.stat()
    if status.st_uid != os.geteuid():
        raise Refusal(f"{place} belongs to another user ({status.st_uid}); set XDG_CACHE_HOME to a folder of your own")
    if stat.S_IMODE(status.st_mode) & 0o077:
        place.chmod(0o700)
    return place


def program(name: str) -> str:
    """The path of a program that has to be installed.

    Raises:
        Refusal: when it is missing.
    """
    path = shutil.which(name)
    if path is None:
        package = "Maven" if name == "mvn" else "a Java 17 development kit"
        raise Refusal(f"{name} is not installed; {package} is needed to run Kafka's own classes")
    return path


def jars(version: str, kind: str = CONTROLLER) -> str:
    """The class path of a release, of what Maven fetches into the cache where it is not there yet.

    Args:
        version: the release, as in "4.1.0".
        kind: CONTROLLER, SERVER or JUNIT; of the last the version says nothing.

    Raises:
        Refusal: for a version without digests, a folder that holds other files than the listed ones, a
            program that is not installed, or jars that Maven cannot fetch.
    """
    if version not in known_versions():
        raise Refusal(f"no digests of Kafka {version}; known: {', '.join(known_versions())}")
    place = cache_folder() / _home(version, kind)
    with exclusive_cache():
        if not os.path.lexists(place):
            _fetch(version, kind, place)
    expected = listed(version, kind)
    _check(expected, place)
    return os.pathsep.join(str(place / name) for name in sorted(expected))


@contextlib.contextmanager
def exclusive_cache() -> Iterator[None]:
    """One process at a time fills the cache: Maven's own folder bears no two.

    Raises:
        Refusal: for what is no file of this user's in the place of the lock.
    """
    place = cache_folder() / ".lock"
    try:
        handle = open_regular(place, os.O_WRONLY | os.O_CREAT)
    except OSError as error:
        raise Refusal(f"cannot lock {place}: {error.strerror}; remove it") from error
    with os.fdopen(handle, "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _fetch(version: str, kind: str, place: Path) -> None:
    """Whole or not at all: into a folder beside the place, then renamed."""
    folder(place.parent)
    with tempfile.TemporaryDirectory(dir=place.parent, prefix=f".{kind}.") as temporary:
        target = Path(temporary) / kind
        _maven("-P", kind, f"-Dkafka.version={version}", f"-DoutputDirectory={target}", title=f"Kafka {version}")
        target.rename(place)


def _maven(*arguments: str, title: str) -> None:
    goal = ("dependency:copy-dependencies", "-DincludeScope=runtime")
    command = [program("mvn"), "--batch-mode", "--quiet", "--file", str(POM), *goal, *arguments]
    environment = {"MAVEN_OPTS": " ".join(SHORT_RUN), **os.environ}
    result = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if result.returncode:
        errors = [line for line in (result.stdout + result.stderr).splitlines() if line.startswith("[ERROR]")]
        reason = errors[0].removeprefix("[ERROR]").strip() if errors else f"exit code {result.returncode}"
        raise Refusal(f"Maven cannot fetch the jars of {title}: {reason}")


def _check(expected: Mapping[str, str], place: Path) -> None:
    """Refuse a folder that holds anything but the listed jars.

    Raises:
        Refusal: for what is no folder, a name that is not listed, one that is missing, and a file with another digest.
    """
    again = f"remove the folder {place}, and it is fetched again"
    if not place.is_dir():
        raise Refusal(f"{place} is no folder; remove it, and the jars are fetched")
    present = {path.name: path for path in sorted(place.iterdir())}
    for name, path in present.items():
        if name not in expected:
            raise Refusal(f"{path} is no jar of this class path, and could take the place of one; remove it")
    for name in expected:
        if name not in present:
            raise Refusal(f"{place}: no {name}; {again}")
        if digest_of(present[name]) != expected[name]:
            raise Refusal(f"{present[name]} differs from its digest; {again}")


def digest_of(path: Path) -> str | None:
    """The SHA-256 of a regular file; None for a link, a pipe or anything else, of which nothing is read."""
    try:
        handle = open_regular(path)
    except OSError:
        return None
    with os.fdopen(handle, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def new_lines(version: str, kind: str) -> list[str]:
    """The lines of a set of jars for the list of digests, of what Maven fetches into a folder that is thrown away."""
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(temporary) / kind
        _fetch(version, kind, place)
        return [f"{digest_of(path)}  {_home(version, kind)}/{path.name}" for path in sorted(place.iterdir())]


def main(versions: Sequence[str]) -> int:
    """Print the lines of releases, or of `junit`, for the list of digests; whoever puts them there trusts them."""
    try:
        for version in versions:
            for kind in (JUNIT,) if version == JUNIT else (CONTROLLER, SERVER):
                print(*new_lines(version, kind), sep="\n")
    except Refusal as reason:
        print(f"error: {reason}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))


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

    SILENCE = 120.0
    """Seconds that a driver may take for a block of answers; one that hangs is stopped, and has died of the block."""

    def __init__(self, version: str, name: str, arguments: Sequence[str], options: Sequence[str] = ()) -> None:
        java, path = program("java"), compile_driver(version, name)
        self._command = [java, *options, "-cp", path, f"{PACKAGE}.{name}", *arguments]
        self._begin()

    def _begin(self) -> None:
        self._hung = False
        self._log = tempfile.TemporaryFile()  # noqa: SIM115
        self._process = subprocess.Popen(self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log)

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
        with self._limited(), contextlib.suppress(BrokenPipeError):  # it ended before it was told to
            self._pipe(self._process.stdin).write(self.END)
            self._pipe(self._process.stdin).close()
            self._process.wait()
        if self._process.wait():
            raise self._failure()

    @contextlib.contextmanager
    def _limited(self) -> Iterator[None]:
        """Stop the process where what is done with it takes longer than SILENCE."""

        def stop() -> None:
            self._hung = True
            self._process.kill()

        timer = threading.Timer(self.SILENCE, stop)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    @staticmethod
    def _pipe(stream: IO[bytes] | None) -> IO[bytes]:
        if stream is None:
            raise DriverError("the driver has no pipe")
        return stream

    def _failure(self) -> DriverError:
        code = self._process.wait()
        if self._hung:
            return DriverError(f"the driver was stopped, since it gave no answer for {self.SILENCE:g} s")
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


LAUNCHER = "org.junit.platform.console.ConsoleLauncher"

PASSES = ""
"""What a test says that passes."""


def run_tests(version: str, tests: Mapping[str, str]) -> dict[str, str]:
    """What each test says on the classes of a release: nothing where it passes, else its failure.

    One compiler and one virtual machine run them all.

    Args:
        version: the release.
        tests: the source of each test by the name of its class.

    Raises:
        Refusal: where Java or the jars are missing, or a test cannot be compiled.
        DriverError: where the runner has not run every test.
    """
    if not tests:
        return {}
    path = os.pathsep.join((compile_driver(version, TOUR), jars(version, JUNIT)))
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(temporary)
        for name, text in tests.items():
            (place / f"{name}.java").write_text(text, encoding="utf-8")
        classes = place / "classes"
        compile_java([place / f"{name}.java" for name in tests], path, classes, "the exported tests")
        command = [program("java"), *SHORT_RUN, "-cp", os.pathsep.join((str(classes), path)), LAUNCHER]
        options = ["execute", "--scan-classpath", str(classes), "--reports-dir", str(place), "--details", "none"]
        ran = subprocess.run([*command, *options], capture_output=True, text=True, check=False)
        report = place / "TEST-junit-jupiter.xml"
        if not report.exists():
            raise DriverError(f"JUnit wrote no report: {(ran.stderr or ran.stdout).strip().splitlines()[:1]}")
        outcomes = {str(case.get("classname")): _outcome(case) for case in ET.parse(report).iter("testcase")}
    missing = [name for name in tests if f"{PACKAGE}.{name}" not in outcomes]
    if missing:
        raise DriverError(f"JUnit did not run {', '.join(missing)}")
    return {name: outcomes[f"{PACKAGE}.{name}"] for name in tests}


def _outcome(case: ET.Element) -> str:
    """PASSES for a case without a child; else what its failure, its error, or its being skipped says."""
    unsuccessful = [part for part in case if part.tag in ("failure", "error", "skipped")]
    return f"{unsuccessful[0].get('message') or unsuccessful[0].tag}" if unsuccessful else PASSES
