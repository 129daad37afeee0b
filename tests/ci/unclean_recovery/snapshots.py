"""Snapshots for tests of the unclean-recovery tools."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.shared.places import TESTS

OUTAGE = TESTS / "snapshots" / "outage.json"


def outage() -> dict[str, Any]:
    """The shipped example, to be changed at will."""
    document: dict[str, Any] = json.loads(OUTAGE.read_text(encoding="utf-8"))
    return document


def log(partition: int, epoch: int, end: int, known: int | None = None, topic: str = "t") -> dict[str, Any]:
    """A replica's log."""
    return {
        "topic": topic, "partition": partition, "last_written_epoch": epoch, "log_end_offset": end,
        "leader_epoch": epoch if known is None else known,
    }  # fmt: skip


def cluster(logs: Mapping[int, Sequence[dict[str, Any]]], partitions: int = 1, **keys: Any) -> dict[str, Any]:
    """Offline partitions of topic `t` on brokers 0..n; broker 0, the only ELR member, is gone.

    Args:
        logs: of each other broker.
        partitions: how many there are.
        keys: of the snapshot.
    """
    replicas = [0, *logs]
    return {
        "version": 1,
        "brokers": [
            {"id": 0, "epoch": 100, "fenced": True, "answer_ms": None},
            *({"id": broker, "epoch": 100 + broker, "logs": list(listed)} for broker, listed in logs.items()),
        ],
        "topics": [{"name": "t", "partitions": [
            {"partition": n, "replicas": replicas, "isr": [], "elr": [0], "leader": -1, "leader_epoch": 5,
             "partition_epoch": 9}
            for n in range(partitions)
        ]}],
        **keys,
    }  # fmt: skip


def written(path: Path, document: Any) -> Path:
    """The path, once the document is there."""
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def partition_in(path: Path, index: int = 0) -> dict[str, Any]:
    """A partition of the first topic of a snapshot file."""
    entries = json.loads(path.read_text(encoding="utf-8"))["topics"][0]["partitions"]
    found: dict[str, Any] = next(entry for entry in entries if entry["partition"] == index)
    return found
