"""Readers and writers with a fair queue: ReadersWriters of the TLA+ Examples."""

import enum

from attrs import evolve, frozen

import kraftcheck as kc

ACTORS = range(3)


class Wish(kc.Enum):
    """What an actor waits for."""

    READ = enum.auto()
    WRITE = enum.auto()


@frozen
class Waiting:
    """A place in the queue."""

    wish: kc.Word
    actor: kc.Word


class Line(kc.Queue):
    """Who waits, in order."""

    vacant = Waiting(Wish.READ, 0)


@frozen
class Room:
    """Who reads, who writes, who waits."""

    readers: kc.IntSet
    writers: kc.IntSet
    waiting: Line


def attempt(wish: Wish) -> kc.Action:
    """An actor that does not wait for it yet gets in line."""
    return kc.Action(
        f"try_{wish.name.lower()}",
        lambda s, actor: evolve(s, waiting=s.waiting.append(Waiting(wish, actor))),
        lambda s, actor: kc.negate(s.waiting.has(Waiting(wish, actor))),
        {"actor": ACTORS},
    )


def serve(s: Room) -> Room:
    """The first in line reads or writes."""
    first = s.waiting.head()
    reads = first.wish == Wish.READ
    who = s.readers.just(first.actor)
    return Room(s.readers.plus(kc.choose(reads, who, who.none())), s.writers.plus(kc.choose(reads, who.none(), who)),
                s.waiting.tail())  # fmt: skip


def may_serve(s: Room) -> kc.Truth:
    """Nobody writes, and a writer waits until nobody reads."""
    reads = s.waiting.head().wish == Wish.READ
    return kc.all_of(kc.negate(s.waiting.is_empty()), s.writers.is_empty(), kc.any_of(reads, s.readers.is_empty()))


def stop(s: Room, actor: kc.Word) -> Room:
    """An actor stops reading, or else writing."""
    who = s.readers.just(actor)
    reads = s.readers.has(actor)
    return evolve(s, readers=s.readers.minus(who), writers=kc.choose(reads, s.writers, s.writers.minus(who)))


EVERYONE = kc.IntSet(kc.subset_of(len(ACTORS)))

READERS_WRITERS = kc.System(
    name="readers-writers",
    summary="Readers and writers with a fair queue.",
    layout=Room(EVERYONE, EVERYONE, Line.domain(Waiting(Wish.domain(), kc.ints(0, 2)), 6)),
    initial=[Room(kc.IntSet(), kc.IntSet(), Line.of([], 6))],
    actions=[
        attempt(Wish.READ),
        attempt(Wish.WRITE),
        kc.Action("serve", serve, may_serve),
        kc.Action("stop", stop, lambda s, actor: s.readers.plus(s.writers).has(actor), {"actor": ACTORS}),
    ],
    properties=[
        kc.always("safety", "nobody reads while another writes",
                  lambda s: kc.any_of(s.readers.is_empty(), s.writers.is_empty())),
        kc.always("never-all-read", "not all actors read at once", lambda s: s.readers.size() < len(ACTORS)),
        kc.sometimes("writes", "an actor writes", lambda s: kc.negate(s.writers.is_empty())),
    ],
)  # fmt: skip
