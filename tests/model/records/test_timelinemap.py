"""The order of the map in which Kafka keeps the partitions of a topic."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraftcheck.model.language.idlists import IdList
from kraftcheck.model.partition.registration import DirectoryList, Partition
from kraftcheck.model.records.replay import FEWEST_SLOTS, Topic, first_key, slots_after_put, slots_of


def partition(replicas: int) -> Partition:
    """A partition on the first brokers."""
    nobody, ids = IdList(), tuple(range(replicas))
    return Partition(IdList(ids), DirectoryList(ids, (1,) * replicas), IdList(ids), nobody, nobody, nobody, nobody, 0,
                     False, 0, 0)  # fmt: skip


@pytest.mark.parametrize(("count", "first"), [(1, 0), (2, 0), (3, 2), (4, 2), (5, 2), (6, 5), (11, 0)])
def test_the_first_of_some_partitions(count: int, first: int) -> None:
    """Of 3 to 5 new partitions the map lists the third first, of 6 the sixth."""
    assert first_key(range(count), slots_of(count)) == first


def test_a_put_may_make_another_partition_the_first() -> None:
    """Five new partitions begin with the third; once one of them has changed, the map has grown, and begins with 0."""
    topic = Topic("t", {index: partition(index + 1) for index in range(5)})
    assert topic.first_partition().replicas.size() == 3
    changed = topic.with_partitions({4: partition(2)})
    assert changed.first_partition().replicas.size() == 1
    assert changed == Topic("t", {**topic.partitions, 4: partition(2)})
    assert changed.with_partitions({4: partition(2)}).slots == changed.slots > topic.slots


@given(st.lists(st.integers(0, 300)))
def test_slots_are_a_power_of_two_that_fits(keys: list[int]) -> None:
    """The map is at most four thirds full after each put, and grows no more than one key needs."""
    slots, known = FEWEST_SLOTS, set[int]()
    for key in keys:
        slots = slots_after_put(slots, len(known))
        known.add(key)
        assert 3 * len(known) <= 4 * slots
        assert slots.bit_count() == 1
    assert slots_of(len(known)) <= slots <= 2 * slots_of(len(known))
