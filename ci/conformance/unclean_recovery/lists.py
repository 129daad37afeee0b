"""Files that list partitions: the input of the unclean-recovery tool, and of leader elections."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kraftcheck.ci.terminal.files import read_json
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.records.fields import Fields, FormError, each, integer, text
from kraftcheck.model.unclean_recovery.tool import TopicPartition


def read_targets(path: Path) -> tuple[TopicPartition, ...]:
    """Partitions by topic: `{"partitions": [{"topic": "foo", "partitions": [0, 3]}]}`.

    Raises:
        Refusal: in one line, for a file of another form, or a partition listed twice.
    """
    try:
        entries = _entries(path)
        places = [
            (entry.only("topic", "partitions").read("topic", text), index)
            for entry in entries
            for index in entry.read("partitions", each(_index))
        ]
        return _distinct(places)
    except FormError as reason:
        raise Refusal(f"{path}: {reason}") from None


def read_ballots(path: Path, designated: bool) -> tuple[tuple[TopicPartition, ...], tuple[int, ...] | None]:
    """Partitions one by one, each with its `designatedLeader` where it takes one.

    Raises:
        Refusal: in one line, for a file of another form, or a partition listed twice.
    """
    try:
        entries = [entry.only("topic", "partition", "designatedLeader") for entry in _entries(path)]
        places = _distinct([(entry.read("topic", text), entry.read("partition", _index)) for entry in entries])
        leaders = tuple(entry.read("designatedLeader", _index) for entry in entries) if designated else None
        return places, leaders
    except FormError as reason:
        raise Refusal(f"{path}: {reason}") from None


def ballots(leaders: Sequence[tuple[TopicPartition, int]]) -> dict[str, Any]:
    """The document that designates these leaders; `read_ballots` reads it."""
    return {
        "partitions": [
            {"topic": topic, "partition": index, "designatedLeader": leader} for (topic, index), leader in leaders
        ]
    }


def _entries(path: Path) -> tuple[Fields, ...]:
    return Fields.of(read_json(path)).only("partitions").read("partitions", each(Fields.of))


def _index(value: object, where: str) -> int:
    return integer(value, where, (0, (1 << 31) - 1))


def _distinct(places: list[TopicPartition]) -> tuple[TopicPartition, ...]:
    if not places:
        raise FormError("partitions: none is listed")
    seen: set[TopicPartition] = set()
    for place in places:
        if place in seen:
            raise FormError(f"partitions: {place[0]}-{place[1]} is listed twice")
        seen.add(place)
    return tuple(places)
