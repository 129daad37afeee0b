"""Raft's election has the sizes that TLC prints for RaftElection.tla, and elects once in a term, as Consensus does."""

from pathlib import Path

import pytest
from attrs import evolve

import kraftcheck as kc
from kraftcheck.model.language.system import System
from tests.examples.consensus.consensus import Chosen, consensus
from tests.examples.consensus.raft_election import FORGETFUL, RAFT_ELECTION, SERVERS, Servers, is_elected
from tests.shared.tlc import tlc

HERE = Path(__file__).parent


def elected(s: Servers) -> Chosen:
    """Who has more than half of the votes in the first term."""
    empty = kc.IntSet()
    members = [kc.choose(is_elected(s, 1, i), 1 << i, 0) for i in SERVERS]
    return Chosen(kc.IntSet(sum(members, start=empty.mask)))


def judged(system: System) -> dict[str, tuple[str, int | None]]:
    """The verdicts on the claim that servers elect as a value is chosen, each with the steps of its run."""
    claims = kc.refines("refines", "an election is a choice", consensus(len(SERVERS)), elected)
    found = kc.explore(evolve(system, properties=list(claims))).exploration
    assert found is not None
    return {one.claim: (type(one.verdict).__name__, one.depth) for one in found.verdicts}


@pytest.mark.parametrize(("system", "word", "steps"), [(RAFT_ELECTION, "Holds", None), (FORGETFUL, "Refuted", 6)])
def test_an_election_is_a_choice(system: System, word: str, steps: int | None) -> None:
    """In a term one server is elected, and stays the only one; where votes are forgotten, a second one is elected."""
    found = judged(system)
    assert found["refines"] == (word, steps)
    assert found["refines-moves"] == ("Holds", 3)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("system", "changes"),
    [(RAFT_ELECTION, {}), (FORGETFUL, {"LastTerm = 2": "LastTerm = 1", "Forgetful = FALSE": "Forgetful = TRUE"})],
)
def test_tlc_counts_the_same(system: System, changes: dict[str, str], tmp_path: Path) -> None:
    """States, states generated, depth and the lengths of counterexamples are those of TLC for the text of TLA+."""
    configuration = (HERE / "RaftElection.cfg").read_text()
    for old, new in changes.items():
        assert old in configuration
        configuration = configuration.replace(old, new)
    (tmp_path / "RaftElection.tla").write_text((HERE / "RaftElection.tla").read_text())
    (tmp_path / "RaftElection.cfg").write_text(configuration)
    answer, found = tlc(tmp_path / "RaftElection.tla"), kc.explore(system).exploration
    assert found is not None
    assert (answer.distinct, answer.generated, answer.levels) == (found.distinct, found.generated, found.depth + 1)
    steps = {"OneLeader": found.verdict("one-leader").depth, "OneElected": found.verdict("one-elected").depth}
    assert {name: states - 1 for name, states in answer.violated.items()} == {
        name: depth for name, depth in steps.items() if depth is not None}  # fmt: skip
