"""Places outside a map of any number: what is proven of them for any number is not refuted with 0 .. 6."""

from __future__ import annotations

import functools
import random
import time
from collections.abc import Callable
from typing import Any

import pytest
from attrs import evolve, frozen

import kraftcheck as kc
from kraftcheck.model.language.bound import ANY
from kraftcheck.model.language.untraceable import UntraceableRule
from kraftcheck.solvers.program.trace import trace
from kraftcheck.solvers.program.verdict import Refuted
from kraftcheck.solvers.search.explore import explore
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


def is_proven(system: kc.System) -> bool:
    """Whether the claim is proven for any number."""
    of = theory(system, system.setting(None, {"runners": ANY}, proof=True))
    proof = prove(lambda: of, effort=Effort(timeout=10), clock=time.monotonic)
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
}


@pytest.mark.parametrize("right", RIGHT.values(), ids=list(RIGHT))
def test_what_is_true_of_places_outside_is_proven(right: Callable[[Any], Any]) -> None:
    """What holds of places outside with each number is proven for any number."""
    system = race(right, 1)
    assert is_proven(system)
    assert refuting(system, range(1, 4)) == []


OUTSIDE = {
    "below, without a value": lambda s: kc.get(s.level, s.top) <= 3,
    "at the number": lambda s: kc.get(s.level, s.top + 1, otherwise=5) <= 3,
    "at a number that is given": lambda s: kc.get(s.level, 4, otherwise=5) <= 3,
    "at a word of few values": lambda s: kc.get(s.level, kc.get(s.level, s.top, otherwise=0), otherwise=5) <= 3,
    "at the second place": lambda s: kc.get(s.met, s.top, s.top + 1, otherwise=5) <= 3,
    "by a condition": lambda s: kc.get(s.level, kc.choose(s.top < 0, 7, s.top), otherwise=5) <= 3,
    "put at the number": lambda s: kc.get(kc.put(s.level, s.top + 1, 3), s.top, otherwise=0) <= 3,
}


@pytest.mark.parametrize("claim", OUTSIDE.values(), ids=list(OUTSIDE))
def test_a_place_that_may_be_no_number_is_refused(claim: Callable[[Any], Any]) -> None:
    """A place that may be below all numbers without a value for it, or at or beyond their count, is refused."""
    with pytest.raises(UntraceableRule, match="of a map of any number"):
        is_proven(race(claim, 1))


def drawn_claim(some: random.Random) -> Callable[[Any], Any]:
    """A claim about a place that may be outside, with a value for it that may be one of the domain."""
    places: list[Callable[[Race], Any]] = [
        lambda s: s.top, lambda s: s.top - 1, lambda s: s.runners.first(), lambda s: NOBODY,
        lambda s: kc.choose(s.runners.has(s.top), s.top, NOBODY), lambda s: kc.choose(s.top < 0, s.top, NOBODY),
    ]  # fmt: skip
    place, otherwise, limit = some.choice(places), some.choice((-4, 0, 1, 3, 5)), some.choice((0, 1, 3, 5))
    number, below = some.choice((0, 1, 2, 3)), some.random() < 0.7

    def claim(state: Race) -> Any:
        read = kc.get(state.level, place(state), otherwise=otherwise)
        said = read <= limit if below else read >= limit
        return kc.all_of(who_leads_runs(state), kc.any_of(few(state, number), said, some_runs(state)))

    kept = some.random() < 0.5
    some_runs: Callable[[Race], Any] = (lambda s: s.runners.has(s.top)) if kept else (lambda s: False)
    return claim


@functools.cache
def proven_claims(count: int) -> list[kc.System]:
    """Those of so many systems that are proven for any number."""
    some = random.Random("places outside")
    systems = [race(drawn_claim(some)) for _ in range(count)]
    return [system for system in systems if is_proven(system)]


def test_what_is_proven_of_drawn_places_holds_with_few() -> None:
    """What is proven for any number is not refuted with 0 .. 4; some claims are proven, and some are not."""
    count = 40
    proven = proven_claims(count)
    assert 5 < len(proven) < count - 5
    assert [refuting(system, range(5)) for system in proven] == [[]] * len(proven)
