"""Codecs: every record survives its dict, older forms included; malformed input names the key."""

import json

import pytest
from attrs import evolve
from hypothesis import given

from kraftcheck.model.partition.registration import LOST, MIGRATING, UNASSIGNED
from kraftcheck.model.records.codecs import CODE_FORM, DRAFT_FORM, KIP_FORM, Form, decode, encode
from kraftcheck.model.records.fields import CODE, FormError
from kraftcheck.model.records.records import (
    BrokerRegistrationChangeRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    partition_of,
)
from tests.shared.recordings import DIR_A, change, changes, given_value, partition_records, records

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
