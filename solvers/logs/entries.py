"""What a metadata log holds, whatever form it was read from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import frozen


@frozen
class Entry:
    """One record.

    Attributes:
        offset: its place in the log.
        type: its kind, as Kafka's tools print it: `PARTITION_CHANGE_RECORD`.
        version: of its layout.
        data: its fields by name, tagged fields at their default left out; None where the kind is unknown.
    """

    offset: int
    type: str
    version: int
    data: Mapping[str, Any] | None


@frozen
class Batch:
    """Records that were written together.

    Attributes:
        base_offset, last_offset: of its first and last record.
        epoch: of the quorum's leader that wrote it.
        entries: the records.
        place: where it was read: file, then line or byte.
        control: whether the quorum wrote it for itself.
    """

    base_offset: int
    last_offset: int
    epoch: int
    entries: tuple[Entry, ...]
    place: str
    control: bool = False
