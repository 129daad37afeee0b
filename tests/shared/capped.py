"""A tank whose level may leave its domain on either side, for testing what engines say of steps that they leave out."""

from attrs import evolve, frozen

from kraftcheck.model.language.layout import Range
from kraftcheck.model.language.system import Action, Property, System
from kraftcheck.model.language.terms import Word
from kraftcheck.properties.kinds import recovers

WHY = "the tank is looked at up to its fifth mark"


@frozen
class Tank:
    """A tank."""

    level: Word


def tank(name: str, domain: Range, *changes: int) -> System:
    """A tank whose level may change by so much, with a claim that is false from level 6 on."""
    return System(
        name=name,
        summary="A tank that is filled and drained.",
        initial=lambda setting: [Tank(0)],
        layout=lambda setting: Tank(domain),  # type: ignore[arg-type]
        actions=lambda setting: [
            Action(
                "fill" if change > 0 else "drain",
                lambda state, change=change: Tank(state.level + change),  # type: ignore[misc]
                source=f"by {change}",
            )
            for change in changes
        ],
        properties=lambda setting: [
            Property("below-six", "always", "The level stays below 6.", lambda state: state.level < 6),
            Property("no-leap", "step", "A step ends below 6.", lambda step: step.after.level < 6),
            Property("half", "sometimes", "The level is 3.", lambda state: state.level == 3),
            Property("full", "sometimes", "The level is 7.", lambda state: state.level == 7),
            recovers("fills", "The level can rise to 3.", lambda state: state.level >= 3, when=_low),
        ],
    )


def _low(state: Tank) -> object:
    return state.level < 3


CAPPED = tank("capped", Range(0, 5, cap=WHY), 1)  # where the level may rise further; at 5 every step is left out

UNCAPPED = tank("uncapped", Range(0, 5), 1)
"""The same, without a word that the bound is meant: level 6 is one step behind it."""

WIDER = tank("wider", Range(0, 6), 1)  # the same with room for level 6, which breaks its claims

DRAINED = tank("drained", Range(0, 5, cap=WHY), 1, -1)  # a cap above says nothing of what is below 0

LOW = tank("low", Range(0, 5, cap=WHY), -1)  # it leaves below in the first step

WITHIN = evolve(
    CAPPED,
    name="within",
    layout=lambda setting: Tank(Range(0, 5)),  # type: ignore[arg-type]
    actions=lambda setting: [evolve(action, guard=lambda state: state.level < 5) for action in CAPPED.actions(setting)],
    quiescent=lambda state: state.level == 5,
)
"""A guard keeps the level within its domain: nothing is left out, whatever the domain declares."""
