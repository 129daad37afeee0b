"""Toy systems with known answers, for testing engines; also runnable by `kraftcheck explore tests.toys:CLOCK`."""

from typing import Any

from attrs import evolve, frozen

from kraftcheck.ci.bench import systems as two_phase_commit
from kraftcheck.model.language.layout import Flag, Range
from kraftcheck.model.language.system import Action, Bound, Property, Setting, Step, System
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import all_of, any_of, choose, negate
from kraftcheck.properties.kinds import recovers


@frozen
class Clock:
    """A binary clock."""

    hand: Word


CLOCK = System(
    name="clock",
    summary="A hand that ticks between 0 and 1.",
    initial=lambda setting: [Clock(0), Clock(1)],
    layout=lambda setting: Clock(Range(0, 2)),
    actions=lambda setting: [Action("tick", lambda state: Clock(1 - state.hand))],
    properties=lambda setting: [
        Property("in-range", "always", "The hand is 0 or 1.", lambda state: any_of(state.hand == 0, state.hand == 1)),
        Property("ticks", "step", "Every step moves the hand.", lambda step: step.before.hand != step.after.hand),
        Property("noon", "sometimes", "The hand is at 0.", lambda state: state.hand == 0),
    ],
)


@frozen
class Place:
    """A node of a directed graph."""

    node: Word


EDGES = ((0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (0, 6), (6, 7), (7, 4), (5, 0), (2, 2))
"""The shortest way from 0 to 5 is 0 6 7 4 5 or 0 1 2 3 4 5: four steps and five."""


@frozen
class Edge:
    """An edge as an action's argument."""

    source: Word
    target: Word


DIGRAPH = System(
    name="digraph",
    summary="A walk in a directed graph whose shortest path from 0 to 5 has four steps.",
    initial=lambda setting: [Place(0)],
    layout=lambda setting: Place(Range(0, 9)),
    actions=lambda setting: [
        Action(
            "follow",
            guard=lambda state, edge: {"at the edge's source": state.node == edge.source},
            effect=lambda state, edge: Place(edge.target),
            parameters={"edge": [Edge(source, target) for source, target in EDGES]},
        ),
        Action("escape", guard=lambda state: state.node == 9, effect=lambda state: Place(8)),
    ],
    properties=lambda setting: [
        Property("never-5", "always", "Node 5 is not visited.", lambda state: state.node != 5),
        Property("never-4-to-5", "step", "The edge 4 to 5 is not taken.", _not_four_to_five),
        Property("reach-5", "sometimes", "Node 5 is visited.", lambda state: state.node == 5),
        Property("reach-8", "sometimes", "Node 8 is visited; no edge leads there.", lambda state: state.node == 8),
    ],
)


def _not_four_to_five(step: Step) -> Any:
    return {"not from 4 to 5": negate(all_of(step.before.node == 4, step.after.node == 5))}


def _panic(state: Any) -> Any:
    raise RuntimeError("the toy panics")


def _clock_with(action: Action) -> System:
    return evolve(CLOCK, name=action.name, actions=lambda setting: [action])


PANICKER = _clock_with(Action("panic", _panic))
MISTYPED = _clock_with(Action("mistype", lambda state: "not a state"))


@frozen
class Counter:
    """A counter and a flag that stays."""

    count: Word
    armed: Truth


COUNTER = System(
    name="counter",
    summary="A counter that would count past its bound.",
    initial=lambda setting: [Counter(0, False)],
    layout=lambda setting: Counter(Range(0, 5, cap="the toy counts to five"), Flag()),
    actions=lambda setting: [
        Action("add", lambda state, n: evolve(state, count=state.count + n), parameters={"n": [1, 2]}),
        Action("arm", lambda state: evolve(state, armed=True), guard=lambda state: state.count == 5),
    ],
    properties=lambda setting: [
        Property(
            "armed-at-five",
            "always",
            "The flag is set at 5 only.",
            lambda state: any_of(negate(state.armed), state.count == 5),
        ),
        Property("armed", "sometimes", "The flag is set.", lambda state: state.armed),
    ],
)


STUCK = System(
    name="stuck",
    summary="A counter that stops at 3 although it should not.",
    initial=lambda setting: [Place(0)],
    layout=lambda setting: Place(Range(0, 3)),
    actions=lambda setting: [
        Action(
            "next", lambda state: Place(choose(state.node < 3, state.node + 1, 3)), guard=lambda state: state.node < 3
        )
    ],
)

RESTING = evolve(STUCK, name="resting", summary="The same, where 3 may rest.", quiescent=lambda state: state.node == 3,
                 properties=lambda setting: [Property("comes-to-3", "sometimes", "Node 3 is visited.",
                                                      lambda state: state.node == 3)])  # fmt: skip


TWO_PHASE = two_phase_commit.TWO_PHASE
HASTY = two_phase_commit.two_phase(patient=False)
INIT = two_phase_commit.INIT

FAVOURITE = evolve(
    TWO_PHASE,
    properties=lambda setting: [
        Property("first-commits", "always", "The first manager does not abort.", lambda s: negate(s.aborted.has(0)))
    ],
)
"""Two-phase commit with a property that names a manager."""


@frozen
class Valve:
    """A valve, whether it sticks, and the knocks so far: three at most."""

    open: Truth
    stuck: Truth
    knocks: Word


def _knock(s: Valve) -> Valve:
    return evolve(s, stuck=False, knocks=s.knocks + 1)


def _valve_claims(setting: Setting) -> list[Property]:
    bounded = setting["budget"] == 0
    claims = [
        recovers("opens-by-itself", "The valve can open without a knock.", lambda s: s.open, by={"open": {}}),
        recovers("opens-unless-stuck", "A free valve can open.", lambda s: s.open,
                 when=lambda s: negate(s.stuck), by={"open": {}}),
        recovers("shuts", "The valve can shut.", lambda s: negate(s.open)),
        recovers("never-asked", "What is about no state.", lambda s: s.open, when=lambda s: s.knocks > 3),
        recovers("never-needed", "What always holds.", lambda s: s.knocks <= 3),
        recovers("never-true", "What never holds.", lambda s: s.knocks > 3),
    ]  # fmt: skip
    opens = recovers("opens", "The valve can open.", lambda s: s.open)
    return [opens, *claims] if not bounded else [opens]


VALVE = System(
    name="valve",
    summary="A valve that may stick; a knock frees it, and there are three of them.",
    initial=lambda setting: [Valve(True, False, 0)],
    layout=lambda setting: Valve(Flag(), Flag(), Range(0, 3, cap="after three knocks nobody knocks")),
    actions=lambda setting: [
        Action("shut", lambda s: evolve(s, open=False), lambda s: s.open),
        Action("open", lambda s: evolve(s, open=True), lambda s: all_of(negate(s.open), negate(s.stuck))),
        Action("stick", lambda s: evolve(s, stuck=True), lambda s: negate(s.stuck)),
        Action("knock", _knock, lambda s: all_of(s.stuck, s.knocks < (3 if setting["budget"] else 9))),
    ],
    properties=_valve_claims,
    scopes={"budget": {"budget": 1}, "bound": {"budget": 0}},
    bounds=(Bound("budget", 0, 1, "Whether a guard counts the knocks (0: the bound on a field cuts them)."),),
    quiescent=lambda s: s.stuck,
)
"""With a budget, a valve that sticks after the third knock stays shut for ever."""
