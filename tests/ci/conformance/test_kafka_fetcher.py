"""The released classes of a broker: replies that are late, failed directories, moving replicas and proposals."""

from __future__ import annotations

import pytest

from kraftcheck.ci.conformance.kafka.cases import CASES, LATE_REPLIES, RELEASES, broker_answers, late_replies, main
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


def test_no_release_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    """Without a release, with an unknown one, or one that the driver does not fit, one line is said; exit code 2."""
    for words in ([], ["fetcher"], ["fetcher", "3.8.0"], ["follower", "4.4.0"], ["broker"], ["broker", "4.0.0"]):
        assert main(words) == 2
        assert capsys.readouterr().err.count("\n") == 1
