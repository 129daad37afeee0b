"""Releases that nobody here knows yet: which numbers are asked for, what is no release, and what is new at night."""

from __future__ import annotations

import pytest

from kraftcheck.ci.conformance.kafka import jars, upcoming
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


@pytest.mark.slow
@pytest.mark.xdist_group("kafka")
def test_what_is_new_decides_as_its_line_does(capsys: pytest.CaptureFixture[str]) -> None:
    """Served releases that have no digests here are fuzzed, and decide as the nearest known one: 4.2.2 as 4.2.1."""
    assert "4.2.2" not in jars.known_versions()
    code, told = upcoming.main(), capsys.readouterr().out
    assert code == 0, told
    assert "warning: no digest of Kafka 4.2.2 is listed" in told
    assert "kafka-4.2.1: 0 sequences differ" in told
