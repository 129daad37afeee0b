"""The jars of a Kafka release: fetched once by Maven, kept in a cache folder, checked by digest."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from kraftcheck.ci.terminal import cache
from kraftcheck.ci.terminal.files import folder
from kraftcheck.ci.terminal.refusal import Refusal

FOLDER = Path(__file__).parent
POM = FOLDER / "pom.xml"
DIGESTS = FOLDER / "digests.txt"

CONTROLLER, SERVER, JUNIT = "controller", "server", "junit"
"""The sets of jars, which are profiles of the pom: the controller's classes, the broker, a runner of tests."""

DRIVEN = ("kafka-clients", "kafka-metadata", "kafka-server-common")
"""The jars of a release whose digest must be known: what the answers come from."""

RUNNER = "junit-platform-console-standalone-"
"""What the name of the runner's jar starts with; its digest is the one listed."""

MESSAGES = "slf4j-simple-1.7.36.jar"
"""The jar by which a broker's messages are written; without it nobody sees why a controller resigns."""

SHORT_RUN = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
"""Options of a virtual machine that runs for a second or two: half the processor time."""


def known_versions() -> tuple[str, ...]:
    """The releases whose digests are listed, oldest first."""
    names = {name for name in digests() if name.startswith("kafka-metadata-")}
    versions = (name.removeprefix("kafka-metadata-").removesuffix(".jar") for name in names)
    return tuple(sorted(versions, key=lambda version: [int(part) for part in version.split(".")]))


def digests() -> dict[str, str]:
    """SHA-256 by file name, of every jar that is checked."""
    pairs = (line.split() for line in DIGESTS.read_text(encoding="utf-8").splitlines())
    return {name: digest for digest, name in pairs}


def cache_folder() -> Path:
    """Where jars and compiled drivers are kept: kraftcheck/kafka in the user's cache folder."""
    return folder(cache.cache_folder() / "kafka")


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
        Refusal: for a version without digests, a jar that differs from its digest, a program that is
            not installed, or jars that Maven cannot fetch.
    """
    if version not in known_versions():
        raise Refusal(f"no digests of Kafka {version}; known: {', '.join(known_versions())}")
    place = cache_folder() / (JUNIT if kind == JUNIT else f"{version}/{kind}")
    with exclusive_cache():
        if not place.is_dir():
            _fetch(version, kind, place)
    paths = sorted(place.glob("*.jar"))
    _check(_required_jars(version, kind), paths, place)
    return os.pathsep.join(map(str, paths))


@contextlib.contextmanager
def exclusive_cache() -> Iterator[None]:
    """One process at a time fills the cache: Maven's own folder bears no two."""
    with (cache_folder() / ".lock").open("w") as lock:
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


def _required_jars(version: str, kind: str) -> tuple[str, ...]:
    """The jars that a folder must hold."""
    if kind == JUNIT:
        return tuple(name for name in digests() if name.startswith(RUNNER))
    driven = tuple(f"{artifact}-{version}.jar" for artifact in DRIVEN)
    return (*driven, f"kafka_2.13-{version}.jar", MESSAGES) if kind == SERVER else driven


def _check(required: Iterable[str], paths: Iterable[Path], place: Path) -> None:
    expected_digests, present = digests(), {path.name: path for path in paths}
    for name in required:
        if name not in present:
            raise Refusal(f"{place}: no {name}; remove the folder, and it is fetched again")
    for name, path in present.items():
        expected = expected_digests.get(name)
        if expected is not None and hashlib.sha256(path.read_bytes()).hexdigest() != expected:
            raise Refusal(f"{path} differs from its digest; remove the folder {place}, and it is fetched again")
