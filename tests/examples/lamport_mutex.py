"""Mutual exclusion by logical clocks (Lamport 1978): MCLamportMutex of the TLA+ Examples."""

import enum
from typing import Any

from attrs import evolve, frozen

import kraftcheck as kc

PROCESSES, MOST = 3, 6
EVERYONE = range(PROCESSES)
PAIR = {"p": EVERYONE, "q": EVERYONE}


class Kind(kc.Enum):
    """The kinds of messages."""

    ACK = enum.auto()
    REQUEST = enum.auto()
    RELEASE = enum.auto()


@frozen
class Message:
    """A message; a request carries a clock."""

    kind: kc.Word
    clock: kc.Word = 0


class Channel(kc.Queue):
    """The messages from one process to another, in order."""

    vacant = Message(Kind.ACK)


@frozen
class Mutex:
    """Clocks; what each has heard of each one's request; who acknowledged; channels; who is in the section."""

    clock: tuple[kc.Word, ...]
    request: tuple[tuple[kc.Word, ...], ...]
    acknowledged: tuple[kc.IntSet, ...]
    network: tuple[tuple[Channel, ...], ...]
    critical: kc.IntSet


def broadcast(s: Mutex, p: kc.Word, message: Message) -> Any:
    """The network with a message from one process to all others."""
    row = kc.get(s.network, p)
    return kc.put(s.network, p, tuple(kc.choose(p == r, row[r], row[r].append(message)) for r in EVERYONE))


def request(s: Mutex, p: kc.Word) -> Mutex:
    """A process asks for the section."""
    now = kc.get(s.clock, p)
    return evolve(s, request=kc.put(s.request, (p, p), now), network=broadcast(s, p, Message(Kind.REQUEST, now)),
                  acknowledged=kc.put(s.acknowledged, p, s.critical.just(p)))  # fmt: skip


def receive(s: Mutex, p: kc.Word, q: kc.Word) -> Mutex:
    """A process takes the first message from another out of its channel."""
    return evolve(s, network=kc.put(s.network, (q, p), kc.get(s.network, q, p).tail()))


def head_is(kind: Kind) -> Any:
    """The guard that the first message from another process is of a kind."""

    def guard(s: Mutex, p: kc.Word, q: kc.Word) -> kc.Truth:
        channel = kc.get(s.network, q, p)
        return kc.all_of(kc.negate(channel.is_empty()), channel.head().kind == kind)

    return guard


def receive_request(s: Mutex, p: kc.Word, q: kc.Word) -> Mutex:
    """A request is noted, and acknowledged."""
    heard = kc.get(s.network, q, p).head().clock
    after = receive(s, p, q)
    channel = kc.get(after.network, p, q)
    return evolve(
        after,
        request=kc.put(s.request, (p, q), heard),
        clock=kc.put(s.clock, p, kc.maximum(heard, kc.get(s.clock, p)) + 1),
        network=kc.put(after.network, (p, q), channel.append(Message(Kind.ACK))),
    )


def receive_ack(s: Mutex, p: kc.Word, q: kc.Word) -> Mutex:
    """An acknowledgement is noted."""
    members = kc.get(s.acknowledged, p)
    return evolve(receive(s, p, q), acknowledged=kc.put(s.acknowledged, p, members.plus(members.just(q))))


def receive_release(s: Mutex, p: kc.Word, q: kc.Word) -> Mutex:
    """A request is forgotten."""
    return evolve(receive(s, p, q), request=kc.put(s.request, (p, q), 0))


def beats(s: Mutex, p: kc.Word, q: int) -> kc.Truth:
    """Whether a process believes that it comes before another."""
    mine, other = kc.get(s.request, p, p), kc.get(s.request, p, q)
    return kc.any_of(other == 0, mine < other, kc.all_of(mine == other, p < q))


def may_enter(s: Mutex, p: kc.Word) -> kc.Truth:
    """All have acknowledged, and the process comes before all others."""
    return kc.all_of(kc.get(s.acknowledged, p).size() == PROCESSES,
                     kc.each(EVERYONE, lambda q: kc.any_of(p == q, beats(s, p, q))))  # fmt: skip


def leave(s: Mutex, p: kc.Word) -> Mutex:
    """A process leaves the section, and tells all."""
    return evolve(
        s,
        critical=s.critical.minus(s.critical.just(p)),
        network=broadcast(s, p, Message(Kind.RELEASE)),
        request=kc.put(s.request, (p, p), 0),
        acknowledged=kc.put(s.acknowledged, p, s.critical.none()),
    )


CONSTRAINT = "the model's constraint bounds the clocks"
CHANNEL = Channel.domain(Message(Kind.domain(), kc.ints(0, MOST)), 3)
MEMBERS = kc.IntSet(kc.subset_of(PROCESSES))

LAMPORT_MUTEX = kc.System(
    name="lamport-mutex",
    summary="Mutual exclusion by logical clocks.",
    layout=Mutex((kc.ints(1, MOST, cap=CONSTRAINT),) * PROCESSES, ((kc.ints(0, MOST),) * PROCESSES,) * PROCESSES,
                 (MEMBERS,) * PROCESSES, ((CHANNEL,) * PROCESSES,) * PROCESSES, MEMBERS),
    initial=[Mutex((1,) * PROCESSES, ((0,) * PROCESSES,) * PROCESSES, (kc.IntSet(),) * PROCESSES,
                   ((Channel.of([], 3),) * PROCESSES,) * PROCESSES, kc.IntSet())],
    actions=[
        kc.Action("request", request, lambda s, p: kc.get(s.request, p, p) == 0, {"p": EVERYONE}),
        kc.Action("receive_request", receive_request, head_is(Kind.REQUEST), PAIR),
        kc.Action("receive_ack", receive_ack, head_is(Kind.ACK), PAIR),
        kc.Action("receive_release", receive_release, head_is(Kind.RELEASE), PAIR),
        kc.Action("enter", lambda s, p: evolve(s, critical=s.critical.plus(s.critical.just(p))), may_enter,
                  {"p": EVERYONE}),
        kc.Action("leave", leave, lambda s, p: s.critical.has(p), {"p": EVERYONE}),
    ],
    properties=[
        kc.always("mutex", "at most one process is in its critical section", lambda s: s.critical.size() <= 1),
        kc.sometimes("critical", "some process is in its critical section", lambda s: kc.negate(s.critical.is_empty())),
    ],
)  # fmt: skip
