"""The released classes of a broker: replies that are late, failed directories, moving replicas and proposals."""

import pytest

from kraftcheck.ci.conformance.kafka.cases import (
    CASES,
    LATE_REPLIES,
    OLDER,
    RELEASES,
    broker_answers,
    late_replies,
    main,
)
from kraftcheck.model.rules.ruleset import parse

pytestmark = pytest.mark.xdist_group("kafka")


@pytest.mark.slow
@pytest.mark.parametrize("release", ["4.0.0", "4.0.2", "4.1.2", "4.4.0"])
def test_a_reply_of_an_earlier_epoch(release: str) -> None:
    """From 4.0.1 on a reply of an earlier leader epoch is dropped; 4.0.0 and its preset compare the offset only."""
    assert late_replies(release) == dict(zip(LATE_REPLIES, (True, release == "4.0.0", False), strict=True))
    assert parse(f"kafka-{release}").data_plane.earlier_reply_applied == (release == "4.0.0")


@pytest.mark.slow
@pytest.mark.parametrize("release", RELEASES)
def test_a_broker_does_as_the_entries_say(release: str) -> None:
    """Each entry that is asked of a broker's classes is so in the release, and each answer beside one is right."""
    assert broker_answers(release) == dict.fromkeys(CASES, True)


@pytest.mark.slow
@pytest.mark.parametrize("release", OLDER)
def test_from_4_3_on_a_first_failure_in_flight_counts_too(release: str) -> None:
    """Before 4.3 only a second failed directory counts as reported by a heartbeat under way, as presets say."""
    answers, rules = broker_answers(release), parse(f"kafka-{release}").directories
    assert answers["second-failure-in-flight-counts-as-reported"]
    first = answers["failure-in-flight-counts-as-reported"]
    assert (rules.reported_while_in_flight, rules.second_reported_while_in_flight) == (first, not first)


def test_no_release_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    """Without a release, with an unknown one, or one that the driver does not fit, one line is said; exit code 2."""
    for words in ([], ["fetcher"], ["fetcher", "3.8.0"], ["follower", "4.4.0"], ["broker"], ["broker", "4.0.0"]):
        assert main(words) == 2
        assert capsys.readouterr().err.count("\n") == 1
