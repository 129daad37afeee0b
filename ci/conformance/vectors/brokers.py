"""Vectors of functions on brokers: registrations, directories, sessions, placement by the original tests' stream."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeVar

from attrs import asdict

from kraftcheck.ci.conformance.vectors.core import (
    Function,
    KafkaError,
    Unsupported,
    Vector,
    VectorDifference,
    Watched,
    as_exact_says,
    listed_keys,
    read_step,
    same_members,
    whole_value,
)
from kraftcheck.ci.conformance.vectors.forms import (
    directories,
    directory,
    directory_text,
    read_registration,
    read_usable,
    write_registration,
    write_usable,
)
from kraftcheck.model.controller.errors import NotTracked, RequestError, Resignation
from kraftcheck.model.controller.heartbeat import Sessions, Wish, by_last_contact, by_metadata_offset
from kraftcheck.model.controller.placement import RackList, RandomStream, Ring, place, rack_list
from kraftcheck.model.partition.registration import DirectoryMismatch, assignment_map, is_online, is_reserved
from kraftcheck.model.records.fields import INT64, Fields, each, flag, integer, integers, long, text
from kraftcheck.model.records.records import Registration, in_order, register_record, registration_of
from kraftcheck.model.rules.ruleset import RuleSet


def _registration(vector: Vector) -> Registration:
    return vector.given.read("registration", read_registration)


def _same(fields: Fields, read: Callable[[object, str], Any]) -> bool:
    return bool(fields.read("left", read) == fields.read("right", read))


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


def _has_online_dir(vector: Vector, rules: RuleSet) -> dict[str, Any]:
    registration = Registration(0, 0, "", dirs=vector.given.read("dirs", directories))
    return {"online": registration.has_online_dir(vector.when.read("dir", directory))}


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


def _ring(vector: Vector, rules: RuleSet) -> dict[str, Any]:
    ring = Ring(
        vector.given.read("brokers", integers),
        epoch=vector.given.read_or("initial_epoch", integer, 0),
        offset=vector.given.read_or("initial_offset", integer, 0),
    )
    returned = []
    for epoch in vector.when.read("next_epochs", integers):
        broker, ring = ring.next(epoch)
        returned.append(broker)
    return {"size": len(ring.brokers), "returned": returned}


def _racks(vector: Vector) -> tuple[RackList, RandomStream]:
    return rack_list(vector.given.read("brokers", each(read_usable)), RandomStream())


def _summary(vector: Vector, rules: RuleSet) -> dict[str, Any]:
    racks, _ = _racks(vector)
    names = [rack.name for rack in racks.racks]
    return {"total_brokers": racks.total, "unfenced_brokers": racks.live, "rack_names": names}


def _rack_list(vector: Vector, rules: RuleSet) -> dict[str, Any]:
    racks, stream = _racks(vector)
    placements = []
    for factor in vector.when.read("replication_factors", integers):
        try:
            replicas, racks, stream = racks.place(factor, stream)
        except RequestError as refusal:
            raise KafkaError(refusal.error) from None
        placements.append(list(replicas))
    return {"placements": placements, "placement_counts": placements}


def _topic(vector: Vector, rules: RuleSet) -> dict[str, Any]:
    """A topic placed as often as `repeat` says; the partition it starts at has no influence."""
    brokers = vector.given.read("brokers", each(read_usable))
    vector.when.read_or("start_partition", integer, 0)
    partitions, factor = (vector.when.read(key, integer) for key in ("num_partitions", "replication_factor"))
    stream, placements = RandomStream(), []
    for _ in range(vector.when.read_or("repeat", integer, 1)):
        placed, stream = place(brokers, partitions, factor, stream)
        if isinstance(placed, RequestError):
            raise KafkaError(placed.error)
        placements += [list(replicas) for replicas in placed]
    return {"placements": placements, "placement_counts": placements}


def _count_placements(expected: Any, actual: Any, vector: Vector) -> list[VectorDifference]:
    """How often each replica list was placed; the rows are in no order."""
    if isinstance(actual, list):
        actual = [[list(replicas), number] for replicas, number in Counter(map(tuple, actual)).items()]
    return same_members(expected, actual, vector)


T = TypeVar("T")

_STEPS: Mapping[str, Callable[[Sessions, int, Fields], Sessions]] = {
    "register": lambda at, now, step: at.register(_broker(step), step.read("fenced", flag), now),
    "touch": lambda at, now, step: at.touch(
        _broker(step), step.read("fenced", flag), step.read("metadata_offset", long), now
    ),
    "fence": lambda at, now, step: at.fence(_broker(step)),
    "remove": lambda at, now, step: at.remove(_broker(step)),
    "set_controlled_shutdown_offset": lambda at, now, step: at.begin_shutdown(_broker(step), step.read("offset", long)),
}
"""The steps of a session: the sessions after one, from those before it and the time."""


def _broker(step: Fields) -> int:
    return step.read("broker", integer)


def _run(given: Fields, steps: tuple[Watched, ...]) -> tuple[Sessions, int]:
    """The sessions after the steps, starting from none, and the time then; raises KafkaError when a step fails."""
    sessions, now_ms = Sessions(given.read("session_timeout_ms", long)), given.read("now_ms", long)
    for step in steps:
        op = step.read("op", text)
        if op == "sleep":
            now_ms += read_step(step, lambda step: step.read("ms", long))
        elif op not in _STEPS:
            raise Unsupported(f"unknown step {op} of a session")
        else:
            sessions = _checked(partial(read_step, step, partial(_STEPS[op], sessions, now_ms)))
    return sessions, now_ms


def _checked(ask: Callable[[], T]) -> T:
    try:
        return ask()
    except NotTracked:
        raise KafkaError("NOT_REGISTERED") from None
    except Resignation:
        raise KafkaError("INTERNAL") from None


def _tracking(vector: Vector, rules: RuleSet) -> dict[str, Any]:
    """The state of the sessions after the steps; a last step that fails leaves them as they were."""
    steps = vector.when.read("steps", each(Watched.of))
    racks = vector.given.read_or("racks", Fields.of, Fields({}))
    sessions, now = _run(vector.given, steps[:-1])
    error: Mapping[str, Any] = {}
    try:
        sessions, now = _run(vector.given, steps)
    except KafkaError as failure:
        error = failure.actual
    brokers = {
        *sessions.tracked,
        *_named_brokers(vector, "has_valid_session"),
        *_named_brokers(vector, "controlled_shutdown_offset"),
    }
    usable = sessions.usable(lambda broker: racks.read_or(str(broker), text, None))
    return {
        **error,
        "has_valid_session": {str(b): sessions.is_valid(b, now) for b in brokers},
        "unfenced_order": list(sessions.live),
        "stale_broker": sessions.stale(now),
        "next_check_ms": sessions.next_check(),
        "lowest_active_offset": sessions.lowest_active_offset(),
        "usable_brokers": [write_usable(broker) for broker in usable],
        "controlled_shutdown_offset": {str(b): sessions.shutdown_offset(b) for b in brokers},
    }


def _named_brokers(vector: Vector, key: str) -> list[int]:
    expected = vector.then.data.get(key)
    return [int(b) for b in expected if b.isdecimal()] if isinstance(expected, Mapping) else []


def _next_state(vector: Vector, rules: RuleSet) -> dict[str, Any]:
    when = vector.when
    wish = Wish(when.read("want_fence", flag), when.read("want_shutdown", flag), when.read("metadata_offset", long))
    broker, offset = _broker(when), when.read("registration_offset", long)
    leads = when.read("leads_partitions", flag)
    sessions, _ = _run(vector.given, vector.given.read("steps", each(Watched.of)))
    after = _checked(lambda: sessions.next_state(broker, wish, offset, leads))
    return {"current": sessions.state(broker).name, "next": after.name}


def _by_offset(vector: Vector, rules: RuleSet) -> dict[str, Any]:
    order = by_metadata_offset(dict(_pairs(vector, "metadata_offset")))
    return {"order": list(order), "first": next(iter(order), None)}


def _by_contact(vector: Vector, rules: RuleSet) -> dict[str, Any]:
    removed = vector.when.read("remove", integers) if vector.when.has("remove") else ()
    order = by_last_contact([pair for pair in _pairs(vector, "last_contact") if pair[0] not in removed])
    return {"order": list(order), "first": next(iter(order), None)}


def _pairs(vector: Vector, key: str) -> list[tuple[int, int]]:
    brokers = vector.given.read("brokers", each(Fields.of))
    return [(b.only("id", key).read("id", integer), b.read(key, long)) for b in brokers]


def _same_offset(expected: Any, actual: Any, vector: Vector) -> list[VectorDifference]:
    """Equality; no offset at all is infinite, which a vector may write as null or as the largest number."""
    return whole_value(None if expected == INT64[1] else expected, actual, vector)


FUNCTIONS: Mapping[str, Function] = {
    "broker_id": Function(lambda vector, _: {"id": _registration(vector).id}),
    "equals": Function(lambda vector, _: {"equal": _same(vector.given, read_registration)}),
    "registration.record_round_trip": Function(_round_trip, {"after": as_exact_says}, ("exact",)),
    "node_for_listener": Function(_node),
    "stored_directory_order": Function(
        lambda vector, _: {"dirs": [directory_text(d) for d in in_order(vector.given.read("dirs", directories))]}
    ),
    "has_online_dir": Function(_has_online_dir),
    "is_reserved": Function(lambda vector, _: {"reserved": is_reserved(vector.when.read("dir", directory))}),
    "create_assignment_map": Function(_assignment_map),
    "is_online": Function(_is_online),
    "broker_ring": Function(_ring),
    "rack_list_summary": Function(_summary),
    "rack_list_place": Function(_rack_list, {"placement_counts": _count_placements}),
    "place_topic": Function(_topic, {"placement_counts": _count_placements}),
    "assignment_keeps_order": Function(lambda vector, _: {"replicas": [*vector.when.read("replicas", integers)]}),
    "assignment_equality": Function(lambda vector, _: {"equal": _same(vector.when, integers)}),
    "session_tracking": Function(
        _tracking,
        {"has_valid_session": listed_keys, "lowest_active_offset": _same_offset, "usable_brokers": same_members,
         "controlled_shutdown_offset": listed_keys},
    ),
    "next_broker_state": Function(_next_state),
    "order_by_metadata_offset": Function(_by_offset),
    "order_by_last_contact": Function(_by_contact),
}  # fmt: skip
"""The functions by name; a name that partitions have too carries a prefix."""
