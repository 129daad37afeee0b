"""Specifications of the TLA+ Examples that have liveness, written anew: EWD840, CoffeeCan, Cat, dining philosophers.

The sizes are those that the repository states for its models, so that what is checked is the same graph.
"""

import itertools
from typing import Any

from attrs import evolve, frozen

from kraftcheck.model.language.layout import Flag, Range
from kraftcheck.model.language.places import put
from kraftcheck.model.language.system import Action, Fairness, System
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import all_of, any_of, choose, negate, pick
from kraftcheck.properties.kinds import always_eventually, eventually, leads_to, weak_fairness

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


@frozen
class Can:
    """CoffeeCan: beans of two colours."""

    black: Word
    white: Word


def coffee_can(beans: int, *fairness: Fairness) -> System:
    """Two beans are taken out and one is put in, until one is left."""

    def several(s: Can) -> Truth:
        return s.black + s.white > 1

    def odd(s: Can) -> Truth:
        return any_of(*(s.white == number for number in range(1, beans + 1, 2)))

    return System(
        name="coffee-can", summary="Beans in a can.",
        initial=[Can(b, w) for b in range(beans + 1) for w in range(beans + 1) if 1 <= b + w <= beans],
        layout=Can(Range(0, beans), Range(0, beans)),
        actions=[
            Action("same_black", lambda s: evolve(s, black=s.black - 1), lambda s: all_of(several(s), s.black >= 2)),
            Action("same_white", lambda s: Can(s.black + 1, s.white - 2), lambda s: all_of(several(s), s.white >= 2)),
            Action("different", lambda s: evolve(s, black=s.black - 1),
                   lambda s: all_of(several(s), s.black >= 1, s.white >= 1)),
            Action("termination", lambda s: s, lambda s: s.black + s.white == 1),
        ],
        properties=[
            eventually("EventuallyTerminates", "One bean is left.", lambda s: s.black + s.white == 1),
            leads_to("HypothesisOdd", "Of odd white beans a white one is left.", odd,
                     lambda s: all_of(s.black == 0, s.white == 1)),
            leads_to("HypothesisEven", "Of even white beans a black one is left.", lambda s: negate(odd(s)),
                     lambda s: all_of(s.black == 1, s.white == 0)),
        ],
        fairness=fairness,
    )  # fmt: skip


@frozen
class Cat:
    """A cat among boxes, the box that is looked into, and where to look next."""

    cat: Word
    observed: Word
    right: Truth


def cat(boxes: int, *fairness: Fairness, clever: bool = True) -> System:
    """Every night the cat moves; every morning one box is looked into, `clever` by the pattern of the puzzle."""

    def look(s: Cat, step: Word) -> Cat:
        after = choose(s.right, s.observed + 1, s.observed - 1)
        inside = all_of(after >= 2, after <= boxes - 1) if clever else False
        return Cat(s.cat + step, choose(inside, after, s.observed), choose(inside, s.right, negate(s.right)))

    return System(
        name="cat", summary="A cat that hides.",
        initial=[Cat(c, o, r) for c in range(1, boxes + 1) for o in range(2, boxes) for r in TRUTHS],
        layout=Cat(Range(1, boxes), Range(2, boxes - 1), Flag()),
        actions=[Action("move", look, lambda s, step: all_of(s.cat + step >= 1, s.cat + step <= boxes),
                        {"step": [-1, 1]})],
        properties=[eventually("Victory", "The cat is found.", lambda s: s.observed == s.cat)],
        fairness=fairness,
    )  # fmt: skip


LOOP, EAT, THINK = range(3)


@frozen
class Table:
    """Dining philosophers of Chandy and Misra: of each fork the holder, and whether it is clean."""

    holder: tuple[Word, ...]
    clean: tuple[Truth, ...]
    pc: tuple[Word, ...]
    hungry: tuple[Truth, ...]


def philosophers(count: int, *fairness: Fairness) -> System:
    """Each passes dirty forks on, and eats with two clean ones."""

    def own(s: Table, p: int) -> tuple[Truth, Truth]:
        left, right = p, (p + 1) % count
        dirty = [all_of(s.holder[fork] == p, negate(s.clean[fork])) for fork in (left, right)]
        return dirty[0], dirty[1]

    def loop(s: Table, p: int) -> Table:
        left, right = p, (p + 1) % count
        dirty_left, dirty_right = own(s, p)
        also = all_of(negate(dirty_left), dirty_right)
        holder = put(s.holder, left, choose(dirty_left, (p - 1) % count, s.holder[left]))
        clean = put(s.clean, left, s.clean[left] | dirty_left)
        holder = put(holder, right, choose(also, (p + 1) % count, holder[right]))
        clean = put(clean, right, clean[right] | also)
        eats = all_of(s.holder[left] == p, s.holder[right] == p, s.clean[left], s.clean[right])
        after = choose(s.hungry[p], choose(eats, EAT, LOOP), THINK)
        return evolve(s, holder=holder, clean=clean, pc=put(s.pc, p, after))

    def act(s: Table, p: int) -> Table:
        left, right = p, (p + 1) % count
        ate = evolve(s, hungry=put(s.hungry, p, False), clean=put(put(s.clean, left, False), right, False),
                     pc=put(s.pc, p, LOOP))  # fmt: skip
        thought = evolve(s, hungry=put(s.hungry, p, True), pc=put(s.pc, p, LOOP))
        after = loop(s, p)
        at = s.pc[p]
        merged = [choose(at == EAT, a, choose(at == THINK, t, n)) for a, t, n in
                  zip(_leaves(ate), _leaves(thought), _leaves(after), strict=True)]  # fmt: skip
        return Table(*(tuple(merged[n * count : (n + 1) * count]) for n in range(4)))

    def philosopher(number: int) -> Action:
        return Action(f"philosopher_{number}", lambda s: act(s, number))

    truths, ids = (Flag(),) * count, (Range(0, count - 1),) * count
    return System(
        name="philosophers", summary="Philosophers at a table.",
        initial=[Table((0, 0, *range(2, count)), (False,) * count, (LOOP,) * count, (True,) * count)],
        layout=Table(ids, truths, (Range(0, 2),) * count, truths),
        actions=[philosopher(number) for number in range(count)],
        properties=[
            always_eventually(f"NobodyStarves-{p}", "A philosopher eats again.", lambda s, p=p: negate(s.hungry[p]))
            for p in range(count)
        ],
        fairness=fairness,
    )  # fmt: skip


def _leaves(s: Table) -> list[Any]:
    return [*s.holder, *s.clean, *s.pc, *s.hungry]
