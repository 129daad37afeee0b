"""Broker sessions, the soft state of the active controller: who is in touch, who may shut down.

Times are any unit, the same throughout. Nothing here is in the log; a new
controller starts with what `register` makes of the registrations. Source:
`BrokerHeartbeatManager`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import Enum

from attrs import evolve, field, frozen

from kraftcheck.model.controller.errors import NotTracked, Resignation
from kraftcheck.model.controller.placement import UsableBroker
from kraftcheck.model.language.words import choose, rule
from kraftcheck.model.rules.groups import ControllerRules
from kraftcheck.model.rules.ruleset import RIGHT
from kraftcheck.model.triggers.leadership import shutdown_offset

UNKNOWN = -1  # a metadata offset not yet reported, and the offset of a controlled shutdown that has not begun


@frozen
class Session:
    """The session of one broker."""

    last_contact: int = 0  # when it was last heard of
    metadata_offset: int = UNKNOWN  # what it reported to have applied
    shutdown_offset: int = UNKNOWN  # end of the log when its controlled shutdown began

    @property
    def shutting_down(self) -> bool:
        """Whether a controlled shutdown has begun."""
        return self.shutdown_offset >= 0


class BrokerState(Enum):
    """The state of a broker for the controller: fenced, and told to shut down."""

    FENCED = (True, False)
    UNFENCED = (False, False)
    CONTROLLED_SHUTDOWN = (False, False, True)
    SHUTDOWN_NOW = (True, True)

    @property
    def fenced(self) -> bool:
        """Whether the broker is fenced."""
        return bool(self.value[0])

    @property
    def should_shut_down(self) -> bool:
        """Whether the broker is told to stop."""
        return bool(self.value[1])


@frozen
class Wish:
    """The request of a heartbeat."""

    fence: bool
    shutdown: bool
    metadata_offset: int


def by_metadata_offset(offsets: Mapping[int, int]) -> tuple[int, ...]:
    """The brokers by offset, then by id."""
    return tuple(sorted(offsets, key=lambda broker: (offsets[broker], broker)))


def by_last_contact(contacts: Iterable[tuple[int, int]]) -> tuple[int, ...]:
    """The brokers of `(broker, last contact)` pairs, longest silent first; equals in the order given."""
    return tuple(broker for broker, _ in sorted(contacts, key=lambda pair: pair[1]))


@frozen
class Sessions:
    """The sessions of all brokers."""

    timeout: int  # how long a live broker may be silent
    tracked: Mapping[int, Session] = field(factory=dict)  # by broker
    live: tuple[int, ...] = ()  # brokers that are not fenced, longest silent first

    def _of(self, broker: int) -> Session:
        if broker not in self.tracked:
            raise NotTracked(f"broker {broker} has no session")
        return self.tracked[broker]

    @rule("session.registration-forgets-offset", source="semantics 1.2; BrokerHeartbeatManager.register",
          says="A registration change that keeps the fencing state forgets the metadata offset that "
               "was reported.")  # fmt: skip
    def register(self, broker: int, fenced: bool, now: int) -> Sessions:
        """A registration is replayed: the broker is tracked; counts as contact.

        The reported offset survives only a change of the fencing state.
        """
        known = self.tracked.get(broker)
        if known is None:
            return self._with(broker, Session()).touch(broker, fenced, UNKNOWN, now)
        changes = fenced == (broker in self.live)
        return self.touch(broker, fenced, known.metadata_offset if changes else UNKNOWN, now)

    def touch(self, broker: int, fenced: bool, metadata_offset: int, now: int) -> Sessions:
        """The broker is heard of; a fenced one leaves its controlled shutdown.

        Raises:
            NotTracked: for an unknown broker.
        """
        known = self._of(broker)
        known = evolve(known, last_contact=now, metadata_offset=metadata_offset)
        if fenced:
            return self._with(broker, evolve(known, shutdown_offset=UNKNOWN)).fence(broker)
        sessions = self._with(broker, known).fence(broker)
        contacts = [(b, sessions.tracked[b].last_contact) for b in (*sessions.live, broker)]
        return evolve(sessions, live=by_last_contact(contacts))

    def fence(self, broker: int) -> Sessions:
        """The broker is no longer live; its session stays."""
        return evolve(self, live=tuple(b for b in self.live if b != broker))

    def remove(self, broker: int) -> Sessions:
        """The broker is forgotten."""
        left = {b: session for b, session in self.tracked.items() if b != broker}
        return evolve(self.fence(broker), tracked=left)

    def begin_shutdown(self, broker: int, offset: int, rules: ControllerRules = RIGHT.controller) -> Sessions:
        """The broker's controlled shutdown begins, or goes on, at this end of the log.

        Raises:
            NotTracked: for an unknown broker.
            Resignation: for a fenced broker.
        """
        known = self._of(broker)
        if broker not in self.live:
            raise Resignation(f"fenced broker {broker} cannot begin a controlled shutdown")
        waits_for = int(shutdown_offset(known.shutting_down, known.shutdown_offset, offset, rules))
        return self._with(broker, evolve(known, shutdown_offset=waits_for))

    def is_valid(self, broker: int, now: int) -> bool:
        """Whether the broker is live and has not been silent for longer than the timeout."""
        return broker in self.live and self.tracked[broker].last_contact + self.timeout >= now

    @rule("session.expiry-longest-silent", source="semantics 5; BrokerHeartbeatManager.findOneStaleBroker",
          says="A session check fences at most one broker, the longest silent one.")  # fmt: skip
    def stale(self, now: int) -> int | None:
        """The live broker to fence now: the longest silent, if its session has ended."""
        return next((broker for broker in self.live[:1] if not self.is_valid(broker, now)), None)

    def next_check(self) -> int | None:
        """When the oldest live session ends."""
        return self.tracked[self.live[0]].last_contact + self.timeout if self.live else None

    def lowest_active_offset(self) -> int | None:
        """The lowest offset of a live broker that is not shutting down; None is infinite."""
        sessions = (self.tracked[broker] for broker in self.live)
        return min((s.metadata_offset for s in sessions if not s.shutting_down), default=None)

    def shutdown_offset(self, broker: int) -> int | None:
        """Where the broker's controlled shutdown began, if it did."""
        known = self.tracked.get(broker)
        return known.shutdown_offset if known is not None and known.shutting_down else None

    def usable(self, rack: Callable[[int], str | None]) -> tuple[UsableBroker, ...]:
        """Brokers to place replicas on: all tracked ones that are not shutting down."""
        return tuple(
            UsableBroker(broker, rack(broker), broker not in self.live)
            for broker, session in self.tracked.items()
            if not session.shutting_down
        )

    def state(self, broker: int) -> BrokerState:
        """The broker's state; raises NotTracked for an unknown broker."""
        if self._of(broker).shutting_down:
            return BrokerState.CONTROLLED_SHUTDOWN
        return BrokerState.UNFENCED if broker in self.live else BrokerState.FENCED

    @rule("shutdown.granted-when-followed", source="semantics 5; BrokerHeartbeatManager.calculateNextBrokerState",
          says="A controlled shutdown is granted once the broker leads nothing and every active "
               "broker has passed its offset.")  # fmt: skip
    def next_state(
        self, broker: int, wish: Wish, registration_offset: int, leads: bool, placed: bool = True
    ) -> BrokerState:
        """The broker's state after a heartbeat; nothing is changed.

        Args:
            wish: what it asks for; ignored during a controlled shutdown.
            registration_offset: offset of the broker's registration record.
            leads: whether it leads a partition.
            placed: whether the controller knows where its replicas are.

        Raises:
            NotTracked: for an unknown broker.
        """
        current = self.state(broker)
        if current is BrokerState.FENCED:
            return _from_fenced(wish, registration_offset, placed)
        if current is BrokerState.UNFENCED:
            return _from_unfenced(wish, leads)
        lowest = self.lowest_active_offset()
        followed = lowest is None or self.tracked[broker].shutdown_offset <= lowest
        return BrokerState.SHUTDOWN_NOW if followed and not leads else current

    def _with(self, broker: int, session: Session) -> Sessions:
        return evolve(self, tracked={**self.tracked, broker: session})


@rule("unfence.registration-applied",
      source="KIP-631; KAFKA-13959; BrokerHeartbeatManager.calculateNextBrokerState; invariant 37",
      says="A broker is unfenced when it asks for it and has applied the metadata up to its registration.")  # fmt: skip
def _from_fenced(wish: Wish, registration_offset: int, placed: bool) -> BrokerState:
    if wish.shutdown:
        return BrokerState.SHUTDOWN_NOW
    caught_up = not wish.fence and wish.metadata_offset >= registration_offset
    return BrokerState.UNFENCED if caught_up and placed else BrokerState.FENCED


@rule("shutdown.controlled-while-leading", source="semantics 5; BrokerHeartbeatManager.calculateNextBrokerState",
      says="A broker that leads enters controlled shutdown when it asks to stop; one that does not "
           "may stop at once.")  # fmt: skip
def _from_unfenced(wish: Wish, leads: bool) -> BrokerState:
    if wish.fence:
        return BrokerState.SHUTDOWN_NOW if wish.shutdown else BrokerState.FENCED
    if not wish.shutdown:
        return BrokerState.UNFENCED
    return choose(leads, BrokerState.CONTROLLED_SHUTDOWN, BrokerState.SHUTDOWN_NOW)


FIRST_BINS = 16  # bins of a table that gets its first entry


@frozen
class Contact:
    """A broker and the epoch that it stated, with their place in a hash table."""

    broker: int
    epoch: int
    hash: int


def contact(broker: int, epoch: int, as_list: bool) -> Contact:
    """A broker and an epoch as they are hashed.

    Args:
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
    """When each broker was last heard of, by the epoch that it stated."""

    times: Mapping[tuple[int, int], int] = field(factory=dict)  # by broker and epoch
    bins: tuple[Bin, ...] = ()  # the hash table; it grows and never shrinks

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
