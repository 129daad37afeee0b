"""A toy whose mutants are known by hand, for `explain`; also `kraftcheck explain tests.gates:GATE`."""

from __future__ import annotations

from attrs import evolve, frozen

from model.layout import Flag, Range
from model.system import Action, Property, Setting, System
from model.terms import Truth, Word
from model.words import all_of, any_of, choose, negate


@frozen
class Gate:
    """People behind a gate, and whether it is open."""

    inside: Word
    open: Truth


MOST = 3


def room(state: Gate) -> Truth:
    """Whether one more may enter."""
    return all_of(state.open, state.inside < MOST)


def enter(state: Gate) -> Gate:
    """Someone enters where there is room; nobody else does."""
    return evolve(state, inside=choose(room(state), state.inside + 1, state.inside))


def leave(state: Gate) -> Gate:
    """Someone leaves, if anybody is there."""
    return evolve(state, inside=choose(state.inside > 0, state.inside - 1, 0))


def actions(setting: Setting) -> list[Action]:
    """Open, shut, enter, leave."""
    return [
        Action("open", lambda state: evolve(state, open=True), lambda state: {"shut": negate(state.open)}),
        Action(
            "shut",
            lambda state: evolve(state, open=False),
            lambda state: {"is open": state.open, "nobody is inside": state.inside == 0},
        ),
        Action("enter", enter, lambda state: {"room": room(state)}),
        Action("leave", leave, lambda state: {"someone": state.inside > 0}),
    ]


GATE = System(
    name="gate",
    summary="A gate that is shut only once nobody is inside.",
    initial=lambda setting: [Gate(0, False)],
    layout=lambda setting: Gate(Range(0, MOST), Flag()),
    actions=actions,
    properties=lambda setting: [
        Property(
            "empty-when-shut", "always", "Nobody is behind a shut gate.",
            lambda state: any_of(state.open, state.inside == 0),
        ),
        Property("full", "sometimes", "The room is full.", lambda state: state.inside == MOST),
    ],
)  # fmt: skip
