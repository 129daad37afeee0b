"""Placement: what every placement keeps, and the stream of random numbers."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraftcheck.model.controller.errors import RequestError, Resignation
from kraftcheck.model.controller.placement import EXHAUSTED, RandomStream, Ring, UsableBroker, place, rack_list

STREAMS = st.builds(RandomStream, st.integers(0, 2**64 - 1))
CLUSTERS = st.lists(
    st.builds(UsableBroker, st.integers(0, 30), st.sampled_from([None, "a", "b", "c"]), st.booleans()),
    min_size=1,
    max_size=10,
    unique_by=lambda broker: broker.id,
)


@given(CLUSTERS, st.integers(1, 10), st.integers(1, 40), STREAMS)
def test_a_placement_is_sound(brokers: list[UsableBroker], factor: int, partitions: int, stream: RandomStream) -> None:
    """No replica list repeats a broker or starts with a fenced one; otherwise the factor cannot be met."""
    placed, _ = place(brokers, partitions, factor, stream)
    live = {broker.id for broker in brokers if not broker.fenced}
    if isinstance(placed, RequestError):
        assert placed.error == "INVALID_REPLICATION_FACTOR"
        assert not live or factor > len(brokers)
        return
    assert len(placed) == partitions
    for replicas in placed:
        assert len(set(replicas)) == len(replicas) == factor
        assert set(replicas) <= {broker.id for broker in brokers}
        assert replicas[0] in live


@given(CLUSTERS, st.integers(1, 10), STREAMS)
def test_a_rack_gives_live_brokers_first(brokers: list[UsableBroker], factor: int, stream: RandomStream) -> None:
    """Within one rack no fenced broker stands before a live one."""
    placed, _ = place(brokers, 20, factor, stream)
    if isinstance(placed, RequestError):
        return
    known = {broker.id: broker for broker in brokers}
    for replicas in placed:
        for rack in {broker.rack for broker in brokers}:
            fenced = [known[b].fenced for b in replicas if known[b].rack == rack]
            assert fenced == sorted(fenced)


@given(st.integers(1, 6), STREAMS)
def test_leaders_are_spread(racks: int, stream: RandomStream) -> None:
    """With a live broker on each rack, the first round of placements gives each broker one leadership."""
    brokers = [UsableBroker(number, f"rack{number}", False) for number in range(racks)]
    placed, _ = place(brokers, racks, 1, stream)
    assert not isinstance(placed, RequestError)
    assert Counter(replicas[0] for replicas in placed) == dict.fromkeys(range(racks), 1)


def test_a_reshuffle_does_not_rewind_a_ring_of_epoch_zero() -> None:
    """After a reshuffle, a ring last used in epoch 0 is still used up, so a rack may be passed over."""
    racks, stream = rack_list([UsableBroker(b, str(b), False) for b in range(2)], RandomStream())
    leaders = []
    for _ in range(40):
        replicas, racks, stream = racks.place(1, stream)
        leaders.append(replicas[0])
    rounds = [set(leaders[n : n + 2]) for n in range(0, 40, 2)]
    assert rounds[0] == {0, 1}
    assert {0} in rounds or {1} in rounds


@pytest.mark.parametrize(
    ("factor", "brokers", "reason"),
    [
        (0, [(1, False)], "not_positive"),
        (-1, [(1, True)], "not_positive"),
        (2, [(1, False)], "too_few_brokers"),
        (2, [(1, True)], "all_fenced"),
        (1, [(1, True)], "all_fenced"),
        (1, [], "all_fenced"),
    ],
)
def test_factors_that_cannot_be_met(factor: int, brokers: list[tuple[int, bool]], reason: str) -> None:
    """A topic's refusal says first that the factor is no number, then that all are fenced, then that too few exist."""
    refusal, _ = place([UsableBroker(b, None, fenced) for b, fenced in brokers], 1, factor, RandomStream())
    assert isinstance(refusal, RequestError)
    assert (refusal.error, refusal.reason) == ("INVALID_REPLICATION_FACTOR", reason)


def test_a_refused_placement_spends_its_draws() -> None:
    """The positions are drawn before the factor is looked at, so a refusal moves the stream on."""
    brokers = [UsableBroker(b, None, False) for b in range(3)]
    refusal, rest = place(brokers, 1, 4, RandomStream())
    assert isinstance(refusal, RequestError)
    assert rest != RandomStream()
    assert place([], 1, 1, RandomStream())[1] == RandomStream()


def test_factors_may_differ_between_placements_or_end() -> None:
    """Placements of other factors from one rack list go on or end; they never run for ever."""
    racks, stream = rack_list([UsableBroker(b, str(b % 3), b > 1) for b in range(6)], RandomStream())
    for factor in (2, 6, 3, 1, 5, 6, 4, 6):
        try:
            replicas, racks, stream = racks.place(factor, stream)
        except Resignation:
            break
        assert len(set(replicas)) == factor


@given(st.lists(st.integers(0, 50), unique=True, max_size=8), st.lists(st.integers(0, 3), max_size=30))
def test_a_ring_returns_each_broker_once_an_epoch(brokers: list[int], epochs: list[int]) -> None:
    """Between two epochs no broker comes twice, and afterwards the ring is exhausted."""
    ring, seen, last = Ring(tuple(brokers)), [], 0
    for epoch in epochs:
        seen = seen if epoch == last else []
        last = epoch
        broker, ring = ring.next(epoch)
        if broker == EXHAUSTED:
            assert set(seen) == set(brokers)
        else:
            assert broker not in seen
            seen.append(broker)


@given(STREAMS, st.integers(1, 2**31 - 1))
def test_draws_are_below_the_bound(stream: RandomStream, bound: int) -> None:
    """A bounded draw is in range, and the same stream draws the same number."""
    drawn, rest = stream.below(bound)
    assert 0 <= drawn < bound
    assert stream.below(bound) == (drawn, rest)
    assert 0 <= rest.state < 2**64


@given(STREAMS, st.lists(st.integers(), max_size=12))
def test_a_shuffle_keeps_the_items(stream: RandomStream, items: list[int]) -> None:
    """A shuffle only reorders."""
    assert sorted(stream.shuffled(items)[0]) == sorted(items)
