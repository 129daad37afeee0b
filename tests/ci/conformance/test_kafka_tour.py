"""`kraftcheck conform --kafka --tour`: the explored graph, step by step, on Kafka's own managers."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from kraftcheck.ci.conformance.kafka.build import Build
from kraftcheck.ci.conformance.kafka.tour.model import TourGraph, answer_columns, shortest_paths, tour
from kraftcheck.ci.conformance.kafka.tour.run import GOES_ON, SNAPSHOTS, TourSpace, compare_answers, managers, plan
from kraftcheck.model.language.layout import Layout
from kraftcheck.model.rules.ruleset import RELEASES, parse
from kraftcheck.model.systems.elections.system import ELECTIONS
from tests.shared.commands import kraftcheck

pytestmark = pytest.mark.xdist_group("kafka")

STALE_INDEX = (
    "enable_elr()", "reassign(target=[0])", "fence(broker=0)", "controlled_shutdown(broker=1)", "reassign(target=[1])",
    "fence(broker=1)", "reassign(target=[0])", "unfence(broker=1)", "set_min_isr(minimum=1)", "unregister(broker=0)",
)  # fmt: skip
"""Broker 0 is an ELR member when a ClearElrRecord empties the ELR, and is unregistered then."""


def graph_of(edges: list[tuple[int, int]], states: int) -> TourGraph:
    """A graph without a model, whose initial state is 0."""
    before, after = (np.array(side, dtype=np.int32) for side in zip(*sorted(edges), strict=True))
    nothing = np.zeros(len(edges), dtype=np.int32)
    rows, start = np.zeros((states, 1), dtype=np.int8), np.zeros(1, dtype=np.int32)
    return TourGraph(cast(Any, None), rows, start, before, after, nothing)


def test_sequences_take_every_transition() -> None:
    """Each sequence begins initially, each step goes on where the last one ended, and none is left out."""
    graph = graph_of([(0, 0), (0, 1), (1, 2), (2, 1), (2, 3), (1, 3), (3, 3), (1, 0)], 4)
    ways = shortest_paths(graph)
    assert ways.depth.tolist() == [0, 1, 2, 2]
    found = tour(graph, ways, np.ones(8, dtype=np.bool_))
    assert set(found.steps.tolist()) == set(range(8))
    begins = set(found.begins.tolist())
    for at, step in enumerate(found.steps.tolist()):
        came_from = 0 if at in begins else graph.after[found.steps[at - 1]]
        assert graph.before[step] == came_from


def test_a_sample_takes_no_more_than_it_needs() -> None:
    """One wanted transition costs the shortest way to it."""
    graph = graph_of([(0, 1), (1, 2), (2, 0), (0, 2), (2, 2)], 3)
    wanted = np.array([graph.before[n] == 2 == graph.after[n] for n in range(5)])
    found = tour(graph, shortest_paths(graph), wanted)
    assert [(graph.before[n], graph.after[n]) for n in found.steps] == [(0, 2), (2, 2)]


def test_bad_input_is_one_line() -> None:
    """A tour needs a build, and a scope of the system."""
    assert kraftcheck("conform", "--tour", "elections").refusal() == "--tour needs a release: --kafka VERSION"
    unknown = kraftcheck("conform", "--kafka", "3.8", "--tour", "elections").refusal()
    assert unknown.startswith("'3.8' is neither a version")
    scope = kraftcheck("conform", "--kafka", "4.1.2", "--tour", "elections", "--scope", "vast").refusal()
    assert "no scope 'vast'" in scope


def test_missing_java_is_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without Maven and Java the command says so before it explores."""
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert "is not installed" in kraftcheck("conform", "--kafka", "4.1.0", "--tour", "elections").refusal()


def test_a_broken_rule_is_found_by_its_action() -> None:
    """On the managers of 4.1.2 the defect of stale registrations differs in registrations, and in nothing else."""
    rules = "kafka-4.1.2+stale-reregistration-keeps-isr"
    ran = kraftcheck("conform", "--kafka", "4.1.2", "--tour", "elections", "--sample", "400", "--rules", rules,
                     "--json", "-")  # fmt: skip
    (row,) = ran.document()["rows"]
    assert ran.code == 23
    assert row["differing"] > 0
    assert {cause["action"] for cause in row["shown"]} == {"new_incarnation"}
    assert all(cause["sequence"][-1].startswith("new_incarnation(") for cause in row["shown"])
    assert 400 <= row["executed"] < row["reachable"]


def test_a_record_that_differs_alone_is_seen() -> None:
    """Each column of an answer counts, but for the error, which the model does not give."""
    outputs = answer_columns(Layout(ELECTIONS.layout(ELECTIONS.setting("tiny", rules=parse("fixed")))), 2)
    wanted, begins = np.zeros((1, outputs.width), dtype=np.int64), np.ones(1, dtype=np.bool_)
    for name in outputs:
        said = wanted.astype(np.int32)
        said[:, outputs.slice(name)] = 1
        _, differs = compare_answers(outputs, begins, said, wanted)
        assert differs[0] == (name not in ("error", "continued")), name


@pytest.mark.slow
def test_a_cleared_elr_stays_indexed() -> None:
    """Kafka's ClearElrRecord leaves brokers in the index of ELR members: their unregistration changes the partition."""
    graph = plan(TourSpace(ELECTIONS, ELECTIONS.setting("tiny", rules=parse("kafka-4.1.2"))), 0, 0).graph
    minimum = graph.states[:, graph.model.inputs.places["min_insync_replicas"][0]]
    factor = (graph.states[:, graph.model.inputs.slice("replicas")] >= 0).sum(axis=1)
    (here,) = (start for start in graph.starts if minimum[start] == factor[start] == 2)
    steps = []
    for call in STALE_INDEX:
        (step,) = (n for n in np.flatnonzero(graph.before == here) if graph.call(n) == call)
        steps.append(step)
        here = graph.after[step]
    asked = graph.questions(np.array(steps, dtype=np.int32))
    written = []
    for begins in (SNAPSHOTS, GOES_ON):
        with managers(Build("4.1.2"), graph.model, begins) as kafka:
            written.append(graph.model.outputs.get(kafka.ask(asked), "records")[-1])
    assert written == [0, 1]


ISR_OF_NOBODY = ("kafka-4.0.0", "kafka-4.0.1", "kafka-4.0.2")
"""Releases that elect a last known leader of -1 (B5), which a set of brokers cannot hold."""

NOBODY = -(1 << 31)
"""The ISR [-1] as the driver writes sets."""

AGREEING = [
    (scope, rules) for scope in ("tiny", "small", "directories") for rules in RELEASES
    if scope != "directories" or rules not in ISR_OF_NOBODY
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("scope", "rules"), AGREEING)
def test_every_release_takes_the_tour(scope: str, rules: str) -> None:
    """No step of a sample of the graph differs on the managers of a release, under its preset."""
    ran = kraftcheck("conform", "--kafka", rules.removeprefix("kafka-"), "--tour", "elections", "--scope", scope,
                     "--sample", "2000", "--json", "-")  # fmt: skip
    (row,) = ran.document()["rows"]
    assert (ran.code, row["differing"]) == (0, 0), row["shown"]
    assert row["executed"] == row["unbroken"] >= 2000
    assert not row["missed"]


@pytest.mark.slow
@pytest.mark.parametrize("rules", ISR_OF_NOBODY)
def test_an_isr_of_nobody_is_all_that_differs(rules: str) -> None:
    """A leader outside an empty ISR stops: B5 makes the ISR [-1], which explored systems take for empty."""
    ran = kraftcheck("conform", "--kafka", rules.removeprefix("kafka-"), "--tour", "elections", "--scope",
                     "directories", "--sample", "10000", "--json", "-")  # fmt: skip
    (row,) = ran.document()["rows"]
    assert ran.code == 23
    assert sum(cause["transitions"] for cause in row["shown"]) == row["differing"] > 0
    for cause in row["shown"]:
        assert NOBODY in (cause["expected"].get("record0.isr"), cause["expected"].get("record1.isr")), cause
