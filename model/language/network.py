"""Parts for protocols: networks that order messages, lose them or deliver them twice, timers, and clocks.

A network is a field of the state: subclass one of the three and name `members`, all messages. Each has the same
methods, so that a function of the class of the network makes a protocol over any of them:

    class Wires(network.Unordered):
        members = (("ping", 0), ("pong", 0))

    evolve(s, wires=s.wires.send(("ping", 0)))             # in an effect
    s.wires.arrives(("ping", 0))                           # in a guard
    evolve(s, wires=s.wires.deliver(("ping", 0)))          # in the effect of what receives it
    network.losses("wires", Wires)                         # an action: any message that arrives may be lost instead
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, ClassVar, Protocol, Self

from attrs import evolve, frozen

from kraftcheck.model.language.collections import Bag, SetOf, maximum, outside, places, text_of
from kraftcheck.model.language.layout import Enum, LayoutError, ints, leaves
from kraftcheck.model.language.places import Queue, get, put, some
from kraftcheck.model.language.symbolic import Untold, record_fields
from kraftcheck.model.language.system import Action
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import all_of, any_of, choose, word


class Network(Protocol):
    """The common part of the networks of this module.

    Attributes:
        members: all messages, a class attribute.
    """

    members: ClassVar[tuple[Any, ...]]

    def send(self, message: Any) -> Self:
        """The network with one more message under way."""

    def arrives(self, message: Any) -> Truth:
        """Whether a message may be delivered next."""

    def deliver(self, message: Any) -> Self:
        """The network after a message has arrived."""

    def lose(self, message: Any) -> Self:
        """The network without a message that could arrive."""

    def lose_one(self, of: Sequence[Truth]) -> Self:
        """The network without the member of which the truth at its place holds; it could arrive."""


class Unordered(Bag):
    """A network that delivers each message once, in any order; `domain` and `of` are those of `Bag`.

    >>> class Wires(Unordered):
    ...     members = ("ping", "pong")
    >>> wires = Wires.of(["ping"]).send("ping").deliver("ping")
    >>> wires.arrives("ping"), wires.deliver("ping").arrives("ping")
    (True, False)
    """

    send, arrives, deliver, lose = Bag.add, Bag.has, Bag.remove, Bag.remove

    def lose_one(self, of: Sequence[Truth]) -> Self:
        """The network without the member of which the truth at its place holds; it could arrive."""
        return evolve(self, counts=tuple(count - word(lost) for count, lost in zip(self.counts, of, strict=True)))


class Duplicating(SetOf):
    """A network that delivers a message in any order, and again and again; `domain` and `of` are those of `SetOf`.

    >>> class Wires(Duplicating):
    ...     members = ("ping", "pong")
    >>> wires = Wires.of(["ping"]).deliver("ping")
    >>> wires.arrives("ping"), wires.lose("ping").arrives("ping")
    (True, False)
    """

    arrives = SetOf.has

    def send(self, message: Any) -> Self:
        """The network with one more message under way."""
        return self.plus(self.just(message))

    def deliver(self, message: Any) -> Self:
        """The network as it is: the message stays under way."""
        return self

    def lose(self, message: Any) -> Self:
        """The network that does not deliver a message any more, until it is sent again."""
        return self.minus(self.just(message))

    def lose_one(self, of: Sequence[Truth]) -> Self:
        """The network without the member of which the truth at its place holds; it could arrive."""
        lost = self.none()
        for message, one in zip(self.members, of, strict=True):
            lost = lost.plus(choose(one, self.just(message), self.none()))
        return self.minus(lost)


@frozen
class Ordered(Untold):
    """A network that delivers each message once, on each link in the order in which they were sent.

    One message too many on a link, and a delivery of what does not come next, leave the domain for good.

    Attributes:
        members: all messages, a class attribute.
        links: for each link the numbers of the messages on it, counted from 1.

    >>> class Wires(Ordered):
    ...     members = (("ask", 0, 1), ("tell", 0, 1), ("ask", 1, 0))
    >>> wires = Wires.of([("ask", 0, 1)], 2).send(("tell", 0, 1))
    >>> wires.arrives(("tell", 0, 1)), wires.deliver(("ask", 0, 1)).arrives(("tell", 0, 1))
    (False, True)
    """

    members: ClassVar[tuple[Any, ...]] = ()
    links: tuple[Queue, ...]

    @classmethod
    def link(cls, message: Any) -> Any:
        """The link that a message takes: its second and third part, which are sender and receiver; override it."""
        return message[1:3]

    @classmethod
    def domain(cls, capacity: int, *, cap: str = "") -> Any:
        """The layout of at most so many messages on each link; `cap` as of `ints`."""
        return cls(tuple(Queue.domain(ints(0, len(cls.members)), capacity, cap=cap) for _ in cls._links()))

    @classmethod
    def of(cls, messages: Iterable[Any], capacity: int) -> Self:
        """The network with some messages under way, sent in this order."""
        result = cls(tuple(Queue.of([], capacity) for _ in cls._links()))
        for message in messages:
            result = result.send(message)
        return result

    @classmethod
    def _links(cls) -> dict[Any, list[int]]:
        """The places of the members on each link."""
        found: dict[Any, list[int]] = {}
        for at, message in enumerate(cls.members):
            found.setdefault(cls.link(message), []).append(at)
        return found

    def __iter__(self) -> Iterator[Any]:
        """The messages of a concrete network, link by link."""
        return (self.members[number - 1] for queue in self.links for number in queue)

    def __str__(self) -> str:
        """As traces print it."""
        queues = (", ".join(text_of(self.members[number - 1]) for number in queue) for queue in self.links)
        return f"[{', '.join(f'<{queue}>' for queue in queues)}]"

    def _each(self, message: Any) -> Iterator[tuple[Queue, Truth, Word]]:
        """Each link, whether a message takes it, and the number of the message where it does."""
        there = dict(places(self.members, message))
        for queue, on_it in zip(self.links, self._links().values(), strict=True):
            here = [at for at in on_it if at in there]
            number = sum((choose(there[at], at + 1, 0) for at in here), start=0)
            yield queue, any_of(*(there[at] for at in here)), number

    def send(self, message: Any) -> Self:
        """The network with one more message under way, the last one on its link."""
        first, *rest = [choose(takes, queue.append(number), queue) for queue, takes, number in self._each(message)]
        return type(self)((choose(outside(self.members, message), self._lost(first), first), *rest))

    def arrives(self, message: Any) -> Truth:
        """Whether a message is the first one on its link."""
        return any_of(*(all_of(takes, queue.head() == number) for queue, takes, number in self._each(message)))

    def deliver(self, message: Any) -> Self:
        """The network after the first message on a link has arrived."""

        def after(queue: Queue, takes: Truth, number: Word) -> Queue:
            gone = choose(queue.head() == number, queue.tail(), self._lost(queue))
            return choose(takes, gone, queue)

        return type(self)(tuple(after(*one) for one in self._each(message)))

    lose = deliver

    def lose_one(self, of: Sequence[Truth]) -> Self:
        """The network without the member of which the truth at its place holds; it could arrive."""
        on_links = self._links().values()
        return type(self)(tuple(
            choose(any_of(*(of[at] for at in on_it)), queue.tail(), queue)
            for queue, on_it in zip(self.links, on_links, strict=True)
        ))  # fmt: skip

    def _lost(self, queue: Queue) -> Queue:
        """A link that has left its domain for good."""
        return Queue.of([], len(queue.items)).tail()


def losses(name: str, network: type[Network]) -> Action:
    """The action `lose`: a message that could arrive is lost.

    Args:
        name: the field of the state.
    """
    messages = _messages(network)

    def lose(state: Any, message: Word) -> Any:
        is_it = [message == messages(number) for number in range(len(network.members))]
        return _with(state, name, getattr(state, name).lose_one(is_it))

    def arrives(state: Any, message: Word) -> Truth:
        under_way = getattr(state, name)
        return any_of(*(
            all_of(message == messages(number), under_way.arrives(member))
            for number, member in enumerate(network.members)
        ))  # fmt: skip

    return Action("lose", lose, arrives, {"message": tuple(messages)})


@functools.cache
def _messages(network: type[Network]) -> Any:
    """The messages of a network as named words: the parts of each, joined."""
    names = ["_".join(str(leaf) for _, leaf in leaves(message)) for message in network.members]
    twice = [one for number, one in enumerate(names) if one in names[:number]]
    if twice:
        raise LayoutError(f"two messages of {network.__name__} are called {twice[0]}; give one another text")
    named: Any = Enum  # mypy takes a call of it for the value of a member
    return named(f"{network.__name__}Message", {one: number for number, one in enumerate(names)})


def _with(state: Any, name: str, value: Any) -> Any:
    """A record of attrs or a dataclass with another value of a field."""
    names = record_fields(type(state)) or ()
    return type(state)(**{one: value if one == name else getattr(state, one) for one in names})


class Timers(SetOf):
    """Timers that are set: subclass it and name `members`. One that is set may fire at any time, or never.

    >>> class Alarms(Timers):
    ...     members = (("election", 0), ("election", 1))
    >>> alarms = Alarms.of([]).start(("election", 0))
    >>> alarms.runs(("election", 0)), alarms.stop(("election", 0)).runs(("election", 0))
    (True, False)
    """

    runs = SetOf.has

    def start(self, timer: Any) -> Self:
        """The timers with one set; one that is set already stays so."""
        return self.plus(self.just(timer))

    def stop(self, timer: Any) -> Self:
        """The timers without one: it has fired, or was called off."""
        return self.minus(self.just(timer))


@frozen
class Clocks(Untold):
    """Clocks that run down alike: where time is measured, as for a lease, and does not only pass.

    Attributes:
        left: the ticks that are left of each; 0 where it is not set, or has run out.

    >>> clocks = Clocks.of(2).start(1, 2).tick()
    >>> clocks.runs(1), clocks.tick().runs(1), clocks.runs(0)
    (True, False, False)
    """

    left: tuple[Word, ...]

    @classmethod
    def domain(cls, number: int, longest: int) -> Any:
        """The layout of so many clocks, each set to so many ticks at most."""
        return cls((ints(0, longest),) * number)

    @classmethod
    def of(cls, number: int) -> Self:
        """So many clocks, none of them set."""
        return cls((0,) * number)

    def start(self, clock: Word, ticks: Word) -> Self:
        """The clocks with one set."""
        return type(self)(put(self.left, clock, ticks))

    def runs(self, clock: Word) -> Truth:
        """Whether time is left of one."""
        left: Word = get(self.left, clock)
        return left > 0

    def tick(self) -> Self:
        """The clocks one tick later."""
        return type(self)(tuple(maximum(left - 1, 0) for left in self.left))


def ticks(name: str) -> Action:
    """The action `tick`: time passes, as long as a clock runs.

    Args:
        name: the field of the state that holds `Clocks`.
    """
    return Action(
        "tick",
        lambda state: _with(state, name, getattr(state, name).tick()),
        lambda state: some(getattr(state, name).left, lambda left: left > 0),
    )
