"""Systems with one fault each, as a new user writes them: what the command line must refuse in one line."""

from typing import Any

from attrs import evolve, frozen

from kraftcheck.model.language.layout import Flag, Range
from kraftcheck.model.language.system import Action, Property, System
from kraftcheck.model.language.terms import Term
from kraftcheck.properties.kinds import always
from tests.toys import CLOCK, Clock


def with_action(action: Any) -> System:
    """The clock with another action."""
    return evolve(CLOCK, actions=lambda setting: [action])


def with_property(*claims: Any) -> System:
    """The clock with other properties."""
    return evolve(CLOCK, properties=lambda setting: list(claims))


def panic(*_: Any, **__: Any) -> Any:
    """Raise, with a message of two lines."""
    raise RuntimeError("the toy\npanics")


def branch(state: Clock) -> Clock:
    """A rule with a Python `if`."""
    if state.hand == 0:
        return Clock(1)
    return Clock(0)


def two_faced(state: Clock) -> Any:
    """A property that says one thing of terms and another of ints."""
    return state.hand == 5 if isinstance(state.hand, Term) else True


@frozen
class Wide:
    """A state that no packing holds."""

    words: tuple[Any, ...]


def tick(state: Clock) -> Clock:
    """The clock's own effect."""
    return Clock(1 - state.hand)


RAISING_EFFECT = with_action(Action("boom", panic))
RAISING_GUARD = with_action(Action("boom", tick, guard=panic))
WRONG_GUARD = with_action(Action("odd", tick, guard=lambda state: 3))
WRONG_EFFECT = with_action(Action("odd", lambda state: "noon"))
NO_EFFECT = with_action(Action("odd", lambda state: None))
OTHER_SHAPE = with_action(Action("odd", lambda state: Wide((1, 2))))
PYTHON_IF = with_action(Action("branch", branch))
WRONG_ARITY = with_action(Action("odd", lambda: Clock(0)))
NOT_AN_ACTION = with_action("tick")
RAISING_ACTIONS = evolve(CLOCK, actions=panic)
EMPTY_INITIAL = evolve(CLOCK, initial=lambda setting: [])
RAISING_INITIAL = evolve(CLOCK, initial=panic)
WRONG_INITIAL = evolve(CLOCK, initial=lambda setting: [7])
OUTSIDE_INITIAL = evolve(CLOCK, initial=lambda setting: [Clock(3)])
RAISING_LAYOUT = evolve(CLOCK, layout=panic)
WIDE = evolve(CLOCK, layout=lambda setting: Wide((Range(0, (1 << 60) - 1),) * 9))
FLAG_LAYOUT = evolve(CLOCK, layout=lambda setting: Clock(Flag()))
RAISING_PROPERTIES = evolve(CLOCK, properties=panic)
RAISING_PROPERTY = with_property(Property("boom", "always", "It booms.", panic))
WRONG_PROPERTY = with_property(Property("odd", "always", "It is odd.", lambda state: state.hand))
ODD_KIND = with_property(Property("odd", "allways", "It is odd.", lambda state: state.hand < 0))
NAMELESS_ACTION = evolve(CLOCK, actions=lambda setting: [Action(" ", tick)])
NAMELESS_PROPERTY = evolve(CLOCK, properties=lambda setting: [always("a\nb", "It is odd.", lambda state: True)])
NOT_A_PROPERTY = with_property("noon")
TWICE = with_property(*[Property("same", "always", "It is the same.", lambda state: state.hand <= 1)] * 2)
NO_SCOPES = evolve(CLOCK, scopes={})
RAISING_QUIESCENT = evolve(CLOCK, quiescent=panic)
TWO_FACED = with_property(Property("two-faced", "always", "It depends.", two_faced))

STRANGE_WORDS = evolve(
    CLOCK,
    name="strange",
    properties=lambda setting: [
        Property("[bold]/odd id", "always", "A sentence [/] with :smile: [red]marks[/red].", lambda s: s.hand == 0)
    ],
)
"""A system that is right, with names that a terminal or a file system might take amiss."""


def leave(*_: Any, **__: Any) -> Any:
    """End the process as one that succeeds."""
    raise SystemExit(0)


LEAVING_EFFECT = with_action(Action("leave", leave))
LEAVING_PROPERTY = with_property(Property("leave", "always", "It leaves.", leave))
LEAVING_LAYOUT = evolve(CLOCK, layout=leave)
LEAVING_PROPERTIES = evolve(CLOCK, properties=leave)
