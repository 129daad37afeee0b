"""Networks, timers and clocks: what each of them delivers, and the sizes of protocols over them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from attrs import frozen

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
