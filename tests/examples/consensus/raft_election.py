"""Raft's election of a leader, without logs: RaftElection.tla beside this file, which is written for kraftcheck."""

import enum
import itertools
from typing import Any

from attrs import evolve, frozen

import kraftcheck as kc
from kraftcheck import network

SERVERS, LAST, NOBODY = range(3), 2, -1
SOMEBODY = kc.ints(NOBODY, 2, none=NOBODY)
TERMS = range(1, LAST + 1)


class Role(kc.Enum):
    """What a server is."""

    FOLLOWER = enum.auto()
    CANDIDATE = enum.auto()
    LEADER = enum.auto()


class Sent(network.Duplicating):
    """Messages, which stay: who asks in a term, and who says yes in it to whom."""

    members = (*itertools.product(["ask"], TERMS, SERVERS), *itertools.product(["yes"], TERMS, SERVERS, SERVERS))


@frozen
class Servers:
    """The term of each server, its role, for whom it votes in the term, and all that was sent."""

    term: tuple[kc.Word, ...]
    role: tuple[kc.Word, ...]
    vote: tuple[kc.Word, ...]
    sent: Sent


def becomes(s: Servers, i: kc.Word, role: Role, term: kc.Word, vote: kc.Word, *sent: Any) -> Servers:
    """A server has a role, a term and a vote, and has sent messages."""
    messages = s.sent
    for message in sent:
        messages = messages.send(message)
    return Servers(kc.put(s.term, i, term), kc.put(s.role, i, role), kc.put(s.vote, i, vote), messages)


def stand(s: Servers, i: kc.Word) -> Servers:
    """A server goes to the next term, votes for itself, and asks all others."""
    term = kc.get(s.term, i) + 1
    return becomes(s, i, Role.CANDIDATE, term, i, ("ask", term, i), ("yes", term, i, i))


def grant(s: Servers, i: kc.Word, j: kc.Word) -> Servers:
    """A server votes for another."""
    return evolve(s, vote=kc.put(s.vote, i, j), sent=s.sent.send(("yes", kc.get(s.term, i), i, j)))


def may_grant(s: Servers, i: kc.Word, j: kc.Word) -> kc.Truth:
    """It has not voted in its term, and the other one asks in it."""
    return kc.all_of(kc.get(s.vote, i) == NOBODY, s.sent.arrives(("ask", kc.get(s.term, i), j)))


def may_learn(s: Servers, i: kc.Word, t: kc.Word) -> kc.Truth:
    """Somebody asks in a later term."""
    return kc.all_of(t > kc.get(s.term, i), kc.some(SERVERS, lambda j: s.sent.arrives(("ask", t, j))))


def is_elected(s: Servers, t: kc.Word, i: kc.Word) -> kc.Truth:
    """Whether more than half say yes to a server in a term."""
    return 2 * kc.count(SERVERS, lambda j: s.sent.arrives(("yes", t, j, i))) > len(SERVERS)


def pairs(claim: Any) -> kc.Truth:
    """Whether a claim holds of no two servers."""
    return kc.each(itertools.combinations(SERVERS, 2), lambda pair: kc.negate(claim(*pair)))


def raft(last: int = LAST, *, forgetful: bool = False) -> kc.System:
    """Three servers and some terms, at most two; forgetful servers do not keep their votes over a restart."""

    def restart(s: Servers, i: kc.Word) -> Servers:
        vote = NOBODY if forgetful else kc.get(s.vote, i)
        return becomes(s, i, Role.FOLLOWER, kc.get(s.term, i), vote)

    def lead(s: Servers, i: kc.Word) -> kc.Truth:
        return kc.all_of(kc.get(s.role, i) == Role.CANDIDATE, is_elected(s, kc.get(s.term, i), i))

    one = {"i": SERVERS}
    return kc.System(
        name="raft-election",
        summary="Raft's election of a leader.",
        layout=Servers((kc.ints(0, LAST),) * 3, (Role.domain(),) * 3, (SOMEBODY,) * 3, Sent.domain()),
        initial=[Servers((0,) * 3, (Role.FOLLOWER,) * 3, (NOBODY,) * 3, Sent.of([]))],
        actions=[
            kc.Action("restart", restart, None, one),
            kc.Action("timeout", stand, lambda s, i: kc.all_of(
                kc.get(s.role, i) != Role.LEADER, kc.get(s.term, i) < last), one),
            kc.Action("learn", lambda s, i, t: becomes(s, i, Role.FOLLOWER, t, NOBODY), may_learn, {**one, "t": TERMS}),
            kc.Action("grant", grant, may_grant, {**one, "j": SERVERS}),
            kc.Action("lead", lambda s, i: evolve(s, role=kc.put(s.role, i, Role.LEADER)), lead, one),
        ],
        properties=[
            kc.always("one-leader", "no two servers lead in one term", lambda s: pairs(lambda i, j: kc.all_of(
                s.role[i] == Role.LEADER, s.role[j] == Role.LEADER, s.term[i] == s.term[j]))),
            kc.always("one-elected", "no two servers are ever elected in one term", lambda s: kc.each(
                TERMS, lambda t: pairs(lambda i, j: kc.all_of(is_elected(s, t, i), is_elected(s, t, j))))),
            kc.sometimes("leads", "a server leads in the last term",
                         lambda s: kc.some(SERVERS, lambda i: kc.all_of(s.role[i] == Role.LEADER, s.term[i] == last))),
        ],
    )  # fmt: skip


RAFT_ELECTION, FORGETFUL = raft(), raft(1, forgetful=True)
