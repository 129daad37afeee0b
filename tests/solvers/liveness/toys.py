"""Toys with liveness, whose verdicts can be told by hand; `kraftcheck explore tests.solvers.liveness.toys:LIFT`."""

from typing import Any

from attrs import evolve, frozen

from kraftcheck.model.language.layout import Flag, Range
from kraftcheck.model.language.symmetry import Symmetry
from kraftcheck.model.language.system import Action, Bound, Fairness, Property, Setting, System
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import all_of, choose, negate
from kraftcheck.properties.kinds import (
    always,
    always_eventually,
    eventually,
    eventually_always,
    leads_to,
    strong_fairness,
    weak_fairness,
)


@frozen
class Lift:
    """A lift between floors 0 and 3, which passes a bell at floor 2 that may be rung."""

    floor: Word
    rung: Truth


def lift_fairness(setting: Setting) -> list[Fairness]:
    """Up to `fair` of: up, down, and the bell, weak or strong."""
    declared = [weak_fairness("up"), weak_fairness("down"), weak_fairness("ring"), strong_fairness("ring")]
    return declared[: setting["fair"]]


def _lift_claims(setting: Setting) -> list[Property]:
    return [
        always("in-house", "The lift is in the house.", lambda s: s.floor < 4),
        eventually("top", "The lift comes to the top.", lambda s: s.floor == 3),
        eventually("bell", "The bell is rung.", lambda s: s.rung),
        leads_to("up", "From floor 1 the lift comes to the top.", lambda s: s.floor == 1, lambda s: s.floor == 3),
        always_eventually("back", "The lift comes back.", lambda s: s.floor == 0),
        eventually_always("rung", "The bell stays rung.", lambda s: s.rung),
        leads_to("attic", "From the attic the lift comes down.", lambda s: s.floor == 7, lambda s: s.floor == 0),
        leads_to("inside", "It is never outside.", lambda s: s.floor == 1, lambda s: s.floor <= 3),
    ]


LIFT = System(
    name="lift",
    summary="A lift that goes up and down; who stands at floor 2 may ring a bell.",
    initial=[Lift(0, False)],
    layout=Lift(Range(0, 4), Flag()),
    actions=[
        Action("up", lambda s: evolve(s, floor=s.floor + 1), lambda s: s.floor < 3),
        Action("down", lambda s: evolve(s, floor=0), lambda s: s.floor == 3),
        Action("ring", lambda s: evolve(s, rung=True), lambda s: s.floor == 2),
    ],
    properties=_lift_claims,
    fairness=lift_fairness,
    scopes={"fair": {"fair": 4}, "weak": {"fair": 3}, "moving": {"fair": 2}, "idle": {"fair": 0}},
    bounds=(Bound("fair", 0, 4, "How many actions are fair: up, down, the bell weakly, the bell strongly."),),
)


@frozen
class Door:
    """A door that is tried again and again, and a budget of tries."""

    open: Truth
    tries: Word


DOOR = System(
    name="door",
    summary="A door that opens at the third try, where a bound cuts the tries or a guard counts them.",
    initial=[Door(False, 0)],
    layout=lambda setting: Door(Flag(), Range(0, setting["tries"], cap="nobody tries more often")),
    actions=[Action("try", lambda s: Door(s.tries == 2, s.tries + 1), lambda s: negate(s.open))],
    properties=[eventually("opens", "The door opens.", lambda s: s.open)],
    fairness=[weak_fairness("try")],
    scopes={"enough": {"tries": 3}, "cut": {"tries": 1}},
    bounds=(Bound("tries", 1, 3, "Tries."),),
    quiescent=lambda s: s.open,
)
"""With one try, the behaviour leaves the bounds before the door opens: nothing is known of it."""


@frozen
class Lamps:
    """Two lamps, a switch for each, and whether somebody holds the fuse."""

    first: Truth
    second: Truth
    held: Truth


def _lamp(s: Lamps, lamp: Any) -> Any:
    return choose(lamp == 0, s.first, s.second)


def _light(s: Lamps, lamp: Any) -> Lamps:
    return evolve(s, first=s.first | (lamp == 0), second=s.second | (lamp == 1))


def lamps(*fair: Fairness, holdable: bool = False) -> System:
    """Two lamps that may be lit and put out, the fuse in hand or not."""
    actions = [
        Action("light", _light, lambda s, lamp: negate(_lamp(s, lamp)), {"lamp": [0, 1]}),
        Action("put_out", lambda s: Lamps(False, False, s.held), lambda s: s.first | s.second),
        Action("stay", lambda s: s),
    ]
    hold = Action("hold", lambda s: evolve(s, held=negate(s.held)))
    return System(
        name="lamps", summary="Two lamps.", initial=[Lamps(False, False, False)], layout=Lamps(Flag(), Flag(), Flag()),
        actions=[*actions, hold] if holdable else actions,
        properties=[
            eventually("first", "The first lamp is lit.", lambda s: s.first),
            eventually("second", "The second lamp is lit.", lambda s: s.second),
            eventually("both", "Both are lit at a time.", lambda s: all_of(s.first, s.second)),
        ],
        fairness=fair,
    )  # fmt: skip


@frozen
class Pair:
    """Two places that may be taken, and whether one was."""

    taken: tuple[Truth, Truth]
    busy: Truth


PAIR = System(
    name="pair",
    summary="Two places with the same name to all.",
    initial=[Pair((False, False), False)],
    layout=Pair((Flag(), Flag()), Flag()),
    actions=[
        Action(
            "take",
            lambda s, place: Pair((s.taken[0] | (place == 0), s.taken[1] | (place == 1)), True),
            parameters={"place": [0, 1]},
        )
    ],
    properties=[eventually("one", "A place is taken.", lambda s: s.taken[0] | s.taken[1])],
    fairness=[weak_fairness("take")],
    symmetries=[Symmetry("places", 2, tuples=("taken",))],
    quiescent=lambda s: all_of(*s.taken),
)
