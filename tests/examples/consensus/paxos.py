"""Single-decree Paxos and the algorithm that it refines: Voting and Paxos of the TLA+ Examples (Lamport's lecture)."""

import itertools
from typing import Any

from attrs import evolve, frozen

import kraftcheck as kc
from kraftcheck import network

ACCEPTORS, VALUES, NONE = range(3), (1, 2), 0
QUORUMS = ((0, 1), (0, 2), (1, 2))


@frozen
class Acceptor:
    """An acceptor: the ballot that it follows, and the ballot and the value that it accepted last."""

    ballot: kc.Word
    accepted: kc.Word
    value: kc.Word


def paxos(ballots: int, quorums: tuple[tuple[int, ...], ...] = QUORUMS) -> kc.System:
    """Paxos with some ballots; quorums that do not meet make it choose two values."""
    numbers = range(ballots)

    class Messages(network.Duplicating):
        members = (
            *itertools.product(["1a"], numbers),
            *itertools.product(["1b"], ACCEPTORS, numbers, (-1, *numbers), (NONE, *VALUES)),
            *itertools.product(["2a"], numbers, VALUES),
            *itertools.product(["2b"], ACCEPTORS, numbers, VALUES),
        )

    @frozen
    class Paxos:
        acceptor: tuple[Acceptor, ...]
        messages: Messages

    def send(s: Paxos, *message: Any) -> Messages:
        return s.messages.send(message)

    def promise(s: Paxos, a: kc.Word, b: kc.Word) -> Paxos:
        old = kc.get(s.acceptor, a)
        acceptor = kc.put(s.acceptor, a, evolve(old, ballot=b))
        return Paxos(acceptor, send(s, "1b", a, b, old.accepted, old.value))

    def accept(s: Paxos, a: kc.Word, b: kc.Word, v: kc.Word) -> Paxos:
        return Paxos(kc.put(s.acceptor, a, Acceptor(b, b, v)), send(s, "2b", a, b, v))

    def promised(s: Paxos, a: int, b: kc.Word, claim: Any) -> kc.Truth:
        cases = itertools.product((-1, *numbers), (NONE, *VALUES))
        return kc.some(cases, lambda case: kc.all_of(claim(*case), s.messages.arrives(("1b", a, b, *case))))

    def allows(s: Paxos, quorum: tuple[int, ...], b: kc.Word, v: kc.Word) -> kc.Truth:
        """Whether a quorum's promises allow to propose a value: it is that of the highest ballot accepted."""
        free = kc.each(quorum, lambda a: promised(s, a, b, lambda accepted, value: accepted == -1))
        bound = [kc.all_of(
            kc.some(quorum, lambda a, c=c: promised(s, a, b, lambda accepted, value: (accepted == c) & (value == v))),
            kc.each(quorum, lambda a, c=c: promised(s, a, b, lambda accepted, value: accepted <= c)),
        ) for c in numbers]  # fmt: skip
        return kc.any_of(free, *bound)

    def may_propose(s: Paxos, b: kc.Word, v: kc.Word) -> kc.Truth:
        fresh = kc.each(VALUES, lambda other: kc.negate(s.messages.arrives(("2a", b, other))))
        return kc.all_of(fresh, kc.some(quorums, lambda quorum: allows(s, quorum, b, v)))

    def chosen(s: Paxos, v: int) -> kc.Truth:
        return kc.some(itertools.product(numbers, quorums), lambda case: kc.each(
            case[1], lambda a: s.messages.arrives(("2b", a, case[0], v))))  # fmt: skip

    word = kc.ints(-1, ballots - 1)
    ballot, both = {"b": numbers}, {"a": ACCEPTORS, "b": numbers}
    return kc.System(
        name="paxos",
        summary="Single-decree Paxos.",
        layout=Paxos((Acceptor(word, word, kc.ints(NONE, 2)),) * 3, Messages.domain()),
        initial=[Paxos((Acceptor(-1, -1, NONE),) * 3, Messages.of([]))],
        actions=[
            kc.Action("ask", lambda s, b: evolve(s, messages=send(s, "1a", b)), None, ballot),
            kc.Action("promise", promise, lambda s, a, b: kc.all_of(
                s.messages.arrives(("1a", b)), b > kc.get(s.acceptor, a).ballot), both),
            kc.Action("propose", lambda s, b, v: evolve(s, messages=send(s, "2a", b, v)), may_propose,
                      {**ballot, "v": VALUES}),
            kc.Action("accept", accept, lambda s, a, b, v: kc.all_of(
                s.messages.arrives(("2a", b, v)), b >= kc.get(s.acceptor, a).ballot), {**both, "v": VALUES}),
        ],
        properties=[
            kc.always("agreement", "at most one value is chosen",
                      lambda s: kc.negate(kc.all_of(*(chosen(s, v) for v in VALUES)))),
            kc.sometimes("chooses", "a value is chosen", lambda s: kc.some(VALUES, lambda v: chosen(s, v))),
        ],
    )  # fmt: skip


@frozen
class Voter:
    """An acceptor without messages: the ballot that it follows, and its vote in each ballot."""

    ballot: kc.Word
    votes: tuple[kc.Word, ...]


@frozen
class Votes:
    """The acceptors."""

    voter: tuple[Voter, ...]


def shows_safe(s: Votes, quorum: tuple[int, ...], b: kc.Word, v: kc.Word, numbers: range) -> kc.Truth:
    """Whether a quorum's ballots and votes show that no other value is chosen before a ballot."""

    def silent(a: int, after: int) -> kc.Truth:
        later = ((d, vote) for d, vote in enumerate(s.voter[a].votes) if d > after)
        return kc.all_of(*(kc.implies(d < b, vote == NONE) for d, vote in later))

    def voted(c: int) -> kc.Truth:
        return c == -1 or kc.all_of(c < b, kc.some(quorum, lambda a: s.voter[a].votes[c] == v))

    follows = kc.each(quorum, lambda a: s.voter[a].ballot >= b)
    return kc.all_of(follows, kc.some((-1, *numbers), lambda c: kc.all_of(
        voted(c), kc.each(quorum, lambda a: silent(a, c)))))  # fmt: skip


def voting(ballots: int, quorums: tuple[tuple[int, ...], ...] = QUORUMS, *, symmetric: bool = False) -> kc.System:
    """The algorithm that Paxos refines, with some ballots; symmetric, acceptors and values may be renamed."""
    numbers = range(ballots)

    def follow(s: Votes, a: kc.Word, b: kc.Word) -> Votes:
        return Votes(kc.put(s.voter, a, evolve(kc.get(s.voter, a), ballot=b)))

    def vote(s: Votes, a: kc.Word, b: kc.Word, v: kc.Word) -> Votes:
        return Votes(kc.put(s.voter, a, Voter(b, kc.put(kc.get(s.voter, a).votes, b, v))))

    def may_vote(s: Votes, a: kc.Word, b: kc.Word, v: kc.Word) -> kc.Truth:
        own = kc.get(s.voter, a)
        others = kc.each(s.voter, lambda other: kc.get(other.votes, b) * (kc.get(other.votes, b) - v) == 0)
        safe = kc.some(quorums, lambda quorum: shows_safe(s, quorum, b, v, numbers))
        return kc.all_of(own.ballot <= b, kc.get(own.votes, b) == NONE, others, safe)

    def chosen(s: Votes, v: int) -> kc.Truth:
        return kc.some(itertools.product(numbers, quorums), lambda case: kc.each(
            case[1], lambda a: s.voter[a].votes[case[0]] == v))  # fmt: skip

    both = {"a": ACCEPTORS, "b": numbers}
    return kc.System(
        name="voting",
        summary="The algorithm that Paxos refines.",
        layout=Votes((Voter(kc.ints(-1, ballots - 1), (kc.ints(NONE, 2),) * ballots),) * 3),
        initial=[Votes((Voter(-1, (NONE,) * ballots),) * 3)],
        actions=[
            kc.Action("follow", follow, lambda s, a, b: b > kc.get(s.voter, a).ballot, both),
            kc.Action("vote", vote, may_vote, {**both, "v": VALUES}),
        ],
        properties=[
            kc.always("agreement", "at most one value is chosen",
                      lambda s: kc.negate(kc.all_of(*(chosen(s, v) for v in VALUES)))),
            kc.sometimes("chooses", "a value is chosen", lambda s: kc.some(VALUES, lambda v: chosen(s, v))),
        ],
        quiescent=lambda s: True,
        symmetries=[kc.Symmetry("acceptors", 3, tuples=("",)),
                    kc.Symmetry("values", 2, members={"[*].votes[*]": VALUES[0]})] if symmetric else [],
    )  # fmt: skip


PAXOS, VOTING = paxos(2), voting(3)
SYMMETRIC_VOTING = voting(2, symmetric=True)
DIVIDED = paxos(2, quorums=((0,), (1, 2)))  # Paxos with quorums that do not meet
