"""Releases that nobody here knows yet: which numbers are asked for, what is no release, and what is new at night."""

import functools
import re

import pytest

from kraftcheck.ci.conformance.kafka import build, jars, upcoming
from kraftcheck.ci.conformance.kafka.drivers import DriverError
from kraftcheck.ci.terminal.refusal import Refusal


def test_the_next_numbers_of_each_line_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """The next patch of each line, and the next minor number that no release has; a major number after the last."""
    monkeypatch.setattr(upcoming, "known_versions", lambda: ("3.9.2", "4.0.0", "4.0.2", "4.1.1"))
    assert upcoming.next_numbers() == ["3.9.3", "3.10.0", "4.0.3", "4.1.2", "4.2.0", "5.0.0"]


def test_what_is_no_answer_of_maven_is_no_missing_release(monkeypatch: pytest.MonkeyPatch) -> None:
    """A version that Maven cannot find is not served; where it cannot reach its server nothing is known of it."""

    def said(text: str) -> None:
        def fetched(version: str, kind: str) -> str:
            raise Refusal(f"Maven cannot fetch the jars of Kafka {version}: {text}")

        monkeypatch.setattr(upcoming, "any_jars", fetched)

    said("Could not find artifact org.apache.kafka:kafka-metadata:jar:9.9.9 in central")
    assert not upcoming.is_served("9.9.9")
    said("Could not transfer artifact org.apache.kafka:kafka-metadata:pom:9.9.9: Connection refused")
    with pytest.raises(Refusal, match="Connection refused"):
        upcoming.is_served("9.9.9")


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """A registry that serves nothing yet: the jars of a release by a version that is not known."""
    served = dict[str, str]()

    def fetched(version: str, kind: str) -> str:
        if version not in served:
            raise Refusal(f"Maven cannot fetch the jars of Kafka {version}: Could not find artifact of {version}")
        return jars.jars(served[version], kind)

    monkeypatch.setattr(upcoming, "any_jars", fetched)
    monkeypatch.setattr(build, "any_jars", fetched)
    monkeypatch.setattr(upcoming, "next_numbers", lambda: ["4.4.1", "4.5.0", "5.0.0"])
    monkeypatch.setattr(upcoming, "news", functools.partial(upcoming.news, steps=400))
    return served


@pytest.mark.xdist_group("kafka")
def test_what_a_registry_serves_is_asked(registry: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    """A next patch that is 4.4.0 again passes; a minor one that decides as 4.3.1 does ends the job with 23, named."""
    assert upcoming.main() == 0
    assert capsys.readouterr().out.endswith(": 0 served and not known, 0 decide otherwise\n")
    registry["4.4.1"] = "4.4.0"
    assert upcoming.main() == 0
    told = capsys.readouterr().out
    assert "Kafka 4.4.1, completed by 4.4.0" in told
    assert told.endswith("asked for 4.4.1, 4.5.0, 5.0.0: 1 served and not known, 0 decide otherwise\n")
    registry["4.5.0"] = "4.3.1"
    assert upcoming.main() == 23
    assert capsys.readouterr().out.endswith(": 2 served and not known, 1 decide otherwise\n")


@pytest.mark.xdist_group("kafka")
def test_one_that_cannot_be_driven_hides_no_other(
    registry: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A version whose classes no driver fits is an error, exit code 2, and those after it are asked."""
    registry |= {"4.4.1": "4.4.0", "5.0.0": "4.4.0"}

    def asked(version: str) -> tuple[bool, list[str]]:
        if version == "4.4.1":
            raise DriverError("no driver knows it")
        return False, [f"{version} was asked"]

    monkeypatch.setattr(upcoming, "news", asked)
    assert upcoming.main() == 2
    told = capsys.readouterr()
    assert told.err == "error: no driver knows it\n"
    assert told.out.splitlines() == [
        "5.0.0 was asked",
        "asked for 4.4.1, 4.5.0, 5.0.0: 2 served and not known, 0 decide otherwise, 1 could not be asked",
    ]


@pytest.mark.slow
@pytest.mark.xdist_group("kafka")
def test_what_is_new_decides_as_its_line_does(capsys: pytest.CaptureFixture[str]) -> None:
    """Each served release that has no digests here is named, fuzzed, and decides as the nearest known one."""
    code, told = upcoming.main(), capsys.readouterr().out
    assert code == 0, told
    (served,) = re.findall(r": (\d+) served and not known, 0 decide otherwise\n$", told)
    assert int(served) == told.count("warning: no digest of Kafka ") == told.count(": 0 sequences differ")
