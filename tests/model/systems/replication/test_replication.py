"""The `replication` system: logs, watermarks and leaders on small examples, checked by hand."""

from __future__ import annotations

import pytest

from kraftcheck.model.systems.replication.state import UNKNOWN
from tests.shared.replication import (
    elect,
    ends,
    fetch,
    learn,
    log,
    start,
    with_broker,
    with_logs,
)


@pytest.mark.parametrize(
    ("follower", "leader", "cut"),
    [
        ((0, 0, 1), (0, 2), (0,)),  # KIP-101: the records above the shared prefix go
        ((0, 0), (0, 1), (0,)),  # more records of a shared epoch than the leader has
        ((1,), (0, 2), ()),  # KIP-279: the leader's epochs surround the follower's
        ((0, 1, 1), (0, 0, 2), (0,)),  # KIP-279: the leader lacks the epoch, the follower has less of the one before
        ((0, 0, 0), (0,), (0,)),
        ((1, 1), (), ()),
    ],
)
def test_diverging_logs_are_cut(follower: tuple[int, ...], leader: tuple[int, ...], cut: tuple[int, ...]) -> None:
    """A diverging log is cut to the shared prefix, brings no data, and is not noted; the next fetch brings all."""
    state = learn(elect(with_logs(start(), log(*leader), log(*follower), log()), 0, [0, 1]), 0, 1)
    state = with_broker(state, 1, high_watermark=len(follower))
    found = fetch(state, 1)
    assert (found.brokers[1].log, ends(found, 0)) == (log(*cut), (UNKNOWN,) * 3)
    assert found.brokers[1].high_watermark == len(cut)
    assert fetch(state, 1, received=0) == state
    again = fetch(found, 1)
    assert (again.brokers[1].log, ends(again, 0)) == (log(*leader), (UNKNOWN, len(cut), UNKNOWN))


def test_one_lookup_is_not_enough() -> None:
    """KIP-279: a follower that trusts the end of another epoch keeps a record that the leader never had."""
    state = learn(elect(with_logs(start(), log(0, 2), log(1), log()), 0, [0, 1]), 0, 1)
    assert fetch(state, 1).brokers[1].log == log()
    assert fetch(state, 1, rules="fixed+kip101-epoch-lookup").brokers[1].log == log(1, 2)
