"""Draws small systems: steps between a few places, and claims about places and steps, known one by one."""

import functools
import itertools
import random
from collections.abc import Iterator, Mapping, Sequence

from attrs import frozen

import kraftcheck as kc
from kraftcheck.model.language.layout import Flag
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.solvers.smt.theory import Theory, theory

NODES, BEYOND = 5, 7  # nodes of a state, and the largest that a step may lead to

Place = tuple[int, int]  # a node, and whether the flag is up

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
    """A system by its steps."""

    initial: Sequence[Place]  # the places in which it begins
    # by action and argument where a step leads to; a node from NODES on is outside the layout
    steps: Mapping[tuple[str, int], Mapping[Place, Place]]
    capped: bool  # whether steps to there are left out on purpose
    good: Mapping[str, Sequence[Place]]  # by invariant, where it holds
    allowed: Mapping[str, Sequence[tuple[Place, Place]]]  # by step property, the pairs of places that it allows

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


def reached(one: Drawn) -> set[Place]:
    """All places that runs reach."""
    found, pending = {*one.initial}, [*one.initial]
    while pending:
        fresh = {*one.taken(pending.pop())} - found
        found |= fresh
        pending += fresh
    return found
