"""Builds of Kafka: what a user's words stand for, what comes first on the class path, and what is refused."""

import hashlib
import os
import re
import zipfile
from pathlib import Path

import pytest

from kraftcheck.ci.conformance.kafka import build, jars
from kraftcheck.ci.conformance.kafka.build import OLDEST_JAVA, Build
from kraftcheck.ci.conformance.kafka.drivers import FUZZ, compile_driver
from kraftcheck.ci.terminal.refusal import Refusal
from tests.ci.conformance.released import NEWEST, changed
from tests.shared.commands import kraftcheck

JAVAS = Path("/usr/lib/jvm")  # where Debian and most distributions put each Java

MANAGERS = "org/apache/kafka/controller/ReplicationControlManager.class"


def jar(path: Path, *members: str) -> Path:
    """A jar with members that say their own names."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as file:
        for member in members or (MANAGERS,):
            file.writestr(member, member)
    return path


def classes(path: Path) -> Path:
    """A folder with the managers' class."""
    (path / MANAGERS).parent.mkdir(parents=True)
    (path / MANAGERS).write_text("class")
    return path


@pytest.fixture
def completed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Releases whose jars are as listed."""

    def of(version: str, kind: str = jars.CONTROLLER) -> str:
        return os.pathsep.join(f"/{version}/{name}" for name in sorted(jars.listed(version, kind)))

    monkeypatch.setattr(build, "jars", of)


def entries(found: Build) -> list[str]:
    """The class path of a build."""
    return found.class_path().split(os.pathsep)


@pytest.mark.usefixtures("completed")
def test_a_release_is_itself() -> None:
    """A known version is its own jars, whose digests are those listed; nothing more is said of it."""
    found = Build.of("4.1.0")
    assert entries(found) == [f"/4.1.0/{name}" for name in sorted(jars.listed("4.1.0", jars.CONTROLLER))]
    assert dict(found.digests()) == jars.listed("4.1.0", jars.CONTROLLER)
    assert (str(found), found.lines()) == ("4.1.0", [])


@pytest.mark.usefixtures("completed")
@pytest.mark.parametrize(("version", "like"), [("4.4.0", "4.4.0"), ("4.5.0-SNAPSHOT", "4.4.0"), ("4.2.7", "4.2.2"),
                                               ("3.9.0", "3.9.2"), ("4.4.0-SNAPSHOT", "4.4.0")])  # fmt: skip
def test_a_folder_of_jars_comes_first(tmp_path: Path, version: str, like: str) -> None:
    """Jars of a distribution take the place of those of the nearest release, which gives what they lack."""
    jar(tmp_path / "libs" / f"kafka-metadata-{version}.jar")
    jar(tmp_path / "libs" / "log4j-core-2.1.jar", "org/apache/logging/Log.class")
    jar(tmp_path / "libs" / f"kafka-metadata-{version}-sources.jar")
    found = Build.of(str(tmp_path))
    first, *rest = entries(found)
    assert (found.like, first) == (like, str(tmp_path / "libs" / f"kafka-metadata-{version}.jar"))
    names = set(jars.listed(like, jars.CONTROLLER)) - {f"kafka-metadata-{like}.jar"}
    assert rest == [f"/{like}/{name}" for name in sorted(names)]
    assert Build.of(str(tmp_path), "4.1.0").like == "4.1.0"


@pytest.mark.usefixtures("completed")
def test_the_digests_of_what_is_driven_are_said(tmp_path: Path) -> None:
    """Each jar of one's own is named with its SHA-256, and one that no controller stands on as not asked."""
    path = jar(tmp_path / "kafka-server-common-4.4.0.jar", "org/apache/kafka/timeline/Snapshot.class")
    lines = Build.of(str(path)).lines()
    assert lines[0] == f"Kafka {path}, completed by 4.4.0"
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    assert lines[1:] == [f"  sha256 {digest} {path.name}", "  what it does not have is of 4.4.0"]
    server = jar(tmp_path / "kafka-server-4.4.0.jar", "org/apache/kafka/server/Main.class")
    both = Build.of(f"{path},{server}")
    assert f"  not asked, for no controller stands on it: {server.name}" in both.lines()
    assert (both.unasked, Build.of(str(path)).unasked) == ([server.name], [])


@pytest.mark.usefixtures("completed")
def test_single_classes_come_before_all_jars(tmp_path: Path) -> None:
    """A folder of classes hides those of a release, of which no jar is left out; another byte is another digest."""
    found = Build.of(str(classes(tmp_path)))
    assert entries(found)[0] == str(tmp_path)
    assert len(entries(found)) == 1 + len(jars.listed(found.like, jars.CONTROLLER))
    (tmp_path / MANAGERS).write_text("other")
    assert Build.of(str(tmp_path)).digests()[0] != found.digests()[0]


@pytest.mark.usefixtures("completed")
def test_a_checkout_is_what_gradle_has_built(tmp_path: Path) -> None:
    """Of each module its jar comes first, or its classes where they are newer; the version is that of Gradle."""
    (tmp_path / "settings.gradle").write_text("")
    (tmp_path / "gradle.properties").write_text("group=org.apache.kafka\nversion=4.3.0-SNAPSHOT\n")
    old = jar(tmp_path / "metadata/build/libs/kafka-metadata-4.3.0-SNAPSHOT.jar")
    jar(tmp_path / "metadata/build/libs/kafka-metadata-4.3.0-SNAPSHOT-test.jar")
    clients = jar(tmp_path / "clients/build/libs/kafka-clients-4.3.0-SNAPSHOT.jar")
    found = Build.of(str(tmp_path))
    assert found.like == "4.3.0"
    assert entries(found)[:2] == [str(clients), str(old)]
    os.utime(old, (1, 1))
    newer = classes(tmp_path / "metadata/build/classes/java/main")
    found = Build.of(str(tmp_path))
    assert entries(found)[:2] == [str(clients), str(newer)]
    assert not [path for path in entries(found)[2:] if "kafka-metadata" in path or "kafka-clients" in path]
    assert not found.stale
    changed_since = tmp_path / "metadata/src/main/java/Changed.java"
    changed_since.parent.mkdir(parents=True)
    changed_since.write_text("class Changed { }")
    os.utime(changed_since, (1 << 32, 1 << 32))
    said = "sources of metadata are newer than what is built: run gradle :metadata:jar"
    assert f"  warning: {said}" in Build.of(str(tmp_path)).lines()


def test_a_checkout_that_is_not_built_says_how(tmp_path: Path) -> None:
    """Without the controller's module a checkout is refused, with what builds it."""
    (tmp_path / "settings.gradle").write_text("")
    (tmp_path / "gradlew").write_text("")
    jar(tmp_path / "clients/build/libs/kafka-clients-4.3.0.jar")
    with pytest.raises(Refusal, match=r"is not built: run \./gradlew :metadata:jar :server-common:jar .* there$"):
        Build.of(str(tmp_path))


@pytest.mark.usefixtures("completed")
def test_several_jars_have_commas_between_them(tmp_path: Path) -> None:
    """Two jars come first, in their order; a name that is not there is said."""
    one, two = jar(tmp_path / "kafka-raft-4.4.0.jar"), jar(tmp_path / "kafka-metadata-4.4.0.jar")
    assert entries(Build.of(f"{one},{two}"))[:2] == [str(one), str(two)]
    with pytest.raises(Refusal, match=f"^there is no {tmp_path}/kafka-no-1.jar$"):
        Build.of(f"{one},{tmp_path}/kafka-no-1.jar")


def test_what_is_no_build_is_refused(tmp_path: Path) -> None:
    """No jars, no file of jars, none of Kafka or its managers, two of a module, a version or a class: a line each."""
    text = tmp_path / "readme.txt"
    text.write_text("text")
    refusals = {
        str(tmp_path): f"{tmp_path} has neither jars nor classes of Kafka (org/apache/kafka)",
        str(text): f"{text} is no jar",
        str(jar(tmp_path / "other" / "a-1.jar", "org/other/A.class")): "has no class of Kafka",
        "trunk": "'trunk' is neither a version, such as 4.4.0, nor a path of jars or classes",
    }
    jar(tmp_path / "two" / "kafka-metadata-4.4.0.jar")
    jar(tmp_path / "two" / "kafka-metadata-4.5.0.jar")
    refusals[str(tmp_path / "two")] = "kafka-metadata-4.5.0.jar are both kafka-metadata; remove one"
    jar(tmp_path / "mixed" / "kafka-metadata-4.4.0.jar")
    jar(tmp_path / "mixed" / "kafka-clients-4.1.2.jar")
    refusals[str(tmp_path / "mixed")] = "/kafka-metadata-4.4.0.jar are of two versions; remove those of one"
    jar(tmp_path / "clients" / "kafka-clients-4.4.0.jar", "org/apache/kafka/common/Uuid.class")
    refusals[str(tmp_path / "clients")] = (
        "clients has no kafka-metadata jar, whose classes decide; name its jars, with commas between them, to drive "
        "the managers of a release with them"
    )
    for name in ("kafka-metadata-4.4.0.jar", "patch.jar"):
        jar(tmp_path / "patched" / name)
    refusals[str(tmp_path / "patched")] = (
        "patch.jar both have org.apache.kafka.controller.ReplicationControlManager; remove one, or name the jars, the "
        "one that counts first, with commas between them"
    )
    refusals[f"{tmp_path}/patched/kafka-metadata-4.4.0.jar,{tmp_path}/patched/patch.jar"] = (
        f"kafka-metadata-4.4.0.jar hides org.apache.kafka.controller.ReplicationControlManager of {tmp_path}/patched/"
        "patch.jar; name the latter first"
    )
    inside = tmp_path / "classes/made/org/apache/kafka/controller/A.class"
    inside.parent.mkdir(parents=True)
    inside.write_bytes(b"")
    hint = f"; did you mean {tmp_path}/classes/made, which holds org?"
    refusals |= {str(inside): f"{inside} is no jar{hint}", str(inside.parents[3]): f"(org/apache/kafka){hint}"}
    refusals |= dict.fromkeys((str(inside.parent), str(tmp_path / "classes")), f"(org/apache/kafka){hint}")
    for named, said in refusals.items():
        with pytest.raises(Refusal) as refused:
            Build.of(named)
        assert str(refused.value).endswith(said)
    with pytest.raises(Refusal, match=r"^Kafka 1\.0\.0, to complete .*, is not listed; "):
        Build.of("4.4.0", "1.0.0")


def test_a_version_that_is_not_listed_is_fetched_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What Maven first fetched of an unknown version is trusted, with a warning; another file later is refused."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    def fetch(version: str, kind: str, place: Path) -> None:
        jar(place / f"kafka-metadata-{version}.jar")

    monkeypatch.setattr(jars, "_fetch", fetch)
    found = Build.of("4.2.9")
    assert (found.like, str(found)) == ("4.2.2", "4.2.9")
    assert found.lines()[-1] == "  warning: no digest of Kafka 4.2.9 is listed; what Maven fetched is trusted"
    assert Build.of("4.2.9") == found
    jar(found.first[0].path, "other")
    with pytest.raises(Refusal, match="differs from its digest"):
        Build.of("4.2.9")


@pytest.mark.xdist_group("kafka")
def test_classes_for_a_newer_java_are_refused(tmp_path: Path) -> None:
    """A class whose version is that of Java 99 is not given to an older Java: one line says so."""
    (tmp_path / MANAGERS).parent.mkdir(parents=True)
    (tmp_path / MANAGERS).write_bytes(b"\xca\xfe\xba\xbe\0\0\0" + bytes([99 + 44]))
    ran = kraftcheck("conform", "--kafka", str(tmp_path), "--fuzz", "10", "--quiet")
    assert ran.code == 2
    assert re.fullmatch(rf"kraftcheck: {tmp_path} is compiled for Java 99, and java on the PATH is \d+\n", ran.err)


def test_an_older_java_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A Java that drivers cannot be compiled with is named before a compiler is asked; so is one that is missing."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(build, "jars", lambda version, kind: "a.jar")
    for program, text in (("java", "echo 'openjdk version \"11.0.2\"' >&2"), ("javac", "exit 1")):
        (tmp_path / program).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / program).chmod(0o700)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Refusal, match=r"^drivers of Kafka's classes need Java 17, and java on the PATH is 11$"):
        compile_driver(Build("4.4.0"), FUZZ)
    (tmp_path / "java").unlink()
    with pytest.raises(Refusal, match=r"^java is not installed; a Java 17 development kit is needed"):
        compile_driver(Build("4.4.0"), FUZZ)


@pytest.mark.xdist_group("kafka")
def test_a_newer_java_drives_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drivers are compiled and run by a Java newer than 17 where there is one, and a release is equal to its rules."""
    found = {re.search(r'JAVA_VERSION="(\d+)', path.read_text("utf-8")): path for path in JAVAS.glob("*/release")}
    newer = [path for said, path in found.items() if said and int(said[1]) > OLDEST_JAVA]
    if not newer:
        pytest.skip(f"no Java newer than {OLDEST_JAVA} in {JAVAS}")
    monkeypatch.setenv("PATH", os.pathsep.join((str(newer[0].parent / "bin"), os.environ["PATH"])))
    ran = kraftcheck("conform", "--kafka", "4.4.0", "--fuzz", "400", "--quiet")
    assert ran.code == 0
    assert "kafka-4.4.0: 0 sequences differ" in ran.out


@pytest.mark.xdist_group("kafka")
def test_released_jars_as_a_folder_conform(tmp_path: Path) -> None:
    """The jars of a release in a folder of one's own are that release, found by the version in their names."""
    for path in jars.jars("4.0.2").split(os.pathsep):
        (tmp_path / Path(path).name).symlink_to(path)
    ran = kraftcheck("conform", "--kafka", str(tmp_path), "--fuzz", "500", "--quiet")
    assert ran.code == 0
    assert ran.out.startswith(f"Kafka {tmp_path}, completed by 4.0.2\n  as released in 4.0.2: 10 of 10 jars\n")
    wrong = kraftcheck("conform", "--kafka", str(tmp_path), "--like", "4.0.2", "--rules", "kafka-4.4.0", "--exhaustive",
                       "1", "--samples", "0", "--quiet")  # fmt: skip
    assert wrong.code == 23


@pytest.mark.xdist_group("kafka")
def test_a_finding_is_asked_of_a_build(tmp_path: Path) -> None:
    """Classes that mend a defect answer the steps of its finding otherwise than recorded: exit code 23."""
    ran = kraftcheck("findings", "ghost-elr-member", "--run", "--kafka", changed(tmp_path, "mended"), "--quiet")
    assert ran.code == 23
    assert "    UNEXPECTED managers: recorded 'shown', now 'otherwise'\n" in ran.out
    assert f" steps by the rules of {NEWEST}; the classes of {tmp_path / 'mended'}: otherwise\n" in ran.out


@pytest.mark.xdist_group("kafka")
def test_a_jar_is_read_whatever_it_says_of_itself(tmp_path: Path) -> None:
    """Of a class that was changed in place, so that its jar has another sum of it, a line names jar and class."""
    released = next(path for path in map(Path, jars.jars(NEWEST).split(os.pathsep)) if "kafka-raft" in path.name)
    patched = tmp_path / released.name
    with zipfile.ZipFile(released) as source, zipfile.ZipFile(patched, "w") as stored:
        for member in source.namelist():
            stored.writestr(member, source.read(member))
    assert Build.of(str(patched), NEWEST).changed() == set()
    patched.write_bytes(patched.read_bytes().replace(b"LeaderState.java", b"LeaderState.jav4", 1))
    with pytest.raises(Refusal, match=rf"{patched}: org/apache/kafka/raft/\S+ is damaged .*; build the jar anew"):
        Build.of(str(patched), NEWEST).changed()


@pytest.mark.xdist_group("kafka")
def test_classes_that_decide_are_known_by_their_modules() -> None:
    """What a client alone has decides nothing; what no module has may."""
    names = {
        f"org.apache.kafka.{name}" for name in ("raft.LeaderState", "queue.KafkaEventQueue", "clients.Metadata", "New")
    }
    assert names - Build(NEWEST).deciding(names) == {"org.apache.kafka.clients.Metadata"}


@pytest.mark.slow
@pytest.mark.xdist_group("kafka")
def test_a_sealed_jar_is_refused(tmp_path: Path) -> None:
    """Into a package of a jar that is sealed no driver is loaded: one line says so, with exit code 2."""
    released = next(path for path in map(Path, jars.jars(NEWEST).split(os.pathsep)) if "kafka-metadata" in path.name)
    with zipfile.ZipFile(released) as source, zipfile.ZipFile(tmp_path / released.name, "w") as sealed:
        for member in source.namelist():
            sealed.writestr(member, b"Sealed: true\n" if member.endswith("MANIFEST.MF") else source.read(member))
    ran = kraftcheck("branch", tmp_path, "--like", NEWEST, "--quiet")
    assert ran.code == 2
    assert ran.err.endswith(
        "a jar that is sealed or signed takes no driver into its packages: name one that is neither\n"
    )
