"""Paxos commit (Gray and Lamport): PaxosCommit of the TLA+ Examples, with 144 messages."""

import enum
import itertools
from typing import Any

from attrs import evolve, frozen

import kraftcheck as kc

MANAGERS, ACCEPTORS, BALLOTS = range(2), range(3), range(2)
MAJORITIES = ((0, 1), (0, 2), (1, 2))


class Manager(kc.Enum):
    """The states of a resource manager."""

    WORKING = enum.auto()
    PREPARED = enum.auto()
    COMMITTED = enum.auto()
    ABORTED = enum.auto()


class Vote(kc.Enum):
    """What an acceptor has accepted."""

    NONE = enum.auto()
    PREPARED = enum.auto()
    ABORTED = enum.auto()


VOTES = (Vote.PREPARED, Vote.ABORTED)


class Messages(kc.SetOf):
    """All messages ever sent; the instance, ballots, the vote and the acceptor follow the kind."""

    members = (
        *itertools.product(["1a"], MANAGERS, BALLOTS[1:]),
        *itertools.product(["1b"], MANAGERS, BALLOTS, (-1, *BALLOTS), Vote, ACCEPTORS),
        *itertools.product(["2a"], MANAGERS, BALLOTS, VOTES),
        *itertools.product(["2b"], MANAGERS, BALLOTS, VOTES, ACCEPTORS),
        ("commit",), ("abort",),
    )  # fmt: skip


@frozen
class Acceptor:
    """What an acceptor knows of an instance: its ballot, and the ballot and the vote that it accepted last."""

    ballot: kc.Word
    accepted: kc.Word
    vote: kc.Word


@frozen
class Commit:
    """The managers, the acceptors of each instance, and the messages."""

    manager: tuple[kc.Word, ...]
    acceptor: tuple[tuple[Acceptor, ...], ...]
    messages: Messages


def send(s: Commit, *message: Any) -> Commit:
    """A message more."""
    return evolve(s, messages=s.messages.plus(s.messages.just(message)))


def become(s: Commit, r: kc.Word, state: Manager) -> Commit:
    """A manager in another state."""
    return evolve(s, manager=kc.put(s.manager, r, state))


def is_in(state: Manager) -> Any:
    """The guard that a manager is in a state."""
    return lambda s, r: kc.get(s.manager, r) == state


def promise(s: Commit, r: kc.Word, a: kc.Word) -> Commit:
    """Phase 1b: an acceptor follows ballot 1, and says what it accepted before."""
    old = kc.get(s.acceptor, r, a)
    after = send(s, "1b", r, 1, old.accepted, old.vote, a)
    return evolve(after, acceptor=kc.put(s.acceptor, (r, a), evolve(old, ballot=1)))


def accept(s: Commit, r: kc.Word, a: kc.Word, ballot: kc.Word, vote: kc.Word) -> Commit:
    """Phase 2b: an acceptor accepts a vote."""
    after = send(s, "2b", r, ballot, vote, a)
    return evolve(after, acceptor=kc.put(s.acceptor, (r, a), Acceptor(ballot, ballot, vote)))


def may_accept(s: Commit, r: kc.Word, a: kc.Word, ballot: kc.Word, vote: kc.Word) -> kc.Truth:
    """The vote was proposed in a ballot that the acceptor has not left."""
    return kc.all_of(s.messages.has(("2a", r, ballot, vote)), kc.get(s.acceptor, r, a).ballot <= ballot)


def promised(s: Commit, r: kc.Word, a: int, claim: Any) -> kc.Truth:
    """Whether an acceptor's promise for ballot 1 satisfies a claim about the ballot and the vote accepted before."""
    cases = itertools.product((-1, *BALLOTS), Vote)
    return kc.some(cases, lambda c: kc.all_of(s.messages.has(("1b", r, 1, *c, a)), claim(*c)))


def proposal(majority: tuple[int, ...]) -> kc.Action:
    """Phase 2a of ballot 1: the leader proposes what a majority accepted in the highest ballot, else to abort."""

    def effect(s: Commit, r: kc.Word) -> Commit:
        highest: kc.Word = Vote.ABORTED
        for ballot, vote in itertools.product(BALLOTS, VOTES):
            told = kc.some(majority, lambda a, b=ballot, v=vote: promised(
                s, r, a, lambda accepted, said: accepted == b and said == v))  # fmt: skip
            highest = kc.choose(told, vote, highest)
        return send(s, "2a", r, 1, highest)

    def guard(s: Commit, r: kc.Word) -> kc.Truth:
        fresh = kc.each(VOTES, lambda vote: kc.negate(s.messages.has(("2a", r, 1, vote))))
        return kc.all_of(fresh, kc.each(majority, lambda a: promised(s, r, a, lambda accepted, said: True)))

    return kc.Action(f"propose_{''.join(map(str, majority))}", effect, guard, {"r": MANAGERS})


def decided(s: Commit, r: int, vote: Vote) -> kc.Truth:
    """Whether a majority accepted a vote in one ballot."""
    return kc.some(itertools.product(BALLOTS, MAJORITIES), lambda case: kc.each(
        case[1], lambda a: s.messages.has(("2b", r, case[0], vote, a))))  # fmt: skip


ONE, BOTH = {"r": MANAGERS}, {"r": MANAGERS, "a": ACCEPTORS}
START = Acceptor(0, -1, Vote.NONE)

PAXOS_COMMIT = kc.System(
    name="paxos-commit",
    summary="Paxos commit.",
    layout=Commit((Manager.domain(),) * 2, ((Acceptor(kc.ints(0, 1), kc.ints(-1, 1), Vote.domain()),) * 3,) * 2,
                  Messages.domain()),
    initial=[Commit((Manager.WORKING,) * 2, ((START,) * 3,) * 2, Messages.of([]))],
    actions=[
        kc.Action("prepare", lambda s, r: send(become(s, r, Manager.PREPARED), "2a", r, 0, Vote.PREPARED),
                  is_in(Manager.WORKING), ONE),
        kc.Action("give_up", lambda s, r: send(become(s, r, Manager.ABORTED), "2a", r, 0, Vote.ABORTED),
                  is_in(Manager.WORKING), ONE),
        kc.Action("hear_commit", lambda s, r: become(s, r, Manager.COMMITTED),
                  lambda s, r: s.messages.has(("commit",)), ONE),
        kc.Action("hear_abort", lambda s, r: become(s, r, Manager.ABORTED),
                  lambda s, r: s.messages.has(("abort",)), ONE),
        kc.Action("ask", lambda s, r: send(s, "1a", r, 1), None, ONE),
        *map(proposal, MAJORITIES),
        kc.Action("commit", lambda s: send(s, "commit"),
                  lambda s: kc.each(MANAGERS, lambda r: decided(s, r, Vote.PREPARED))),
        kc.Action("abort", lambda s: send(s, "abort"),
                  lambda s: kc.some(MANAGERS, lambda r: decided(s, r, Vote.ABORTED))),
        kc.Action("promise", promise,
                  lambda s, r, a: kc.all_of(s.messages.has(("1a", r, 1)), kc.get(s.acceptor, r, a).ballot < 1), BOTH),
        kc.Action("accept", accept, may_accept, {**BOTH, "ballot": BALLOTS, "vote": VOTES}),
    ],
    properties=[
        kc.always("consistent", "no manager commits while another aborts", lambda s: kc.negate(kc.all_of(
            kc.some(s.manager, lambda m: m == Manager.COMMITTED), kc.some(s.manager, lambda m: m == Manager.ABORTED)))),
        kc.sometimes("commits", "every manager commits",
                     lambda s: kc.each(s.manager, lambda m: m == Manager.COMMITTED)),
    ],
)  # fmt: skip
