"""Records: their defaults, and the partition that a record describes."""

import pytest
from hypothesis import given

from kraftcheck.model.partition.registration import LOST, MIGRATING, UNASSIGNED, DirectoryMismatch
from kraftcheck.model.records.records import (
    Listener,
    PartitionRecord,
    RegisterBrokerRecord,
    loses_directories,
    partition_of,
    partition_record,
)
from tests.shared.recordings import DIR_A, partition, partition_records


def record(**fields):
    """A partition record of two replicas."""
    return PartitionRecord("t", 0, (1, 2), (1,), **fields)


def test_listener_order_is_forgotten():
    """Two registration records with the same listeners in another order are equal."""
    a, b = Listener("A", "h", 1), Listener("B", "h", 2)
    assert RegisterBrokerRecord(1, 5, "i", listeners=(b, a)) == RegisterBrokerRecord(1, 5, "i", listeners=(a, b))


@pytest.mark.parametrize("directories", [None, (), (MIGRATING, MIGRATING)])
def test_no_directories_read_back_as_migrating(directories):
    """Absent, empty and all-MIGRATING directories become one MIGRATING a replica."""
    assert partition_of(record(directories=directories)).directories.ids == (MIGRATING, MIGRATING)


def test_all_migrating_of_wrong_length_is_refused():
    """A partition record whose directories are given in another number is an error, even all MIGRATING."""
    with pytest.raises(DirectoryMismatch, match="2 replicas but 3 directories"):
        partition_of(record(directories=(MIGRATING,) * 3))


def test_empty_elr_is_stored_as_absent():
    """Empty ELR lists are not written."""
    made = partition_record(partition(), "t", 0)
    assert (made.elr, made.last_known_elr) == (None, None)


def test_elr_is_stored_only_when_known():
    """ELR lists are written only when the metadata version knows them."""
    p = partition(isr=(1,), elr=(2,), last_known_elr=(3,))
    assert partition_record(p, "t", 0).elr == (2,)
    assert partition_record(p, "t", 0, elr=False).elr is None


@pytest.mark.parametrize(("directory", "loses"), [(MIGRATING, False), (UNASSIGNED, True), (LOST, True), (DIR_A, True)])
def test_loses_directories(directory, loses):
    """A record without directories forgets every directory but MIGRATING."""
    p = partition(directories=(MIGRATING, MIGRATING, directory))
    assert loses_directories(p) is loses
    assert partition_record(p, "t", 0, directories=False).directories is None


@given(partition_records)
def test_state_survives_storing(drawn):
    """A partition written at the highest version and read back is the same partition."""
    size = len(drawn.replicas)
    fitting = (drawn.directories or ()) if len(drawn.directories or ()) in (0, size) else None
    p = partition_of(PartitionRecord("t", 0, drawn.replicas, drawn.isr, directories=fitting, elr=drawn.elr))
    assert partition_of(partition_record(p, "t", 0)) == p
