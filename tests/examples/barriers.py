"""A reusable barrier made of a lock and two gates: Barrier and Barriers of the TLA+ Examples."""

from collections.abc import Callable
from typing import Any

from attrs import evolve, frozen

import kraftcheck as kc

PROCESSES = 6
ONE = {"p": range(PROCESSES)}
CRITICAL, MEETING = (2, 3, 4, 5, 8, 9, 10, 11), (3, 4, 5, 6, 7, 8)
FIRST, SECOND = range(7), range(7, 13)


@frozen
class Waiting:
    """Of each process whether it waits for the others."""

    waits: tuple[kc.Truth, ...]


BARRIER = kc.System(
    name="barrier",
    summary="A barrier: nobody leaves before all have come.",
    layout=Waiting((kc.truth(),) * PROCESSES),
    initial=[Waiting((False,) * PROCESSES)],
    actions=[
        kc.Action("arrive", lambda s, p: Waiting(kc.put(s.waits, p, True)),
                  lambda s, p: kc.negate(kc.get(s.waits, p)), ONE),
        kc.Action("leave", lambda s: Waiting((False,) * PROCESSES), lambda s: kc.all_of(*s.waits)),
    ],
    properties=[
        kc.step("all-leave-together", "nobody leaves while another is on its way", lambda t: kc.each(
            range(PROCESSES), lambda p: kc.implies(t.before.waits[p] & kc.negate(kc.all_of(*t.before.waits)),
                                                   t.after.waits[p]))),
        kc.happens("leaves", "all leave", lambda t: kc.all_of(*t.before.waits)),
    ],
)  # fmt: skip


@frozen
class Gates:
    """The label at which each process is; whether the lock is free; how many may pass each gate; who has met."""

    at: tuple[kc.Word, ...]
    free: kc.Truth
    first: kc.Word
    second: kc.Word
    met: kc.Word


def label(
    number: int, effect: Callable[[Gates], Gates] = lambda s: s, *, then: Any = None, guard: Any = None
) -> kc.Action:
    """A step of a process from a label to the next one, or to the one that `then` says."""

    def act(s: Gates, p: kc.Word) -> Gates:
        after = then(s) if then is not None else (number + 1) % 13
        return evolve(effect(s), at=kc.put(s.at, p, after))

    def enabled(s: Gates, p: kc.Word) -> kc.Truth:
        return kc.all_of(kc.get(s.at, p) == number, True if guard is None else guard(s))

    return kc.Action(f"a{number}", act, enabled, ONE)


def acquire(number: int) -> kc.Action:
    """The step that takes the lock."""
    return label(number, lambda s: evolve(s, free=False), guard=lambda s: s.free)


def how_many(s: Gates, labels: Any) -> kc.Word:
    """How many processes are at some labels."""
    return kc.count(s.at, lambda at: kc.some(labels, lambda number: at == number))


def invariant(s: Gates) -> dict[str, kc.Truth]:
    """What makes the gates correct."""
    in_first, in_second = how_many(s, FIRST), how_many(s, SECOND)
    return {
        "met counts who is between": s.met == how_many(s, MEETING),
        "one gate is closed": kc.any_of(s.first == 0, s.second == 0),
        "the first gate lets those pass who are at it": kc.any_of(s.first == 0, s.first == in_first),
        "the second gate lets those pass who are at it": kc.any_of(s.second == 0, s.second == in_second),
        "nobody comes to the first gate while another is before the second": kc.any_of(
            how_many(s, range(5)) == 0, how_many(s, range(7, 11)) == 0),
        "a process opens the first gate for all": kc.implies(
            how_many(s, [4]) > 0, kc.all_of(s.met == PROCESSES, how_many(s, [6]) == PROCESSES - 1)),
    }  # fmt: skip


BARRIERS = kc.System(
    name="barriers",
    summary="A barrier made of a lock and two gates.",
    layout=Gates((kc.ints(0, 12),) * PROCESSES, kc.truth(), *(kc.ints(0, PROCESSES),) * 3),
    initial=[Gates((0,) * PROCESSES, True, 0, 0, 0)],
    actions=[
        label(0),
        acquire(1),
        label(2, lambda s: evolve(s, met=s.met + 1)),
        label(3, then=lambda s: kc.choose(s.met == PROCESSES, 4, 5)),
        label(4, lambda s: evolve(s, first=s.first + PROCESSES)),
        label(5, lambda s: evolve(s, free=True)),
        label(6, lambda s: evolve(s, first=s.first - 1), guard=lambda s: s.first > 0),
        acquire(7),
        label(8, lambda s: evolve(s, met=s.met - 1)),
        label(9, then=lambda s: kc.choose(s.met == 0, 10, 11)),
        label(10, lambda s: evolve(s, second=s.second + PROCESSES)),
        label(11, lambda s: evolve(s, free=True)),
        label(12, lambda s: evolve(s, second=s.second - 1), guard=lambda s: s.second > 0),
    ],
    properties=[
        kc.always("lock", "at most one process has the lock", lambda s: kc.all_of(
            how_many(s, CRITICAL) <= 1, s.free == (how_many(s, CRITICAL) == 0))),
        kc.always("invariant", "the gates are correct", invariant),
        kc.happens("round", "a process starts the next round", lambda t: kc.some(
            range(PROCESSES), lambda p: kc.all_of(t.before.at[p] == 12, t.after.at[p] == 0))),
    ],
)  # fmt: skip
