"""Vectors of broker_registration.json and directory_id.json."""

from __future__ import annotations

from typing import Any

from attrs import asdict

from kraftcheck.ci.conformance.vectors.core import Function, KafkaError, Vector, as_exact_says, whole_value
from kraftcheck.ci.conformance.vectors.reassignments import (
    directories,
    directory,
    directory_text,
    read_registration,
    write_registration,
)
from kraftcheck.model.partition.registration import DirectoryMismatch, assignment_map, is_online, is_reserved
from kraftcheck.model.records.fields import flag, integers, text
from kraftcheck.model.records.records import Registration, in_order, register_record, registration_of
from kraftcheck.model.rules.ruleset import RuleSet


def _registration(vector: Vector) -> Registration:
    return vector.given.read("registration", read_registration)


def _broker_id(vector: Vector, rules: RuleSet) -> dict[str, Any]:
    return {"id": _registration(vector).id}


def _equals(vector: Vector, rules: RuleSet) -> dict[str, Any]:
    left, right = (vector.given.read(side, read_registration) for side in ("left", "right"))
    return {"equal": left == right}


def _round_trip(vector: Vector, rules: RuleSet) -> dict[str, Any]:
    record = register_record(
        _registration(vector),
        controlled_shutdown=vector.when.read_or("controlled_shutdown_recorded", flag, True),
        directories=vector.when.read_or("directory_assignment_supported", flag, True),
    )
    return {"after": write_registration(registration_of(record))}


def _node(vector: Vector, rules: RuleSet) -> dict[str, Any]:
    node = _registration(vector).node_for_listener(vector.when.read("listener", text))
    return {"node": None if node is None else asdict(node)}


def _order(vector: Vector, rules: RuleSet) -> dict[str, Any]:
    return {"dirs": [directory_text(d) for d in in_order(vector.given.read("dirs", directories))]}


def _has_online_dir(vector: Vector, rules: RuleSet) -> dict[str, Any]:
    registration = Registration(0, 0, "", dirs=vector.given.read("dirs", directories))
    return {"online": registration.has_online_dir(vector.when.read("dir", directory))}


def _is_reserved(vector: Vector, rules: RuleSet) -> dict[str, Any]:
    return {"reserved": is_reserved(vector.when.read("dir", directory))}


def _assignment_map(vector: Vector, rules: RuleSet) -> dict[str, Any]:
    replicas = vector.when.read("replicas", integers)
    try:
        assigned = assignment_map(replicas, vector.when.read("directories", directories))
    except DirectoryMismatch:
        raise KafkaError("ILLEGAL_ARGUMENT") from None
    return {"map": {str(broker): directory_text(d) for broker, d in assigned.items()}}


def _is_online(vector: Vector, rules: RuleSet) -> dict[str, Any]:
    online = vector.given.read("online_dirs", directories)
    directory_id = vector.when.read("dir", directory)
    return {"online": bool(is_online(directory_id, True, not online, directory_id in online))}


_STORED = ("controlled_shutdown_recorded", "directory_assignment_supported")

FUNCTIONS = {
    "broker_id": Function(_broker_id, ("registration",), (), {"id": whole_value}),
    "equals": Function(_equals, ("left", "right"), (), {"equal": whole_value}),
    "registration.record_round_trip": Function(
        _round_trip, ("registration",), _STORED, {"after": as_exact_says}, ("exact",)
    ),
    "node_for_listener": Function(_node, ("registration",), ("listener",), {"node": whole_value}),
    "stored_directory_order": Function(_order, ("dirs",), (), {"dirs": whole_value}),
    "has_online_dir": Function(_has_online_dir, ("dirs",), ("dir",), {"online": whole_value}),
    "is_reserved": Function(_is_reserved, (), ("dir",), {"reserved": whole_value}),
    "create_assignment_map": Function(_assignment_map, (), ("replicas", "directories"), {"map": whole_value}),
    "is_online": Function(_is_online, ("online_dirs",), ("dir",), {"online": whole_value}),
}
"""The functions of the two files by name; one name is shared with another file and carries a prefix."""
