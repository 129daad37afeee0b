"""The queries of a scenario about the state in which it ends."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from attrs import frozen

from kraftcheck.ci.conformance.vectors.core import Unsupported, VectorDifference, compare_values
from kraftcheck.ci.conformance.vectors.placements import write_usable
from kraftcheck.ci.conformance.vectors.reassignments import directory, directory_text
from kraftcheck.ci.conformance.vectors.sessions import repr_of
from kraftcheck.model.controller.partitions import (
    directory_of_new_replica,
    imbalanced,
    in_elr,
    in_isr,
    leaderless,
    led_by,
    ongoing,
)
from kraftcheck.model.controller.state import TOPIC, Controller, Place
from kraftcheck.model.records.fields import Fields, integer, integers, text
from kraftcheck.model.rules.ruleset import RuleSet


@frozen
class ScenarioEnd:
    """The end of a scenario.

    Attributes:
        controller: the state.
        first_ids: the id that each topic name stood for first.
    """

    controller: Controller
    first_ids: Mapping[str, str]
    rules: RuleSet


Query = Callable[[ScenarioEnd, Fields], Any]


def names(controller: Controller, places: tuple[Place, ...]) -> list[str]:
    """Partitions by topic and index."""
    return [f"{controller.topic(place.topic_id).name}-{place.index}" for place in places]


def _broker(query: Fields) -> int:
    return query.read("broker", integer)


def _topic(end: ScenarioEnd, query: Fields) -> str | None:
    return end.controller.topic_id(query.read("topic", text))


def _partitions(end: ScenarioEnd, query: Fields) -> Mapping[int, Any]:
    topic = _topic(end, query)
    return {} if topic is None else end.controller.topic(topic).partitions


def _reassignments(end: ScenarioEnd, query: Fields) -> list[dict[str, Any]]:
    topics = query.read("topics", Fields.of) if query.has("topics") else None
    indexes = None if topics is None else {name: topics.read(name, integers) for name in topics.data}
    return [
        {
            "topic": row.topic,
            "partition": row.partition,
            "removing": list(row.removing),
            "adding": list(row.adding),
            "replicas": list(row.replicas),
        }
        for row in ongoing(end.controller, indexes)
    ]


def _min_isr(end: ScenarioEnd, query: Fields) -> int | None:
    """Kafka knows one for the whole topic, by its partition 0."""
    topic = _topic(end, query)
    return None if topic is None else end.controller.min_isr(topic, 0, end.rules.controller)


def _session(end: ScenarioEnd, query: Fields) -> dict[str, int] | None:
    session = end.controller.soft.sessions.tracked.get(_broker(query))
    if session is None:
        return None
    return {"last_contact_ms": session.last_contact, "metadata_offset": session.metadata_offset}


def _has_online_dir(end: ScenarioEnd, query: Fields) -> bool:
    registration = end.controller.registration(_broker(query))
    return registration is not None and registration.has_online_dir(query.read("dir", directory), end.rules.partition)


def _is_unfenced(end: ScenarioEnd, query: Fields) -> bool:
    registration = end.controller.registration(_broker(query))
    return registration is not None and not registration.fenced


def _in_controlled_shutdown(end: ScenarioEnd, query: Fields) -> bool:
    registration = end.controller.registration(_broker(query))
    return registration is not None and registration.in_controlled_shutdown


def _configs(end: ScenarioEnd, query: Fields) -> dict[str, str]:
    return dict(end.controller.configs.of(TOPIC, query.read("topic", text)))


def _id_differs(end: ScenarioEnd, query: Fields) -> bool:
    topic = _topic(end, query)
    return topic is not None and topic != end.first_ids[query.read("topic", text)]


def _default_dir(end: ScenarioEnd, query: Fields) -> str:
    return directory_text(directory_of_new_replica(end.controller, _broker(query), end.rules.partition))


_PARTITION = ("topic", "partition")

QUERIES: Mapping[str, tuple[tuple[str, ...], Query]] = {
    "led_by": (("broker",), lambda end, q: names(end.controller, led_by(end.controller, _broker(q)))),
    "in_any_isr": (("broker",), lambda end, q: names(end.controller, in_isr(end.controller, _broker(q)))),
    "in_any_elr": (("broker",), lambda end, q: names(end.controller, in_elr(end.controller, _broker(q)))),
    "list_reassignments": (("topics",), _reassignments),
    "leaders_imbalanced": ((), lambda end, q: bool(imbalanced(end.controller))),
    "some_leaderless": ((), lambda end, q: bool(leaderless(end.controller))),
    "effective_min_isr": (("topic",), _min_isr),
    "fenced_brokers": (
        (), lambda end, q: [b for b, known in end.controller.image.registrations.items() if known.fenced],
    ),
    "usable_brokers": ((), lambda end, q: [write_usable(b) for b in end.controller.usable_brokers()]),
    "default_dir": (("broker",), _default_dir),
    "has_online_dir": (("broker", "dir"), _has_online_dir),
    "is_unfenced": (("broker",), _is_unfenced),
    "in_controlled_shutdown": (("broker",), _in_controlled_shutdown),
    "is_registered": (("broker",), lambda end, q: end.controller.registration(_broker(q)) is not None),
    "registration_offset": (("broker",), lambda end, q: end.controller.image.registration_offsets.get(_broker(q))),
    "session": (("broker",), _session),
    "topic_exists": (("topic",), lambda end, q: _topic(end, q) is not None),
    "partition_exists": (_PARTITION, lambda end, q: q.read("partition", integer) in _partitions(end, q)),
    "num_partitions": (("topic",), lambda end, q: len(_partitions(end, q))),
    "topic_config": (("topic", "key"), lambda end, q: _configs(end, q).get(q.read("key", text))),
    "topic_configs": (("topic",), _configs),
    "topic_id_differs_from_first_incarnation": (("topic",), _id_differs),
}  # fmt: skip
"""The arguments and the answer of each query, by name."""


def answer(end: ScenarioEnd, query: Fields) -> Any:
    """The answer to one query.

    Raises:
        Unsupported: for a query or argument that is not known.
    """
    name = query.read("query", text)
    if name not in QUERIES:
        raise Unsupported(f"unknown query {name}")
    arguments, ask = QUERIES[name]
    for key in query.data:
        if key not in (*arguments, "query", "result"):
            raise Unsupported(f"unknown argument {key} of query {name}")
    return ask(end, query)


def compare_answer(expected: Any, actual: Any) -> list[VectorDifference]:
    """Equality; lists of brokers, partitions and reassignments compare as sets.

    Membership of an index may be asked for as a truth: whether it lists anything.
    """
    if isinstance(expected, bool) and isinstance(actual, list):
        actual = bool(actual)
    if isinstance(expected, list) and isinstance(actual, list):
        expected, actual = sorted(expected, key=repr_of), sorted(actual, key=repr_of)
    return compare_values(expected, actual, "", partial=False)
