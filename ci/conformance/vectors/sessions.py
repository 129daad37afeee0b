"""Vectors of heartbeat.json: broker sessions, their orders, and the state machine of brokers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeVar

from kraftcheck.ci.conformance.vectors.core import (
    Function,
    KafkaError,
    Unsupported,
    Vector,
    VectorDifference,
    compare_values,
    known_keys,
    listed_keys,
    whole_value,
)
from kraftcheck.ci.conformance.vectors.placements import write_usable
from kraftcheck.model.controller.errors import NotTracked, Resignation
from kraftcheck.model.controller.heartbeat import Sessions, Wish, by_last_contact, by_metadata_offset
from kraftcheck.model.records.fields import INT64, Fields, each, flag, integer, integers, long, text
from kraftcheck.model.rules.ruleset import RuleSet

T = TypeVar("T")

Clocked = tuple[Sessions, int]
"""Sessions and the time now."""


def _register(state: Clocked, step: Fields) -> Sessions:
    return state[0].register(_broker(step), step.read("fenced", flag), state[1])


def _touch(state: Clocked, step: Fields) -> Sessions:
    offset = step.read("metadata_offset", long)
    return state[0].touch(_broker(step), step.read("fenced", flag), offset, state[1])


def _shutdown(state: Clocked, step: Fields) -> Sessions:
    return state[0].begin_shutdown(_broker(step), step.read("offset", long))


def _broker(step: Fields) -> int:
    return step.read("broker", integer)


_STEPS: Mapping[str, tuple[tuple[str, ...], Callable[[Clocked, Fields], Sessions]]] = {
    "register": (("broker", "fenced"), _register),
    "touch": (("broker", "fenced", "metadata_offset"), _touch),
    "fence": (("broker",), lambda state, step: state[0].fence(_broker(step))),
    "remove": (("broker",), lambda state, step: state[0].remove(_broker(step))),
    "set_controlled_shutdown_offset": (("broker", "offset"), _shutdown),
}


def _run(given: Fields, steps: tuple[Fields, ...]) -> Clocked:
    """The sessions after the steps, starting from none.

    Raises:
        KafkaError: when a step fails.
    """
    sessions, now_ms = Sessions(given.read("session_timeout_ms", long)), given.read("now_ms", long)
    for step in steps:
        op = step.read("op", text)
        if op == "sleep":
            now_ms += known_keys(step, "ms").read("ms", long)
            continue
        if op not in _STEPS:
            raise Unsupported(f"unknown step {op} of a session")
        keys, run = _STEPS[op]
        sessions = _checked(partial(run, (sessions, now_ms), known_keys(step, *keys)))
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
    steps = vector.when.read("steps", each(Fields.of))
    sessions, now = _run(vector.given, steps[:-1])
    error: Mapping[str, Any] = {}
    try:
        sessions, now = _run(vector.given, steps)
    except KafkaError as failure:
        error = failure.actual
    racks = vector.given.read_or("racks", Fields.of, Fields({}))
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
    """Brokers that an expectation names, tracked or not."""
    expected = vector.then.data.get(key)
    return [int(b) for b in expected if b.isdecimal()] if isinstance(expected, Mapping) else []


def _next_state(vector: Vector, rules: RuleSet) -> dict[str, Any]:
    sessions, _ = _run(vector.given, vector.given.read("steps", each(Fields.of)))
    when = vector.when
    wish = Wish(when.read("want_fence", flag), when.read("want_shutdown", flag), when.read("metadata_offset", long))
    broker, offset = _broker(when), when.read("registration_offset", long)
    leads = when.read("leads_partitions", flag)
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


def _same_brokers(expected: Any, actual: Any, vector: Vector) -> list[VectorDifference]:
    """Equality as sets."""
    if isinstance(expected, list) and isinstance(actual, list):
        expected, actual = sorted(expected, key=repr_of), sorted(actual, key=repr_of)
    return compare_values(expected, actual, "", partial=False)


def repr_of(value: Any) -> str:
    """A text to sort plain values by; keys of objects in their order."""
    return repr(sorted(value.items())) if isinstance(value, dict) else repr(value)


_ORDERS = {"order": whole_value, "first": whole_value}
_WISH = ("broker", "want_fence", "want_shutdown", "metadata_offset", "registration_offset", "leads_partitions")

FUNCTIONS = {
    "session_tracking": Function(
        _tracking,
        ("session_timeout_ms", "now_ms", "racks"),
        ("steps",),
        {
            "has_valid_session": listed_keys,
            "unfenced_order": whole_value,
            "stale_broker": whole_value,
            "next_check_ms": whole_value,
            "lowest_active_offset": _same_offset,
            "usable_brokers": _same_brokers,
            "controlled_shutdown_offset": listed_keys,
        },
    ),
    "next_broker_state": Function(
        _next_state, ("session_timeout_ms", "now_ms", "steps"), _WISH, {"current": whole_value, "next": whole_value}
    ),
    "order_by_metadata_offset": Function(_by_offset, ("brokers",), (), _ORDERS),
    "order_by_last_contact": Function(_by_contact, ("brokers",), ("remove",), _ORDERS),
}
"""The functions of the file by name."""
