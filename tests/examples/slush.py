"""A protocol that agrees on a colour by samples: SlushSmall of the TLA+ Examples."""

import enum
import itertools
from typing import Any

from attrs import evolve, frozen

import kraftcheck as kc

NODES, ROUNDS, SAMPLE, FLIP = range(3), 1, 2, 2
ONE = {"n": NODES}


class Pick(kc.Enum):
    """The colour that a node has picked."""

    RED = enum.auto()
    BLUE = enum.auto()
    NONE = enum.auto()


COLOURS = (Pick.RED, Pick.BLUE)


class Query(kc.Enum):
    """Where a process that answers queries is."""

    LOOP = enum.auto()
    WAIT = enum.auto()
    RESPOND = enum.auto()
    DONE = enum.auto()


class Loop(kc.Enum):
    """Where a process that asks others is."""

    REQUIRE = enum.auto()
    EXECUTE = enum.auto()
    ASK = enum.auto()
    TALLY = enum.auto()
    TERMINATE = enum.auto()
    DONE = enum.auto()


class Client(kc.Enum):
    """Where the client is."""

    LOOP = enum.auto()
    ASSIGN = enum.auto()
    DONE = enum.auto()


class Messages(kc.SetOf):
    """Messages in the network: the sender, the receiver and the colour follow the kind."""

    members = (
        *itertools.product(["query", "reply"], NODES, NODES, COLOURS),
        *itertools.product(["terminated"], NODES),
    )  # fmt: skip


@frozen
class Slush:
    """Picks, messages, where the processes are, whom each node asks, and how often it has asked."""

    pick: tuple[kc.Word, ...]
    messages: Messages
    query: tuple[kc.Word, ...]
    loop: tuple[kc.Word, ...]
    client: kc.Word
    sample: tuple[kc.IntSet, ...]
    rounds: tuple[kc.Word, ...]


def go(part: str, to: Any) -> Any:
    """The effect that a process of a node goes to a label, which may depend on the state."""

    def effect(s: Slush, n: kc.Word) -> Slush:
        label = to(s, n) if callable(to) else to
        return evolve(s, **{part: kc.put(getattr(s, part), n, label)})

    return effect


def is_at(part: str, label: int, more: Any = None) -> Any:
    """The guard that a process of a node is at a label, and that more holds."""

    def guard(s: Slush, n: kc.Word, **others: kc.Word) -> kc.Truth:
        return kc.all_of(kc.get(getattr(s, part), n) == label, True if more is None else more(s, n, **others))

    return guard


def terminated(s: Slush) -> kc.Truth:
    """The messages are those of the end, of all nodes."""
    return s.messages.same(Messages.of(("terminated", n) for n in NODES))


def is_asked(s: Slush, n: kc.Word) -> kc.Truth:
    """Whether a query for a node is on its way."""
    return kc.some(itertools.product(NODES, COLOURS), lambda one: s.messages.has(("query", one[0], n, one[1])))


def respond(s: Slush, n: kc.Word, source: kc.Word, colour: kc.Word) -> Slush:
    """A node answers a query; it picks the colour of the query if it has none."""
    own = kc.get(s.pick, n)
    new = kc.choose(own == Pick.NONE, colour, own)
    messages = s.messages.minus(s.messages.just(("query", source, n, colour)))
    return evolve(s, pick=kc.put(s.pick, n, new), query=kc.put(s.query, n, Query.LOOP),
                  messages=messages.plus(s.messages.just(("reply", n, source, new))))  # fmt: skip


def ask(sample: tuple[int, ...]) -> kc.Action:
    """The action that a node, which is not in the sample, asks all of it."""

    def effect(s: Slush, n: kc.Word) -> Slush:
        messages = s.messages
        for other, colour in itertools.product(sample, COLOURS):
            query = messages.just(("query", n, other, colour))
            messages = kc.choose(kc.get(s.pick, n) == colour, messages.plus(query), messages)
        return evolve(s, messages=messages, sample=kc.put(s.sample, n, kc.IntSet.of(sample)),
                      loop=kc.put(s.loop, n, Loop.TALLY))  # fmt: skip

    others = is_at("loop", Loop.ASK, lambda s, n: kc.each(sample, lambda other: other != n))
    return kc.Action(f"ask_{''.join(map(str, sample))}", effect, others, ONE)


def replies(s: Slush, n: kc.Word, colours: tuple[Pick, ...]) -> kc.Word:
    """How many of the sample have answered with one of some colours."""
    sample = kc.get(s.sample, n)
    return kc.count(itertools.product(NODES, colours), lambda one: kc.all_of(
        sample.has(one[0]), s.messages.has(("reply", one[0], n, one[1]))))  # fmt: skip


def all_replied(s: Slush, n: kc.Word) -> kc.Truth:
    """Whether each of the sample has answered."""
    sample = kc.get(s.sample, n)
    return kc.each(NODES, lambda other: kc.implies(sample.has(other), kc.some(
        COLOURS, lambda colour: s.messages.has(("reply", other, n, colour)))))  # fmt: skip


def tally(s: Slush, n: kc.Word) -> Slush:
    """A node takes the colour that enough others have, and forgets the answers."""
    sample, own = kc.get(s.sample, n), kc.get(s.pick, n)
    red, blue = (replies(s, n, (colour,)) >= FLIP for colour in COLOURS)
    messages = s.messages
    for other, colour in itertools.product(NODES, COLOURS):
        reply = messages.just(("reply", other, n, colour))
        messages = kc.choose(sample.has(other), messages.minus(reply), messages)
    return evolve(s, pick=kc.put(s.pick, n, kc.choose(red, Pick.RED, kc.choose(blue, Pick.BLUE, own))),
                  messages=messages, sample=kc.put(s.sample, n, sample.none()),
                  rounds=kc.put(s.rounds, n, kc.get(s.rounds, n) + 1),
                  loop=kc.put(s.loop, n, Loop.EXECUTE))  # fmt: skip


def terminate(s: Slush, n: kc.Word) -> Slush:
    """A node says that it has ended."""
    return evolve(s, messages=s.messages.plus(s.messages.just(("terminated", n))), loop=kc.put(s.loop, n, Loop.DONE))


def assign(s: Slush, n: kc.Word, colour: kc.Word) -> Slush:
    """The client gives a node a colour if it has none."""
    own = kc.get(s.pick, n)
    return evolve(s, pick=kc.put(s.pick, n, kc.choose(own == Pick.NONE, colour, own)), client=Client.LOOP)


def all_picked(s: Slush) -> kc.Truth:
    """Whether each node has a colour."""
    return kc.each(s.pick, lambda pick: pick != Pick.NONE)


def is_done(s: Slush) -> kc.Truth:
    """Whether all processes have ended."""
    return kc.all_of(s.client == Client.DONE, kc.each(s.query, lambda at: at == Query.DONE),
                     kc.each(s.loop, lambda at: at == Loop.DONE))  # fmt: skip


ACTIONS = [
    kc.Action("query_loop", go("query", lambda s, n: kc.choose(terminated(s), Query.DONE, Query.WAIT)),
              is_at("query", Query.LOOP), ONE),
    kc.Action("wait", go("query", lambda s, n: kc.choose(terminated(s), Query.LOOP, Query.RESPOND)),
              is_at("query", Query.WAIT, lambda s, n: is_asked(s, n) | terminated(s)), ONE),
    kc.Action("respond", respond, is_at("query", Query.RESPOND, lambda s, n, source, colour: s.messages.has(
        ("query", source, n, colour))), {**ONE, "source": NODES, "colour": COLOURS}),
    kc.Action("require", go("loop", Loop.EXECUTE),
              is_at("loop", Loop.REQUIRE, lambda s, n: kc.get(s.pick, n) != Pick.NONE), ONE),
    kc.Action("execute", go("loop", lambda s, n: kc.choose(
        kc.get(s.rounds, n) < ROUNDS, Loop.ASK, Loop.TERMINATE)), is_at("loop", Loop.EXECUTE), ONE),
    *map(ask, itertools.combinations(NODES, SAMPLE)),
    kc.Action("tally", tally, is_at("loop", Loop.TALLY, all_replied), ONE),
    kc.Action("terminate", terminate, is_at("loop", Loop.TERMINATE), ONE),
    kc.Action("client", lambda s: evolve(s, client=kc.choose(all_picked(s), Client.DONE, Client.ASSIGN)),
              lambda s: s.client == Client.LOOP),
    kc.Action("assign", assign, lambda s, n, colour: s.client == Client.ASSIGN, {**ONE, "colour": COLOURS}),
    kc.Action("terminated", lambda s: s, is_done),
]  # fmt: skip

SLUSH = kc.System(
    name="slush",
    summary="Nodes agree on a colour by samples.",
    layout=Slush((Pick.domain(),) * 3, Messages.domain(), (Query.domain(),) * 3, (Loop.domain(),) * 3, Client.domain(),
                 (kc.IntSet(kc.subset_of(3)),) * 3, (kc.ints(0, ROUNDS),) * 3),
    initial=[Slush((Pick.NONE,) * 3, Messages.of([]), (Query.LOOP,) * 3, (Loop.REQUIRE,) * 3, Client.LOOP,
                   (kc.IntSet(),) * 3, (0,) * 3)],
    actions=ACTIONS,
    properties=[
        kc.always("answers-fit", "a query or an answer is about a node that asks", lambda s: kc.each(
            NODES, lambda n: kc.implies(replies(s, n, COLOURS) > 0, s.loop[n] == Loop.TALLY))),
        kc.always("never-agree", "the nodes never end with one colour", lambda s: kc.negate(kc.all_of(
            is_done(s), kc.each(s.pick, lambda pick: pick == s.pick[0])))),
    ],
)  # fmt: skip
