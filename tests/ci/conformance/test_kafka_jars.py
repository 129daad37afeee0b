"""The jars of a Kafka release: what is refused, and how it is said. Needs neither Java nor a network."""

from __future__ import annotations

from pathlib import Path

import pytest

from kraftcheck.ci.conformance.kafka import jars
from kraftcheck.ci.terminal.refusal import Refusal


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def test_every_version_has_a_digest_of_every_driven_jar() -> None:
    """No release is driven whose classes could be others than those measured."""
    for version in jars.known_versions():
        for artifact in jars.DRIVEN:
            assert len(jars.digests()[f"{artifact}-{version}.jar"]) == 64


def test_an_unknown_version_is_refused() -> None:
    """A version without digests is named, with those that are known."""
    with pytest.raises(Refusal, match=r"no digests of Kafka 2\.7\.0; known: 3\.9"):
        jars.jars("2.7.0")


def test_missing_maven_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the jars are not cached and there is no Maven, one line says so, and nothing is left behind."""
    monkeypatch.setenv("PATH", "")
    with pytest.raises(Refusal, match="mvn is not installed; Maven is needed") as refused:
        jars.jars("4.1.0")
    assert "\n" not in str(refused.value)
    assert not list((jars.cache_folder() / "4.1.0").iterdir())


def test_what_maven_says_is_passed_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A network that is down is Maven's first error, in one line; the cache stays without a half-filled folder."""
    fake = tmp_path / "mvn"
    fake.write_text("#!/bin/sh\necho '[ERROR] no route to host'\necho '[ERROR] second line'\nexit 1\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    with pytest.raises(Refusal, match=r"cannot fetch the jars of Kafka 4\.1\.0: no route to host$"):
        jars.jars("4.1.0")
    assert not list((jars.cache_folder() / "4.1.0").iterdir())


def test_a_jar_with_another_digest_is_refused() -> None:
    """A jar that was changed in the cache is not run."""
    place = jars.cache_folder() / "4.1.0" / jars.CONTROLLER
    place.mkdir(parents=True)
    for artifact in jars.DRIVEN:
        (place / f"{artifact}-4.1.0.jar").write_bytes(b"not that jar")
    with pytest.raises(Refusal, match=r"kafka-clients-4\.1\.0\.jar differs from its digest; remove"):
        jars.jars("4.1.0")


def test_a_folder_without_a_driven_jar_is_refused() -> None:
    """An incomplete folder is not a class path."""
    (jars.cache_folder() / "4.1.0" / jars.CONTROLLER).mkdir(parents=True)
    with pytest.raises(Refusal, match=r"no kafka-clients-4\.1\.0\.jar; remove the folder"):
        jars.jars("4.1.0")


def test_the_runner_of_tests_has_one_digest_too() -> None:
    """The jar that runs exported tests is the one of the pom, and another in its place is refused."""
    (name,) = (name for name in jars.digests() if name.startswith(jars.RUNNER))
    version = name.removeprefix(jars.RUNNER).removesuffix(".jar")
    assert f"<version>{version}</version>" in jars.POM.read_text(encoding="utf-8")
    place = jars.cache_folder() / jars.JUNIT
    place.mkdir(parents=True)
    (place / name).write_bytes(b"not that jar")
    with pytest.raises(Refusal, match=r"junit-platform-console-standalone-.*\.jar differs from its digest; remove"):
        jars.jars("4.1.0", jars.JUNIT)
