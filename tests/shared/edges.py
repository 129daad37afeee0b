"""Toys at the edges of what engines pack, compile and search, and a search on ints that shares nothing with them."""

from typing import Any

from attrs import evolve, frozen

from kraftcheck.model.language.layout import Flag, Range
from kraftcheck.model.language.system import Action, Property, System
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import all_of, any_of, choose, negate
from kraftcheck.solvers.program.verdict import DEADLOCK
from kraftcheck.solvers.reference.interpreter import Integers, Move

SIDE = 41  # places on each side of the grid


@frozen
class Spot:
    """A place on a grid, between words that stay and fill the rest of two 64-bit words."""

    left: Word
    x: Word
    y: Word
    right: Word


@frozen
class Leap:
    """How far a step goes."""

    x: Word
    y: Word


LEAPS = (1, 3, 9, 27)


def grid(x_first: bool) -> System:
    """A walk in leaps in all four directions; states differ in the second word, or (`x_first`) by x in the first."""
    low, high = (8, 60) if x_first else (60, 8)

    def moved(state: Spot, dx: Word, dy: Word) -> Spot:
        return evolve(state, x=state.x + dx, y=state.y + dy)

    def inside(state: Spot, dx: Word, dy: Word) -> Truth:
        return all_of(state.x + dx >= 0, state.x + dx < SIDE, state.y + dy >= 0, state.y + dy < SIDE)

    def step(name: str, dx: int, dy: int) -> Action:
        return Action(
            name,
            lambda s, d: moved(s, d.x, d.y),
            lambda s, d: inside(s, d.x, d.y),
            {"d": [Leap(dx * by, dy * by) for by in LEAPS]},
        )

    ways = [step("east", 1, 0), step("west", -1, 0), step("south", 0, 1), step("north", 0, -1)]
    return System(
        name=f"grid-{'x' if x_first else 'y'}",
        summary="A walk in leaps on a square grid.",
        initial=lambda setting: [Spot(5, 0, 0, 3)],
        layout=lambda setting: Spot(Range(0, (1 << low) - 1), Range(0, SIDE - 1),
                                    Range(0, SIDE - 1), Range(0, (1 << high) - 1)),
        actions=lambda setting: ways,
        properties=lambda setting: [
            Property("corner", "sometimes", "The far corner is visited.",
                     lambda s: all_of(s.x == SIDE - 1, s.y == SIDE - 1)),
        ],
    )  # fmt: skip


@frozen
class Milestone:
    """A place on a road."""

    at: Word


ROAD_LENGTH, STRIDES = 30_000, (1, 10, 100, 1_000, 10_000)

ROAD = System(
    name="road",
    summary="A walk in strides over so many places that tables grow; from each the first ones are met again.",
    initial=lambda setting: [Milestone(0)],
    layout=lambda setting: Milestone(Range(0, ROAD_LENGTH - 1)),
    actions=lambda setting: [
        Action("walk", lambda s, by: Milestone(s.at + by),
               lambda s, by: all_of(s.at + by >= 0, s.at + by < ROAD_LENGTH),
               {"by": [*STRIDES, *(-stride for stride in STRIDES)]}),
        Action("return", lambda s, to: Milestone(to), lambda s, to: negate(s.at == to), {"to": [0, *STRIDES]}),
    ],
)  # fmt: skip


@frozen
class Level:
    """A level, and a lamp beside it."""

    height: Word
    lit: Truth


LIFT = System(
    name="lift",
    summary="A lift that would leave its shaft by one floor at either end, and a lamp.",
    initial=lambda setting: [Level(1, False)],
    layout=lambda setting: Level(Range(-2, 3), Flag()),
    actions=lambda setting: [
        Action("up", lambda s, by: evolve(s, height=s.height + by), parameters={"by": [0, 1]}),
        Action("down", lambda s: evolve(s, height=s.height - 1)),
        Action("switch", lambda s: evolve(s, lit=negate(s.lit))),
    ],
    properties=lambda setting: [
        Property(
            "above-bottom",
            "always",
            "It is never at the bottom.",
            lambda s: {"above": s.height > -2, "below the roof": s.height < 9 - choose(s.lit, 1, 0)},
        ),
        Property(
            "dark",
            "always",
            "It is never lit.",
            lambda s: {"below the roof": s.height < 9 - choose(s.lit, 1, 0), "dark": negate(s.lit)},
        ),
        Property("rises", "step", "It does not fall.", lambda t: t.before.height <= t.after.height),
        Property("switches", "step", "The lamp stays.", lambda t: t.before.lit == t.after.lit),
        Property("goes-out", "happens", "The lamp goes out.", lambda t: all_of(t.before.lit, negate(t.after.lit))),
        Property("top", "sometimes", "It is at the top.", lambda s: s.height == 3),
    ],
)
"""The state that is packed as 0 is not initial, and is reached; each claim but the goals is broken."""


@frozen
class Room:
    """A room by number, and whether the last door was locked."""

    number: Word
    locked: Truth


DOORS = 131  # more instances of one action than two masks of 64 hold, and no multiple of 64

BRICKED_UP = 12

ROOMS = tuple((number * 37) % DOORS for number in range(DOORS))  # no arithmetic progression: an engine needs the table


def _free(state: Room, to: Word) -> dict[str, Truth]:
    """A guard of three conjuncts, each of which alone forbids something."""
    return {
        "not bricked up": negate(to == BRICKED_UP),
        "not back to the first": to > 0,
        "from the first, or to the next": any_of(state.number == 0, to == state.number + 1),
    }


HOTEL = System(
    name="hotel",
    summary="Doors from the first room to each other, and from each to the next; one is bricked up.",
    initial=lambda setting: [Room(0, False)],
    layout=lambda setting: Room(Range(0, DOORS - 1), Flag()),
    actions=lambda setting: [
        Action("enter", lambda s, to: Room(to, choose(to == DOORS - 1, True, False)), _free, {"to": list(ROOMS)})
    ],
    properties=lambda setting: [
        Property("last-unlocked", "always", "No door is locked.", lambda s: negate(s.locked)),
        Property("forward", "step", "Rooms come in order.", lambda t: t.before.number < t.after.number),
    ],
    quiescent=lambda s: any_of(s.number == DOORS - 1, s.number == BRICKED_UP - 1),
)


def found_on_ints(system: System, scope: str | None = None) -> dict[str, Any]:
    """What a search on ints finds, state by state: sizes, transitions by action, pruned ones, lengths of shortest runs.

    `depths` has the least number of steps after which a claim is broken, or a goal shown; `never_true` and
    `never_false` the guard conjuncts that never were.
    """
    engine, met = Integers(system, system.setting(scope)), dict[tuple[str, str], set[bool]]()
    guarded = [(n, action) for n, action in enumerate(engine.actions) if action.guard is not None]
    seen, level, levels, depths = set(engine.initial), list(engine.initial), [], dict[str, int]()
    generated, pruned = len(level), dict[str, int]()
    fired = {action.name: 0 for action in engine.actions}
    while level:
        levels.append(len(level))
        depth, fresh = len(levels) - 1, dict[Any, None]()
        for state in level:
            for name in _said(engine, state, None):
                depths.setdefault(name, depth)
            for number, action in guarded:
                for move in (Move(number, row) for row in range(engine.rows(number))):
                    for name, part in action.guards(state, engine.arguments(move)).items():
                        met.setdefault((action.name, name), set()).add(bool(part))
            for move in engine.enabled(state):
                taken = engine.take(state, move).step
                outside = engine.field_outside(taken.after)
                if outside is not None:
                    pruned[outside] = pruned.get(outside, 0) + 1
                    continue
                generated, fired[taken.action] = generated + 1, fired[taken.action] + 1
                for name in _said(engine, taken.after, taken) - _said(engine, taken.after, None):
                    depths.setdefault(name, depth + 1)
                if taken.after not in seen:
                    seen.add(taken.after)
                    fresh[taken.after] = None
        level = list(fresh)
    sizes = {"distinct": len(seen), "generated": generated, "levels": tuple(levels), "depth": len(levels) - 1}
    never = {f"never_{str(truth).lower()}": {name for name, said in met.items() if truth not in said}
             for truth in (True, False)}  # fmt: skip
    return {**sizes, "fired": fired, "pruned": pruned, "depths": depths, **never}


def _said(engine: Integers, state: Any, step: Any) -> set[str]:
    """The claims that a state (or the step to it) breaks, the goals that it shows; a deadlock of the state too."""
    told = {one.claim for one in engine.broken(state, step)} | {*engine.reached_goals(state, step)}
    return told | ({DEADLOCK} if step is None and engine.deadlock(state) is not None else set())
