"""Detection of termination in the TLA+ Examples, written anew: EWD998 on a ring.

It bounds an endless space by a constraint, so the fields that it bounds are capped as there: TLC counts the states that
satisfy it, and so does the search.
"""

import itertools

from attrs import evolve, frozen

from kraftcheck.model.language.layout import Flag, Range
from kraftcheck.model.language.places import get, put
from kraftcheck.model.language.system import Action, Fairness, System
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import all_of, any_of, implies, negate
from kraftcheck.properties.kinds import always, eventually, leads_to

MOST = 3  # the most messages that a node has counted, or has coming, by `StateConstraint`

BOUND = "the specification's StateConstraint"


@frozen
class Safra:
    """EWD998: nodes with their colours, counted and pending messages, and the token with its sum."""

    active: tuple[Truth, ...]
    black: tuple[Truth, ...]
    counter: tuple[Word, ...]
    pending: tuple[Word, ...]
    place: Word
    sum: Word
    token_black: Truth


def _pass(s: Safra, node: Word) -> Safra:
    dark = any_of(s.token_black, get(s.black, node))
    return evolve(
        s, place=s.place - 1, sum=s.sum + get(s.counter, node), token_black=dark, black=put(s.black, node, False)
    )


def _may_initiate(s: Safra) -> Truth:
    return all_of(s.place == 0, any_of(s.token_black, s.black[0], s.counter[0] + s.sum > 0))


def _initiate(s: Safra) -> Safra:
    last = len(s.active) - 1
    return evolve(s, place=last, sum=0, token_black=False, black=put(s.black, 0, False))


def _send(s: Safra, node: Word, other: Word) -> Safra:
    counter, pending = get(s.counter, node) + 1, get(s.pending, other) + 1
    return evolve(s, counter=put(s.counter, node, counter), pending=put(s.pending, other, pending))


def _receive(s: Safra, node: Word) -> Safra:
    counter, pending = get(s.counter, node) - 1, get(s.pending, node) - 1
    woken = evolve(s, black=put(s.black, node, True), active=put(s.active, node, True))
    return evolve(woken, counter=put(s.counter, node, counter), pending=put(s.pending, node, pending))


def terminated(s: Safra) -> Truth:
    """No node is active, and no message is on its way."""
    return all_of(*(negate(one) for one in s.active), *(one == 0 for one in s.pending))


def detected(s: Safra) -> Truth:
    """Node 0 concludes from the token that all have terminated."""
    return all_of(s.place == 0, negate(s.token_black), s.sum + s.counter[0] == 0, negate(s.black[0]),
                  negate(s.active[0]))  # fmt: skip


def ewd998(nodes: int, *fairness: Fairness) -> System:
    """Safra's detection of termination on a ring whose messages take time."""
    ring = [*range(nodes)]
    rows = list(itertools.product((False, True), repeat=nodes))
    none, least = (0,) * nodes, -MOST * (nodes - 1)
    return System(
        name="ewd998", summary="Termination detection on a ring with messages on their way.",
        initial=[Safra(*colours, none, none, place, 0, True)
                 for colours in itertools.product(rows, rows) for place in ring],
        layout=Safra(
            (Flag(),) * nodes, (Flag(),) * nodes, (Range(least, MOST, cap=BOUND),) * nodes,
            (Range(0, MOST, cap=BOUND),) * nodes, Range(0, nodes - 1), Range(least * nodes, 9, cap=BOUND), Flag(),
        ),
        actions=[
            Action("initiate", _initiate, _may_initiate),
            Action("pass", _pass, lambda s, node: all_of(s.place == node, negate(get(s.active, node))),
                   {"node": ring[1:]}),
            Action("send", _send, lambda s, node, other: all_of(get(s.active, node), node != other),
                   {"node": ring, "other": ring}),
            Action("receive", _receive, lambda s, node: get(s.pending, node) > 0, {"node": ring}),
            Action("deactivate", lambda s, node: evolve(s, active=put(s.active, node, False)),
                   lambda s, node: get(s.active, node), {"node": ring}),
        ],
        properties=[
            leads_to("Liveness", "Termination is detected.", terminated, detected),
            eventually("AllTerminate", "All nodes terminate.", terminated),
            always("TerminationDetection", "What is detected has happened.",
                   lambda s: implies(detected(s), terminated(s))),
        ],
        fairness=fairness, quiescent=lambda s: True,
    )  # fmt: skip
