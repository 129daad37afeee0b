"""Specifications of others have the published sizes, refine what they say, and are measured by the benchmark."""

import functools
from typing import Any

import pytest
from attrs import evolve

import kraftcheck as kc
from kraftcheck.model.language.system import System
from kraftcheck.solvers.exploration.explore import Exploration
from tests.examples.barriers import BARRIER, BARRIERS, Gates, Waiting
from tests.examples.consensus.consensus import Chosen, consensus
from tests.examples.consensus.paxos import ACCEPTORS, NONE, QUORUMS, VALUES, Voter, Votes, paxos, voting
from tests.examples.published import models
from tests.examples.published.models import BROKEN, MODELS, SLOW, Model, system_at

slow = pytest.mark.slow


@functools.cache
def explored(place: str) -> Exploration:
    """What a search of a system found; each system is searched once."""
    system = system_at(place)
    found = kc.explore(system, symmetry=bool(system.symmetries(system.setting()))).exploration
    assert found is not None
    return found


@pytest.mark.parametrize(
    "model", [pytest.param(model, id=model.name, marks=slow if model.slow else ()) for model in MODELS]
)
def test_sizes_are_tlcs(model: Model) -> None:
    """Distinct states, generated states where TLC counts steps, and the depth are those that are published."""
    found = explored(model.place)
    assert (found.distinct, found.depth + 1) == (model.distinct, model.levels)
    if model.generated is not None:
        assert found.generated + sum(found.pruned.values()) == model.generated


@pytest.mark.parametrize(
    ("place", "broken"),
    [pytest.param(place, broken, marks=slow if place in SLOW else (), id=place) for place, broken in BROKEN.items()],
)
def test_claims_hold_or_are_broken_in_the_fewest_steps(place: str, broken: dict[str, int]) -> None:
    """What TLC finds no error in holds; what is false, as puzzles that have a solution, is broken by a shortest run."""
    verdicts = explored(place).verdicts
    assert {one.claim: one.depth for one in verdicts if isinstance(one.verdict, kc.Refuted)} == broken
    assert all(isinstance(one.verdict, kc.Holds) for one in verdicts if one.claim not in broken)
    assert len(verdicts) > 1


@slow
def test_divided_quorums_choose_two_values() -> None:
    """The shortest run that breaks agreement with quorums that do not meet has three acceptances."""
    verdict = explored("consensus.paxos:DIVIDED").verdict("agreement").verdict
    assert isinstance(verdict, kc.Refuted)
    assert [step.action for step in verdict.trace.steps].count("accept") == 3


BALLOTS = 2
DIVIDED = ((0,), (1, 2))  # quorums that do not meet


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


def test_the_table_has_a_line_for_a_model(capsys: pytest.CaptureFixture[str]) -> None:
    """A model that is named is measured, and no other."""
    assert models.main(["die-hard"]) == 0
    heading, row, verdict = capsys.readouterr().out.splitlines()
    assert row.split()[:3] == ["die-hard", "16", "8"]
    assert row.split()[-3:] == ["1", "-", "-"]
    assert len(row) == len(heading)
    assert verdict == "every size is the published one"


def test_another_size_fails(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A model with another number of states or another depth is named, and the exit code is 1."""
    wrong = evolve(next(model for model in MODELS if model.name == "die-hard"), distinct=17, levels=9)
    monkeypatch.setattr(models, "MODELS", [wrong])
    assert models.main([]) == 1
    out = capsys.readouterr().out
    assert "die-hard: distinct 16, published 17" in out
    assert "die-hard: depth 8, published 9" in out


def test_a_model_that_is_none_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """An unknown name ends with the exit code 2 and a line that names it."""
    with pytest.raises(SystemExit, match="2"):
        models.main(["die-hart"])
    assert "there is no model die-hart; --help lists them" in capsys.readouterr().err


@pytest.mark.slow
def test_tlc_is_measured_in_the_same_run(capsys: pytest.CaptureFixture[str]) -> None:
    """TLC finds the same states of the same rules, and its seconds stand in the line; a refuted claim is left out."""
    assert models.main(["--tlc", "die-hard"]) == 0
    row = capsys.readouterr().out.splitlines()[-2]
    assert float(row.split()[-2]) > 0
