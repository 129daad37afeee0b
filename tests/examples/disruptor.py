"""A ring buffer with several readers: Disruptor_SPMC and Disruptor_MPMC of the TLA+ Examples."""

from typing import Any

from attrs import evolve, frozen

import kraftcheck as kc

READERS, SIZE, MOST = range(3), 4, 10
EMPTY = -1
CONSTRAINT = "the model's constraint bounds what is published"
READER = {"r": READERS}


class Events(kc.Queue):
    """What a reader has read, in order."""

    vacant = EMPTY


@frozen
class Ring:
    """The slots, and who is reading and writing each."""

    slots: tuple[kc.Word, ...]
    reading: tuple[kc.IntSet, ...]
    writing: tuple[kc.IntSet, ...]


@frozen
class Threads:
    """Cursors of the readers, what they have read, and which threads access a slot."""

    cursor: tuple[kc.Word, ...]
    consumed: tuple[Events, ...]
    readers: kc.IntSet
    writers: kc.IntSet


@frozen
class One:
    """A buffer with one writer: what it has published last."""

    ring: Ring
    threads: Threads
    published: kc.Word


@frozen
class Many:
    """A buffer with several writers: the next place, those that they have claimed, and the parity of each slot."""

    ring: Ring
    threads: Threads
    upcoming: kc.Word
    claimed: tuple[kc.Word, ...]
    published: tuple[kc.Truth, ...]


def is_published(s: Many, sequence: kc.Word) -> kc.Truth:
    """Whether an event is published: its slot has the parity of the round."""
    return kc.get(s.published, sequence % SIZE) == (sequence // SIZE % 2 == 0)


def begin_read(s: Any, r: kc.Word) -> Any:
    """A reader accesses the next slot."""
    place = (kc.get(s.threads.cursor, r) + 1) % SIZE
    readers = kc.get(s.ring.reading, place)
    consumed = kc.get(s.threads.consumed, r).append(kc.get(s.ring.slots, place))
    threads = evolve(s.threads, consumed=kc.put(s.threads.consumed, r, consumed),
                     readers=s.threads.readers.plus(readers.just(r)))  # fmt: skip
    reading = kc.put(s.ring.reading, place, readers.plus(readers.just(r)))
    return evolve(s, threads=threads, ring=evolve(s.ring, reading=reading))


def end_read(s: Any, r: kc.Word) -> Any:
    """A reader is done with its slot."""
    cursor = kc.get(s.threads.cursor, r) + 1
    readers = kc.get(s.ring.reading, cursor % SIZE)
    threads = evolve(s.threads, cursor=kc.put(s.threads.cursor, r, cursor),
                     readers=s.threads.readers.minus(readers.just(r)))  # fmt: skip
    reading = kc.put(s.ring.reading, cursor % SIZE, readers.minus(readers.just(r)))
    return evolve(s, threads=threads, ring=evolve(s.ring, reading=reading))


def write(s: Any, w: kc.Word, sequence: kc.Word) -> Any:
    """A writer accesses the slot of an event."""
    writers = kc.get(s.ring.writing, sequence % SIZE)
    ring = evolve(s.ring, slots=kc.put(s.ring.slots, sequence % SIZE, sequence),
                  writing=kc.put(s.ring.writing, sequence % SIZE, writers.plus(writers.just(w))))  # fmt: skip
    return evolve(s, ring=ring, threads=evolve(s.threads, writers=s.threads.writers.plus(writers.just(w))))


def end_write(s: Any, w: kc.Word, sequence: kc.Word) -> Any:
    """A writer is done with the slot of an event."""
    writers = kc.get(s.ring.writing, sequence % SIZE)
    ring = evolve(s.ring, writing=kc.put(s.ring.writing, sequence % SIZE, writers.minus(writers.just(w))))
    return evolve(s, ring=ring, threads=evolve(s.threads, writers=s.threads.writers.minus(writers.just(w))))


def has_room(s: Any, sequence: kc.Word) -> kc.Truth:
    """No reader is a whole round behind."""
    return kc.minimum(*s.threads.cursor) >= sequence - SIZE


def races(s: Any) -> kc.Truth:
    """Whether a slot is written by two threads, or written and read."""
    return kc.some(range(SIZE), lambda i: kc.any_of(
        s.ring.writing[i].size() > 1,
        kc.negate(kc.any_of(s.ring.writing[i].is_empty(), s.ring.reading[i].is_empty()))))  # fmt: skip


def publish(s: Many, w: kc.Word) -> Many:
    """A writer of several publishes its event."""
    place = kc.get(s.claimed, w) % SIZE
    after = end_write(s, w, kc.get(s.claimed, w))
    return evolve(after, published=kc.put(s.published, place, kc.negate(kc.get(s.published, place))))


def claim(s: Many, w: kc.Word) -> Many:
    """A writer of several takes the next place."""
    return evolve(write(s, w, s.upcoming), claimed=kc.put(s.claimed, w, s.upcoming), upcoming=s.upcoming + 1)


def system(
    name: str, state: Any, start: Any, writing: list[kc.Action], is_there: Any, live: list[kc.Property]
) -> kc.System:
    """The system with these writers; `is_there` says whether an event may be read."""

    def reads(s: Any, r: kc.Word) -> kc.Truth:
        return kc.all_of(kc.negate(s.threads.readers.has(r)), is_there(s, kc.get(s.threads.cursor, r) + 1))

    return kc.System(
        name=name, summary="A ring buffer with several readers.", layout=state, initial=[start],
        actions=[*writing, kc.Action("begin_read", begin_read, reads, READER),
                 kc.Action("end_read", end_read, lambda s, r: s.threads.readers.has(r), READER)],
        properties=[
            kc.always("no-races", "no slot is written while another thread accesses it", lambda s: kc.negate(races(s))),
            kc.sometimes("both", "two readers access one slot",
                         lambda s: kc.some(s.ring.reading, lambda readers: readers.size() >= 2)),
            *live,
        ],
        quiescent=lambda s: True,
        fairness=[kc.weak_fairness("begin_read", each=["r"]), kc.weak_fairness("end_read", each=["r"])] if live else [],
    )  # fmt: skip


def domain(last: int, writers: int) -> tuple[Ring, Threads]:
    """The layout of slots and threads, for events up to a number."""
    event, readers = kc.ints(EMPTY, last), kc.IntSet(kc.subset_of(len(READERS)))
    writing = kc.IntSet(kc.subset_of(writers))
    ring = Ring((event,) * SIZE, (readers,) * SIZE, (writing,) * SIZE)
    return ring, Threads((event,) * 3, (Events.domain(event, last + 1),) * 3, readers, writing)


def empty(last: int) -> tuple[Ring, Threads]:
    """The slots and threads of the initial state."""
    none = kc.IntSet()
    return (Ring((EMPTY,) * SIZE, (none,) * SIZE, (none,) * SIZE),
            Threads((EMPTY,) * 3, (Events.of([], last + 1),) * 3, none, none))  # fmt: skip


def all_read(s: One) -> kc.Truth:
    """Whether each reader has read all that is published, in order."""
    return kc.each(range(MOST), lambda i: kc.implies(i <= s.published, kc.each(
        s.threads.consumed, lambda events: kc.all_of(events.size > i, events.items[i] == i))))  # fmt: skip


ONE_WRITER = system(
    "disruptor-one", One(*domain(MOST, 1), kc.ints(-1, MOST - 1)), One(*empty(MOST), -1),
    [kc.Action("begin_write", lambda s: write(s, 0, s.published + 1),
               lambda s: kc.all_of(s.threads.writers.is_empty(), has_room(s, s.published + 1))),
     kc.Action("end_write", lambda s: evolve(end_write(s, 0, s.published + 1), published=s.published + 1),
               lambda s: kc.all_of(s.threads.writers.has(0), s.published < MOST - 1))],  # liveness allows for no cap
    lambda s, sequence: sequence <= s.published,
    [kc.eventually_always("all-read", "in the end each reader has read what is published", all_read)],
)  # fmt: skip

WRITER = {"w": range(2)}

MANY_WRITERS = system(
    "disruptor-many",
    Many(*domain(MOST, 2), kc.ints(0, MOST, cap=CONSTRAINT), (kc.ints(EMPTY, MOST),) * 2, (kc.truth(),) * SIZE),
    Many(*empty(MOST), 0, (EMPTY,) * 2, (False,) * SIZE),
    [kc.Action("begin_write", claim, lambda s, w: kc.all_of(
        kc.negate(s.threads.writers.has(w)), has_room(s, s.upcoming)), WRITER),
     kc.Action("end_write", publish, lambda s, w: s.threads.writers.has(w), WRITER)],
    is_published, [],
)  # fmt: skip
