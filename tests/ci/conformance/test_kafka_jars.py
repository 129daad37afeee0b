"""The jars of a Kafka release: what is refused, and how it is said. Needs neither Java nor a network."""

import hashlib
import os
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

import pytest

from kraftcheck.ci.bench import cases as checkers
from kraftcheck.ci.conformance.kafka import jars
from kraftcheck.ci.terminal.interrupts import OutOfTime, limited
from kraftcheck.ci.terminal.refusal import Refusal
from tests.ci.fuzz.bounds import bounded

KINDS = (("4.1.0", jars.CONTROLLER), ("4.1.0", jars.SERVER), ("4.1.0", jars.JUNIT))
FOREIGN = ("aaa-shadow.jar", "kafka-metadata-4.0.0.jar", "kafka", "readme.txt", ".hidden.jar", "KAFKA.JAR")
"""What a folder of jars may not hold: a jar of nobody, one of another release, a folder, and other files."""


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def place_of(version: str, kind: str) -> Path:
    """Where a set of jars lies."""
    return jars.cache_folder() / (jars.JUNIT if kind == jars.JUNIT else f"{version}/{kind}")


def filled(monkeypatch: pytest.MonkeyPatch, version: str, kind: str) -> Path:
    """A folder with a file for each listed jar, whose digests are taken as those that are listed."""
    place, names = place_of(version, kind), jars.listed(version, kind)
    place.mkdir(parents=True)
    for name in names:
        (place / name).write_text(name)
    start = f"{place.relative_to(jars.cache_folder())}/"
    contents = {f"{start}{name}": hashlib.sha256(name.encode()).hexdigest() for name in names}
    monkeypatch.setattr(jars, "digests", lambda: {"4.1.0/other/any.jar": "", **contents})
    return place


def refusal_of(version: str, kind: str) -> str:
    """The line by which a class path is refused."""
    with pytest.raises(Refusal) as refused:
        jars.jars(version, kind)
    assert "\n" not in str(refused.value)
    return str(refused.value)


def test_every_set_of_jars_is_listed_whole() -> None:
    """Each release has jars of both kinds, Kafka's own among them, and each line is a digest and a place."""
    assert all(re.fullmatch(r"[0-9a-f]{64}", digest) for digest in jars.digests().values())
    for version in jars.known_versions():
        controller, server = jars.listed(version, jars.CONTROLLER), jars.listed(version, jars.SERVER)
        own = {f"kafka-{part}-{version}.jar" for part in ("clients", "metadata", "server-common", "raft")}
        assert own <= controller.keys() & server.keys()
        assert {f"kafka_2.13-{version}.jar", "slf4j-simple-1.7.36.jar"} <= server.keys()
        kafkas = [name for name in (*controller, *server) if name.startswith("kafka")]
        assert [name for name in kafkas if not name.endswith(f"-{version}.jar")] == []


def test_one_jar_has_one_digest() -> None:
    """A jar that several releases share is the same in each: a digest that was taken from a damaged copy shows."""
    by_name: dict[str, set[str]] = {}
    for place, digest in jars.digests().items():
        by_name.setdefault(place.rsplit("/", 1)[1], set()).add(digest)
    assert len(by_name) < len(jars.digests())
    assert [name for name, found in by_name.items() if len(found) > 1] == []


def test_an_unknown_version_is_refused() -> None:
    """A version without digests is named, with those that are known."""
    with pytest.raises(Refusal, match=r"no digests of Kafka 2\.7\.0; known: 3\.9"):
        jars.jars("2.7.0")


def test_missing_maven_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the jars are not cached and there is no Maven, one line says so, and nothing is left behind."""
    monkeypatch.setenv("PATH", "")
    assert "mvn is not installed; Maven is needed" in refusal_of("4.1.0", jars.CONTROLLER)
    assert not list((jars.cache_folder() / "4.1.0").iterdir())


def test_what_maven_says_is_passed_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A network that is down is Maven's first error, in one line; the cache stays without a half-filled folder."""
    fake_maven(tmp_path, monkeypatch, "echo '[ERROR] no route to host'\necho '[ERROR] second line'\nexit 1")
    with pytest.raises(Refusal, match=r"cannot fetch the jars of Kafka 4\.1\.0: no route to host$"):
        jars.jars("4.1.0")
    assert not list((jars.cache_folder() / "4.1.0").iterdir())


def fake_maven(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """A Maven that does what a script says."""
    fake = tmp_path / "mvn"
    fake.write_text(f"#!/bin/sh\n{script}\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")


@pytest.mark.parametrize(("version", "kind"), KINDS)
def test_a_class_path_is_the_listed_jars(monkeypatch: pytest.MonkeyPatch, version: str, kind: str) -> None:
    """A folder of the listed jars is a class path of these; one that differs, lacks, or another file, is refused."""
    place = filled(monkeypatch, version, kind)
    entries = sorted(place.iterdir())
    assert jars.jars(version, kind).split(os.pathsep) == list(map(str, entries)) != []
    for path in entries:
        path.write_text("not that jar")
        assert f"{path} differs from its digest; remove the folder {place}" in refusal_of(version, kind)
        path.unlink()
        again = f"remove the folder {place}, and it is fetched again"
        assert refusal_of(version, kind) == f"{place}: no {path.name}; {again}"
        path.write_text(path.name)
    for name in FOREIGN:
        (place / name).write_text("classes")
        assert refusal_of(version, kind).startswith(f"{place / name} is no jar of this class path")
        (place / name).unlink()
    assert jars.jars(version, kind)


def _link(path: Path) -> None:
    path.rename(path.with_name("elsewhere"))
    path.with_name("elsewhere").rename(path.parents[2] / "elsewhere")
    path.symlink_to(path.parents[2] / "elsewhere")


def _pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize("changed", [_link, _pipe, _folder])
def test_a_jar_is_a_regular_file(monkeypatch: pytest.MonkeyPatch, changed: Callable[[Path], None]) -> None:
    """A link, even to the right bytes, a pipe and a folder in the place of a jar are refused, and nobody waits."""
    place = filled(monkeypatch, "4.1.0", jars.CONTROLLER)
    path = next(place.glob("kafka-clients-*"))
    changed(path)
    assert f"{path} differs from its digest" in refusal_of("4.1.0", jars.CONTROLLER)


def test_a_file_in_the_place_of_the_folder_is_refused() -> None:
    """What is no folder is named, and not written over."""
    place = place_of("4.1.0", jars.CONTROLLER)
    place.parent.mkdir(parents=True)
    place.write_text("mine")
    assert refusal_of("4.1.0", jars.CONTROLLER) == f"{place} is no folder; remove it, and the jars are fetched"
    assert place.read_text() == "mine"


def test_what_maven_brings_is_checked_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Jars that were just fetched are compared like those that were there: a registry that sends others is noticed."""
    names = " ".join(jars.listed("4.1.0", jars.CONTROLLER))
    script = f'for word; do case "$word" in -DoutputDirectory=*) to="${{word#*=}}"; esac; done\n' \
             f'mkdir -p "$to"; for name in {names}; do echo other > "$to/$name"; done'  # fmt: skip
    fake_maven(tmp_path, monkeypatch, script)
    assert "differs from its digest" in refusal_of("4.1.0", jars.CONTROLLER)
    first = sorted(jars.listed("4.1.0", jars.CONTROLLER))[0]
    assert jars.new_lines("4.1.0", jars.CONTROLLER)[0].endswith(f"  4.1.0/controller/{first}")


def test_the_cache_is_this_users_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """What others may do in the folder of jars and classes is taken from them; a folder of theirs is refused."""
    place = jars.cache_folder()
    place.chmod(0o777)
    assert jars.cache_folder().stat().st_mode & 0o777 == 0o700
    monkeypatch.setattr(os, "geteuid", lambda: place.stat().st_uid + 1)
    with pytest.raises(Refusal, match=r"kafka belongs to another user \(\d+\); set XDG_CACHE_HOME"):
        jars.cache_folder()


def test_a_cache_that_no_class_path_can_name_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A colon ends an entry of a class path, so that no jar of such a folder would be found."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "a:b"))
    with pytest.raises(
        Refusal, match=r"/kafka: a class path cannot name it; set XDG_CACHE_HOME to a folder without ':'"
    ):
        jars.cache_folder()


@pytest.mark.parametrize("kind", ["link", "hard link", "pipe", "folder"])
def test_a_lock_that_is_no_file_is_refused(kind: str, tmp_path: Path) -> None:
    """What a lock would overwrite elsewhere stays, and nobody waits for a pipe."""
    precious, lock = tmp_path / "thesis.tex", jars.cache_folder() / ".lock"
    precious.write_text("precious data")
    {"link": lambda: lock.symlink_to(precious), "hard link": lambda: lock.hardlink_to(precious),
     "pipe": lambda: os.mkfifo(lock), "folder": lock.mkdir}[kind]()  # fmt: skip
    with bounded(10):
        assert refusal_of("4.1.0", jars.CONTROLLER).startswith(f"cannot lock {lock}: ")
    assert precious.read_text() == "precious data"


def test_nobody_waits_beyond_the_time(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Neither for a process that fills the cache, nor for Maven, which is ended, and leaves no folder."""
    with bounded(10), jars.exclusive_cache(), limited("0.2s"), pytest.raises(OutOfTime, match="another process had"):
        jars.jars("4.1.0")
    maven = tmp_path / "mvn"
    maven.write_text("#!/bin/sh\nexec sleep 60\n")
    maven.chmod(0o700)
    monkeypatch.setattr(jars, "program", lambda name: str(tmp_path / name))
    with bounded(10), limited("0.2s"), pytest.raises(OutOfTime, match="time was over before mvn had ended"):
        jars.jars("4.1.0")
    assert not list((tmp_path / "kraftcheck/kafka/4.1.0").iterdir())


def test_a_link_to_a_folder_of_jars_is_refused(tmp_path: Path) -> None:
    """The folder of the cache is no link: permissions of a folder elsewhere stay, too."""
    (tmp_path / "elsewhere").mkdir(mode=0o755)
    (tmp_path / "kraftcheck").mkdir()
    (tmp_path / "kraftcheck" / "kafka").symlink_to(tmp_path / "elsewhere")
    assert "is a link" in refusal_of("4.1.0", jars.CONTROLLER)
    assert (tmp_path / "elsewhere").stat().st_mode & 0o777 == 0o755


def test_the_runner_of_tests_is_that_of_the_pom() -> None:
    """The one jar that runs exported tests has the version of the pom."""
    space = "{http://maven.apache.org/POM/4.0.0}"
    dependencies = ET.parse(jars.POM).iter(f"{space}dependency")
    named = {d.findtext(f"{space}artifactId"): d.findtext(f"{space}version") for d in dependencies}
    runner = "junit-platform-console-standalone"
    assert list(jars.listed("4.1.0", jars.JUNIT)) == [f"{runner}-{named[runner]}.jar"]


def test_a_jar_of_the_benchmark_with_another_digest_is_refused(tmp_path: Path) -> None:
    """A jar of another program is compared by a condition that no option of Python takes away."""
    place = tmp_path / "kraftcheck" / "jars" / "tool-1.0.jar"
    place.parent.mkdir(parents=True)
    place.write_text("tool")
    assert checkers.jar("some:tool:1.0", hashlib.sha256(b"tool").hexdigest()) == place
    with pytest.raises(Refusal, match=r"tool-1\.0\.jar differs from its digest; remove it"):
        checkers.jar("some:tool:1.0", "0" * 64)
