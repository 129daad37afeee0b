"""Vectors of partition_registration.json: merging, comparing and storing partition state."""

from __future__ import annotations

from itertools import combinations
from typing import Any

from kraftcheck.ci.conformance.vectors.core import (
    Function,
    KafkaError,
    Vector,
    VectorDifference,
    as_exact_says,
    listed_keys,
    whole_value,
)
from kraftcheck.ci.conformance.vectors.reassignments import (
    LISTS,
    PARTITION_KEYS,
    RECOVERY,
    brokers,
    directories,
    directory_text,
    read_change,
    read_partition,
    write_partition,
)
from kraftcheck.model.partition.registration import DirectoryMismatch, Partition, election_was_clean, merge
from kraftcheck.model.records.fields import Fields, choice, each, flag, integer, integers, text
from kraftcheck.model.records.records import PartitionRecord, loses_directories, partition_of, partition_record
from kraftcheck.model.rules.ruleset import RuleSet

MANDATORY = ("replicas", "directories", "isr", "leader", "leader_recovery_state", "leader_epoch", "partition_epoch")
"""The fields without a default, in the order in which they are asked for."""


def _clean(vector: Vector, rules: RuleSet) -> dict[str, Any]:
    isr = vector.given.read("previous_isr", brokers)
    return {"clean": election_was_clean(vector.when.read("new_leader", integer), isr)}


def _merge(vector: Vector, rules: RuleSet) -> dict[str, Any]:
    p = vector.given.read("partition", read_partition)
    change = vector.when.read("change", lambda value, where: read_change(p, value, where))
    return {"after": write_partition(_checked(lambda: merge(p, change)))}


def _checked(build: Any) -> Partition:
    try:
        result: Partition = build()
    except DirectoryMismatch:
        raise KafkaError("ILLEGAL_ARGUMENT") from None
    return result


def _diff(vector: Vector, rules: RuleSet) -> dict[str, Any]:
    before = write_partition(vector.given.read("before", read_partition))
    after = write_partition(vector.given.read("after", read_partition))
    return {"changed": [[key, before[key], after[key]] for key in PARTITION_KEYS if before[key] != after[key]]}


def _construct(vector: Vector, rules: RuleSet) -> dict[str, Any]:
    fields = vector.when.read("fields", Fields.of).only(*PARTITION_KEYS)
    for key in MANDATORY:
        if not fields.has(key):
            raise KafkaError("ILLEGAL_STATE", missing_field=key)
        if key == "directories" and len(fields.read("replicas", integers)) != len(fields.read(key, directories)):
            raise KafkaError("ILLEGAL_STATE")
    state = {**dict.fromkeys(LISTS, ()), **{key: fields.data[key] for key in fields.data if fields.has(key)}}
    return {"after": write_partition(read_partition(state, fields.where))}


def _to_record(vector: Vector, rules: RuleSet) -> dict[str, Any]:
    p = vector.given.read("partition", read_partition)
    record, loses = _stored(p, vector)
    return {"record": _write_record(record), "loses_directories": loses}


def _stored(p: Partition, vector: Vector) -> tuple[PartitionRecord, bool]:
    with_directories = vector.when.read("directory_assignment_supported", flag)
    elr = vector.when.read("elr_supported", flag)
    return partition_record(
        p, "topic", 0, directories=with_directories, elr=elr
    ), not with_directories and loses_directories(p)


def _write_record(record: PartitionRecord) -> dict[str, Any]:
    """The record form of the vectors; a record without the field has no directories."""
    return {
        "replicas": list(record.replicas),
        "isr": list(record.isr),
        "removing_replicas": list(record.removing),
        "adding_replicas": list(record.adding),
        "leader": record.leader,
        "leader_recovery_state": RECOVERY[record.recovering],
        "leader_epoch": record.leader_epoch,
        "partition_epoch": record.partition_epoch,
        "elr": None if record.elr is None else list(record.elr),
        "last_known_elr": None if record.last_known_elr is None else list(record.last_known_elr),
        "directories": [directory_text(d) for d in record.directories or ()],
    }


def _same_record(expected: Any, actual: Any, vector: Vector) -> list[VectorDifference]:
    """Equality; fields that are null and fields that are absent are the same."""
    if isinstance(expected, dict):
        expected = {"elr": None, "last_known_elr": None, **expected}
        expected["directories"] = expected.get("directories") or []
    return whole_value(expected, actual, vector)


def _from_record(vector: Vector, rules: RuleSet) -> dict[str, Any]:
    fields = vector.when.read("record", Fields.of).only(*PARTITION_KEYS)
    record = PartitionRecord(
        topic_id="topic",
        partition_id=0,
        replicas=fields.read("replicas", integers),
        isr=fields.read("isr", integers),
        removing=fields.read_or("removing_replicas", integers, ()),
        adding=fields.read_or("adding_replicas", integers, ()),
        leader=fields.read_or("leader", integer, -1),
        recovering=fields.read_or("leader_recovery_state", choice(*RECOVERY), "RECOVERED") == "RECOVERING",
        leader_epoch=fields.read_or("leader_epoch", integer, -1),
        partition_epoch=fields.read_or("partition_epoch", integer, -1),
        directories=fields.read_or("directories", directories, None),
        elr=fields.read_or("elr", integers, None),
        last_known_elr=fields.read_or("last_known_elr", integers, None),
    )
    return {"after": write_partition(_checked(lambda: partition_of(record)))}


def _round_trip(vector: Vector, rules: RuleSet) -> dict[str, Any]:
    p = vector.given.read("partition", read_partition)
    record, loses = _stored(p, vector)
    return {"after": write_partition(partition_of(record)), "loses_directories": loses}


def _project(vector: Vector, rules: RuleSet) -> dict[str, Any]:
    """The row of the legacy request that told brokers of leaders and ISRs."""
    state = write_partition(vector.given.read("partition", read_partition))
    for key in ("directories", "elr", "last_known_elr"):
        del state[key]
    names = {
        "topic": vector.when.read("topic", text),
        "partition_index": vector.when.read("partition_index", integer),
        "controller_epoch": -1,
        "is_new": vector.when.read("is_new", flag),
    }
    return {"state": {**names, **state}}


def _equality(vector: Vector, rules: RuleSet) -> dict[str, Any]:
    """Each item against each, and against a second reading of itself."""
    states = vector.given.read("items", each(read_partition))
    copies = vector.given.read("items", each(read_partition))
    same_hash = all(hash(a) == hash(b) for a in states for b in copies if a == b)
    return {
        "equal_implies_same_hash": same_hash and states == copies,
        "all_items_differ": all(a != b for a, b in combinations(states, 2)),
    }


def _directory_of(vector: Vector, rules: RuleSet) -> dict[str, Any]:
    p = vector.given.read("partition", read_partition)
    try:
        return {"directory": directory_text(int(p.directories.of(vector.when.read("broker", integer))))}
    except DirectoryMismatch:
        raise KafkaError("ILLEGAL_ARGUMENT") from None


_VERSION = ("elr_supported", "directory_assignment_supported")

FUNCTIONS = {
    "election_was_clean": Function(_clean, ("previous_isr",), ("new_leader",), {"clean": whole_value}),
    "merge": Function(_merge, ("partition",), ("change",), {"after": as_exact_says}, ("exact",)),
    "diff": Function(_diff, ("before", "after"), (), {"changed": whole_value}),
    "construct": Function(
        _construct, (), ("fields",), {"after": listed_keys, "missing_field": whole_value}, ("exact",)
    ),
    "to_record": Function(
        _to_record, ("partition",), _VERSION, {"record": _same_record, "loses_directories": whole_value}
    ),
    "from_record": Function(_from_record, (), ("record", *_VERSION), {"after": as_exact_says}, ("exact",)),
    "partition.record_round_trip": Function(
        _round_trip, ("partition",), _VERSION, {"after": as_exact_says, "loses_directories": whole_value}, ("exact",)
    ),
    "project_leader_and_isr": Function(
        _project, ("partition",), ("topic", "partition_index", "is_new"), {"state": whole_value}
    ),
    "equality": Function(
        _equality, ("items",), (), {"equal_implies_same_hash": whole_value, "all_items_differ": whole_value}
    ),
    "directory_of": Function(_directory_of, ("partition",), ("broker",), {"directory": whole_value}),
}
"""The functions of the file by name; one name is shared with another file and carries a prefix."""
