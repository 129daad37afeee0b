"""The records and batches of a metadata log, independent of the form that they were read from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from attrs import frozen


@frozen
class LogEntry:
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
    entries: tuple[LogEntry, ...]
    place: str
    control: bool = False

    def whole(self) -> Batch:
        """The batch itself, as `CompactBatch` has it."""
        return self


class CompactBatch:
    """A batch whose partition changes are not decoded, because the memo may hold their explanation.

    It holds changes of partitions, records that replica logic does not read,
    and at most one other record, at its beginning or end.

    Attributes:
        base_offset, last_offset, epoch: as of `Batch`.
        keys: of each record the partition that it changes, as the log writes index and topic; None of others.
        bodies: of each record the rest of its bytes or fields; of records that are not read their kind.
        other: the other record, if there is one.
        other_first: whether it is the first record.
        entry: decodes one change, by its place among the records.
        source, position: where it was read: the file and the byte, or all of it in words and None.
    """

    __slots__ = (
        "_decode", "_whole", "base_offset", "bodies", "entry", "epoch", "keys", "last_offset", "other", "other_first",
        "position", "source",
    )  # fmt: skip
    control = False

    def __init__(
        self, base_offset: int, last_offset: int, epoch: int, keys: Sequence[bytes | None], bodies: Sequence[Any],
        other: LogEntry | None, source: str, position: int | None, decode: Callable[[], Batch],
        entry: Callable[[int], LogEntry],
    ) -> None:  # fmt: skip
        self.base_offset, self.last_offset, self.epoch = base_offset, last_offset, epoch
        self.keys, self.bodies, self.other = keys, bodies, other
        self.other_first = other is not None and other.offset == base_offset
        self.source, self.position, self._decode, self.entry = source, position, decode, entry
        self._whole: Batch | None = None

    @property
    def place(self) -> str:
        """Where it was read."""
        return self.source if self.position is None else f"{self.source}: byte {self.position}"

    def __len__(self) -> int:
        """How many records it holds."""
        return self.last_offset - self.base_offset + 1

    def whole(self) -> Batch:
        """The batch, decoded once."""
        if self._whole is None:
            self._whole = self._decode()
        return self._whole
