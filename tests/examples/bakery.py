"""Mutual exclusion by numbers drawn (Lamport 1974): Bakery of the TLA+ Examples, and MCBakery, from its invariant."""

import enum
from collections.abc import Callable
from typing import Any

from attrs import evolve, frozen

import kraftcheck as kc

PROCESSES, MOST = 2, 2
EVERYONE, NUMBERS = range(PROCESSES), range(MOST + 1)
SELF = {"p": EVERYONE}
OTHER = {**SELF, "i": EVERYONE}
NUMBER = {**SELF, "k": NUMBERS}


class At(kc.Enum):
    """The labels of the algorithm."""

    NCS = enum.auto()
    E1 = enum.auto()
    E2 = enum.auto()
    E3 = enum.auto()
    E4 = enum.auto()
    W1 = enum.auto()
    W2 = enum.auto()
    CS = enum.auto()
    EXIT = enum.auto()


@frozen
class Bakery:
    """Of each process: its label, its number, the largest seen, whom it has not checked, its flag, whom it checks."""

    at: tuple[kc.Word, ...]
    num: tuple[kc.Word, ...]
    most: tuple[kc.Word, ...]
    unchecked: tuple[kc.IntSet, ...]
    flag: tuple[kc.Truth, ...]
    nxt: tuple[kc.Word, ...]


def goes(s: Bakery, p: kc.Word, place: At, **values: Any) -> Bakery:
    """A process is at a label, and has new values of its own."""
    return evolve(s, at=kc.put(s.at, p, place),
                  **{name: kc.put(getattr(s, name), p, value) for name, value in values.items()})  # fmt: skip


def draws(s: Bakery, p: kc.Word, place: At, **values: Any) -> Bakery:
    """The same, and it has all others to check."""
    return goes(s, p, place, unchecked=kc.IntSet.of(EVERYONE).minus(s.unchecked[0].just(p)), **values)


def checked(s: Bakery, p: kc.Word, i: kc.Word) -> kc.IntSet:
    """Whom a process has not checked, after it checked one more."""
    return kc.get(s.unchecked, p).minus(s.unchecked[0].just(i))


def is_at(s: Bakery, p: kc.Word, *places: At) -> kc.Truth:
    """Whether a process is at one of some labels."""
    own = kc.get(s.at, p)
    return kc.any_of(*(own == place for place in places))


def precedes(s: Bakery, i: kc.Word, j: kc.Word) -> kc.Truth:
    """Whether a process comes before another: by its number, and by its name where the numbers are equal."""
    mine, other = kc.get(s.num, i), kc.get(s.num, j)
    return kc.any_of(mine < other, kc.all_of(mine == other, i < j))


def ties(s: Bakery, i: kc.Word, j: kc.Word) -> kc.Truth:
    """A mistake: of two processes with equal numbers each comes before the other."""
    return kc.get(s.num, i) <= kc.get(s.num, j)


def before(s: Bakery, i: int, j: int) -> kc.Truth:
    """The specification's Before: if the second one draws a number now, it is behind the first one."""
    seen = s.most[j] >= s.num[i]
    return kc.all_of(s.num[i] > 0, kc.any_of(
        is_at(s, j, At.NCS, At.E1, At.EXIT),
        kc.all_of(is_at(s, j, At.E2), kc.any_of(s.unchecked[j].has(i), seen)),
        kc.all_of(is_at(s, j, At.E3), seen),
        kc.all_of(is_at(s, j, At.E4, At.W1, At.W2), precedes(s, i, j),
                  kc.implies(is_at(s, j, At.W1, At.W2), s.unchecked[j].has(i))),
    ))  # fmt: skip


def inductive(s: Bakery) -> dict[str, kc.Truth]:
    """The specification's IInv, which every step keeps, by its conjuncts."""

    def of_all(claim: Callable[[int], kc.Truth]) -> kc.Truth:
        return kc.each(EVERYONE, claim)

    def behind(i: int) -> kc.Truth:
        it = s.nxt[i]
        looked = kc.all_of(is_at(s, it, At.E2), kc.negate(kc.get(s.unchecked, it).has(i)))
        return kc.implies(kc.all_of(is_at(s, i, At.W2), kc.any_of(looked, is_at(s, it, At.E3))),
                          kc.get(s.most, it) >= s.num[i])  # fmt: skip

    def settled(i: int) -> kc.Truth:
        return kc.each(EVERYONE, lambda j: j == i or kc.implies(kc.negate(s.unchecked[i].has(j)), before(s, i, j)))

    waits = {i: is_at(s, i, At.W1, At.W2) for i in EVERYONE}
    return {
        "a number": of_all(lambda i: kc.implies(is_at(s, i, At.E4, At.W1, At.W2, At.CS), s.num[i] != 0)),
        "a flag": of_all(lambda i: kc.implies(is_at(s, i, At.E2, At.E3), s.flag[i])),
        "checks another": of_all(lambda i: kc.implies(is_at(s, i, At.W2), s.nxt[i] != i)),
        "not itself": of_all(lambda i: kc.implies(waits[i], kc.negate(s.unchecked[i].has(i)))),
        "before those checked": of_all(lambda i: kc.implies(waits[i], settled(i))),
        "before who is next": of_all(behind),
        "before all": of_all(lambda i: kc.implies(
            is_at(s, i, At.CS), kc.each(EVERYONE, lambda j: j == i or before(s, i, j)))),
    }  # fmt: skip


def entry() -> list[kc.Action]:
    """From the noncritical section to a number."""
    return [
        kc.Action("ncs", lambda s, p: goes(s, p, At.E1), lambda s, p: is_at(s, p, At.NCS), SELF),
        kc.Action("e1_flip", lambda s, p: goes(s, p, At.E1, flag=kc.negate(kc.get(s.flag, p))),
                  lambda s, p: is_at(s, p, At.E1), SELF),
        kc.Action("e1", lambda s, p: draws(s, p, At.E2, flag=True, most=0), lambda s, p: is_at(s, p, At.E1), SELF),
        kc.Action("e2_check", lambda s, p, i: goes(s, p, At.E2, unchecked=checked(s, p, i),
                                                   most=kc.maximum(kc.get(s.most, p), kc.get(s.num, i))),
                  lambda s, p, i: kc.all_of(is_at(s, p, At.E2), kc.get(s.unchecked, p).has(i)), OTHER),
        kc.Action("e2", lambda s, p: goes(s, p, At.E3),
                  lambda s, p: kc.all_of(is_at(s, p, At.E2), kc.get(s.unchecked, p).is_empty()), SELF),
        kc.Action("e3_write", lambda s, p, k: goes(s, p, At.E3, num=k), lambda s, p, k: is_at(s, p, At.E3), NUMBER),
        kc.Action("e3", lambda s, p, k: goes(s, p, At.E4, num=k),
                  lambda s, p, k: kc.all_of(is_at(s, p, At.E3), k > kc.get(s.most, p)), NUMBER),
        kc.Action("e4_flip", lambda s, p: goes(s, p, At.E4, flag=kc.negate(kc.get(s.flag, p))),
                  lambda s, p: is_at(s, p, At.E4), SELF),
        kc.Action("e4", lambda s, p: draws(s, p, At.W1, flag=False), lambda s, p: is_at(s, p, At.E4), SELF),
    ]  # fmt: skip


def waiting(order: Callable[[Bakery, kc.Word, kc.Word], kc.Truth]) -> list[kc.Action]:
    """From a number to the critical section and out of it; the order says who comes before whom."""

    def may_pass(s: Bakery, p: kc.Word) -> kc.Truth:
        other = kc.get(s.nxt, p)
        return kc.all_of(is_at(s, p, At.W2), kc.any_of(kc.get(s.num, other) == 0, order(s, p, other)))

    return [
        kc.Action("w1_check", lambda s, p, i: goes(s, p, At.W2, nxt=i), lambda s, p, i: kc.all_of(
            is_at(s, p, At.W1), kc.get(s.unchecked, p).has(i), kc.negate(kc.get(s.flag, i))), OTHER),
        kc.Action("w1", lambda s, p: goes(s, p, At.CS),
                  lambda s, p: kc.all_of(is_at(s, p, At.W1), kc.get(s.unchecked, p).is_empty()), SELF),
        kc.Action("w2", lambda s, p: goes(s, p, At.W1, unchecked=checked(s, p, kc.get(s.nxt, p))), may_pass, SELF),
        kc.Action("cs", lambda s, p: goes(s, p, At.EXIT), lambda s, p: is_at(s, p, At.CS), SELF),
        kc.Action("exit_write", lambda s, p, k: goes(s, p, At.EXIT, num=k),
                  lambda s, p, k: is_at(s, p, At.EXIT), NUMBER),
        kc.Action("exit", lambda s, p: goes(s, p, At.NCS, num=0), lambda s, p: is_at(s, p, At.EXIT), SELF),
    ]  # fmt: skip


NEW = Bakery((At.NCS,) * 2, (0,) * 2, (0,) * 2, (kc.IntSet(),) * 2, (False,) * 2, (0,) * 2)
"""The specification's Init."""


def bakery(initial: Any, order: Any = precedes) -> kc.System:
    """The algorithm of two processes with numbers up to 2, from some initial states."""
    number = kc.ints(0, MOST)
    return kc.System(
        name="bakery",
        summary="Mutual exclusion by numbers drawn.",
        layout=Bakery((At.domain(),) * PROCESSES, (number,) * PROCESSES, (number,) * PROCESSES,
                      (kc.IntSet(kc.subset_of(PROCESSES)),) * PROCESSES, (kc.truth(),) * PROCESSES,
                      (kc.ints(0, PROCESSES - 1),) * PROCESSES),
        initial=initial,
        actions=[*entry(), *waiting(order)],
        properties=[
            kc.always("mutual-exclusion", "at most one process is in its critical section",
                      lambda s: kc.count(EVERYONE, lambda p: is_at(s, p, At.CS)) <= 1),
            kc.always("inductive", "the invariant of the proof", inductive),
            kc.sometimes("critical", "a process is in its critical section while another waits",
                         lambda s: kc.all_of(is_at(s, 0, At.CS), is_at(s, 1, At.W2))),
        ],
        quiescent=lambda s: True,
    )  # fmt: skip


BAKERY, INDUCTIVE_BAKERY = bakery([NEW]), bakery(kc.all_where(inductive))
TIED, INDUCTIVE_TIED = bakery([NEW], ties), bakery(kc.all_where(inductive), ties)
"""With the mistake, TLC counts 2,429 states where `w2` of Bakery.tla is changed in the same way."""
