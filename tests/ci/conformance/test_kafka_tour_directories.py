"""`kraftcheck conform --kafka --tour directories|kraft`: what brokers with directories ask of Kafka's own managers."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import pytest

from kraftcheck.ci.conformance.kafka.build import Build
from kraftcheck.ci.conformance.kafka.tour.model import Tour, shortest_paths, tour
from kraftcheck.ci.conformance.kafka.tour.report import TourRow
from kraftcheck.ci.conformance.kafka.tour.requests import (
    OF_LOGS,
    REFUSED_EARLIER,
    WITHOUT_CONTROLLER,
    TourError,
    request_of,
)
from kraftcheck.ci.conformance.kafka.tour.run import TourPlan, TourSpace, plan, tour_with_kafka
from kraftcheck.model.language.system import Action, Setting
from kraftcheck.model.rules.ruleset import RELEASES, parse
from kraftcheck.model.systems.directories.system import BOUNDS, DIRECTORIES, SCOPES, actions
from kraftcheck.model.systems.kraft.system import KRAFT
from tests.shared.commands import kraftcheck

pytestmark = pytest.mark.xdist_group("kafka")


@pytest.fixture(scope="module")
def space() -> TourSpace:
    """The states of the smallest scope under the rules of a release."""
    return TourSpace(DIRECTORIES, DIRECTORIES.setting("tiny", rules=parse("kafka-4.1.2")))


@pytest.fixture(scope="module")
def covering(space: TourSpace) -> TourPlan:
    """One transition for each question to the managers."""
    return plan(space, 0, 0)


def test_each_action_is_said_to_ask_or_not() -> None:
    """Of every action of every bound it is said whether it asks the managers; of another one nothing is."""
    largest = Setting("largest", {bound.name: bound.hi for bound in BOUNDS}, parse("kafka-4.1.2+failure-reported-once"))
    upgrade = attrs.evolve(largest, bounds={**largest.bounds, "start": 1})
    listed = {action.name: action for setting in (largest, upgrade) for action in actions(setting)}
    silent = {name for name, action in listed.items() if request_of("directories", action, largest.rules) is None}
    assert silent == WITHOUT_CONTROLLER | set(REFUSED_EARLIER)
    with pytest.raises(TourError, match="it is not said what eject of directories asks"):
        request_of("directories", Action("eject", lambda state: state), largest.rules)


def test_one_transition_stands_for_those_that_ask_the_same(space: TourSpace, covering: TourPlan) -> None:
    """The transitions taken stand for all that ask something and can be put to the managers; none asks twice."""
    assert covering.weights.sum() == space.reachable - space.silent - space.refused > 0
    asked = covering.graph.questions(np.flatnonzero(covering.targets).astype(np.int32))
    assert len(np.unique(asked, axis=0)) == len(asked) < covering.weights.sum()
    everything = plan(space, space.reachable, 0)
    assert not everything.sampled
    assert everything.targets.sum() == everything.weights.sum() == covering.weights.sum()
    every = everything.graph.questions(np.flatnonzero(everything.targets).astype(np.int32))
    questions, many = np.unique(every, axis=0, return_counts=True)
    order = np.lexsort(asked.T[::-1])
    assert (questions == asked[order]).all()
    assert (many == covering.weights[covering.targets][order]).all()


def test_sequences_are_those_of_the_system(space: TourSpace, covering: TourPlan) -> None:
    """Steps that ask nothing are in the sequences too: each step goes on in the state that the last one left."""
    graph = covering.graph
    found: Tour = tour(graph, shortest_paths(graph), covering.targets)
    begins = set(found.begins.tolist())
    (start,) = graph.starts
    for at, step in enumerate(found.steps.tolist()):
        assert graph.before[step] == (start if at in begins else graph.after[found.steps[at - 1]])
    assert set(np.flatnonzero(covering.targets)) <= set(found.steps.tolist())
    assert not graph.asks_managers()[found.steps].all()


def toured(version: str, scope: str, rules: str, *more: str) -> tuple[int, dict[str, Any]]:
    """The exit code and the row of a tour."""
    ran = kraftcheck("conform", "--kafka", version, "--tour", "directories", "--scope", scope, "--rules", rules,
                     *more, "--json", "-")  # fmt: skip
    (row,) = ran.document()["rows"]
    return ran.code, row


def conforms(version: str, scope: str, *more: str) -> dict[str, Any]:
    """The row of a tour under the preset of the release, in which nothing may differ, and no sequence breaks."""
    code, row = toured(version, scope, f"kafka-{version}", *more)
    assert (code, row["differing"], row["missed"]) == (0, 0, []), row["shown"]
    assert row["executed"] == row["unbroken"] > 0
    return row


def test_every_question_is_put_to_the_managers() -> None:
    """At the smallest scope no transition is left out but those that ask nothing, or that authorization refuses."""
    row = conforms("4.1.2", "tiny")
    assert row["covered"] == row["reachable"] - row["silent"] - row["refused"]
    assert row["share"] == row["covered"] / row["reachable"] > 1 / 3


def test_the_rules_of_another_release_are_found() -> None:
    """4.1.2 has mended B6: under the rules of 3.9.2 starts differ, the shortest after a crash, and nothing else."""
    code, row = toured("4.1.2", "tiny", "kafka-3.9.2")
    assert code == 23
    assert row["differing"] == sum(cause["transitions"] for cause in row["shown"]) > 1
    (cause,) = row["shown"]
    assert cause["sequence"] == ["crash(broker=0)", "start(broker=0)"]
    assert (cause["expected"]["records"], cause["actual"]["records"]) == (1, 0)


def test_a_step_that_is_not_asked_changes_nothing() -> None:
    """A rule set by which a refused request changes the partition has no form on the managers, and is refused."""
    ran = kraftcheck("conform", "--kafka", "4.1.2", "--tour", "directories", "--rules",
                     "kafka-4.1.2+assignment-unauthorized")  # fmt: skip
    assert ran.refusal() == "intrude asks nothing of the managers, but changes what they have"


@pytest.mark.slow
def test_each_transition_itself_is_taken() -> None:
    """At the smallest scope every transition that asks something is executed, not one for all that ask the same."""
    row = conforms("4.1.2", "tiny", "--sample", "1000000")
    assert not row["sampled"]
    assert row["executed"] == row["covered"] == row["reachable"] - row["silent"] - row["refused"]


@pytest.mark.slow
@pytest.mark.parametrize("rules", RELEASES)
@pytest.mark.parametrize("scope", list(SCOPES))
def test_every_release_takes_the_tour(rules: str, scope: str) -> None:
    """Every question that brokers with directories put to the managers of a release is answered as its preset says."""
    sample = ("--sample", "2000") if scope == "medium" else ()
    row = conforms(rules.removeprefix("kafka-"), scope, *sample)
    assert row["sampled"] or row["covered"] == row["reachable"] - row["silent"] - row["refused"]


WIDER = {
    "assign_late": {"copies": 1},
    "reassign": {"brokers": 2, "reassignments": 1, "moves": 0, "records": 0, "crashes": 0},
}
"""Bounds beside those of `tiny`, under which an action can happen that no scope has."""


@pytest.mark.slow
@pytest.mark.parametrize("rules", RELEASES)
@pytest.mark.parametrize("action", list(WIDER))
def test_what_no_scope_has(rules: str, action: str) -> None:
    """Assignments of an earlier incarnation, and reassignments to another broker, are answered as the preset says."""
    setting = DIRECTORIES.setting("tiny", WIDER[action], rules=parse(rules))
    row = tour_with_kafka(Build(rules.removeprefix("kafka-")), DIRECTORIES, setting, 0, 0, lambda *_: None)
    assert (row.differing, row.missed) == (0, ()), row.shown
    assert row.executed == row.unbroken
    assert row.covered == row.reachable - row.silent - row.refused
    assert action in row.actions


NEWEST = "4.4.0"

RETURNS = {"failures": 0, "fences": 0, "unclean-stops": 1}
"""Bounds beside those of `tiny`, under which a request arrives that names an earlier incarnation of a broker."""


def toured_kraft(version: str, rules: str, bounds: dict[str, int], scope: str = "tiny", sample: int = 0) -> TourRow:
    """The row of a tour."""
    setting = KRAFT.setting(scope, bounds, rules=parse(rules))
    return tour_with_kafka(Build(version), KRAFT, setting, sample, 0, lambda *progress: None)


def test_each_action_with_logs_is_said_to_ask_or_not() -> None:
    """Of every action of one partition it is said whether it asks the managers."""
    bounds = {bound.name: bound.hi for bound in KRAFT.bounds} | {"second": 0, "deletions": 0}
    rules = parse("kafka-4.1.2+failure-reported-once+unknown-outcome-is-failure")
    listed = KRAFT.actions(Setting("largest", bounds, rules))
    silent = {action.name for action in listed if request_of("kraft", action, rules) is None}
    asking = {action.name for action in listed} - silent
    assert silent <= WITHOUT_CONTROLLER | OF_LOGS | set(REFUSED_EARLIER)
    assert silent >= OF_LOGS
    assert asking >= {"alter_partition", "start", "unfence", "report", "fence", "assign", "elect_preferred"}


def test_a_second_partition_is_refused() -> None:
    """The managers are given one partition: a scope with two is refused before it is explored."""
    ran = kraftcheck("conform", "--kafka", NEWEST, "--tour", "kraft", "--scope", "pair")
    assert ran.refusal() == "kraft at pair has a second partition: only the first is put to the managers"


def test_what_returning_brokers_ask_is_answered_alike() -> None:
    """Starts after crashes, and proposals that name an earlier incarnation, are answered as the preset says."""
    row = toured_kraft(NEWEST, f"kafka-{NEWEST}", RETURNS)
    assert (row.differing, row.missed) == (0, ()), row.shown
    assert row.executed == row.unbroken > 0
    assert row.covered == row.reachable - row.silent - row.refused
    assert {"alter_partition", "start"} <= set(row.actions)


def test_a_broken_rule_of_proposals_is_found() -> None:
    """Where the rules forget to compare broker epochs of members, proposals differ, and nothing else."""
    row = toured_kraft(NEWEST, f"kafka-{NEWEST}+alter-partition-ignores-broker-epoch", RETURNS)
    assert row.differing > 0
    (cause,) = row.shown
    assert (cause.action, cause.expected["records"], cause.actual["records"]) == ("alter_partition", -1, 1)


@pytest.mark.slow
@pytest.mark.parametrize("rules", RELEASES)
@pytest.mark.parametrize("scope", ["tiny", "moves"])
def test_every_release_takes_the_tour_with_logs(rules: str, scope: str) -> None:
    """Every question that brokers with logs put to the managers of a release is answered as its preset says."""
    row = toured_kraft(rules.removeprefix("kafka-"), rules, {}, scope)
    assert (row.differing, row.missed) == (0, ()), row.shown
    assert row.executed == row.unbroken > 0
    assert row.covered == row.reachable - row.silent - row.refused
