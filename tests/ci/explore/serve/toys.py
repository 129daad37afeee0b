"""A system for the tests of the page: two initial states, a choice of rules, and a step beyond the scope."""

from typing import Any

from attrs import evolve, frozen

from kraftcheck.model.language.layout import Flag, Range
from kraftcheck.model.language.system import Action, Property, Setting, System
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import choose, negate
from kraftcheck.model.rules.choice import choice
from kraftcheck.properties.kinds import leads_to


@frozen
class LiftRules:
    """What may go wrong in the lift."""

    overshoots: bool = choice("seeded", "the lift", "it goes up one floor too far")


@frozen
class Lift:
    """A lift."""

    floor: Word
    open: Truth


def _actions(setting: Setting) -> list[Action]:
    more = 1 if setting.rules.overshoots else 0
    return [
        Action("rise", lambda state, by: evolve(state, floor=state.floor + by + more), _shut, {"by": (1, 3)}),
        Action("sink", lambda state: evolve(state, floor=choose(state.floor > 0, state.floor - 1, 0)), _may_sink),
        Action("turn", lambda state: evolve(state, open=negate(state.open))),
    ]


def _shut(state: Any, by: Any = None) -> Any:
    return {"the door is shut": negate(state.open)}


def _may_sink(state: Any) -> Any:
    return {**_shut(state), "it is above the ground": state.floor > 0}


LIFT = System(
    name="lift",
    summary="A lift of five floors.",
    initial=[Lift(0, False), Lift(1, False)],
    layout=Lift(Range(0, 4, cap="the house has five floors"), Flag()),
    actions=_actions,
    properties=[
        Property("below-the-roof", "always", "The lift does not stop at the top.", lambda state: state.floor < 4),
        Property("slow", "step", "It goes one floor at a time.",
                 lambda step: {"one floor up": step.after.floor <= step.before.floor + 1}),
        Property("opens", "sometimes", "The door opens.", lambda state: state.open),
    ],
    rules=LiftRules,
)  # fmt: skip
NAME = "tests.ci.explore.serve.toys:LIFT"

UNFAIR = evolve(
    LIFT,
    name="unfair",
    properties=[leads_to("grounded", "It comes down.", lambda state: state.floor == 1, lambda state: state.floor == 0)],
)
"""A lift that nobody has to use: a liveness property is refuted by a run that goes round for ever."""
