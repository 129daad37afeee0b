"""Networks, timers and clocks: what each delivers, and protocols over them, right or wrong as they are known to be."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from attrs import evolve, frozen

import kraftcheck as kc
from kraftcheck import network
from tests.examples.consensus import lease


def ping_pong(most: int, kind: Any, lossy: bool, sized: tuple[int, ...] = ()) -> kc.System:
    """The game of Stateright's own tests: a ping is answered by a pong of its number, a pong by the next ping."""

    class Wires(kind):  # type: ignore[misc]
        members = tuple((kind, number) for kind in ("ping", "pong") for number in range(most + 1))

        @classmethod
        def link(cls, message: Any) -> Any:
            return message[0]

    @frozen
    class Game:
        pinger: kc.Word
        ponger: kc.Word
        wires: Wires

    def ping(s: Game, n: kc.Word) -> Game:
        return Game(s.pinger + 1, s.ponger, s.wires.deliver(("pong", n)).send(("ping", n + 1)))

    def pong(s: Game, n: kc.Word) -> Game:
        return Game(s.pinger, s.ponger + 1, s.wires.deliver(("ping", n)).send(("pong", n)))

    count = kc.ints(0, most)
    return kc.System(
        name="ping-pong", summary="Pings and pongs.", layout=Game(count, count, Wires.domain(*sized)),
        initial=[Game(0, 0, Wires.of([("ping", 0)], *sized[: kind is network.Ordered]))],
        actions=[
            kc.Action("ping", ping, lambda s, n: kc.all_of(s.pinger == n, s.wires.arrives(("pong", n))),
                      {"n": range(most)}),
            kc.Action("pong", pong, lambda s, n: kc.all_of(s.ponger == n, s.wires.arrives(("ping", n))),
                      {"n": range(most)}),
            *[network.losses("wires", Wires)] * lossy,
        ],
        properties=[kc.always("close", "no one is far behind",
                              lambda s: kc.all_of(s.pinger <= s.ponger, s.ponger <= s.pinger + 1))],
        quiescent=lambda s: True,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("most", "kind", "lossy", "sized", "states"),
    [
        (1, network.Duplicating, True, (), 14),
        (5, network.Duplicating, True, (), 4_094),
        (5, network.Duplicating, False, (), 11),
        (5, network.Unordered, False, (1,), 11),
        (5, network.Ordered, False, (1,), 11),
        (5, network.Ordered, True, (1,), 22),
        (2, network.Unordered, True, (1,), 10),
    ],
)
def test_sizes_are_staterights(most: int, kind: Any, lossy: bool, sized: tuple[int, ...], states: int) -> None:
    """The game has the states that Stateright's tests state; of the lossy network without copies, twice the others'."""
    found = kc.explore(ping_pong(most, kind, lossy, sized), threads=1)
    found.assert_holds()
    assert len(found.states()) == states


def plain_steps(state: Any) -> Iterator[Any]:
    """The steps of the lease on plain tuples and sets: clocks, numbers asked, holders, messages."""
    clocks, asked, holds, wires = state

    def set_to(items: tuple[int, ...], place: int, value: int) -> tuple[int, ...]:
        return (*items[:place], value, *items[place + 1 :])

    for c in (0, 1):
        if asked[c] < 2 and not clocks[c]:
            number = asked[c] + 1
            yield set_to(clocks, c, 2), set_to(asked, c, number), holds - {c}, wires | {("ask", c, number)}
    for message in wires:
        yield clocks, asked, holds, wires - {message}
        kind, c, number = message
        if kind == "ask" and not clocks[2]:
            yield set_to(clocks, 2, 2), asked, holds, wires | {("grant", c, number)}
        if kind == "grant" and asked[c] == number:
            yield clocks, asked, holds | {c}, wires
    if any(clocks):
        yield tuple(max(left - 1, 0) for left in clocks), asked, holds, wires


def test_the_lease_has_the_states_of_a_plain_search() -> None:
    """Over a network that repeats and loses, the lease has as many states as a search over plain sets finds."""
    start = ((0, 0, 0), (0, 0), frozenset[int](), frozenset[Any]())
    seen, waiting = {start}, [start]
    while waiting:
        for after in plain_steps(waiting.pop()):
            if after not in seen:
                seen.add(after)
                waiting.append(after)
    found = kc.explore(lease.LEASE, threads=1)
    found.assert_holds()
    assert len(found.states()) == len(seen) == 22_133


@pytest.mark.parametrize(("system", "steps"), [(lease.LATE, 8), (lease.UNNUMBERED, 9)])
def test_leases_that_are_measured_wrongly_are_held_twice(system: kc.System, steps: int) -> None:
    """From the arrival on, or without numbers, two clients hold the lease, in the fewest steps."""
    assert len(kc.explore(system, threads=1, properties=["one-holder"]).trace("one-holder").steps) == steps


class Links(network.Ordered):
    """Two messages on one link, and one on another."""

    members = (("ask", 0, 1), ("tell", 0, 1), ("ask", 1, 0))


@frozen
class Posted:
    """Links, and what a step does to them."""

    links: Links


ONE_TOO_MANY = kc.Action("send", lambda s, to: Posted(s.links.send(("ask", 0, to))), None, {"to": (1, 2)})
NOT_NEXT = kc.Action("deliver", lambda s: Posted(s.links.deliver(("tell", 0, 1)).send(("ask", 1, 0))))


@pytest.mark.parametrize("action", [ONE_TOO_MANY, NOT_NEXT])
def test_an_ordered_network_loses_nothing_silently(action: kc.Action) -> None:
    """A message that no member is, one too many, and a delivery of what does not come next leave the domain."""
    system = kc.System(
        name="links", summary="Links.", layout=Posted(Links.domain(2)), initial=[Posted(Links.of([("ask", 0, 1)], 2))],
        actions=[action], properties=[kc.always("ok", "ok", lambda s: s.links.links[0].size >= 0)],
        quiescent=lambda s: True,
    )  # fmt: skip
    assert isinstance(kc.explore(system, threads=1).verdict("ok"), kc.Incomplete)


def test_messages_of_one_name_are_refused() -> None:
    """Two messages whose parts join to one name cannot be told apart in a trace: they are refused in a line."""

    class Twins(network.Unordered):
        members = (("a", 1), "a_1")

    with pytest.raises(ValueError, match="two messages of Twins are called a_1"):
        network.losses("wires", Twins)


class Alarms(network.Timers):
    """One timer."""

    members = ("election",)


def test_timers_run_until_they_are_stopped() -> None:
    """A timer that is started runs, and one that is stopped does not."""
    started = Alarms.of([]).start("election")
    assert (started.runs("election"), started.stop("election").runs("election")) == (True, False)


MOST = 3


def letters(kind: Any, lossy: bool, *, bits: int = 2, repeats: bool = True, looks: bool = True) -> kc.System:
    """The protocol over a kind of network.

    Args:
        kind, lossy: the network.
        bits: how many numbers tell letters apart.
        repeats: whether a letter is sent again.
        looks: whether the receiver looks at the number.
    """

    class Wires(kind):  # type: ignore[misc]
        members = tuple((word, at, 1 - at, b) for word, at in (("letter", 0), ("ack", 1)) for b in range(bits))

    @frozen
    class State:
        acked: kc.Word
        taken: kc.Word
        asked: kc.Truth
        wires: Wires

    stays = kind is network.Duplicating

    def is_next(number: kc.Word, b: kc.Word) -> kc.Truth:
        return kc.any_of(*(kc.all_of(number == n, b == n % bits) for n in range(MOST + 1)))

    def send(s: State, b: kc.Word) -> State:
        return evolve(s, asked=True, wires=s.wires.send(("letter", 0, 1, b)))

    def may_send(s: State, b: kc.Word) -> kc.Truth:
        may = kc.any_of(stays, kc.negate(s.wires.arrives(("letter", 0, 1, b))))
        return kc.all_of(s.acked < MOST, is_next(s.acked, b), kc.any_of(repeats, kc.negate(s.asked)), may)

    def take(s: State, b: kc.Word) -> State:
        new = kc.choose(kc.any_of(is_next(s.taken, b), not looks), 1, 0)
        return evolve(s, taken=s.taken + new, wires=s.wires.deliver(("letter", 0, 1, b)).send(("ack", 1, 0, b)))

    def learn(s: State, b: kc.Word) -> State:
        new = is_next(s.acked, b)
        return evolve(s, acked=s.acked + kc.choose(new, 1, 0), asked=kc.all_of(s.asked, kc.negate(new)),
                      wires=s.wires.deliver(("ack", 1, 0, b)))  # fmt: skip

    row = {"b": range(bits)}
    wires = Wires.domain() if stays else Wires.domain(1, cap="links are short")
    return kc.System(
        name="letters", summary="The alternating bit.", layout=State(*[kc.ints(0, MOST + 1)] * 2, kc.truth(), wires),
        initial=[State(0, 0, False, Wires.of([], *[1] * (kind is network.Ordered)))],
        actions=[
            kc.Action("send", send, may_send, row),
            kc.Action("take", take, lambda s, b: s.wires.arrives(("letter", 0, 1, b)), row),
            kc.Action("learn", learn, lambda s, b: s.wires.arrives(("ack", 1, 0, b)), row),
            *[network.losses("wires", Wires)] * lossy,
        ],
        properties=[
            kc.always("no-copy", "no letter is taken twice", lambda s: s.taken <= s.acked + 1),
            kc.always("none-lost", "what is acknowledged was taken", lambda s: s.acked <= s.taken),
            kc.recovers("arrives", "all can still be acknowledged", lambda s: s.acked == MOST),
        ],
        quiescent=lambda s: True,
    )  # fmt: skip


def verdicts(found: kc.Result) -> dict[str, str]:
    """What is said of each property."""
    return {name: type(one).__name__ for name, one in found.verdicts.items() if name != "deadlock"}


@pytest.mark.parametrize(("kind", "lossy", "changed", "refuted"), [
    (network.Ordered, True, {}, set()),
    (network.Ordered, False, {"repeats": False}, set()),
    (network.Ordered, True, {"repeats": False}, {"arrives"}),
    (network.Ordered, True, {"looks": False}, {"no-copy"}),
    (network.Unordered, False, {}, {"no-copy", "none-lost", "arrives"}),
    (network.Unordered, False, {"repeats": False}, set()),
    (network.Unordered, True, {"bits": MOST + 1}, set()),
    (network.Unordered, True, {"repeats": False}, {"arrives"}),
    (network.Duplicating, False, {"repeats": False}, {"no-copy", "none-lost", "arrives"}),
    (network.Duplicating, True, {"bits": MOST + 1}, set()),
    (network.Ordered, True, {"bits": MOST + 1}, set()),
    (network.Duplicating, True, {"bits": MOST + 1, "repeats": False}, {"arrives"}),
])  # fmt: skip
def test_each_network_refutes_what_it_breaks(
    kind: Any, lossy: bool, changed: dict[str, Any], refuted: set[str]
) -> None:  # fmt: skip
    """A lost message, a copy and another order refute exactly the protocols that do not allow for them."""
    found = kc.explore(letters(kind, lossy, **changed), threads=1)
    said = verdicts(found)
    assert {name for name, word in said.items() if word == "Refuted"} == refuted
    assert refuted or set(said.values()) == {"Holds"}
    if refuted == {"arrives"}:
        assert [step.action for step in found.trace("arrives").steps] == ["send", "lose"]


class Plain:
    """The protocol on tuples: messages in the order in which they were sent."""

    def __init__(self, kind: Any, lossy: bool, bits: int) -> None:
        self.kind, self.lossy, self.bits = kind, lossy, bits

    def arriving(self, wires: Any) -> list[Any]:
        """The messages that may come next."""
        if self.kind is not network.Ordered:
            return sorted(set(wires))
        return [next(one for one in wires if one[0] == word) for word in sorted({word for word, _ in wires})]

    def without(self, wires: Any, message: Any) -> Any:
        """The messages without one."""
        at = wires.index(message)
        return (*wires[:at], *wires[at + 1 :])

    def sent(self, wires: Any, message: Any) -> Any:
        """The messages with one more; None where a link is full."""
        if self.kind is network.Duplicating:
            return tuple(sorted({*wires, message}))
        counted = message if self.kind is network.Unordered else message[0]
        on = Counter(wires if self.kind is network.Unordered else (word for word, _ in wires))
        return None if on[counted] else tuple(sorted((*wires, message)))

    def steps(self, state: Any) -> Iterator[Any]:
        """What a step leads to."""
        acked, taken, asked, wires = state
        letter = ("letter", acked % self.bits)
        if acked < MOST and (self.kind is network.Duplicating or letter not in self.arriving(wires)):
            yield acked, taken, True, self.sent(wires, letter)
        for message in self.arriving(wires):
            (word, b), stays = message, self.kind is network.Duplicating
            rest = wires if stays else self.without(wires, message)
            if word == "letter":
                yield acked, taken + (taken % self.bits == b), asked, self.sent(rest, ("ack", b))
            else:
                new = acked % self.bits == b
                yield acked + new, taken, asked and not new, rest
            if self.lossy:
                yield acked, taken, asked, self.without(wires, message)


@pytest.mark.parametrize(("kind", "lossy", "bits", "states"), [
    (network.Ordered, False, 2, 21), (network.Ordered, True, 2, 32),
    (network.Unordered, False, 4, 79), (network.Unordered, True, 4, 118),
    (network.Duplicating, False, 4, 10), (network.Duplicating, True, 4, 211),
])  # fmt: skip
def test_a_plain_search_finds_as_many_states(kind: Any, lossy: bool, bits: int, states: int) -> None:
    """Networks of tuples, one message of a kind under way at most, have as many states as the parts of the language."""
    plain, start = Plain(kind, lossy, bits), (0, 0, False, ())
    seen, waiting = {start}, [start]
    while waiting:
        for after in plain.steps(waiting.pop()):
            if after[-1] is not None and after not in seen:
                seen.add(after)
                waiting.append(after)
    assert len(kc.explore(letters(kind, lossy, bits=bits), threads=1).states()) == len(seen) == states
