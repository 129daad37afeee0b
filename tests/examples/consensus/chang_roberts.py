"""Chang and Roberts' election on a ring (specifications/chang_roberts): the smallest number goes all around."""

from __future__ import annotations

import enum

from attrs import evolve, frozen

import kraftcheck as kc

NODES = range(3)
ONE = {"node": NODES}


class Status(kc.Enum):
    """What a node knows of itself."""

    CANDIDATE = enum.auto()
    LOST = enum.auto()
    WON = enum.auto()


@frozen
class Ring:
    """The numbers that wait at each node, who has begun, who starts an election, and what each node knows."""

    inbox: tuple[kc.IntSet, ...]
    begun: kc.IntSet
    initiators: kc.IntSet
    status: tuple[kc.Word, ...]


def _sent(inbox: tuple[kc.IntSet, ...], node: kc.Word, number: kc.Word) -> tuple[kc.IntSet, ...]:
    after = (node + 1) % len(NODES)
    there = kc.get(inbox, after)
    return kc.put(inbox, after, there.plus(there.just(number)))


def _begin(s: Ring, node: kc.Word) -> Ring:
    inbox = kc.choose(s.initiators.has(node), _sent(s.inbox, node, node), s.inbox)
    return evolve(s, inbox=inbox, begun=s.begun.plus(s.begun.just(node)))


def _start(initiators: list[int]) -> Ring:
    status = tuple(Status.CANDIDATE if node in initiators else Status.LOST for node in NODES)
    return Ring((kc.IntSet(),) * len(NODES), kc.IntSet(), kc.IntSet.of(initiators), status)


def _correct(s: Ring) -> dict[str, kc.Truth]:
    def one(node: int) -> kc.Truth:
        others = [
            kc.all_of(s.status[other] == Status.LOST, kc.implies(s.initiators.has(other), other > node))
            for other in NODES if other != node
        ]  # fmt: skip
        return kc.implies(s.status[node] == Status.WON, kc.all_of(s.initiators.has(node), *others))

    return {f"node {node}": one(node) for node in NODES}


def _is(status: Status) -> kc.Truth:
    return lambda s: kc.some(s.status, lambda one: one == status)


def ring(modest: bool = True) -> kc.System:
    """The election; nodes that are not modest stay candidates when a smaller number comes by."""
    def receive(s: Ring, node: kc.Word, number: kc.Word) -> Ring:
        mine, status = kc.get(s.inbox, node), kc.get(s.status, node)
        rest = kc.put(s.inbox, node, mine.minus(mine.just(number)))
        passes = kc.any_of(status == Status.LOST, number < node)
        wins = kc.choose(kc.all_of(kc.negate(passes), number == node), Status.WON, status)
        becomes = kc.choose(passes, Status.LOST, wins) if modest else wins
        return evolve(
            s, inbox=kc.choose(passes, _sent(rest, node, number), rest), status=kc.put(s.status, node, becomes)
        )

    def may_receive(s: Ring, node: kc.Word, number: kc.Word) -> kc.Truth:
        return kc.all_of(s.begun.has(node), kc.get(s.inbox, node).has(number))

    numbers = kc.IntSet(kc.subset_of(len(NODES)))
    return kc.System(
        name="chang-roberts", summary="A leader is elected on a ring.",
        layout=Ring((numbers,) * len(NODES), numbers, numbers, (Status.domain(),) * len(NODES)),
        initial=[_start([node for node in NODES if mask >> node & 1]) for mask in range(1 << len(NODES))],
        actions=[
            kc.Action("begin", _begin, lambda s, node: kc.negate(s.begun.has(node)), ONE),
            kc.Action("receive", receive, may_receive, {**ONE, "number": NODES}),
        ],
        fairness=[kc.weak_fairness("begin", "receive", each=["node"])],
        properties=[
            kc.always("correctness", "who wins has the smallest number that started, and all others know", _correct),
            kc.leads_to("liveness", "where there is a candidate, one wins", _is(Status.CANDIDATE), _is(Status.WON)),
        ],
        quiescent=lambda s: True,
    )  # fmt: skip


CHANG_ROBERTS, IMMODEST = ring(), ring(modest=False)
