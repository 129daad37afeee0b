"""The released fetcher of a follower, and replies that are late."""

from __future__ import annotations

import pytest

from kraftcheck.ci.conformance.kafka.fetcher.__main__ import main
from kraftcheck.ci.conformance.kafka.fetcher.late_replies import CASES, late_replies

pytestmark = pytest.mark.xdist_group("kafka")


@pytest.mark.slow
@pytest.mark.parametrize("release", ["4.0.0", "4.0.2", "4.1.2", "4.4.0"])
def test_a_reply_of_an_earlier_epoch(release: str) -> None:
    """From 4.0.1 on a reply of an earlier leader epoch is dropped; 4.0.0 compares the fetch offset only."""
    assert late_replies(release) == dict(zip(CASES, (True, release == "4.0.0", False), strict=True))


def test_no_release_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    """Without a release, or with an unknown one, the command ends with one line and code 2."""
    for words in ([], ["3.8.0"]):
        assert main(words) == 2
        assert capsys.readouterr().err.count("\n") == 1
