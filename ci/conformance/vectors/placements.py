"""Vectors of placement.json: rings of brokers, rack lists, whole topics.

Random draws are those of the stream that the original tests used, so vectors
that depend on it are run like the others.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from kraftcheck.ci.conformance.vectors.core import (
    Function,
    KafkaError,
    Vector,
    VectorDifference,
    compare_values,
    whole_value,
)
from kraftcheck.model.controller.errors import RequestError
from kraftcheck.model.controller.placement import RackList, RandomStream, Ring, UsableBroker, place, rack_list
from kraftcheck.model.records.fields import Fields, each, flag, integer, integers, text
from kraftcheck.model.rules.ruleset import RuleSet


def read_usable(value: object, where: str) -> UsableBroker:
    """A usable broker from its object."""
    fields = Fields.of(value, where).only("id", "rack", "fenced")
    return UsableBroker(fields.read("id", integer), fields.read_or("rack", text, None), fields.read("fenced", flag))


def write_usable(broker: UsableBroker) -> dict[str, Any]:
    """The object of a usable broker."""
    return {"id": broker.id, "rack": broker.rack, "fenced": broker.fenced}


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


def _count_requests(expected: Any, actual: Any, vector: Vector) -> list[VectorDifference]:
    """How often each replica list was placed; the rows are in no order."""
    if isinstance(actual, list):
        actual = [[list(replicas), number] for replicas, number in Counter(map(tuple, actual)).items()]
        actual.sort()
    if isinstance(expected, list):
        expected = sorted(expected, key=repr)
        actual = sorted(actual, key=repr)
    return compare_values(expected, actual, "", partial=False)


def _keeps_order(vector: Vector, rules: RuleSet) -> dict[str, Any]:
    return {"replicas": list(vector.when.read("replicas", integers))}


def _equality(vector: Vector, rules: RuleSet) -> dict[str, Any]:
    left, right = (vector.when.read(side, integers) for side in ("left", "right"))
    return {"equal": left == right}


_RING = ("brokers", "initial_epoch", "initial_offset")
_TOPIC = ("start_partition", "num_partitions", "replication_factor", "repeat")
_PLACED = {"placements": whole_value, "placement_counts": _count_requests}

FUNCTIONS = {
    "broker_ring": Function(_ring, _RING, ("next_epochs",), {"size": whole_value, "returned": whole_value}),
    "rack_list_summary": Function(
        _summary,
        ("brokers",),
        (),
        {"total_brokers": whole_value, "unfenced_brokers": whole_value, "rack_names": whole_value},
    ),
    "rack_list_place": Function(_rack_list, ("brokers",), ("replication_factors",), _PLACED),
    "place_topic": Function(_topic, ("brokers",), _TOPIC, _PLACED),
    "assignment_keeps_order": Function(_keeps_order, (), ("replicas",), {"replicas": whole_value}),
    "assignment_equality": Function(_equality, (), ("left", "right"), {"equal": whole_value}),
}
"""The functions of the file by name."""
