"""Small drawn systems, each judged by all its states and runs: what bounded runs, k-induction and Spacer say is so."""

from __future__ import annotations

import functools
import itertools
import random
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest
import z3
from attrs import frozen

import kraftcheck as kc
from kraftcheck.model.language.layout import Flag
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.solvers.program.verdict import Holds, Incomplete, Refuted, Unknown, Verdict
from kraftcheck.solvers.smt.queries import Effort
from kraftcheck.solvers.smt.runs.bounded import check_bounded, check_inductive
from kraftcheck.solvers.smt.spacer import Horn, infer
from kraftcheck.solvers.smt.theory import Theory, theory

EFFORT = Effort(timeout=60)

NODES, BEYOND = 5, 7
"""Nodes of a state, and the largest that a step may lead to."""

Place = tuple[int, int]
"""A node, and whether the flag is up."""

PLACES: tuple[Place, ...] = tuple(itertools.product(range(NODES), (0, 1)))


@frozen
class At:
    """A node, and a flag."""

    node: Word
    flag: Truth


def among(state: At, places: Sequence[Place]) -> Truth:
    """Whether a state is one of some."""
    up = kc.any_of(*(state.node == node for node, flag in places if flag))
    return kc.choose(state.flag, up, kc.any_of(*(state.node == node for node, flag in places if not flag)))


@frozen
class Drawn:
    """A system by its steps.

    Attributes:
        initial: the places in which it begins.
        steps: by action and argument where a step leads to; a node from NODES on is outside the layout.
        capped: whether steps to there are left out on purpose.
        good: by invariant, where it holds.
        allowed: by step property, the pairs of places that it allows.
    """

    initial: Sequence[Place]
    steps: Mapping[tuple[str, int], Mapping[Place, Place]]
    capped: bool
    good: Mapping[str, Sequence[Place]]
    allowed: Mapping[str, Sequence[tuple[Place, Place]]]

    def system(self) -> kc.System:
        """As a system."""
        node = kc.ints(0, NODES - 1, cap="drawn so") if self.capped else kc.ints(0, NODES - 1)
        claims = [kc.always(name, name, functools.partial(among, places=places)) for name, places in self.good.items()]
        claims += [kc.step(name, name, functools.partial(_is_allowed, pairs=self.allowed[name]))
                   for name in self.allowed]  # fmt: skip
        return kc.System(
            name="drawn", summary="A drawn graph.", initial=[At(node, bool(flag)) for node, flag in self.initial],
            layout=At(node, Flag()), properties=claims,
            actions=[self._action(name) for name in dict.fromkeys(name for name, _ in self.steps)],
        )  # fmt: skip

    def _action(self, name: str) -> kc.Action:
        rows = [(way, place, to) for (by, way), led in self.steps.items() if by == name for place, to in led.items()]

        def here(state: At, way: Word, row: tuple[int, Place, Place]) -> Truth:
            return kc.all_of(way == row[0], among(state, [row[1]]))

        def effect(state: At, way: Word) -> At:
            after = state
            for row in rows:
                after = kc.choose(here(state, way, row), At(row[2][0], bool(row[2][1])), after)
            return after

        def guard(state: At, way: Word) -> Truth:
            return kc.any_of(*(here(state, way, row) for row in rows))

        return kc.Action(name, effect, guard, {"way": [0, 1]})

    def taken(self, place: Place) -> Iterator[Place]:
        """Where steps from a place lead to within the layout."""
        yield from (to for led in self.steps.values() if (to := led.get(place)) is not None and to[0] < NODES)

    def leaves(self, places: Sequence[Place]) -> bool:
        """Whether a step from one of some places leaves the layout, and should not."""
        return not self.capped and any(led[place][0] >= NODES for led in self.steps.values() for place in places
                                       if place in led)  # fmt: skip

    def breaks(self, claim: str, before: Place | None, after: Place) -> bool:
        """Whether a claim is false of a place, or of the step that leads to it."""
        if claim in self.good:
            return after not in self.good[claim]
        return before is not None and (before, after) not in self.allowed[claim]


def _is_allowed(step: kc.Step, pairs: Sequence[tuple[Place, Place]]) -> Truth:
    return kc.any_of(*(kc.all_of(among(step.before, [one]), among(step.after, [other])) for one, other in pairs))


def drawn(seed: int) -> Drawn:
    """A system by a seed; what its claims allow is likely, so that some hold."""
    dice = random.Random(seed)
    far = dice.choice((0.0, 0.0, 0.04))

    def to() -> Place:
        return (dice.randrange(NODES, BEYOND + 1) if dice.random() < far else dice.randrange(NODES)), dice.randrange(2)

    kinds = [(name, way) for name in ("go", "leap") for way in (0, 1)]
    steps = {one: {place: to() for place in PLACES if dice.random() < 0.3} for one in kinds}
    likely = dice.choice((0.6, 0.8, 0.9))
    good = {name: [place for place in PLACES if dice.random() < likely] for name in ("first", "second")}
    pairs = [*itertools.product(PLACES, PLACES)]
    allowed = {"third": [pair for pair in pairs if dice.random() < likely]}
    initial = [place for place in good["first"] if dice.random() < 0.3][:2] or good["first"][:1]
    return Drawn(initial, steps, dice.random() < 0.5, good, allowed)


def of(system: kc.System) -> Theory:
    """Its theory."""
    return theory(system, system.setting())


CLAIMS = ("first", "second", "third")

Runs = Sequence[tuple[Place | None, Place]]
"""The last step of runs: the place before it, none of an initial state, and the one after it."""


def searched(one: Drawn, depth: int) -> tuple[dict[str, int], int | None]:
    """The shortest run that breaks each claim, and in which step one may first leave the layout while some is open."""
    ends: Runs = [(None, place) for place in one.initial]
    found, fault = dict[str, int](), None
    for length in range(depth + 1):
        if len(found) == len(CLAIMS):
            break
        if length:
            places = [*dict.fromkeys(after for _, after in ends)]
            fault = length if fault is None and one.leaves(places) else fault
            ends = [(place, to) for place in places for to in one.taken(place)]
        broken = {claim for claim in CLAIMS if any(one.breaks(claim, *end) for end in ends)}
        found |= dict.fromkeys(broken - {*found}, length)
    return found, fault


def inductive(one: Drawn, k: int) -> dict[str, str]:
    """What k-induction says of each claim, in a word."""
    refuted, fault = searched(one, k)
    said, open_ = dict.fromkeys(refuted, "Refuted"), [claim for claim in CLAIMS if claim not in refuted]
    if fault is not None:
        return said | dict.fromkeys(open_, "Incomplete")
    while open_:
        places = [place for place in PLACES if not any(one.breaks(claim, None, place) for claim in open_)]
        ends = [(place, to) for place in places for to in one.taken(place)]
        for _ in range(k - 1):
            kept = [end for end in ends if not any(one.breaks(claim, *end) for claim in open_)]
            places = [*dict.fromkeys(after for _, after in kept)]
            ends = [(place, to) for place in places for to in one.taken(place)]
        failed = [claim for claim in open_ if any(one.breaks(claim, *end) for end in ends)]
        if not failed:
            return said | dict.fromkeys(open_, "Unknown" if one.leaves(places) else "Holds")
        said |= dict.fromkeys(failed, "Unknown")
        open_ = [claim for claim in open_ if claim not in failed]
    return said


def lengths(verdicts: Mapping[str, Verdict]) -> dict[str, int]:
    """The lengths of the counterexamples found."""
    return {claim: len(one.trace.steps) for claim, one in verdicts.items() if isinstance(one, Refuted)}


@pytest.mark.parametrize("seeds", [range(12), range(12, 24)])
def test_runs_find_and_prove_what_all_runs_say(seeds: range) -> None:
    """Each claim has the shortest counterexample that there is, or none; and by k-induction what that says of it."""
    seen = set[str]()
    for seed in seeds:
        one, k = drawn(seed), 1 + seed % 3
        subject = of(one.system())
        found = check_bounded(subject, CLAIMS, 3, EFFORT, threading.Event())
        wanted, fault = searched(one, 3)
        assert lengths(found) == wanted, seed
        for claim in {*CLAIMS} - {*wanted}:
            told = found[claim]
            assert isinstance(told, Incomplete)
            assert (f"may leave its domain in step {fault}:" in told.cut) == (fault is not None)
            assert told.cut.startswith(f"no counterexample of at most {3 if fault is None else fault - 1} steps")
        proven = check_inductive(subject, CLAIMS, k, EFFORT, threading.Event())
        said = {claim: type(verdict).__name__ for claim, verdict in proven.items()}
        assert said == inductive(one, k), (seed, k)
        seen |= {*said.values()}
    assert seen >= {"Holds", "Refuted", "Unknown"}


def reached(one: Drawn) -> set[Place]:
    """All places that runs reach."""
    found, pending = {*one.initial}, [*one.initial]
    while pending:
        fresh = {*one.taken(pending.pop())} - found
        found |= fresh
        pending += fresh
    return found


def bits_of(horn: Horn, places: Sequence[Place]) -> Any:
    """That the bits of a state are those of one of some places."""
    rows = [[*(node >> at & 1 for at in range(len(horn.bits) - 1)), flag] for node, flag in places]
    each = [[bit == z3.BoolVal(bool(value)) for bit, value in zip(horn.bits, row, strict=True)] for row in rows]
    return z3.Or(z3.BoolVal(False), *(z3.And(*one) for one in each))


def test_a_strengthening_is_confirmed_just_where_it_is_one() -> None:
    """It has the initial states, no step leads out of it or leaves the layout from it, and the claim holds in it."""
    said = {True: 0, False: 0}
    for seed in range(24):
        one, dice = drawn(seed), random.Random(seed)
        horn, closed = Horn(of(one.system()), "first"), reached(one)
        tries = [[*closed], [*closed][1:], [*closed, dice.choice(PLACES)], one.good["first"]]
        for places in tries:
            wanted = (
                {*one.initial} <= {*places} <= {*one.good["first"]}
                and all(to in places for place in places for to in _all_from(one, place))
                and not one.leaves(places)
            )
            assert horn.confirms(bits_of(horn, places), EFFORT) == wanted, (seed, places)
            said[wanted] += 1
    assert min(said.values()) > 5


def _all_from(one: Drawn, place: Place) -> Iterator[Place]:
    """Where steps lead to, those beyond a cap too: Spacer's states are bits."""
    yield from (led[place] for led in one.steps.values() if place in led)


def test_spacer_proves_just_what_holds() -> None:
    """Where steps stay in the layout it proves each invariant that holds, and none that fails or is left."""
    said = set[bool]()
    for seed in range(12):
        one = drawn(seed)
        holds = reached(one) <= {*one.good["second"]} and not one.leaves([*reached(one)])
        found = infer(of(one.system()), "second", EFFORT).verdict
        if one.capped and any(to[0] >= NODES for led in one.steps.values() for to in led.values()):
            assert holds or isinstance(found, Unknown), seed
            continue
        assert isinstance(found, Holds if holds else Unknown), seed
        said.add(holds)
    assert said == {True, False}
