"""Conversion of a decoded batch to a compact one, whose explanation the memo may hold."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from kraftcheck.solvers.logs.explain.entries import Batch, CompactBatch, LogEntry
from kraftcheck.solvers.logs.explain.state import is_unread
from kraftcheck.solvers.logs.memo.ledger import key_of

CHANGE = "PARTITION_CHANGE_RECORD"
"""The kind of record that most of a log consists of."""

_IDENTITY = ("partitionId", "topicId")


def compact(batch: Batch) -> CompactBatch | Batch:
    """The batch without what explanations do not depend on; the batch itself where it is of another shape."""
    if batch.control or not batch.entries:
        return batch
    keys: list[bytes | None] = []
    bodies: list[Hashable] = []
    other: LogEntry | None = None
    for entry in batch.entries:
        key, body = _key_and_body(entry) if entry.type == CHANGE else (None, _unread_kind(entry))
        if key is None and body is None:
            if other is not None or entry.offset not in (batch.base_offset, batch.last_offset):
                return batch
            other = entry
        keys.append(key)
        bodies.append(body)
    if len(keys) != batch.last_offset - batch.base_offset + 1:
        return batch
    return CompactBatch(
        batch.base_offset, batch.last_offset, batch.epoch, keys, bodies, other, batch.place, None, lambda: batch,
        lambda place: batch.entries[place],
    )  # fmt: skip


def _unread_kind(entry: LogEntry) -> str | None:
    return entry.type if is_unread(entry) else None


def _key_and_body(entry: LogEntry) -> tuple[bytes | None, Hashable]:
    data = entry.data or {}
    topic, index = data.get("topicId"), data.get("partitionId")
    if not isinstance(topic, str) or type(index) is not int or not -(1 << 31) <= index < 1 << 31:
        return None, None
    rest = tuple((name, _as_hashable(value)) for name, value in sorted(data.items()) if name not in _IDENTITY)
    return key_of(topic, index), (entry.version, rest)


def _as_hashable(value: Any) -> Hashable:
    """Lists as tuples; numbers keep apart what Python takes for equal, as True and 1."""
    if isinstance(value, list):
        return tuple(_as_hashable(item) for item in value)
    return type(value).__name__, repr(value)
