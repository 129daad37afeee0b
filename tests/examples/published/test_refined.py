"""Barriers refines Barrier, and Paxos refines Voting, as TLC finds for the TLA+ Examples."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve

import kraftcheck as kc
from kraftcheck.model.language.system import System
from tests.examples.barriers import BARRIER, BARRIERS, Gates, Waiting
from tests.examples.consensus.paxos import ACCEPTORS, NONE, VALUES, Voter, Votes, paxos, voting

BALLOTS = 2


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


def judged(concrete: System, abstract: System, mapping: Any) -> dict[str, str]:
    """The verdicts on the claim that a system refines another, without its own claims."""
    claims = kc.refines("refines", "each step is one of the other system, or none", abstract, mapping)
    found = kc.explore(evolve(concrete, properties=list(claims))).exploration
    assert found is not None
    return {one.claim: type(one.verdict).__name__ for one in found.verdicts if one.claim != "deadlock"}


@pytest.mark.parametrize(
    ("mapping", "word"), [(waiting, "Holds"), pytest.param(half_open, "Refuted", marks=pytest.mark.slow)]
)
def test_the_gates_are_a_barrier(mapping: Any, word: str) -> None:
    """With the mapping of the specification the two gates are a barrier; with a coarser one they are not."""
    assert judged(BARRIERS, BARRIER, mapping) == {"refines": word, "refines-moves": "Holds"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("quorums", "word"), [(((0, 1), (0, 2), (1, 2)), "Holds"), (((0,), (1, 2)), "Refuted")]
)
def test_paxos_is_voting(quorums: Any, word: str) -> None:
    """Paxos votes as Voting allows; with quorums that Voting does not have it does not."""
    assert judged(paxos(BALLOTS, quorums), voting(BALLOTS), votes) == {"refines": word, "refines-moves": "Holds"}
