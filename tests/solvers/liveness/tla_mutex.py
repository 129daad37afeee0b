"""Mutual exclusion in the TLA+ Examples, written anew: Peterson, Dijkstra (1965), readers and writers.

The sizes are those that the repository states for its models, so that what is checked is the same graph.
"""

from typing import Any

from attrs import evolve, frozen

from kraftcheck.model.language.layout import Flag, Range
from kraftcheck.model.language.places import put
from kraftcheck.model.language.system import Action, Fairness, Property, System
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import all_of, any_of, choose, negate, pick
from kraftcheck.properties.kinds import always_eventually, leads_to

A0, A1, A2, A3, IN, A4 = range(6)


@frozen
class Lock:
    """Peterson's lock: where each of two processes is, what it wants, and whose turn it is."""

    pc: tuple[Word, Word]
    wants: tuple[Truth, Truth]
    turn: Word


def peterson(*fairness: Fairness) -> System:
    """Two processes, each of which lets the other one go first."""

    def act(s: Lock, me: int) -> Lock:
        at = s.pc[me]
        wants = put(s.wants, me, choose(at == A1, True, choose(at == A4, False, s.wants[me])))
        return Lock(put(s.pc, me, choose(at == A4, A0, at + 1)), wants, choose(at == A2, 1 - me, s.turn))

    def may(s: Lock, me: int) -> Truth:
        return any_of(s.pc[me] != A3, negate(s.wants[1 - me]), s.turn == me)

    return System(
        name="peterson", summary="Two processes and a lock.",
        initial=[Lock((A0, A0), (False, False), 0)],
        layout=Lock((Range(0, 5), Range(0, 5)), (Flag(), Flag()), Range(0, 1)),
        actions=[
            Action(f"process_{me}", lambda s, me=me: act(s, me), lambda s, me=me: may(s, me)) for me in (0, 1)
        ],
        properties=[
            leads_to(f"Enters-{me}", "Who tries to enter does.", lambda s, me=me: s.pc[me] == A1,
                     lambda s, me=me: s.pc[me] == IN)
            for me in (0, 1)
        ],
        fairness=fairness,
    )  # fmt: skip


LABELS = ("Li0", "Li1", "Li2", "Li3a", "Li3b", "Li3c", "Li3d", "Li4a", "Li4b", "cs", "Li5", "Li6", "ncs")
OF_SETS = 8  # what `temp` holds from here on is a set of processes, as bits; below, a process, or 0 for nothing


@frozen
class Mutex:
    """Dijkstra's first algorithm: two flags of each process, the process k, and a local variable of each."""

    b: tuple[Truth, ...]
    c: tuple[Truth, ...]
    k: Word
    pc: tuple[Word, ...]
    temp: tuple[Word, ...]


def dijkstra(count: int, *fairness: Fairness) -> System:
    """Any number of processes, each of which looks at all others before it enters."""
    processes = range(count)
    at = {label: number for number, label in enumerate(LABELS)}

    def here(s: Mutex, me: Any, label: str) -> Truth:
        return pick(s.pc, me, 0) == at[label]

    def go(s: Mutex, me: Any, label: Any) -> Mutex:
        return evolve(s, pc=put(s.pc, me, label))

    def has(s: Mutex, me: Any, other: Any) -> Truth:
        own = pick(s.temp, me, 0)
        sets = ((one, who) for one in range(1 << count) for who in processes if one >> who & 1)
        return any_of(*(all_of(own == OF_SETS + one, other == who) for one, who in sets))

    def look(s: Mutex, me: Any, other: Any) -> Mutex:
        own = pick(s.temp, me, 0)
        rest = own
        for who in processes:
            rest = choose(other == who, own - (1 << who), rest)
        return go(evolve(s, temp=put(s.temp, me, rest)), me, choose(pick(s.c, other, True), at["Li4b"], at["Li1"]))

    def others(s: Mutex, me: Any) -> Word:
        rest: Word = OF_SETS
        for who in processes:
            rest = choose(me == who, OF_SETS + (1 << count) - 1 - (1 << who), rest)
        return rest

    def looked_at(s: Mutex, me: Any) -> Truth:
        own = pick(s.temp, me, 0)
        return any_of(*(all_of(own == who + 1, s.b[who]) for who in processes))

    effects: dict[str, Any] = {
        "Li0": lambda s, me: go(evolve(s, b=put(s.b, me, False)), me, at["Li1"]),
        "Li1": lambda s, me: go(s, me, choose(s.k == me, at["Li4a"], at["Li2"])),
        "Li2": lambda s, me: go(evolve(s, c=put(s.c, me, True)), me, at["Li3a"]),
        "Li3a": lambda s, me: go(evolve(s, temp=put(s.temp, me, s.k + 1)), me, at["Li3b"]),
        "Li3b": lambda s, me: go(s, me, choose(looked_at(s, me), at["Li3c"], at["Li3d"])),
        "Li3c": lambda s, me: go(evolve(s, k=me), me, at["Li3d"]),
        "Li3d": lambda s, me: go(s, me, at["Li1"]),
        "Li4a": lambda s, me: go(evolve(s, c=put(s.c, me, False), temp=put(s.temp, me, others(s, me))), me, at["Li4b"]),
        "cs": lambda s, me: go(s, me, at["Li5"]),
        "Li5": lambda s, me: go(evolve(s, c=put(s.c, me, True)), me, at["Li6"]),
        "Li6": lambda s, me: go(evolve(s, b=put(s.b, me, True)), me, at["ncs"]),
        "ncs": lambda s, me: go(s, me, at["Li0"]),
    }
    actions = [
        Action(label, effect, lambda s, me, label=label: here(s, me, label), {"me": [*processes]})
        for label, effect in effects.items()
    ]
    actions.append(Action("Li4b", look, lambda s, me, other: all_of(here(s, me, "Li4b"), has(s, me, other)),
                          {"me": [*processes], "other": [*processes]}))  # fmt: skip
    actions.append(Action("enter", lambda s, me: go(s, me, at["cs"]),
                          lambda s, me: all_of(here(s, me, "Li4b"), pick(s.temp, me, 0) == OF_SETS),
                          {"me": [*processes]}))  # fmt: skip

    def inside(s: Mutex) -> Truth:
        return any_of(*(one == at["cs"] for one in s.pc))

    flags = (Flag(),) * count
    return System(
        name="dijkstra", summary="The first published mutual exclusion.",
        initial=[Mutex((True,) * count, (True,) * count, k, (at["Li0"],) * count, (0,) * count) for k in processes],
        layout=Mutex(flags, flags, Range(0, count - 1), (Range(0, 12),) * count, (Range(0, 15),) * count),
        actions=actions,
        properties=[claim for me in processes for claim in _mutex_claims(at, me, inside)],
        fairness=fairness,
    )  # fmt: skip


def _mutex_claims(at: dict[str, int], me: int, inside: Any) -> list[Property]:
    away = [at[label] for label in ("Li5", "Li6", "ncs")]
    return [
        leads_to(f"DeadlockFree-{me}", "If one tries, some process enters.", lambda s: s.pc[me] == at["Li0"], inside),
        leads_to(f"DeadlockFreedom-{me}", "If one is trying, some process enters.",
                 lambda s: all_of(*(s.pc[me] != label for label in away)), inside),
        leads_to(f"StarvationFree-{me}", "If one tries, it enters.", lambda s: s.pc[me] == at["Li0"],
                 lambda s: s.pc[me] == at["cs"]),
    ]  # fmt: skip


@frozen
class Desk:
    """Readers, writers, and a queue of who waits to read (from 1 on) or to write (from one more than all actors on)."""

    readers: tuple[Truth, ...]
    writers: tuple[Truth, ...]
    waiting: tuple[Word, ...]


def readers_writers(actors: int, *fairness: Fairness) -> System:
    """Readers and writers who are served in turn."""
    each = range(actors)

    def asks(s: Desk, actor: Any, first: int) -> Truth:
        return all_of(*(one != actor + first for one in s.waiting))

    def append(s: Desk, value: Any) -> Desk:
        before = (True, *(one != 0 for one in s.waiting))
        return evolve(s, waiting=tuple(
            choose(all_of(one == 0, before[n]), value, one) for n, one in enumerate(s.waiting)
        ))  # fmt: skip

    def serve(s: Desk) -> Desk:
        head = s.waiting[0]
        return Desk(
            tuple(any_of(one, head == n + 1) for n, one in enumerate(s.readers)),
            tuple(any_of(one, head == n + 1 + actors) for n, one in enumerate(s.writers)),
            (*s.waiting[1:], 0),
        )

    def served(s: Desk) -> Truth:
        head, nobody = s.waiting[0], negate(any_of(*s.writers))
        return all_of(head != 0, nobody, any_of(head <= actors, negate(any_of(*s.readers))))

    def stop(s: Desk, actor: Any) -> Desk:
        reads = pick(s.readers, actor, False)
        return evolve(s, readers=put(s.readers, actor, False),
                      writers=put(s.writers, actor, all_of(reads, pick(s.writers, actor, False))))  # fmt: skip

    flags, who = (Flag(),) * actors, {"actor": [*each]}
    return System(
        name="readers-writers", summary="Readers and writers with a queue.",
        initial=[Desk((False,) * actors, (False,) * actors, (0,) * (2 * actors))],
        layout=Desk(flags, flags, (Range(0, 2 * actors),) * (2 * actors)),
        actions=[
            Action("try_read", lambda s, actor: append(s, actor + 1), lambda s, actor: asks(s, actor, 1), who),
            Action("try_write", lambda s, actor: append(s, actor + 1 + actors),
                   lambda s, actor: asks(s, actor, 1 + actors), who),
            Action("read_or_write", serve, served),
            Action("stop", stop, lambda s, actor: pick(s.readers, actor, False) | pick(s.writers, actor, False), who),
        ],
        properties=[
            claim for n in each for claim in (
                always_eventually(f"Reads-{n}", "It reads again.", lambda s, n=n: s.readers[n]),
                always_eventually(f"Writes-{n}", "It writes again.", lambda s, n=n: s.writers[n]),
                always_eventually(f"StopsReading-{n}", "It stops reading.", lambda s, n=n: negate(s.readers[n])),
                always_eventually(f"StopsWriting-{n}", "It stops writing.", lambda s, n=n: negate(s.writers[n])),
            )
        ],
        fairness=fairness, quiescent=lambda s: True,
    )  # fmt: skip
