"""Detection of termination in the TLA+ Examples, written anew: EWD998 on a ring, and Huang's algorithm with weights.

Both bound an endless space by a constraint, so the fields that it bounds are capped as there: TLC counts the states
that satisfy it, and so does the search.
"""

import itertools

from attrs import evolve, frozen

from kraftcheck.model.language.layout import Flag, Range
from kraftcheck.model.language.places import Queue, get, put
from kraftcheck.model.language.system import Action, Fairness, System
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import all_of, any_of, choose, implies, negate
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


WHOLE = 8  # the weight 1 in eighths: by `StateConstraint` no process has a smaller part of a weight


@frozen
class Huang:
    """Who is active, the weight of each process, and the weights that messages bring it; process 0 is the leader."""

    active: tuple[Truth, ...]
    weight: tuple[Word, ...]
    inbox: tuple[Queue, ...]


def _into(s: Huang, process: Word, weight: Word) -> tuple[Queue, ...]:
    """The inboxes with a message for a process."""
    return tuple(choose(process == p, one.append(weight), one) for p, one in enumerate(s.inbox))


def _give(s: Huang, process: Word, other: Word) -> Huang:
    half = get(s.weight, process) // 2
    return evolve(s, weight=put(s.weight, process, half), inbox=_into(s, other, half))


def _may_give(s: Huang, process: Word, other: Word) -> Truth:
    # Of an odd number of eighths there is no half within the constraint.
    return all_of(get(s.active, process), get(s.weight, process) % 2 == 0)


def _taken(queue: Queue, place: Word) -> Queue:
    later = (*queue.items[1:], queue.vacant)
    items = tuple(choose(n < place, one, next_) for n, (one, next_) in enumerate(zip(queue.items, later, strict=True)))
    return evolve(queue, size=queue.size - 1, items=items)


def _take(s: Huang, process: Word, place: Word) -> Huang:
    """A message is received, in any order."""
    brought = get(get(tuple(one.items for one in s.inbox), process), place)
    inbox = tuple(choose(process == p, _taken(one, place), one) for p, one in enumerate(s.inbox))
    return evolve(s, weight=put(s.weight, process, get(s.weight, process) + brought), inbox=inbox)


def _idle(s: Huang, process: Word) -> Huang:
    sent = _into(s, 0, get(s.weight, process))
    return Huang(put(s.active, process, False), put(s.weight, process, 0), sent)


def huang(processes: int, *fairness: Fairness) -> System:
    """Detection by weights: what is idle sends its weight back to the leader, who waits for the whole."""
    others, places = [*range(1, processes)], [*range(WHOLE)]

    def waiting(s: Huang, process: Word, place: Word) -> Truth:
        return place < get(tuple(one.size for one in s.inbox), process)

    def quiet(s: Huang) -> Truth:
        """Nobody is active, and only the leader has messages coming."""
        return all_of(*(negate(one) for one in s.active), *(one.is_empty() for one in s.inbox[1:]))

    def terminated(s: Huang) -> Truth:
        return all_of(quiet(s), s.inbox[0].is_empty())

    def detected(s: Huang) -> Truth:
        return all_of(negate(s.active[0]), s.weight[0] == WHOLE)

    return System(
        name="huang", summary="Termination detection by weights.",
        initial=[Huang((True,) + (False,) * len(others), (WHOLE,) + (0,) * len(others),
                       (Queue.of([], WHOLE),) * processes)],
        layout=Huang((Flag(),) * processes, (Range(0, WHOLE),) * processes,
                     (Queue.domain(Range(0, WHOLE), WHOLE),) * processes),
        actions=[
            Action("send", _give, _may_give, {"process": [0, *others], "other": [0, *others]}),
            Action("receive", lambda s, process, place: evolve(_take(s, process, place),
                                                               active=put(s.active, process, True)),
                   waiting, {"process": others, "place": places}),
            Action("idle", _idle, lambda s, process: get(s.active, process), {"process": others}),
            Action("leader_receives", lambda s, place: _take(s, 0, place), lambda s, place: waiting(s, 0, place),
                   {"place": places}),
            Action("leader_idle", lambda s: evolve(s, active=put(s.active, 0, False)), lambda s: s.active[0]),
        ],
        properties=[
            leads_to("Live", "Termination is detected.", terminated, detected),
            leads_to("Collected", "Once nobody works the leader collects all weights.", quiet, detected),
            eventually("Detected", "Termination is detected at some time.", detected),
            always("Safe", "What is detected has happened.", lambda s: implies(detected(s), terminated(s))),
        ],
        fairness=fairness, quiescent=lambda s: True,
    )  # fmt: skip
