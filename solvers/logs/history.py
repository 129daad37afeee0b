"""Since when the partitions and brokers of a log are as they are at its end.

A snapshot tells no history: what it holds began before it, at an offset that is not known.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Mapping
from typing import TypeAlias, TypeVar

from attrs import define, field

from kraftcheck.model.controller.state import Controller
from kraftcheck.model.partition.registration import Partition
from kraftcheck.model.records.records import ids
from kraftcheck.model.rules.ruleset import RuleSet
from kraftcheck.solvers.logs.explain.state import Batch, CompactBatch, voters_of
from kraftcheck.solvers.logs.whatif import PartitionKey, acks_needed, changed_brokers, changed_partitions, is_offline

Since: TypeAlias = int | None  # the offset of the record with which something began; None for what a snapshot holds
NEVER = -1  # stands for the offset where a replica left the ISR, of one that was in no ISR since it became a replica

_NO_TIME = -1

K = TypeVar("K")


@define
class History:
    """The beginnings of spells, found by following the records of a log."""

    # partitions without leader, or with one that was fenced, or without its directory, when it was elected
    offline: dict[PartitionKey, Since] = field(factory=dict)
    short: dict[PartitionKey, Since] = field(factory=dict)  # partitions whose ISR is below its minimum
    # by partition its replicas outside of the ISR, with where they left it
    outside: dict[PartitionKey, dict[int, Since]] = field(factory=dict)
    fenced: dict[int, Since] = field(factory=dict)  # brokers that are fenced
    voters: frozenset[int] = frozenset()  # the nodes that vote in the quorum, as far as its own records name them
    last_offset: int | None = None  # of the last batch; None where a snapshot is all there is
    _bases: array[int] = field(factory=lambda: array("q"))
    _times: array[int] = field(factory=lambda: array("q"))

    def open(self, batch: Batch | CompactBatch, in_snapshot: bool) -> None:
        """Note where a batch is, when it was written, and whom it names to vote, if the quorum wrote it."""
        self.voters = (voters_of(batch) if isinstance(batch, Batch) and batch.control else None) or self.voters
        self.last_offset = None if in_snapshot else batch.last_offset
        self._bases.append(_NO_TIME if in_snapshot else batch.base_offset)
        self._times.append(_NO_TIME if batch.time is None else batch.time)

    def time(self, offset: Since) -> int | None:
        """When the record at an offset was written, in milliseconds since 1970; None where that is not known."""
        if offset is None:
            return None
        place = bisect_right(self._bases, offset) - 1
        return None if place < 0 or self._times[place] == _NO_TIME else self._times[place]

    @property
    def end_time(self) -> int | None:
        """When the last batch was written."""
        return self._times[-1] if self._times and self._times[-1] != _NO_TIME else None

    def note(self, before: Controller, after: Controller, offset: Since, rules: RuleSet, record: object = None) -> bool:
        """Follow one more record; whether something began with it.

        Args:
            before, after: the states around it.
            rules: of the release that wrote it.
            offset: its own; None within a snapshot.
            record: as of `changed_partitions`.
        """
        begins = False
        for broker in changed_brokers(before, after):
            begins |= self.note_broker(broker, after, offset)
        for key in changed_partitions(before, after, record):
            old, p = before.image.partition(*key), after.image.partition(*key)
            begins |= self.note_partition(key, old, p, after, offset, rules)
        return begins

    def note_broker(self, broker: int, after: Controller, offset: Since) -> bool:
        """Follow a change of a broker's registration; whether something began with it."""
        known = after.registration(broker)
        return _keep(self.fenced, broker, known is not None and known.fenced, offset)

    def note_partition(
        self, key: PartitionKey, old: Partition | None, p: Partition | None, after: Controller, offset: Since,
        rules: RuleSet,
    ) -> bool:  # fmt: skip
        """Follow a change of a partition; whether something began with it. The state after it need not have it."""
        begins = _keep(self.offline, key, p is not None and is_offline(after, p), offset)
        is_short = p is not None and len(ids(p.isr)) < acks_needed(after, key[0], p, rules)
        begins |= _keep(self.short, key, is_short, offset)
        if p is None:
            self.outside.pop(key, None)
            return begins
        self.outside[key] = _outside(self.outside.get(key, {}), old, p, offset)
        return begins or offset in self.outside[key].values()

    def offsets(self) -> set[int]:
        """Where what lasts began."""
        begun = {*self.offline.values(), *self.short.values(), *self.fenced.values()}
        begun.update(left for replicas in self.outside.values() for left in replicas.values())
        return {offset for offset in begun if offset is not None}


def _keep(spells: dict[K, Since], key: K, lasts: bool, offset: Since) -> bool:
    """Begin a spell, go on with it, or end it; whether it begins."""
    begins = lasts and key not in spells
    if begins:
        spells[key] = offset
    elif not lasts:
        spells.pop(key, None)
    return begins


def _outside(known: Mapping[int, Since], before: Partition | None, p: Partition, offset: Since) -> dict[int, Since]:
    """The replicas outside of the ISR now: since before, because they left it, or because they are new."""
    was = () if before is None else ids(before.isr)
    new = None if before is None and offset is None else NEVER
    left = {broker: offset if broker in was else new for broker in ids(p.replicas) if not p.isr.has(broker)}
    return {broker: known.get(broker, since) for broker, since in left.items()}
