"""Broker registrations: merging, directories, addresses."""

import pytest

from kraftcheck.model.partition.registration import LOST, MIGRATING, UNASSIGNED
from kraftcheck.model.records.records import (
    BrokerRegistrationChangeRecord,
    Feature,
    FenceBrokerRecord,
    Listener,
    Node,
    Registration,
    StaleEpochError,
    UnfenceBrokerRecord,
    UnknownFlagError,
    changed,
    directory_order,
    in_order,
    register_record,
    registration_of,
)
from kraftcheck.model.rules.ruleset import preset
from kraftcheck.model.triggers.table import default_directory
from tests.shared.recordings import DIR_A, DIR_B, DIR_C

FULL = Registration(
    id=1,
    epoch=5,
    incarnation="inc",
    listeners=(Listener("B", "b", 2), Listener("A", "a", 1)),
    features=(Feature("f", 1, 2),),
    rack="r",
    fenced=True,
    in_controlled_shutdown=True,
    is_migrating_zk_broker=True,
    dirs=(DIR_A, DIR_B),
    cordoned=(DIR_B,),
)


def change(**fields):
    """A change record for broker 1 at epoch 5."""
    return BrokerRegistrationChangeRecord(1, 5, **fields)


def test_directories_are_sorted_signed():
    """Directories are kept in the order of two signed halves: a high top bit sorts first."""
    negative_low = (1 << 63) | 4
    assert Registration(1, 0, "i", dirs=(DIR_A, DIR_C, DIR_B)).dirs == (DIR_C, DIR_A, DIR_B)
    assert in_order((5, negative_low)) == (negative_low, 5)
    assert directory_order((1 << 128) - 1) == (-1, -1)


@pytest.mark.parametrize("rules", ["kafka-4.0", "fixed"])
def test_an_empty_list_of_directories(rules: str) -> None:
    """As implemented it changes nothing; mended, no directory is left and none is online, until one is again."""
    after = changed(FULL, change(log_dirs=()), preset(rules).partition)
    if rules == "kafka-4.0":
        assert after == FULL
        return
    assert (after.dirs, after.no_dir_left, after.has_online_dir(DIR_A)) == ((), True, False)
    assert after.has_online_dir(UNASSIGNED)
    assert not after.has_online_dir(LOST)
    again = changed(after, change(log_dirs=(DIR_B,)), preset(rules).partition)
    assert (again.dirs, again.no_dir_left) == ((DIR_B,), False)
    assert changed(after, change(fenced=1), preset(rules).partition).no_dir_left


def test_directories_are_replaced_in_order():
    """A change's directories replace the registered ones and are sorted."""
    assert changed(FULL, change(log_dirs=(DIR_B, DIR_C))).dirs == (DIR_C, DIR_B)


def test_cordoned_directories_are_replaced_and_kept_as_given():
    """An absent list keeps the cordoned directories, an empty one uncordons all, another stays in its order."""
    assert changed(FULL, change(fenced=1)).cordoned == (DIR_B,)
    assert changed(FULL, change(cordoned=())).cordoned == ()
    assert changed(FULL, change(cordoned=(DIR_B, DIR_A))).cordoned == (DIR_B, DIR_A)


def test_other_epoch_is_fatal():
    """A change that names another epoch is refused, of every kind."""
    for record in (BrokerRegistrationChangeRecord(1, 4), FenceBrokerRecord(1, 6), UnfenceBrokerRecord(1, 4)):
        with pytest.raises(StaleEpochError, match="broker 1 has 5"):
            changed(FULL, record)


@pytest.mark.parametrize("fields", [{"fenced": 2}, {"in_controlled_shutdown": -1}])
def test_unknown_flag_is_fatal(fields):
    """A flag value without meaning is refused, naming the flag."""
    with pytest.raises(UnknownFlagError, match=next(iter(fields))):
        changed(FULL, change(**fields))


def test_record_round_trip():
    """A registration written as a record and read back is the same."""
    assert registration_of(register_record(FULL)) == FULL


def test_older_versions_lose_fields():
    """What the metadata version does not know is lost from the record."""
    older = {"controlled_shutdown": False, "migration": False, "directories": False, "cordoning": False}
    old = registration_of(register_record(FULL, **older))
    assert (old.in_controlled_shutdown, old.is_migrating_zk_broker, old.dirs, old.cordoned) == (False, False, (), None)


@pytest.mark.parametrize(
    ("directory", "online"),
    [(DIR_A, True), (DIR_C, False), (UNASSIGNED, True), (MIGRATING, True), (LOST, False), (50, False)],
)
def test_has_online_dir(directory, online):
    """Registered directories are online, LOST and unknown ones not, unplaced replicas count as online."""
    assert FULL.has_online_dir(directory) is online


def test_node_for_listener():
    """A listener gives host and port with the broker's rack; an unknown one nothing."""
    assert FULL.node_for_listener("B") == Node(1, "b", 2, "r")
    assert FULL.node_for_listener("C") is None


def test_default_directory():
    """New replicas go to the only directory; otherwise the answer says what is not known."""
    fixed, kip = preset("fixed"), preset("kip")
    assert default_directory(True, 1, DIR_A, True, fixed.partition) == DIR_A
    assert default_directory(True, 2, DIR_A, True, fixed.partition) == UNASSIGNED
    assert default_directory(True, 0, UNASSIGNED, True, fixed.partition) == MIGRATING
    assert default_directory(False, 0, UNASSIGNED, True, fixed.partition) == UNASSIGNED
    assert default_directory(False, 0, UNASSIGNED, False, fixed.partition) == MIGRATING
    assert default_directory(True, 1, DIR_A, True, kip.partition) == UNASSIGNED
    assert default_directory(True, 1, DIR_A, False, kip.partition) == MIGRATING
