"""Other people's specifications have the sizes that are published for TLC, and the verdicts and shortest runs."""

from __future__ import annotations

import functools
import re
from typing import Any

import pytest

import kraftcheck as kc
from kraftcheck.solvers.exploration.explore import Exploration
from tests.examples.published.models import MODELS, Model, system_at
from tests.shared.places import DOCS

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


BROKEN: list[Any] = [
    ("die_hard:DIE_HARD", {"not-solved": 6}),
    ("consensus.consensus:CONSENSUS", {}),
    ("consensus.consensus:INDUCTIVE_CONSENSUS", {}),
    ("consensus.consensus:CHANGEABLE", {"one-at-most": 2}),
    ("t_commit:T_COMMIT", {}),
    ("barriers:BARRIER", {}),
    ("barriers:BARRIERS", {}),
    ("chameneos:CHAMENEOS", {}),
    ("readers_writers:READERS_WRITERS", {"never-all-read": 6}),
    ("two_phase:TWO_PHASE", {}),
    ("two_phase:FAULTY", {"consistent": 7}),
    ("disruptor:ONE_WRITER", {}),
    ("consensus.raft_election:RAFT_ELECTION", {}),
    ("consensus.raft_election:FORGETFUL", {"one-elected": 6, "one-leader": 8}),
    ("consensus.paxos:PAXOS", {}),
    ("consensus.paxos:VOTING", {}),
    pytest.param("consensus.paxos:SYMMETRIC_VOTING", {}, marks=slow),
    pytest.param("klotski:KLOTSKI", {"not-solved": 116}, marks=slow),
    pytest.param("key_value_store:TWO_TRANSACTIONS", {}, marks=slow),
    pytest.param("key_value_store:CARELESS", {"no-lost-update": 6}, marks=slow),
    pytest.param("consensus.paxos:DIVIDED", {"agreement": 9}, marks=slow),
    pytest.param("disruptor:MANY_WRITERS", {}, marks=slow),
    pytest.param("slush:SLUSH", {"never-agree": 42}, marks=slow),
    pytest.param("consensus.multi_paxos:MULTI_PAXOS", {}, marks=slow),
]
"""Each system, with the claims that are broken and the steps of their shortest runs."""


@pytest.mark.parametrize(("place", "broken"), BROKEN, ids=lambda value: value if isinstance(value, str) else "")
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


def test_the_page_lists_every_model() -> None:
    """docs/tutorial/from-tla.md has a row with the distinct states of each model."""
    rows = (DOCS / "tutorial" / "from-tla.md").read_text(encoding="utf-8").splitlines()
    sizes = sorted(model.distinct for model in MODELS)
    listed = [row.split("|")[2].strip().replace(",", "") for row in rows if row.count("|") == 4]
    assert [int(size) for size in listed if size.isdigit()] == sizes


def test_the_page_tells_the_lengths_of_broken_claims() -> None:
    """A number of steps on docs/tutorial/from-tla.md is that of a claim that some system breaks."""
    table = re.findall(r"^\| .*", (DOCS / "tutorial" / "from-tla.md").read_text(encoding="utf-8"), re.MULTILINE)
    told = {int(steps) for row in table for steps in re.findall(r"\b(\d+) steps", row)}
    assert len(told) > 5
    assert told - {depth for case in BROKEN for depth in getattr(case, "values", case)[1].values()} == set()
