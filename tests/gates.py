"""Toys whose mutants are known by hand, for `explain`; also `kraftcheck explain tests.gates:GATE`."""

from attrs import evolve, frozen

from kraftcheck.model.language.layout import Flag, Range
from kraftcheck.model.language.system import Action, Property, Setting, System
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import all_of, any_of, choose, negate
from kraftcheck.properties.kinds import recovers


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


@frozen
class Lock:
    """A door, and whether its only key is behind it."""

    shut: Truth
    key_inside: Truth


def close(state: Lock) -> Lock:
    """The door falls shut, unless the key is inside."""
    return evolve(state, shut=choose(state.key_inside, False, True))


LOCK = System(
    name="lock",
    summary="A door that must not fall shut on its only key.",
    initial=lambda setting: [Lock(False, False)],
    layout=lambda setting: Lock(Flag(), Flag()),
    actions=lambda setting: [
        Action("open", lambda s: evolve(s, shut=False),
               lambda s: {"is shut": s.shut, "key is outside": negate(s.key_inside)}),
        Action("close", close, lambda s: {"is open": negate(s.shut)}),
        Action("put_key", lambda s: evolve(s, key_inside=True), lambda s: {"is open": negate(s.shut)}),
        Action("take_key", lambda s: evolve(s, key_inside=False), lambda s: {"is open": negate(s.shut)}),
    ],
    properties=lambda setting: [
        recovers("can-open", "A shut door can be opened.", lambda s: negate(s.shut), when=lambda s: s.shut),
        Property("key-in", "sometimes", "The key is inside.", lambda s: s.key_inside),
    ],
    quiescent=lambda state: True,
)  # fmt: skip
"""Nothing forbids any state, so that only `recovers` can tell a mutant."""
