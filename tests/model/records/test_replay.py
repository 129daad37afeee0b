"""Replay: what each record does to the image, and what it refuses."""

from functools import reduce

import pytest
from attrs import evolve

from kraftcheck.model.language.idlists import IdList
from kraftcheck.model.partition.registration import MIGRATING
from kraftcheck.model.records.records import (
    BrokerRegistrationChangeRecord,
    FenceBrokerRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    RemoveTopicRecord,
    TopicRecord,
    UnfenceBrokerRecord,
    UnregisterBrokerRecord,
)
from kraftcheck.model.records.replay import ClusterImage, ReplayError, replay
from tests.shared.recordings import DIR_A, DIR_B, change

PARTITION = PartitionRecord("t", 0, (1, 2, 3), (1, 2), leader=1, leader_epoch=4, partition_epoch=7)
BASE = reduce(replay, [TopicRecord("foo", "t"), PARTITION], ClusterImage())


def after(**fields):
    """The partition of the base image after a change with these fields."""
    return replay(BASE, PartitionChangeRecord("t", 0, change(**fields))).partition("t", 0)


def test_absent_leader_keeps_the_epoch():
    """A change without leader raises the partition epoch only."""
    p = after(isr=(1, 2, 3))
    assert (p.leader, p.leader_epoch, p.partition_epoch) == (1, 4, 8)


def test_same_leader_is_not_absent():
    """A change that names the current leader raises the leader epoch."""
    p = after(leader=1)
    assert (p.leader, p.leader_epoch, p.partition_epoch) == (1, 5, 8)


def test_empty_is_not_absent():
    """An empty ISR in a change empties the ISR; an absent one keeps it."""
    assert after(isr=()).isr == IdList()
    assert after(elr=(3,)).isr == IdList((1, 2))


def test_all_migrating_follows_the_replicas():
    """All-MIGRATING directories are made anew for a new number of replicas."""
    assert after(replicas=(1, 2, 3, 4)).directories.ids == (MIGRATING,) * 4


def test_unequal_directories_are_refused():
    """Placed replicas whose number changes without new directories cannot be replayed."""
    placed = replay(BASE, evolve(PARTITION, directories=(DIR_A, DIR_B, MIGRATING)))
    with pytest.raises(ReplayError, match="2 replicas but 3 directories"):
        replay(placed, PartitionChangeRecord("t", 0, change(replicas=(1, 2))))


def test_all_migrating_of_wrong_length_in_a_change_is_refused():
    """A change whose own replicas and directories differ in number is an error, even all MIGRATING."""
    with pytest.raises(ReplayError, match="directories in the change"):
        after(replicas=(1, 2), directories=(MIGRATING,) * 3)


def test_remove_topic_removes_its_partitions():
    """After a topic's removal neither it nor a partition of it is known, and its name is free."""
    image = replay(BASE, RemoveTopicRecord("t"))
    assert image.topics == {}
    assert image.partition("t", 0) is None
    assert replay(image, TopicRecord("foo", "u")).topics["u"].name == "foo"


def test_registration_stores_its_offset():
    """The offset of a broker's last registration record is kept; unregistering forgets it."""
    image = replay(BASE, RegisterBrokerRecord(1, 5, "i"))
    assert image.registration_offsets == {1: 2}
    image = reduce(replay, [BrokerRegistrationChangeRecord(1, 5, fenced=-1), RegisterBrokerRecord(1, 9, "j")], image)
    assert image.registration_offsets == {1: 4}
    assert image.registrations[1].fenced
    image = replay(image, UnregisterBrokerRecord(1, 9))
    assert (image.registrations, image.registration_offsets) == ({}, {})


def test_registration_overwrites_controlled_shutdown():
    """Only a new registration ends controlled shutdown."""
    start = [RegisterBrokerRecord(1, 5, "i"), BrokerRegistrationChangeRecord(1, 5, in_controlled_shutdown=1)]
    image = reduce(replay, start, BASE)
    assert image.registrations[1].in_controlled_shutdown
    image = replay(image, BrokerRegistrationChangeRecord(1, 5, fenced=-1))
    assert image.registrations[1].in_controlled_shutdown
    assert not replay(image, RegisterBrokerRecord(1, 9, "j")).registrations[1].in_controlled_shutdown


REGISTERED = replay(BASE, RegisterBrokerRecord(1, 5, "i", log_dirs=(DIR_A,)))


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (TopicRecord("foo", "u"), "a topic of that name exists"),
        (RemoveTopicRecord("u"), "there is no topic"),
        (evolve(PARTITION, topic_id="u"), "there is no topic"),
        (evolve(PARTITION, directories=(DIR_A,)), "3 replicas but 1 directories"),
        (PartitionChangeRecord("u", 0, change()), "there is no topic"),
        (PartitionChangeRecord("t", 1, change()), "no partition 1"),
        (UnregisterBrokerRecord(2, 5), "broker 2 is not registered"),
        (UnregisterBrokerRecord(1, 4), "epoch 4 but broker 1 has 5"),
        (BrokerRegistrationChangeRecord(2, 5), "broker 2 is not registered"),
        (BrokerRegistrationChangeRecord(1, 6), "epoch 6 but broker 1 has 5"),
        (BrokerRegistrationChangeRecord(1, 5, fenced=3), "fenced is 3"),
        (FenceBrokerRecord(1, 6), "epoch 6 but broker 1 has 5"),
        (UnfenceBrokerRecord(2, 5), "broker 2 is not registered"),
        (RegisterBrokerRecord(2, 6, "j", log_dirs=(DIR_A,)), "belongs to broker 1"),
    ],
)
def test_refusals_name_the_record(record, reason):
    """A record that does not fit raises one line with the record's kind and the reason."""
    with pytest.raises(ReplayError, match=reason) as raised:
        replay(REGISTERED, record)
    assert type(record).__name__ in str(raised.value)
    assert "\n" not in str(raised.value)


def test_not_a_record():
    """Anything but a record is a type error."""
    with pytest.raises(TypeError, match="not a record"):
        replay(BASE, "record")


def test_replay_leaves_the_image_alone():
    """Replay is pure: the image before is unchanged."""
    replay(REGISTERED, RemoveTopicRecord("t"))
    replay(REGISTERED, UnregisterBrokerRecord(1, 5))
    assert REGISTERED.partition("t", 0) is not None
    assert 1 in REGISTERED.registrations
