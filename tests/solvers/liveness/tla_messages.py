"""More of the TLA+ Examples, written anew: an allocator, the alternating bit protocol, prisoners, a token ring.

The sizes are those that the repository states for its models, so that what is checked is the same graph.
"""

import itertools
from typing import Any

from attrs import evolve, frozen

from kraftcheck.model.language.layout import Flag, Range
from kraftcheck.model.language.places import put
from kraftcheck.model.language.system import Action, Fairness, Property, System
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import all_of, any_of, choose, negate, pick
from kraftcheck.properties.kinds import (
    always_eventually,
    eventually,
    eventually_always,
    leads_to,
    strong_fairness,
    weak_fairness,
)

CLIENTS, RESOURCES = range(3), range(2)
EVERY_PAIR = [(client, resource) for client in CLIENTS for resource in RESOURCES]


@frozen
class Shelf:
    """SimpleAllocator: what each client still asks for, and what it holds, client by client."""

    unsat: tuple[Truth, ...]
    alloc: tuple[Truth, ...]


def _named(client: Any, some: Any) -> list[Truth]:
    """Of each client and resource, whether the client is the one, and the resource in a set of bits."""
    sets = range(1, 1 << len(RESOURCES))
    return [all_of(client == c, any_of(*(some == one for one in sets if one >> r & 1))) for c, r in EVERY_PAIR]


def _within(named: list[Truth], allowed: list[Truth]) -> Truth:
    return all_of(*(any_of(negate(one), may) for one, may in zip(named, allowed, strict=True)))


def _idle(s: Shelf, client: Any) -> Truth:
    idle = [any_of(client != c, negate(any_of(u, a)))
            for (c, _), u, a in zip(EVERY_PAIR, s.unsat, s.alloc, strict=True)]  # fmt: skip
    return all_of(*idle)


def _request(s: Shelf, client: Any, some: Any) -> Shelf:
    return evolve(s, unsat=tuple(any_of(*pair) for pair in zip(s.unsat, _named(client, some), strict=True)))


def _allocate(s: Shelf, client: Any, some: Any) -> Shelf:
    named = _named(client, some)
    return Shelf(
        tuple(all_of(u, negate(one)) for u, one in zip(s.unsat, named, strict=True)),
        tuple(any_of(a, one) for a, one in zip(s.alloc, named, strict=True)),
    )


def _allowed(s: Shelf) -> list[Truth]:
    free = [negate(any_of(*(s.alloc[n] for n, (_, r) in enumerate(EVERY_PAIR) if r == one))) for one in RESOURCES]
    return [all_of(s.unsat[n], free[r]) for n, (_, r) in enumerate(EVERY_PAIR)]


def _return(s: Shelf, named: list[Truth]) -> Shelf:
    return evolve(s, alloc=tuple(all_of(a, negate(one)) for a, one in zip(s.alloc, named, strict=True)))


def asked(s: Shelf, client: int) -> Truth:
    """Whether a client still waits for something."""
    return any_of(*(s.unsat[n] for n, (c, _) in enumerate(EVERY_PAIR) if c == client))


def held(s: Shelf, client: Any) -> Truth:
    """Whether a client holds something."""
    return any_of(*(all_of(client == c, s.alloc[n]) for n, (c, _) in enumerate(EVERY_PAIR)))


RETURN = weak_fairness("return_all", each=["client"])
RETURN_IF_SATISFIED = weak_fairness("return_all", each=["client"], unless=asked)
ALLOCATE = strong_fairness("allocate", each=["client"])


def simple_allocator(*fairness: Fairness) -> System:
    """Resources are given to clients that ask for them; `return_all` is `Return(c, alloc[c])`."""
    sets = {"client": [*CLIENTS], "some": [*range(1, 1 << len(RESOURCES))]}
    return System(
        name="simple-allocator", summary="Clients and resources.",
        initial=[Shelf((False,) * len(EVERY_PAIR), (False,) * len(EVERY_PAIR))],
        layout=Shelf((Flag(),) * len(EVERY_PAIR), (Flag(),) * len(EVERY_PAIR)),
        actions=[
            Action("request", _request, lambda s, client, some: _idle(s, client), sets),
            Action("allocate", _allocate, lambda s, client, some: _within(_named(client, some), _allowed(s)), sets),
            Action("return_some", lambda s, client, some: _return(s, _named(client, some)),
                   lambda s, client, some: _within(_named(client, some), [*s.alloc]), sets),
            Action("return_all", lambda s, client: _return(s, [client == c for c, _ in EVERY_PAIR]), held,
                   {"client": [*CLIENTS]}),
        ],
        properties=[
            *(leads_to(f"ClientsWillReturn-{c}", "What is satisfied is returned.", lambda s, c=c: negate(asked(s, c)),
                       lambda s, c=c: negate(held(s, c))) for c in CLIENTS),
            *(leads_to(f"ClientsWillObtain-{c}-{r}", "What is asked for is given.",
                       lambda s, n=n: s.unsat[n], lambda s, n=n: s.alloc[n])
              for n, (c, r) in enumerate(EVERY_PAIR)),
            *(always_eventually(f"InfOftenSatisfied-{c}", "A client is satisfied again.",
                                lambda s, c=c: negate(asked(s, c))) for c in CLIENTS),
        ],
        fairness=fairness,
    )  # fmt: skip


@frozen
class Wire:
    """The alternating bit protocol: two queues of two places that may lose, bits, and the values sent and received."""

    messages: tuple[Word, Word]
    acks: tuple[Word, Word]
    s_bit: Word
    s_ack: Word
    r_bit: Word
    sent: Word
    received: Word


def _append(queue: tuple[Word, Word], value: Any) -> tuple[Word, Word]:
    return choose(queue[0] == 0, value, queue[0]), choose(queue[0] == 0, 0, value)


def _lose(queue: tuple[Word, Word], place: Any) -> tuple[Word, Word]:
    return choose(place == 0, queue[1], queue[0]), 0


def _may_lose(queue: tuple[Word, Word], place: Any) -> Truth:
    return choose(place == 0, queue[0] != 0, queue[1] != 0)


def _message(bit: Any, value: Any) -> Word:
    return choose(bit == 0, 1 + value, 3 + value)


def alternating_bit(*fairness: Fairness) -> System:
    """The model's constraint on the lengths of queues is a guard of what sends."""

    def receive(s: Wire) -> Wire:
        head = s.messages[0]
        bit = choose(head >= 3, 1, 0)
        value = choose(any_of(head == 2, head == 4), 1, 0)
        return evolve(s, messages=(s.messages[1], 0), r_bit=bit, received=value)

    def new(s: Wire, value: Any) -> Wire:
        bit = 1 - s.s_bit
        return evolve(s, sent=value, s_bit=bit, messages=_append(s.messages, _message(bit, value)))

    places = {"place": [0, 1]}
    bits, values = Range(0, 1), Range(0, 1)
    return System(
        name="alternating-bit", summary="A protocol over lossy queues.",
        initial=[Wire((0, 0), (0, 0), b, b, b, *both) for b, *both in itertools.product((0, 1), repeat=3)],
        layout=Wire((Range(0, 4), Range(0, 4)), (Range(0, 2), Range(0, 2)), bits, bits, bits, values, values),
        actions=[
            Action("send_new", new, lambda s, value: all_of(s.s_ack == s.s_bit, s.messages[1] == 0), {"value": [0, 1]}),
            Action("send_again", lambda s: evolve(s, messages=_append(s.messages, _message(s.s_bit, s.sent))),
                   lambda s: all_of(s.s_ack != s.s_bit, s.messages[1] == 0)),
            Action("receive", receive, lambda s: s.messages[0] != 0),
            Action("send_ack", lambda s: evolve(s, acks=_append(s.acks, s.r_bit + 1)), lambda s: s.acks[1] == 0),
            Action("receive_ack", lambda s: evolve(s, acks=(s.acks[1], 0), s_ack=choose(s.acks[0] == 2, 1, 0)),
                   lambda s: s.acks[0] != 0),
            Action("lose_message", lambda s, place: evolve(s, messages=_lose(s.messages, place)),
                   lambda s, place: _may_lose(s.messages, place), places),
            Action("lose_ack", lambda s, place: evolve(s, acks=_lose(s.acks, place)),
                   lambda s, place: _may_lose(s.acks, place), places),
        ],
        properties=[
            leads_to(f"SentLeadsToRcvd-{d}", "What is sent is received.",
                     lambda s, d=d: all_of(s.sent == d, s.s_bit != s.s_ack), lambda s, d=d: s.received == d)
            for d in (0, 1)
        ],
        fairness=fairness,
    )  # fmt: skip


@frozen
class Prison:
    """Prisoners with one switch: the first one counts, the others have signalled so often."""

    count: Word
    announced: Truth
    signalled: tuple[Word, ...]
    light: Truth
    visited: tuple[Truth, ...]


def prisoners(number: int, light_unknown: bool, *fairness: Fairness) -> System:
    """Prisoners are taken to a cell with a lamp, and one says when all were there."""
    limit, threshold = (2, 2 * number - 1) if light_unknown else (1, number)

    def visit(s: Prison, prisoner: Any) -> Prison:
        counts, signals = prisoner == 0, [
            all_of(prisoner == n, negate(s.light), s.signalled[n - 1] < limit) for n in range(1, number)
        ]  # fmt: skip
        count = choose(all_of(counts, s.light), s.count + 1, s.count)
        return Prison(
            count, choose(counts, count >= threshold, s.announced),
            tuple(choose(one, had + 1, had) for one, had in zip(signals, s.signalled, strict=True)),
            choose(counts, False, any_of(s.light, *signals)), put(s.visited, prisoner, True),
        )  # fmt: skip

    lights = (False, True) if light_unknown else (False,)
    return System(
        name="prisoners", summary="Prisoners and a lamp.",
        initial=[Prison(1, False, (0,) * (number - 1), light, (False,) * number) for light in lights],
        layout=Prison(Range(1, threshold + 1), Flag(), (Range(0, 2),) * (number - 1), Flag(), (Flag(),) * number),
        actions=[Action("visit", visit, parameters={"prisoner": [*range(number)]})],
        properties=[eventually("Terminating", "The prisoners win.", lambda s: s.announced)],
        fairness=fairness,
    )  # fmt: skip


@frozen
class Counters:
    """EWD426: a counter at each node of a ring."""

    at: tuple[Word, ...]


def token_ring(nodes: int, values: int, *fairness: Fairness) -> System:
    """From any counters the ring comes to have one token, and keeps it."""

    def unique(s: Counters) -> Truth:
        first = s.at[0]
        before = choose(first == 0, values - 1, first - 1)
        splits = (
            all_of(*(one == (first if n < split else before) for n, one in enumerate(s.at)))
            for split in range(nodes + 1)
        )
        return any_of(*splits)

    def hand_on(s: Counters, node: Any) -> Counters:
        return Counters(put(s.at, node, pick(s.at, node - 1, 0)))

    last: Property = eventually_always("Stab", "There is one token from some state on.", unique)
    return System(
        name="token-ring", summary="A ring that stabilises.",
        initial=[Counters(row) for row in itertools.product(range(values), repeat=nodes)],
        layout=Counters((Range(0, values - 1),) * nodes),
        actions=[
            Action("create", lambda s: evolve(s, at=put(s.at, 0, choose(s.at[-1] == values - 1, 0, s.at[-1] + 1))),
                   lambda s: s.at[0] == s.at[-1]),
            Action("hand_on", hand_on, lambda s, node: pick(s.at, node, 0) != pick(s.at, node - 1, 0),
                   {"node": [*range(1, nodes)]}),
        ],
        properties=[last], fairness=fairness,
    )  # fmt: skip
