"""Two of the TLA+ Examples, which have liveness, written anew: EWD840, and mutual exclusion by Peterson.

The sizes are those that the repository states for its models, so that what is checked is the same graph.
"""

import itertools

from attrs import evolve, frozen

from kraftcheck.model.language.layout import Flag, Range
from kraftcheck.model.language.places import put
from kraftcheck.model.language.system import Action, Fairness, System
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import all_of, any_of, choose, negate, pick
from kraftcheck.properties.kinds import eventually, leads_to, weak_fairness

TRUTHS = (False, True)


@frozen
class Ring:
    """EWD840: nodes, which may be active or black, and a token on its way down."""

    active: tuple[Truth, ...]
    black: tuple[Truth, ...]
    place: Word
    token_black: Truth


def _send(s: Ring, node: Word, other: Word) -> Ring:
    darker = pick(s.black, node, False) | (other > node)
    return evolve(s, active=put(s.active, other, True), black=put(s.black, node, darker))


def _pass(s: Ring, node: Word) -> Ring:
    dark = pick(s.black, node, False) | s.token_black
    return evolve(s, place=s.place - 1, token_black=dark, black=put(s.black, node, False))


def ewd840(*fairness: Fairness, messages: bool = True, nodes: int = 3) -> System:
    """Termination detection on a ring; `messages` tells whether nodes can wake each other."""
    ring = range(nodes)
    send = Action("send", _send, lambda s, node, other: all_of(pick(s.active, node, False), node != other),
                  {"node": [*ring], "other": [*ring]})  # fmt: skip
    actions = [
        Action("initiate", lambda s: evolve(s, place=nodes - 1, token_black=False, black=put(s.black, 0, False)),
               lambda s: all_of(s.place == 0, s.token_black | s.black[0])),
        Action("pass", _pass,
               lambda s, node: all_of(s.place == node, any_of(negate(pick(s.active, node, False)),
                                                              pick(s.black, node, False), s.token_black)),
               {"node": [*ring][1:]}),
        Action("deactivate", lambda s, node: evolve(s, active=put(s.active, node, False)),
               lambda s, node: pick(s.active, node, False), {"node": [*ring]}),
    ]  # fmt: skip

    def terminated(s: Ring) -> Truth:
        return all_of(*(negate(one) for one in s.active))

    def detected(s: Ring) -> Truth:
        return all_of(s.place == 0, negate(s.token_black), negate(s.black[0]), negate(s.active[0]))

    rows = list(itertools.product(TRUTHS, repeat=nodes))
    return System(
        name="ewd840", summary="Termination detection on a ring.",
        initial=[Ring(active, black, place, True) for active in rows for black in rows for place in ring],
        layout=Ring((Flag(),) * nodes, (Flag(),) * nodes, Range(0, nodes - 1), Flag()),
        actions=[*actions, send] if messages else actions,
        properties=[
            leads_to("Liveness", "Termination is detected.", terminated, detected),
            eventually("Detected", "Termination is detected at some time.", detected),
            eventually("AllTerminate", "All nodes terminate.", terminated),
        ],
        fairness=fairness, quiescent=lambda s: True,
    )  # fmt: skip


SYSTEM = weak_fairness("initiate", "pass")


A0, A1, A2, A3, IN, A4 = range(6)


@frozen
class Lock:
    """Peterson's lock: where each of two processes is, what it wants, and whose turn it is."""

    pc: tuple[Word, Word]
    wants: tuple[Truth, Truth]
    turn: Word


def peterson(*fairness: Fairness) -> System:
    """Two processes, each of which lets the other one go first."""

    def act(s: Lock, me: int) -> Lock:
        at = s.pc[me]
        wants = put(s.wants, me, choose(at == A1, True, choose(at == A4, False, s.wants[me])))
        return Lock(put(s.pc, me, choose(at == A4, A0, at + 1)), wants, choose(at == A2, 1 - me, s.turn))

    def may(s: Lock, me: int) -> Truth:
        return any_of(s.pc[me] != A3, negate(s.wants[1 - me]), s.turn == me)

    return System(
        name="peterson", summary="Two processes and a lock.",
        initial=[Lock((A0, A0), (False, False), 0)],
        layout=Lock((Range(0, 5), Range(0, 5)), (Flag(), Flag()), Range(0, 1)),
        actions=[
            Action(f"process_{me}", lambda s, me=me: act(s, me), lambda s, me=me: may(s, me)) for me in (0, 1)
        ],
        properties=[
            leads_to(f"Enters-{me}", "Who tries to enter does.", lambda s, me=me: s.pc[me] == A1,
                     lambda s, me=me: s.pc[me] == IN)
            for me in (0, 1)
        ],
        fairness=fairness,
    )  # fmt: skip
