"""`kraftcheck conform --kafka --tour`: the explored graph, step by step, on Kafka's own managers."""

from collections.abc import Mapping
from typing import Any

import attrs
import numpy as np
import pytest

from kraftcheck.ci.conformance.kafka.build import Build
from kraftcheck.ci.conformance.kafka.tour.model import TourModel, answer_columns, differs
from kraftcheck.ci.conformance.kafka.tour.report import TourRow
from kraftcheck.ci.conformance.kafka.tour.requests import (
    OF_LOGS,
    REFUSED_EARLIER,
    WITHOUT_CONTROLLER,
    TourError,
    request_of,
)
from kraftcheck.ci.conformance.kafka.tour.run import (
    GOES_ON,
    SNAPSHOTS,
    SYSTEMS,
    Tour,
    TourSpace,
    broken_before,
    managers,
    tour_with_kafka,
)
from kraftcheck.model.language.layout import Layout
from kraftcheck.model.language.system import Action, Setting
from kraftcheck.model.rules.ruleset import RELEASES, parse
from kraftcheck.model.systems.directories.system import DIRECTORIES, SCOPES
from kraftcheck.model.systems.elections.system import ELECTIONS
from kraftcheck.model.systems.kraft.system import KRAFT
from kraftcheck.solvers.program.trace import trace
from tests.shared.commands import kraftcheck

pytestmark = pytest.mark.xdist_group("kafka")

NEWEST = "4.4.0"

STALE_INDEX = (
    "enable_elr()", "reassign(target=[0])", "fence(broker=0)", "controlled_shutdown(broker=1)", "reassign(target=[1])",
    "fence(broker=1)", "reassign(target=[0])", "unfence(broker=1)", "set_min_isr(minimum=1)", "unregister(broker=0)",
)  # fmt: skip
"""Broker 0 is an ELR member when a ClearElrRecord empties the ELR, and is unregistered then."""


def toured(system: str, rules: str, *more: str, scope: str = "tiny", version: str = "") -> tuple[int, dict[str, Any]]:
    """The exit code and the row of a tour, of the release of the preset where none is named."""
    of = version or rules.removeprefix("kafka-")
    ran = kraftcheck("conform", "--kafka", of, "--tour", system, "--scope", scope, "--rules", rules, *more, "--json",
                     "-")  # fmt: skip
    (row,) = ran.document()["rows"]
    return ran.code, row


def conforms(system: str, rules: str, *more: str, scope: str = "tiny") -> dict[str, Any]:
    """The row of a tour under the preset of a release: nothing differs, no walk breaks, and nothing is left out."""
    code, row = toured(system, rules, *more, scope=scope)
    assert (code, row["differing"], row["missed"]) == (0, 0, []), row["shown"]
    assert row["steps"] == row["unbroken"] > 0
    assert row["executed"] == row["asked"] - row["impossible"] > 0
    assert row["sampled"] or row["asked"] == row["reachable"] - row["silent"] - row["refused"]
    return row


def widened(rules: str, system: str, bounds: Mapping[str, int]) -> TourRow:
    """The row of a tour under other bounds than those of `tiny`."""
    setting = SYSTEMS[system].setting("tiny", bounds, rules=parse(rules))
    build = Build("-".join(rules.split("-")[1:2]).partition("+")[0])
    return tour_with_kafka(build, SYSTEMS[system], setting, 0, 0, lambda *progress: None)


def test_bad_input_is_one_line() -> None:
    """A tour needs a build, a scope with one partition, and rules with a form on the managers."""
    asked = ("conform", "--kafka", "4.1.2", "--tour")
    assert kraftcheck("conform", "--tour", "elections").refusal() == "--tour needs a release: --kafka VERSION"
    assert "no scope 'vast'" in kraftcheck(*asked, "elections", "--scope", "vast").refusal()
    assert kraftcheck(*asked, "kraft", "--scope", "pair").refusal() == (
        "kraft at pair has a second partition: only the first is put to the managers"
    )
    assert kraftcheck(*asked, "directories", "--rules", "kafka-4.1.2+assignment-unauthorized").refusal() == (
        "intrude asks nothing of the managers, but changes what they have"
    )


def test_each_column_of_an_answer_counts() -> None:
    """A column that differs alone is seen, but for the error, which the model does not give."""
    outputs = answer_columns(Layout(ELECTIONS.layout(ELECTIONS.setting("tiny", rules=parse("fixed")))), 2)
    wanted = np.zeros((1, outputs.width), dtype=np.int64)
    for name in outputs:
        said = wanted.astype(np.int32)
        said[:, outputs.slice(name)] = 1
        assert differs(outputs, said, wanted).any() == (name not in ("error", "continued")), name


def test_a_walk_is_broken_from_where_records_are_loaded() -> None:
    """The first step of a walk loads records; one that does so later breaks the rest of its walk, and no other's."""
    goes_on = np.array([False, True, False, True, False, True])
    begins = np.array([True, False, False, False, True, False])
    assert broken_before(goes_on, begins).tolist() == [False, False, True, True, False, False]


@pytest.mark.parametrize(("system", "switches", "silent"), [
    ("directories", "+failure-reported-once", WITHOUT_CONTROLLER),
    ("kraft", "+failure-reported-once+unknown-outcome-is-failure", WITHOUT_CONTROLLER | OF_LOGS),
])  # fmt: skip
def test_each_action_is_said_to_ask_or_not(system: str, switches: str, silent: frozenset[str]) -> None:
    """Of every action of every bound it is said whether it asks the managers; of another one nothing is."""
    of, rules = SYSTEMS[system], parse(f"kafka-4.1.2{switches}")
    bounds = {bound.name: bound.hi for bound in of.bounds} | ({"second": 0, "deletions": 0} if of is KRAFT else {})
    largest = Setting("largest", bounds, rules)
    upgrade = attrs.evolve(largest, bounds={**bounds, "start": 1})
    listed = {action.name: action for setting in (largest, upgrade) for action in of.actions(setting)}
    quiet = {name for name, action in listed.items() if request_of(system, action, rules) is None}
    assert quiet <= silent | set(REFUSED_EARLIER)
    assert quiet >= (WITHOUT_CONTROLLER | set(REFUSED_EARLIER) if of is DIRECTORIES else OF_LOGS)
    with pytest.raises(TourError, match=f"it is not said what eject of {system} asks"):
        request_of(system, Action("eject", lambda state: state), rules)


def test_walks_end_with_each_question() -> None:
    """Where brokers ask the same in many states, each different question ends a walk, which is a path of the system."""
    space = TourSpace(DIRECTORIES, DIRECTORIES.setting("tiny", rules=parse("kafka-4.1.2")))
    tour = Tour(Build("4.1.2"), space, lambda *progress: None)
    ends = tour.ask(np.arange(len(space)))
    rows = {tour._of_paths([[end]]).rows.tobytes() for end in ends}
    every = tour._enabled(np.arange(len(space))).rows
    assert len(rows) == len(ends) == len(np.unique(every, axis=0)) < len(every)
    for place, _ in ends:
        path = space.path(place)
        assert not path or space.path(path[0][0]) == []
        for (before, number), (after, _) in zip(path, [*path[1:], (place, 0)], strict=True):
            assert space.path(after) == [*space.path(before), (before, number)]


@pytest.mark.parametrize(("rules", "least"), [("kafka-4.1.2", 3 / 10), ("kafka-4.3.1", 1 / 3)])
def test_every_question_is_put_to_the_managers(rules: str, least: float) -> None:
    """At the smallest scope no transition is left out but those that ask nothing, or that authorization refuses."""
    row = conforms("directories", rules)
    assert row["share"] == row["executed"] / row["reachable"] > least


@pytest.mark.parametrize(("system", "rules", "more", "action"), [
    ("elections", "kafka-4.1.2+stale-reregistration-keeps-isr", ("--sample", "400"), "new_incarnation"),
    ("directories", "kafka-3.9.2", (), "start"),
])  # fmt: skip
def test_a_broken_rule_is_found_by_its_action(system: str, rules: str, more: tuple[str, ...], action: str) -> None:
    """On the managers of 4.1.2 the defect of stale registrations differs in registrations, and in nothing else."""
    code, row = toured(system, rules, *more, version="4.1.2")
    assert code == 23
    assert row["sampled"] == bool(more)
    assert row["differing"] == sum(cause["transitions"] for cause in row["shown"]) > 1
    assert {cause["action"] for cause in row["shown"]} == {action}
    assert all(cause["sequence"][-1].startswith(f"{action}(") for cause in row["shown"])
    if action == "start":
        (cause,) = row["shown"]
        assert cause["sequence"] == ["crash(broker=0)", "start(broker=0)"]
        assert (cause["expected"]["records"], cause["actual"]["records"]) == (1, 0)


RETURNS = {"failures": 0, "fences": 0, "unclean-stops": 1}
"""Bounds beside those of `tiny`, under which a request arrives that names an earlier incarnation of a broker."""


def test_a_broken_rule_of_proposals_is_found() -> None:
    """Proposals of an earlier incarnation are refused as the preset says; without that rule they differ, alone."""
    row = widened(f"kafka-{NEWEST}", "kraft", RETURNS)
    assert (row.differing, row.missed) == (0, ()), row.shown
    assert {"alter_partition", "start"} <= set(row.actions)
    broken = widened(f"kafka-{NEWEST}+alter-partition-ignores-broker-epoch", "kraft", RETURNS)
    (cause,) = broken.shown
    assert (cause.action, cause.expected["records"], cause.actual["records"]) == ("alter_partition", -1, 1)


@pytest.mark.slow
def test_a_cleared_elr_stays_indexed() -> None:
    """Kafka's ClearElrRecord leaves brokers in the index of ELR members: their unregistration changes the partition."""
    model = TourModel(trace(ELECTIONS, ELECTIONS.setting("tiny", rules=parse("kafka-4.1.2"))))
    states = model.unpack(np.array(model.program.initial, dtype=np.uint64))
    minimum = states[:, model.inputs.places["min_insync_replicas"][0]]
    factor = (states[:, model.inputs.slice("replicas")] >= 0).sum(axis=1)
    here = states[(minimum == 2) & (factor == 2)]
    numbers, asked = {model.call(number): number for number in range(len(model.instances))}, []
    for call in STALE_INDEX:
        asked.append(model.requests(here, numbers[call])[1])
        here = model.decide(here, numbers[call])[1]
    written = []
    for begins in (SNAPSHOTS, GOES_ON):
        with managers(Build("4.1.2"), model, begins) as kafka:
            written.append(model.outputs.get(kafka.ask(np.concatenate(asked)), "records")[-1])
    assert written == [0, 1]


ISR_OF_NOBODY = ("kafka-4.0.0", "kafka-4.0.1", "kafka-4.0.2")
"""Releases that elect a last known leader of -1 (B5), which a set of brokers cannot hold."""

NOBODY = -(1 << 31)  # the ISR [-1] as the driver writes sets

MET_BY_NOBODY = {"elections tiny", "elections small", "elections directories", "directories restarts"}
"""Where such an ISR can come about: those that have ELR on, and a leader outside an empty ISR that is started anew."""

SCOPED = [
    *(("elections", scope, ("--sample", "1000")) for scope in ("tiny", "small", "directories")),
    *(("directories", scope, ("--sample", "2000") if scope == "medium" else ()) for scope in SCOPES),
    ("kraft", "tiny", ()), ("kraft", "moves", ()),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("rules", RELEASES)
@pytest.mark.parametrize(("system", "scope", "more"), SCOPED)
def test_every_release_takes_the_tour(system: str, scope: str, more: tuple[str, ...], rules: str) -> None:
    """No step differs on the managers of a release under its preset; with B5 those differ that make the ISR [-1]."""
    if f"{system} {scope}" in MET_BY_NOBODY and rules in ISR_OF_NOBODY:
        more = ("--sample", "10000" if scope == "directories" else "1000") if system == "elections" else ()
        code, row = toured(system, rules, *more, scope=scope)
        assert code == (23 if row["differing"] else 0)
        assert sum(cause["transitions"] for cause in row["shown"]) == row["differing"]
        assert row["differing"] or scope not in ("directories", "restarts")
        for cause in row["shown"]:
            assert NOBODY in (cause["expected"].get("record0.isr"), cause["expected"].get("record1.isr")), cause
        return
    conforms(system, rules, *more, scope=scope)


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
    row = widened(rules, "directories", WIDER[action])
    assert (row.differing, row.missed) == (0, ()), row.shown
    assert row.steps == row.unbroken > 0
    assert action in row.actions
