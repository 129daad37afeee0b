"""When brokers were last heard of: a session for each broker and epoch, whether the broker is fenced or not.

The order in which sessions are found to have ended is that of Java's ConcurrentHashMap, which keeps them: it
decides which of several silent brokers is fenced first. Bins of more than eight sessions, which take epochs
chosen for it, would be trees there, and have another order. Source: `BrokerHeartbeatTracker`, KAFKA-17793.
"""

from __future__ import annotations

from collections.abc import Mapping

from attrs import evolve, field, frozen

FIRST_BINS = 16
"""Bins of a table that gets its first entry."""


@frozen
class Contact:
    """A broker and the epoch that it stated, with their place in a hash table."""

    broker: int
    epoch: int
    hash: int


def contact(broker: int, epoch: int, as_list: bool) -> Contact:
    """A broker and an epoch as they are hashed.

    Args:
        broker: its id.
        epoch: the epoch that it states.
        as_list: whether they are hashed as a list of both, and not as a record of both.

    Source: `BrokerIdAndEpoch`; `java.util.Objects.hash`, `java.util.concurrent.ConcurrentHashMap.spread`.
    """
    first = 31 if as_list else 0
    low = (epoch ^ (epoch >> 32)) & 0xFFFFFFFF
    code = (31 * (first + broker) + low) & 0xFFFFFFFF
    return Contact(broker, epoch, (code ^ (code >> 16)) & 0x7FFFFFFF)


Bin = tuple[Contact, ...]


@frozen
class Contacts:
    """When each broker was last heard of, by the epoch that it stated.

    Attributes:
        times: by broker and epoch.
        bins: the hash table; it grows and never shrinks.
    """

    times: Mapping[tuple[int, int], int] = field(factory=dict)
    bins: tuple[Bin, ...] = ()

    def heard(self, of: Contact, now: int) -> Contacts:
        """The broker is heard of; nobody asks whether the epoch is its own."""
        times = {**self.times, (of.broker, of.epoch): now}
        if len(times) == len(self.times):
            return evolve(self, times=times)
        bins = self.bins or ((),) * FIRST_BINS
        place = of.hash % len(bins)
        bins = (*bins[:place], (*bins[place], of), *bins[place + 1 :])
        return Contacts(times, _doubled(bins) if len(times) >= len(bins) * 3 // 4 else bins)

    def is_valid(self, broker: int, epoch: int, now: int, timeout: int) -> bool:
        """Whether the broker was heard of in this epoch and has not been silent for longer than the timeout."""
        last = self.times.get((broker, epoch))
        return last is not None and last + timeout >= now

    def first_ended(self, now: int, timeout: int) -> Contact | None:
        """The first session in the order of the table that has ended, if one has."""
        each = (known for row in self.bins for known in row)
        return next((known for known in each if not self.is_valid(known.broker, known.epoch, now, timeout)), None)

    def without(self, broker: int, epoch: int) -> Contacts:
        """The session is forgotten."""
        ended = broker, epoch
        times = {key: time for key, time in self.times.items() if key != ended}
        left = (tuple(known for known in row if (known.broker, known.epoch) != ended) for row in self.bins)
        return Contacts(times, tuple(left))


def _doubled(bins: tuple[Bin, ...]) -> tuple[Bin, ...]:
    """The same entries in a table of twice the size.

    The entries from the last change of the deciding bit on keep their order; those before come ahead of them,
    the last first. Source: `java.util.concurrent.ConcurrentHashMap.transfer`.
    """
    size = len(bins)
    low, high = [], []
    for row in bins:
        halves: tuple[list[Contact], list[Contact]] = ([], [])
        kept = len(row)
        while kept and row[kept - 1].hash & size == row[-1].hash & size:
            kept -= 1
        for known in row[kept:]:
            halves[known.hash & size > 0].append(known)
        for known in row[:kept]:
            halves[known.hash & size > 0].insert(0, known)
        low.append(tuple(halves[0]))
        high.append(tuple(halves[1]))
    return (*low, *high)
