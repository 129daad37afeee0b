"""Records: defaults, codecs of every form, what each does to the image, and what is refused with its key."""

import json
from functools import reduce

import pytest
from attrs import evolve
from hypothesis import given

from kraftcheck.model.language.idlists import IdList
from kraftcheck.model.partition.registration import LOST, MIGRATING, UNASSIGNED, DirectoryMismatch
from kraftcheck.model.records.codecs import CODE_FORM, DRAFT_FORM, KIP_FORM, Form, decode, encode
from kraftcheck.model.records.fields import CODE, FormError
from kraftcheck.model.records.records import (
    BrokerRegistrationChangeRecord,
    Feature,
    FenceBrokerRecord,
    Listener,
    Node,
    PartitionChangeRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    Registration,
    RemoveTopicRecord,
    StaleEpochError,
    TopicRecord,
    UnfenceBrokerRecord,
    UnknownFlagError,
    UnregisterBrokerRecord,
    changed,
    directory_order,
    in_order,
    loses_directories,
    partition_of,
    partition_record,
    register_record,
    registration_of,
)
from kraftcheck.model.records.replay import ClusterImage, ReplayError, replay
from kraftcheck.model.rules.ruleset import preset
from kraftcheck.model.triggers.table import default_directory
from tests.shared.recordings import (
    DIR_A,
    DIR_B,
    DIR_C,
    change,
    changes,
    given_value,
    partition,
    partition_records,
    records,
)


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


RECORD = PartitionRecord("t", 0, (1, 2), (1,), leader=1, directories=(DIR_A, LOST))


@given(records)
def test_round_trip(record):
    """A record written at the highest version, through JSON text, reads back as itself."""
    assert decode(json.loads(json.dumps(encode(record)))) == record


@given(partition_records)
def test_round_trip_of_older_versions(record):
    """A record without the later fields survives the older versions."""
    plain = evolve(record, elr=None, last_known_elr=None)
    assert decode(encode(plain, 1)) == plain
    bare = evolve(plain, directories=None)
    assert decode(encode(bare, 0)) == bare


@given(partition_records)
def test_round_trip_of_kip_form(record):
    """The KIP's form keeps replicas and directories under its own numbers."""
    plain = evolve(record, elr=None, last_known_elr=None)
    assert decode(encode(plain, form=KIP_FORM), KIP_FORM) == plain


@given(partition_records, changes())
def test_round_trip_of_structs(record, drawn):
    """Structs keep replicas and directories that are given together, one to one."""
    form = Form("structs", CODE, assignment=True, highest=1)
    placed = evolve(record, directories=(UNASSIGNED,) * len(record.replicas), elr=None, last_known_elr=None)
    assert decode(encode(placed, form=form), form) == placed
    if drawn.replicas.present == drawn.directories.present:
        plain = PartitionChangeRecord("t", 0, evolve(drawn, elr=change().elr, last_known_elr=change().last_known_elr))
        assert decode(encode(plain, form=form), form) == plain


def test_struct_form():
    """The draft writes one list of structs in place of replicas and directories."""
    data = encode(RECORD, form=DRAFT_FORM)["data"]
    assert data["assignment"][1] == {"broker": 2, "directory": "OfflineDir"}
    assert "replicas" not in data
    assert "directories" not in data


def test_struct_without_directory_is_the_number_zero():
    """A struct's missing directory is the all-zero id, which the draft calls unknown."""
    document = encode(RECORD, form=DRAFT_FORM)
    document["data"]["assignment"] = [{"broker": 1}]
    assert decode(document, DRAFT_FORM).directories == (UNASSIGNED,)


def test_draft_version_0_has_replicas():
    """Before version 1 there are replicas and no structs in every form."""
    document = encode(evolve(RECORD, directories=None), 0, DRAFT_FORM)
    assert document["data"]["replicas"] == [1, 2]
    assert decode(document, DRAFT_FORM).directories is None


def test_same_bytes_mean_different_directories():
    """The all-zero id is MIGRATING in the code and unassigned in the KIP."""
    document = encode(RECORD, 1)
    document["data"]["directories"] = ["AAAAAAAAAAAAAAAAAAAAAA"] * 2
    assert decode(document, CODE_FORM).directories == (MIGRATING, MIGRATING)
    assert decode(document, KIP_FORM).directories == (UNASSIGNED, UNASSIGNED)


def test_numbers_instead_of_names():
    """A form may write reserved ids as the log holds them, in its own numbers."""
    written = encode(RECORD, 1, evolve(KIP_FORM, names=False))["data"]["directories"]
    assert written[1] == "AAAAAAAAAAAAAAAAAAAAAQ"


def test_record_without_directories_is_migrating():
    """A record read without directories places nothing: all MIGRATING."""
    document = encode(evolve(RECORD, directories=None), 0)
    assert partition_of(decode(document)).directories.ids == (MIGRATING, MIGRATING)


def test_absent_empty_and_same_leader_stay_apart():
    """An absent field, an empty list and a repeated leader are three different dicts and read back so."""
    written = [encode(PartitionChangeRecord("t", 0, made)) for made in (change(), change(isr=()), change(leader=1))]
    assert [sorted(set(d["data"]) - {"partitionId", "topicId"}) for d in written] == [[], ["isr"], ["leader"]]
    read = [decode(document).change for document in written]
    assert [given_value(made.leader) for made in read] == ["absent", "absent", 1]
    assert [made.isr.present for made in read] == [False, True, False]


def test_wire_markers_for_absent():
    """Leader -2, recovery state -1 and null are read as absent."""
    document = encode(PartitionChangeRecord("t", 0, change()))
    document["data"].update(leader=-2, leaderRecoveryState=-1, isr=None)
    assert decode(document).change == change()


@pytest.mark.parametrize(
    ("record", "version", "form", "key"),
    [
        (RECORD, 0, CODE_FORM, "directories"),
        (evolve(RECORD, elr=()), 1, CODE_FORM, "eligibleLeaderReplicas"),
        (evolve(RECORD, last_known_elr=(1,)), 1, CODE_FORM, "lastKnownElr"),
        (RECORD, 3, CODE_FORM, "version"),
        (RECORD, 2, KIP_FORM, "version"),
        (evolve(RECORD, directories=None), 1, DRAFT_FORM, "assignment"),
        (evolve(RECORD, directories=(MIGRATING, LOST)), 1, DRAFT_FORM, "directories"),
        (PartitionChangeRecord("t", 0, change(replicas=(1,))), 1, DRAFT_FORM, "assignment"),
        (BrokerRegistrationChangeRecord(1, 2, log_dirs=(DIR_A,)), 1, CODE_FORM, "logDirs"),
        (BrokerRegistrationChangeRecord(1, 2, cordoned=()), 2, CODE_FORM, "cordonedLogDirs"),
        (RegisterBrokerRecord(1, 2, "i", cordoned=()), 3, CODE_FORM, "cordonedLogDirs"),
        (BrokerRegistrationChangeRecord(1, 2, in_controlled_shutdown=1), 0, CODE_FORM, "inControlledShutdown"),
    ],
)
def test_versions_cannot_hold_everything(record, version, form, key):
    """Writing what a version or form does not know is refused, naming the key."""
    with pytest.raises(FormError, match=key):
        encode(record, version, form)


def broken(path, value):
    """The dict of a record with one value replaced, or removed where the value is `...`."""
    document = json.loads(json.dumps(encode(RECORD)))
    target = document
    for step in path[:-1]:
        target = target[step]
    if value is ...:
        del target[path[-1]]
    else:
        target[path[-1]] = value
    return document


@pytest.mark.parametrize(
    ("path", "value", "key"),
    [
        (("type",), "NO_RECORD", "type"),
        (("version",), 9, "version"),
        (("version",), True, "version"),
        (("data",), [], "data"),
        (("extra",), 1, "extra"),
        (("data", "isr"), ..., "data.isr"),
        (("data", "isr"), [1, "2"], r"data.isr\[1\]"),
        (("data", "leader"), 1 << 31, "data.leader"),
        (("data", "leader"), None, "data.leader"),
        (("data", "leaderRecoveryState"), 2, "data.leaderRecoveryState"),
        (("data", "directories"), ["x", "LOST"], r"data.directories\[0\]"),
        (("data", "surprise"), 1, "data.surprise"),
        (("data", "replicas"), None, "data.replicas"),
    ],
)
def test_malformed_input_names_the_key(path, value, key):
    """Missing, unknown and wrong values raise one exception type whose line names the key."""
    with pytest.raises(FormError, match=key) as raised:
        decode(broken(path, value))
    assert "\n" not in str(raised.value)


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


def altered(**fields):
    """A altered record for broker 1 at epoch 5."""
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
    after = changed(FULL, altered(log_dirs=()), preset(rules).partition)
    if rules == "kafka-4.0":
        assert after == FULL
        return
    assert (after.dirs, after.no_dir_left, after.has_online_dir(DIR_A)) == ((), True, False)
    assert after.has_online_dir(UNASSIGNED)
    assert not after.has_online_dir(LOST)
    again = changed(after, altered(log_dirs=(DIR_B,)), preset(rules).partition)
    assert (again.dirs, again.no_dir_left) == ((DIR_B,), False)
    assert changed(after, altered(fenced=1), preset(rules).partition).no_dir_left


def test_directories_are_replaced_in_order():
    """A change's directories replace the registered ones and are sorted."""
    assert changed(FULL, altered(log_dirs=(DIR_B, DIR_C))).dirs == (DIR_C, DIR_B)


def test_cordoned_directories_are_replaced_and_kept_as_given():
    """An absent list keeps the cordoned directories, an empty one uncordons all, another stays in its order."""
    assert changed(FULL, altered(fenced=1)).cordoned == (DIR_B,)
    assert changed(FULL, altered(cordoned=())).cordoned == ()
    assert changed(FULL, altered(cordoned=(DIR_B, DIR_A))).cordoned == (DIR_B, DIR_A)


def test_other_epoch_is_fatal():
    """A altered that names another epoch is refused, of every kind."""
    for record in (BrokerRegistrationChangeRecord(1, 4), FenceBrokerRecord(1, 6), UnfenceBrokerRecord(1, 4)):
        with pytest.raises(StaleEpochError, match="broker 1 has 5"):
            changed(FULL, record)


@pytest.mark.parametrize("fields", [{"fenced": 2}, {"in_controlled_shutdown": -1}])
def test_unknown_flag_is_fatal(fields):
    """A flag value without meaning is refused, naming the flag."""
    with pytest.raises(UnknownFlagError, match=next(iter(fields))):
        changed(FULL, altered(**fields))


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
