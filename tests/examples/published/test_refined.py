"""Barriers refines Barrier, Paxos refines Voting, and Voting Consensus, as TLC finds for the TLA+ Examples."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve

import kraftcheck as kc
from kraftcheck.model.language.system import System
from tests.examples.barriers import BARRIER, BARRIERS, Gates, Waiting
from tests.examples.consensus.consensus import Chosen, consensus
from tests.examples.consensus.paxos import ACCEPTORS, NONE, QUORUMS, VALUES, Voter, Votes, paxos, voting

BALLOTS = 2
DIVIDED = ((0,), (1, 2))
"""Quorums that do not meet."""


def waiting(s: Gates) -> Waiting:
    """Who is between the first label and the last, or at the last ones while the second gate is closed."""
    return Waiting(tuple(kc.all_of(at > 0, kc.any_of(at <= 10, s.second == 0)) for at in s.at))


def half_open(s: Gates) -> Waiting:
    """A mapping that is wrong: it asks nothing of the second gate."""
    return Waiting(tuple(at > 0 for at in s.at))


def votes(s: Any) -> Votes:
    """The votes that acceptors have sent."""

    def vote(a: int, b: int) -> kc.Word:
        result: kc.Word = NONE
        for v in VALUES:
            result = kc.choose(s.messages.has(("2b", a, b, v)), v, result)
        return result

    return Votes(tuple(
        Voter(s.acceptor[a].ballot, tuple(vote(a, b) for b in range(BALLOTS))) for a in ACCEPTORS))  # fmt: skip


def chosen(quorums: Any) -> Any:
    """The mapping to the values that a quorum has voted for in one ballot."""
    def mapping(s: Votes) -> Chosen:
        def has(v: int) -> kc.Truth:
            ballots = range(len(s.voter[0].votes))
            return kc.some(ballots, lambda b: kc.some(quorums, lambda quorum: kc.each(
                quorum, lambda a: s.voter[a].votes[b] == v)))  # fmt: skip

        values: kc.Word = 0
        for place, v in enumerate(VALUES):
            values = values + kc.choose(has(v), 1 << place, 0)
        return Chosen(kc.IntSet(values))

    return mapping


def judged(concrete: System, abstract: System, mapping: Any) -> dict[str, str]:
    """The verdicts on the claim that a system refines another, without its own claims; a refuted one with its steps."""
    claims = kc.refines("refines", "each step is one of the other system, or none", abstract, mapping)
    found = kc.explore(evolve(concrete, properties=list(claims))).exploration
    assert found is not None
    steps = {one.claim: f" {one.depth}" for one in found.verdicts if isinstance(one.verdict, kc.Refuted)}
    return {one.claim: type(one.verdict).__name__ + steps.get(one.claim, "")
            for one in found.verdicts if one.claim != "deadlock"}  # fmt: skip


@pytest.mark.parametrize(
    ("mapping", "word"), [(waiting, "Holds"), pytest.param(half_open, "Refuted 62", marks=pytest.mark.slow)]
)
def test_the_gates_are_a_barrier(mapping: Any, word: str) -> None:
    """With the mapping of the specification the two gates are a barrier; with a coarser one they are not."""
    assert judged(BARRIERS, BARRIER, mapping) == {"refines": word, "refines-moves": "Holds"}


@pytest.mark.parametrize(
    ("ballots", "quorums", "word"),
    [(2, QUORUMS, "Holds"), (2, DIVIDED, "Refuted 4"), pytest.param(3, QUORUMS, "Holds", marks=pytest.mark.slow)],
)
def test_voting_is_consensus(ballots: int, quorums: Any, word: str) -> None:
    """Votes choose a value once; with quorums that do not meet, another one is chosen after it."""
    found = judged(voting(ballots, quorums), consensus(len(VALUES)), chosen(quorums))
    assert found == {"refines": word, "refines-moves": "Holds"}


@pytest.mark.slow
@pytest.mark.parametrize(("quorums", "word"), [(QUORUMS, "Holds"), (DIVIDED, "Refuted 4")])
def test_paxos_is_voting(quorums: Any, word: str) -> None:
    """Paxos votes as Voting allows; with quorums that Voting does not have it does not."""
    assert judged(paxos(BALLOTS, quorums), voting(BALLOTS), votes) == {"refines": word, "refines-moves": "Holds"}
