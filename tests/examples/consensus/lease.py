"""A lease over a network that loses, delays and repeats: whoever holds it knows so by its own clock."""

import itertools
from typing import Any

from attrs import evolve, frozen

import kraftcheck as kc
from kraftcheck import network

CLIENTS, SERVER, TICKS, ASKED = range(2), 2, 2, 2
ONE = {"c": CLIENTS}


class Wires(network.Duplicating):
    """What clients ask for the first and the second time, and what the server grants."""

    members = tuple(itertools.product(["ask", "grant"], CLIENTS, range(1, ASKED + 1)))


@frozen
class Lease:
    """The clocks of the clients and of the server, how often each client has asked, who holds, what is under way."""

    clocks: network.Clocks
    asked: tuple[kc.Word, ...]
    holds: kc.IntSet
    wires: Wires


def lease(*, early: bool = True, numbered: bool = True) -> kc.System:
    """The lease; by mistake clients measure it from its arrival on, or take a grant for what they asked before."""

    def ask(s: Lease, c: kc.Word) -> Lease:
        number = kc.get(s.asked, c) + 1
        clocks = s.clocks.start(c, TICKS) if early else s.clocks
        wires = s.wires.send(("ask", c, number))
        return Lease(clocks, kc.put(s.asked, c, number), s.holds.minus(s.holds.just(c)), wires)

    def may_ask(s: Lease, c: kc.Word) -> kc.Truth:
        return kc.all_of(kc.get(s.asked, c) < ASKED, kc.negate(s.clocks.runs(c)))

    def grant(s: Lease, c: kc.Word, number: kc.Word) -> Lease:
        wires = s.wires.deliver(("ask", c, number)).send(("grant", c, number))
        return evolve(s, clocks=s.clocks.start(SERVER, TICKS), wires=wires)

    def may_grant(s: Lease, c: kc.Word, number: kc.Word) -> kc.Truth:
        return kc.all_of(s.wires.arrives(("ask", c, number)), kc.negate(s.clocks.runs(SERVER)))

    def hold(s: Lease, c: kc.Word, number: kc.Word) -> Lease:
        clocks = s.clocks if early else s.clocks.start(c, TICKS)
        wires = s.wires.deliver(("grant", c, number))
        return evolve(s, clocks=clocks, holds=s.holds.plus(s.holds.just(c)), wires=wires)

    def may_hold(s: Lease, c: kc.Word, number: kc.Word) -> kc.Truth:
        asked = kc.get(s.asked, c) == number if numbered else True
        return kc.all_of(s.wires.arrives(("grant", c, number)), asked)

    def leads(s: Lease, c: kc.Word) -> kc.Truth:
        return kc.all_of(s.holds.has(c), s.clocks.runs(c))

    each: dict[str, Any] = {**ONE, "number": range(1, ASKED + 1)}
    return kc.System(
        name="lease",
        summary="A lease over a network.",
        layout=Lease(network.Clocks.domain(3, TICKS), (kc.ints(0, ASKED),) * 2, kc.IntSet(kc.subset_of(2)),
                     Wires.domain()),
        initial=[Lease(network.Clocks.of(3), (0, 0), kc.IntSet(), Wires.of([]))],
        actions=[
            kc.Action("ask", ask, may_ask, ONE), kc.Action("grant", grant, may_grant, each),
            kc.Action("hold", hold, may_hold, each), network.ticks("clocks"), network.losses("wires", Wires),
        ],
        properties=[
            kc.always("one-holder", "no two clients hold the lease",
                      lambda s: kc.negate(kc.all_of(*(leads(s, c) for c in CLIENTS)))),
            kc.sometimes("changes-hands", "both clients have held it", lambda s: kc.all_of(
                leads(s, 1), s.holds.has(0))),
        ],
        quiescent=lambda s: True,
    )  # fmt: skip


LEASE, LATE, UNNUMBERED = lease(), lease(early=False), lease(numbered=False)
