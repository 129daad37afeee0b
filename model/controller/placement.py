"""Placement of replicas: striped over racks, live brokers before fenced ones, never a fenced leader.

All values; a placement returns the rack list and the random stream to go on
with. Source: `StripedReplicaPlacer`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

from attrs import evolve, frozen

from kraftcheck.model.controller.errors import RequestError, Resignation
from kraftcheck.model.language.words import rule

T = TypeVar("T")

_MULTIPLIER, _INCREMENT, _MASK = 2862933555777941757, 3037000493, (1 << 64) - 1


@frozen
class RandomStream:
    """A linear congruential stream; seed 17 is the one that the tests of Kafka place replicas with.

    >>> RandomStream().below(4)[0]
    2
    """

    state: int = 17

    def bits(self, number: int) -> tuple[int, RandomStream]:
        """A draw of some bits (at most 64)."""
        after = (self.state * _MULTIPLIER + _INCREMENT) & _MASK
        return after >> (64 - number), RandomStream(after)

    def below(self, bound: int) -> tuple[int, RandomStream]:
        """A number from 0 to `bound` - 1, drawn as `java.util.Random.nextInt` draws."""
        drawn, rest = self.bits(31)
        if bound & (bound - 1) == 0:
            return (bound * drawn) >> 31, rest
        while drawn - drawn % bound + bound - 1 >= 1 << 31:
            drawn, rest = rest.bits(31)
        return drawn % bound, rest

    def shuffled(self, items: Sequence[T]) -> tuple[tuple[T, ...], RandomStream]:
        """The items in another order, as `java.util.Collections.shuffle` orders them."""
        order, stream = list(items), self
        for size in range(len(order), 1, -1):
            other, stream = stream.below(size)
            order[size - 1], order[other] = order[other], order[size - 1]
        return tuple(order), stream


EXHAUSTED = -1  # what a ring returns when every broker was returned in the epoch


@frozen
class UsableBroker:
    """A broker that replicas may be placed on."""

    id: int
    rack: str | None
    fenced: bool


@frozen
class Ring:
    """Brokers taken in turn; another epoch starts over, one position later."""

    brokers: tuple[int, ...]
    epoch: int = 0
    offset: int = 0
    index: int = 0

    def next(self, epoch: int) -> tuple[int, Ring]:
        """The next broker of the epoch, or EXHAUSTED."""
        if not self.brokers:
            return EXHAUSTED, self
        ring = self
        if epoch != ring.epoch:
            ring = evolve(ring, epoch=epoch, index=0, offset=(ring.offset + 1) % len(ring.brokers))
        if ring.index >= len(ring.brokers):
            return EXHAUSTED, ring
        chosen = ring.brokers[(ring.index + ring.offset) % len(ring.brokers)]
        return chosen, evolve(ring, index=ring.index + 1)


@frozen
class Rack:
    """The brokers of one rack."""

    name: str | None
    fenced: Ring
    live: Ring

    def next_live(self, epoch: int) -> tuple[int, Rack]:
        """The next live broker, or EXHAUSTED."""
        chosen, ring = self.live.next(epoch)
        return chosen, evolve(self, live=ring)

    def next(self, epoch: int) -> tuple[int, Rack]:
        """The next live broker, else the next fenced one, or EXHAUSTED."""
        chosen, rack = self.next_live(epoch)
        if chosen != EXHAUSTED:
            return chosen, rack
        chosen, ring = self.fenced.next(epoch)
        return chosen, evolve(rack, fenced=ring)


@frozen
class RackList:
    """Every rack, and where the next placement starts."""

    racks: tuple[Rack, ...]  # in the order in which they are visited
    epoch: int = 0  # placements since the last reshuffle
    offset: int = 0  # the rack that the next leader is looked for in first

    @property
    def total(self) -> int:
        """Number of brokers."""
        return self.live + sum(len(rack.fenced.brokers) for rack in self.racks)

    @property
    def live(self) -> int:
        """Number of brokers that are not fenced."""
        return sum(len(rack.live.brokers) for rack in self.racks)

    @rule("placement.striped-over-racks", source="semantics 8; StripedReplicaPlacer",
          says="Replicas are placed rack after rack, unfenced brokers before fenced ones.")  # fmt: skip
    def place(self, factor: int, stream: RandomStream) -> tuple[tuple[int, ...], RackList, RandomStream]:
        """The replicas of one partition, leader first; raises RequestError with INVALID_REPLICATION_FACTOR."""
        check_factor(factor, self.total, self.live)
        racks = self
        if racks.epoch == racks.live > 1:
            racks, stream = _reshuffled(racks, stream)
        racks = evolve(racks, offset=racks.offset % len(racks.racks))
        leader, position, racks = _leader(racks)
        replicas, racks = _followers(racks, factor - 1, position)
        return (leader, *replicas), evolve(racks, epoch=racks.epoch + 1, offset=racks.offset + 1), stream


@rule("placement.factor-can-be-met", source="semantics 8; StripedReplicaPlacer",
      says="A replication factor needs as many usable brokers, one of them unfenced.")  # fmt: skip
def check_factor(factor: int, total: int, live: int) -> None:
    """Refuse a replication factor that cannot be met, in the order of the rack list.

    Raises:
        RequestError: INVALID_REPLICATION_FACTOR.
    """
    if factor <= 0:
        raise RequestError("INVALID_REPLICATION_FACTOR", "not_positive")
    if factor > total:
        raise RequestError("INVALID_REPLICATION_FACTOR", "too_few_brokers")
    if live == 0:
        raise RequestError("INVALID_REPLICATION_FACTOR", "all_fenced")


def rack_list(brokers: Iterable[UsableBroker], stream: RandomStream) -> tuple[RackList, RandomStream]:
    """The rack list of some brokers, each ring and the first rack at a random position."""
    usable = sorted(brokers, key=lambda broker: broker.id)
    names = sorted({broker.rack for broker in usable}, key=lambda name: (name is not None, name or ""))
    racks = []
    for name in names:
        fenced, stream = _ring([b.id for b in usable if b.rack == name and b.fenced], stream)
        live, stream = _ring([b.id for b in usable if b.rack == name and not b.fenced], stream)
        racks.append(Rack(name, fenced, live))
    if not racks:
        return RackList(()), stream
    offset, stream = stream.below(len(racks))
    return RackList(tuple(racks), offset=offset), stream


def place(
    brokers: Iterable[UsableBroker], partitions: int, factor: int, stream: RandomStream
) -> tuple[tuple[tuple[int, ...], ...] | RequestError, RandomStream]:
    """The replicas of each partition of a topic, or why they cannot be placed.

    A refusal is returned, not raised: the draws made until then are spent.
    """
    racks, stream = rack_list(brokers, stream)
    placed = []
    try:
        if factor > 0 and racks.live == 0:
            raise RequestError("INVALID_REPLICATION_FACTOR", "all_fenced")
        check_factor(factor, racks.total, racks.live)
        for _ in range(partitions):
            replicas, racks, stream = racks.place(factor, stream)
            placed.append(replicas)
    except RequestError as refusal:
        return refusal, stream
    return tuple(placed), stream


def _ring(brokers: list[int], stream: RandomStream) -> tuple[Ring, RandomStream]:
    if not brokers:
        return Ring(()), stream
    offset, stream = stream.below(len(brokers))
    return Ring(tuple(brokers), offset=offset), stream


def _reshuffled(racks: RackList, stream: RandomStream) -> tuple[RackList, RandomStream]:
    """New orders: of the racks first, then of the two rings of each rack in the order of names."""
    order, stream = stream.shuffled([rack.name for rack in racks.racks])
    shuffled = {}
    for rack in sorted(racks.racks, key=lambda rack: (rack.name is not None, rack.name or "")):
        fenced, stream = stream.shuffled(rack.fenced.brokers)
        live, stream = stream.shuffled(rack.live.brokers)
        rings = evolve(rack.fenced, brokers=fenced), evolve(rack.live, brokers=live)
        shuffled[rack.name] = Rack(rack.name, *rings)
    return evolve(racks, racks=tuple(shuffled[name] for name in order), epoch=0), stream


@rule("placement.unfenced-leader", source="semantics 8; StripedReplicaPlacer",
      says="The first replica of a new partition is on an unfenced broker.")  # fmt: skip
def _leader(racks: RackList) -> tuple[int, int, RackList]:
    """The leader, the rack it was found in, and the list afterwards; some broker is live."""
    count = len(racks.racks)
    for step in range(count):
        position = (racks.offset + step) % count
        chosen, rack = racks.racks[position].next_live(racks.epoch)
        racks = _with(racks, position, rack)
        if chosen != EXHAUSTED:
            return chosen, position, racks
    raise RequestError("INVALID_REPLICATION_FACTOR", "all_fenced")


def _followers(racks: RackList, wanted: int, leader_rack: int) -> tuple[tuple[int, ...], RackList]:
    """The other replicas: rack after rack from the offset on, the leader's passed over once.

    Kafka would walk for ever if no ring had a broker left; that takes placements
    of different factors from one rack list, which no request makes.
    """
    skip: int | None = leader_rack
    chosen: list[int] = []
    position, visits = racks.offset, 0
    while len(chosen) < wanted:
        visits += 1
        if visits > (wanted + 2) * (len(racks.racks) + 1):
            raise Resignation("the rack list is exhausted")
        if position == skip:
            skip = None
        else:
            broker, rack = racks.racks[position].next(racks.epoch)
            racks = _with(racks, position, rack)
            if broker != EXHAUSTED:
                chosen.append(broker)
        position = (position + 1) % len(racks.racks)
    return tuple(chosen), racks


def _with(racks: RackList, position: int, rack: Rack) -> RackList:
    return evolve(racks, racks=(*racks.racks[:position], rack, *racks.racks[position + 1 :]))
