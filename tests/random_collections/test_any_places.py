"""Any number is any finite number: what is proven for it is not refuted with 0 .. 6, the last of them included."""

from __future__ import annotations

import functools
import random
import time
from collections.abc import Callable
from typing import Any

import pytest
from attrs import evolve, frozen

import kraftcheck as kc
from kraftcheck.model.language.symbolic import UntraceableRule
from kraftcheck.model.language.system import ANY
from kraftcheck.solvers.exploration.explore import explore
from kraftcheck.solvers.program.trace import trace
from kraftcheck.solvers.program.verdict import Refuted
from kraftcheck.solvers.smt.induction import prove
from kraftcheck.solvers.smt.queries import Effort
from kraftcheck.solvers.smt.theory import theory

NOBODY = -1


@frozen
class Race:
    """Who runs, how far, who is in front, and how often each of two has met."""

    runners: Any
    level: Any
    met: Any
    top: kc.Word


def race(claim: Callable[[Any], Any], least: int = 0, *, step: bool = False) -> kc.System:
    """Any number of runners, of whom one may be in front, with a claim."""

    def ahead(state: Race, who: kc.Word) -> Race:
        return evolve(state, level=kc.put(state.level, who, kc.minimum(3, kc.get(state.level, who) + 1)))

    def initial(setting: kc.Setting) -> list[Any]:
        none = {"nobody": lambda s: s.runners.is_empty(), "no level": lambda s: kc.each(
            kc.keys(s.level), lambda i: kc.get(s.level, i) == 0)}  # fmt: skip
        rule = kc.all_where(lambda s: {**{name: holds(s) for name, holds in none.items()}, "none in front": s.top < 0,
            "none met": kc.each(kc.keys(s.met), lambda i: kc.each(kc.keys(kc.get(s.met, i)),
                lambda j: kc.get(s.met, i, j) == 0))})  # fmt: skip
        n = setting["runners"]
        return [rule] if n == ANY else [Race(kc.IntSet(), (0,) * n, ((0,) * n,) * n, NOBODY)]

    def actions(setting: kc.Setting) -> list[kc.Action]:
        who = {"who": kc.numbers_below(setting["runners"])}
        return [
            kc.Action("join", lambda s, who: evolve(s, runners=s.runners.plus(s.runners.just(who))), parameters=who),
            kc.Action("run", ahead, lambda s, who: s.runners.has(who), parameters=who),
            kc.Action("lead", lambda s, who: evolve(s, top=who), lambda s, who: s.runners.has(who), parameters=who),
            kc.Action("stop", lambda s: evolve(s, top=NOBODY)),
        ]

    def layout(setting: kc.Setting) -> Race:
        n = setting["runners"]
        met = kc.map_below(n, kc.map_below(n, kc.ints(0, 0)))
        return Race(kc.set_below(n), kc.map_below(n, kc.ints(0, 3)), met, kc.word_below(n, NOBODY))

    made = kc.step if step else kc.always
    return kc.System(
        name="race", summary="Runners.", layout=layout, initial=initial, actions=actions,
        bounds=[kc.Bound("runners", least, 6, "how many run", takes_any=True)], scopes={"default": {"runners": 2}},
        properties=[made("claim", "it is claimed", claim)], quiescent=lambda state: True,
    )  # fmt: skip


def is_proven(system: kc.System, number: int = ANY) -> bool:
    """Whether the claim is proven for any number, or for one."""
    of = theory(system, system.setting(None, {"runners": number}, proof=True))
    proof = prove(lambda: of, effort=Effort(timeout=2), clock=time.monotonic)
    return proof.proven("claim")


def refuting(system: kc.System, numbers: range) -> list[int]:
    """The numbers with which a search refutes the claim."""
    found = []
    for number in numbers:
        explored = explore(trace(system, system.setting(None, {"runners": number})), clock=lambda: 0.0)
        found += [number for one in explored.verdicts if one.claim == "claim" and isinstance(one.verdict, Refuted)]
    return found


def few(state: Race, number: int) -> Any:
    """Whether fewer than a number run, so that no claim about more is broken by the first of a search."""
    return state.runners.size() < number


def who_leads_runs(state: Race) -> Any:
    """What is true and inductive, so that a claim beside which nothing else is left says something."""
    return kc.any_of(state.top < 0, state.runners.has(state.top))


WRONG = {
    "beyond the domain": lambda s: kc.get(s.level, s.top, otherwise=5) <= 3,
    "below the domain": lambda s: kc.get(s.level, s.top, otherwise=-4) >= 0,
    "in a record of maps": lambda s: kc.get(s.met, s.top, 0, otherwise=7) <= 0,
    "at a place that is given": lambda s: kc.get(s.level, NOBODY, otherwise=5) <= 3,
    "at a place by a condition": lambda s: kc.get(
        s.level, kc.choose(few(s, 6), s.top, NOBODY), otherwise=5) <= 3,
    "at the first of a set": lambda s: kc.get(s.level, s.runners.minus(s.runners).first(), otherwise=5) <= 3,
    "before the first": lambda s: kc.get(s.level, s.top - 1, otherwise=5) <= 3,
    "at the number": lambda s: kc.get(s.level, s.top + 1, otherwise=5) <= 3,
    "at a number that is given": lambda s: kc.get(s.level, 4, otherwise=5) <= 3,
    "at a word of few values": lambda s: kc.get(s.level, kc.get(s.level, s.top, otherwise=0), otherwise=5) <= 3,
    "at the second place": lambda s: kc.get(s.met, s.top, s.top + 1, otherwise=5) <= 3,
    "by a condition": lambda s: kc.get(s.level, kc.choose(s.top < 0, 7, s.top), otherwise=5) <= 3,
    "somebody is behind": lambda s: kc.some(kc.keys(s.level), lambda k: k > s.top),
}  # fmt: skip
"""Claims that are false with six who run."""


@pytest.mark.parametrize("wrong", WRONG.values(), ids=list(WRONG))
def test_the_value_for_places_outside_counts_for_any_number(wrong: Callable[[Any], Any]) -> None:
    """A claim that the value for places outside breaks is refuted with six, and not proven for any number."""
    system = race(lambda s: kc.all_of(who_leads_runs(s), kc.any_of(few(s, 2), wrong(s))), 1)
    assert refuting(system, range(2, 3)) == [2]
    assert not is_proven(system)


def test_the_value_for_places_outside_counts_in_steps() -> None:
    """A claim about steps that the value for places outside breaks is not proven for any number."""
    system = race(lambda step: kc.all_of(
        kc.any_of(step.after.top == step.before.top, step.after.runners.same(step.before.runners)),
        kc.get(step.after.level, step.after.top, otherwise=5) <= 3), step=True)  # fmt: skip
    assert refuting(system, range(1, 2)) == [1]
    assert not is_proven(system)


RIGHT = {
    "otherwise": lambda s: kc.get(s.level, s.top, otherwise=3) <= 3,
    "otherwise, and it is that": lambda s: kc.any_of(s.top >= 0, kc.get(s.level, s.top, otherwise=5) == 5),
    "a place in a branch": lambda s: kc.get(s.level, kc.choose(s.top < 0, 0, s.top), otherwise=5) <= 3,
    "two": lambda s: kc.get(s.met, s.top, s.top, otherwise=0) == 0,
    "put at the number": lambda s: kc.get(kc.put(s.level, s.top + 1, 3), s.top, otherwise=0) <= 3,
    "the front is one of them": lambda s: kc.any_of(s.top < 0, kc.some(kc.keys(s.level), lambda k: k == s.top)),
    "at the number": lambda s: kc.any_of(
        kc.some(kc.keys(s.level), lambda k: k == s.top + 1), kc.get(s.level, s.top + 1, otherwise=5) == 5),
    "runners are some of them": lambda s: kc.each(
        s.runners, lambda who: kc.some(kc.keys(s.level), lambda k: k == who)),
}


@pytest.mark.parametrize("right", RIGHT.values(), ids=list(RIGHT))
def test_what_is_true_of_places_outside_is_proven(right: Callable[[Any], Any]) -> None:
    """What holds of places outside with each number is proven for any number."""
    system = race(right, 1)
    assert is_proven(system)
    assert refuting(system, range(1, 4)) == []


@pytest.mark.parametrize("name", ["the front is one of them", "runners are some of them"])
def test_domains_of_any_number_end_at_it(name: str) -> None:
    """Words and members of any number are one of that number in every state, whatever is said of the initial ones."""
    system = race(RIGHT[name], 1)
    assert is_proven(evolve(system, initial=lambda setting: [kc.all_where(lambda s: {"any front": s.top >= NOBODY})]))


def test_a_word_below_any_number_stays_there() -> None:
    """A word that a step may take to the number is a fault: nothing is proven, as with each number."""
    system = race(who_leads_runs, 1)
    ahead = kc.Action("ahead", lambda s: evolve(s, top=s.top + 1), lambda s: s.runners.has(s.top + 1))
    beyond = evolve(ahead, guard=lambda s: s.top >= 0)
    counted = kc.Action("count", lambda s: evolve(s, top=s.runners.size()), lambda s: s.top >= 0)
    for action, wrong in ((ahead, []), (beyond, ["top"]), (counted, ["top"])):
        of = theory(evolve(system, actions=lambda setting, one=action: [*system.actions(setting), one]),
                    system.setting(None, {"runners": ANY}, proof=True))  # fmt: skip
        proof = prove(lambda of=of: of, effort=Effort(timeout=10), clock=time.monotonic)
        assert proof.faults() == wrong


OUTSIDE = {
    "below": lambda s: kc.get(s.level, s.top) <= 3,
    "at the number": lambda s: kc.get(s.level, kc.maximum(0, s.top + 1)) <= 3,
    "at a number that is given": lambda s: kc.get(s.level, 4) <= 3,
    "at the second place": lambda s: kc.get(s.met, 0, kc.maximum(0, s.top + 1)) <= 3,
    "by a condition": lambda s: kc.get(s.level, kc.choose(s.top < 0, 7, s.top)) <= 3,
}


@pytest.mark.parametrize("claim", OUTSIDE.values(), ids=list(OUTSIDE))
def test_a_place_that_may_be_no_number_is_refused(claim: Callable[[Any], Any]) -> None:
    """A place that may be below all numbers, or at or beyond their count, is refused without a value for it."""
    with pytest.raises(UntraceableRule, match="of a map of any number"):
        is_proven(race(claim, 1))


Drawn = Callable[[Any], Any]

PLACES: list[Drawn] = [
    lambda s: s.top, lambda s: s.top - 1, lambda s: s.top + 1, lambda s: s.runners.first(), lambda s: NOBODY,
    lambda s: 0, lambda s: 2, lambda s: kc.choose(s.runners.has(s.top), s.top, NOBODY),
    lambda s: kc.choose(s.top < 0, s.top, NOBODY),
]  # fmt: skip
"""Places that may be the last, and what is before the first and behind the last."""


def drawn_truth(some: random.Random) -> Drawn:
    """A truth about a place, about each or some of all numbers, or about each or some of those who run."""
    place, limit, otherwise = some.choice(PLACES), some.choice((0, 1, 3, 5)), some.choice((-4, 0, 1, 3, 5))
    below, each, among = some.random() < 0.7, some.random() < 0.5, some.choice(("runners", "level"))

    def at_place(s: Race) -> Any:
        read = kc.get(s.level, place(s), otherwise=otherwise)
        return read <= limit if below else read >= limit

    def of_member(s: Race, k: kc.Word, at: kc.Word) -> Any:
        compared = (k == at, k <= at, k > at, s.runners.has(k), kc.get(s.level, k) <= limit)[kind]
        return compared if below else kc.negate(compared)

    def of_members(s: Race) -> Any:
        items, at = s.runners if among == "runners" else kc.keys(s.level), place(s)
        return (kc.each if each else kc.some)(items, lambda k: of_member(s, k, at))

    kind = some.randrange(5)
    return of_members if some.random() < 0.7 else at_place


def drawn_race(some: random.Random) -> kc.System:
    """Runners with a claim and an action, whose guard may ask whether somebody is behind, or is the last."""
    guard, truth, number = drawn_truth(some), drawn_truth(some), some.choice((0, 1, 2, 3))
    premise = drawn_truth(some) if some.random() < 0.4 else None

    def claim(state: Race) -> Any:
        said = truth(state) if premise is None else kc.implies(premise(state), truth(state))
        return kc.all_of(who_leads_runs(state), kc.any_of(few(state, number), said))

    def empties(state: Race) -> Race:
        return evolve(state, runners=state.runners.none(), top=NOBODY, level=kc.put(state.level, state.top + 1, 3))

    system = race(claim)
    return evolve(system, actions=lambda setting: [*system.actions(setting), kc.Action("empty", empties, guard)])


@functools.cache
def drawn_races(count: int) -> list[tuple[kc.System, bool]]:
    """So many systems, and whether the claim of each is proven for any number."""
    some = random.Random("places outside")
    systems = [drawn_race(some) for _ in range(count)]
    return [(system, is_proven(system)) for system in systems]


def test_what_is_proven_of_drawn_places_holds_with_few() -> None:
    """What is proven for any number is not refuted with 0 .. 3, and is proven there; other claims are refuted."""
    drawn = drawn_races(16)
    proven, others = ([system for system, is_one in drawn if is_one is wanted] for wanted in (True, False))
    assert min(len(proven), len(others)) > 2
    assert [refuting(system, range(4)) for system in proven] == [[]] * len(proven)
    assert all(is_proven(system, 2) for system in proven)
    assert sum(bool(refuting(system, range(3))) for system in others) > 2


@pytest.mark.slow
def test_what_is_proven_of_many_drawn_places_holds_with_few() -> None:
    """The same of many systems, with 0 .. 6."""
    proven = [system for system, is_one in drawn_races(300) if is_one]
    assert len(proven) > 30
    assert [refuting(system, range(7)) for system in proven] == [[]] * len(proven)
    assert all(is_proven(system, number) for system in proven for number in range(1, 7))
