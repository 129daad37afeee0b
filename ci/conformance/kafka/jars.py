"""The jars of a Kafka release: fetched once by Maven, kept in a cache folder, all of them checked by digest."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import IO

from kraftcheck.ci.terminal import machine
from kraftcheck.ci.terminal.files import folder, replace
from kraftcheck.ci.terminal.interrupts import OutOfTime, completed, passed
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.solvers.machine_code.regular import open_regular

FOLDER = Path(__file__).parent
POM = FOLDER / "pom.xml"
DIGESTS = FOLDER / "digests.txt"

CONTROLLER, SERVER, JUNIT, BYTEMAN, COVERAGE = "controller", "server", "junit", "byteman", "coverage"
"""The sets of jars, which are profiles of the pom: the controller's classes, the broker, a runner of tests, what delays
methods, and what notes which lines have run."""

OF_NO_RELEASE = (JUNIT, BYTEMAN, COVERAGE)  # the sets of which a version says nothing

SHORT_RUN = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
"""Options of a virtual machine that runs for a second or two: half the processor time."""


def known_versions() -> tuple[str, ...]:
    """The releases whose digests are listed, oldest first."""
    versions = {name.partition("/")[0] for name in digests()} - {*OF_NO_RELEASE}
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
    return kind if kind in OF_NO_RELEASE else f"{version}/{kind}"


def cache_folder() -> Path:
    """Kraftcheck's folder in the user's cache, for him alone; raises Refusal for a link, or another's folder."""
    place = folder(machine.cache_folder() / "kafka")
    if os.pathsep in str(place):
        raise Refusal(f"{place}: a class path cannot name it; set XDG_CACHE_HOME to a folder without {os.pathsep!r}")
    if place.is_symlink():
        raise Refusal(f"{place} is a link, behind which others may put classes; remove it")
    status = place.stat()
    if status.st_uid != os.geteuid():
        raise Refusal(f"{place} belongs to another user ({status.st_uid}); set XDG_CACHE_HOME to a folder of your own")
    if stat.S_IMODE(status.st_mode) & 0o077:
        place.chmod(0o700)
    return place


def program(name: str) -> str:
    """The path of a program that has to be installed; raises Refusal when it is missing."""
    path = shutil.which(name)
    if path is None:
        package = "Maven" if name == "mvn" else "a Java 17 development kit"
        raise Refusal(f"{name} is not installed; {package} is needed to run Kafka's own classes")
    return path


def jars(version: str, kind: str = CONTROLLER) -> str:
    """The class path of a release's jars, fetched by Maven; raises Refusal for unlisted digests, or other files."""
    if version not in known_versions():
        raise Refusal(f"no digests of Kafka {version}; known: {', '.join(known_versions())}")
    return any_jars(version, kind)


def any_jars(version: str, kind: str) -> str:
    """The class path of any release; unlisted digests are those that Maven fetched first; raises as `jars`."""
    place, is_listed = cache_folder() / _home(version, kind), version in known_versions()
    record = place.with_name(f"{kind}.json")
    if not os.path.lexists(place) or (not is_listed and not record.exists()):
        with exclusive_cache():
            if not os.path.lexists(place):
                _fetch(version, kind, place)
                if not is_listed:
                    replace(record, json.dumps(digests_below(place), indent=1))
    expected = listed(version, kind) if is_listed else recorded(record)
    if not isinstance(expected, dict):
        raise Refusal(f"{record} does not say which jars Maven fetched; remove the folder {place}")
    _check(expected, place)
    return os.pathsep.join(str(place / name) for name in sorted(expected))


@contextlib.contextmanager
def exclusive_cache() -> Iterator[None]:
    """One process at a time fills the cache; raises Refusal for another's lock, OutOfTime while one fills it."""
    place = cache_folder() / ".lock"
    try:
        handle = open_regular(place, os.O_WRONLY | os.O_CREAT)
    except OSError as error:
        raise Refusal(f"cannot lock {place}: {error.strerror}; remove it") from error
    with os.fdopen(handle, "w") as lock:
        while not _locked(lock):
            if passed():
                raise OutOfTime(f"the time was over before another process had filled {place.parent}")
            time.sleep(0.05)
        yield


def _locked(file: IO[str]) -> bool:
    """Whether it is locked now; not where another process has it locked."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


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
    result = completed(command, env=environment)
    if result.returncode:
        lines = (result.stdout + result.stderr).splitlines()
        errors = [line.partition("[ERROR]")[2].strip() for line in lines if "[ERROR]" in line]
        reason = next(filter(None, errors), f"exit code {result.returncode}")
        raise Refusal(f"Maven cannot fetch the jars of {title}: {reason}")


def _check(expected: Mapping[str, str], place: Path) -> None:
    """Refuse a folder that holds anything but the listed jars, with these digests."""
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


def recorded(record: Path) -> object:
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


def digests_below(place: Path) -> dict[str, str | None]:
    """SHA-256 by path of everything below a folder; None for what is no regular file, a link to a folder too."""
    found: dict[str, str | None] = {}
    for where, folders, files in os.walk(place):
        here = Path(where)
        links = [name for name in folders if (here / name).is_symlink()]
        found.update({str((here / name).relative_to(place)): digest_of(here / name) for name in (*files, *links)})
    return dict(sorted(found.items()))


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
