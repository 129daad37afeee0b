"""The `directories` system as a whole: domains, machine code, known traces, and properties that can fail."""

from __future__ import annotations

import random
import time
from typing import Any

import attrs
import pytest

from kraftcheck.ci.run.questions import search_budget
from kraftcheck.ci.verdicts import defects as bugs
from kraftcheck.model.language.layout import Layout
from kraftcheck.model.language.system import Property
from kraftcheck.model.rules.groups import DirectoryRules
from kraftcheck.model.rules.ruleset import parse, preset, variant_name
from kraftcheck.properties.catalogue import SYSTEMS
from kraftcheck.properties.register.defects import BESIDE, BUGS, Bug
from kraftcheck.solvers.exploration.explore import SearchBudget, explore
from kraftcheck.solvers.program.trace import trace
from kraftcheck.solvers.program.verdict import Holds, Refuted
from tests.shared.directories import setting
from tests.shared.samples import few
from tests.shared.successors import agree_with_ints

DIRECTORIES = SYSTEMS["directories"]

UNJUDGED = {"timeout-only-if-leading", "reports-wait-for-assignments"}
"""Choices that break no property: readings of the document, not mistakes."""


def claims() -> dict[str, Property]:
    """Every property of any scope that is no goal, by id."""
    found = {}
    for scope in DIRECTORIES.scopes:
        for bounds in ({}, {"copies": 1, "disk-changes": 1}):
            at = DIRECTORIES.setting(scope, bounds, parse("fixed"))
            found.update({claim.id: claim for claim in DIRECTORIES.properties(at)})
    return {name: claim for name, claim in found.items() if claim.kind in ("always", "step", "recovers")}


@pytest.mark.parametrize("claim", claims().values(), ids=claims())
def test_every_property_is_refuted_by_the_rows_it_names(claim: Property) -> None:
    """The row of each variant that a property names lists the property."""
    rows = {bug.variant: bug for bug in (*BESIDE, *BUGS) if bug.system == "directories"}
    for name in claim.refuted_by:
        assert claim.id in rows[name].refutes, f"{name} is not known to refute {claim.id}"


def test_every_choice_is_judged() -> None:
    """Each choice of the group is in a row of the matrix, or is known to break nothing."""
    judged = {name for bug in BUGS for name in bug.variant.split("+")}
    ours = {variant_name(f.name) for f in attrs.fields(DirectoryRules)}
    assert ours - judged == UNJUDGED


def test_presets_have_the_choices_of_their_sources() -> None:
    """The snapshot is the same with and without ELR and differs from the KIP; the mended rules switch nothing on."""
    ours = [f.name for f in attrs.fields(DirectoryRules)]
    snapshot, older, kip, fixed = (preset(name).directories for name in ("kafka-4.0", "kafka-3.9", "kip", "fixed"))
    assert snapshot == older
    assert (sum(getattr(snapshot, choice) for choice in ours), sum(getattr(kip, choice) for choice in ours)) == (17, 9)
    assert not any(getattr(fixed, choice) for choice in ours)


@pytest.mark.parametrize("rules", ["fixed", "kafka-4.0", "kip"])
@pytest.mark.parametrize("bounds", [{}, {"brokers": 2, "start": 1}, {"directories": 3, "start": 2}, {"directories": 1}])
def test_states_stay_in_their_domains(bounds: dict[str, int], rules: str) -> None:
    """Along seeded walks every state has a place in the layout and survives it."""
    at = setting(rules, **{"brokers": 1, **bounds})
    layout, walk = Layout(DIRECTORIES.layout(at)), random.Random(7)
    actions, (begin,) = DIRECTORIES.actions(at), DIRECTORIES.initial(at)
    state, seen = begin, set[str]()
    for tried in range(3000):
        action = walk.choice(actions)
        arguments = {name: walk.choice(list(values)) for name, values in action.parameters.items()}
        if tried % 300 == 0:
            state = begin
        if not action.enabled(state, arguments):
            continue
        state = action.outcome(state, arguments).state
        assert layout.unpack(layout.pack(state)) == state
        seen.add(action.name)
    assert {"apply_metadata", "fail_directory", "crash"} <= seen
    assert len(seen) > 7


@pytest.mark.parametrize(
    ("scope", "rules", "every", "bounds"),
    [
        ("tiny", "fixed", 60, {}),
        pytest.param("tiny", "kafka-4.0", 200, {"copies": 1}, marks=pytest.mark.slow),
        ("tiny", "kip", 60, {"directories": 3, "crashes": 0}),
        pytest.param("migration", "kafka-4.0", 100, {}, marks=pytest.mark.slow),
        ("tiny", "fixed+duplicate-ids-start", 50, {"disk-changes": 1, "moves": 0}),
        ("small", "kafka-4.0", 4000, {"crashes": 0, "reassignments": 1, "replication": 1, "records": 0}),
    ],
)
def test_machine_code_agrees_with_ints(scope: str, rules: str, every: int, bounds: dict[str, int]) -> None:
    """All action instances have the same result both ways, in every n-th reachable state."""
    program = trace(DIRECTORIES, DIRECTORIES.setting(scope, bounds, parse(rules)))
    sample = list(explore(program, SearchBudget(threads=1), clock=time.perf_counter).states())[::every]
    assert len(sample) > 50
    agree_with_ints(program, few(sample))


def steps(variant: str, claim: str) -> list[str]:
    """The actions of the shortest trace by which a row's variant breaks a property."""
    (row,) = [bug for bug in BUGS if bug.variant == variant]
    found = trace_of(row, row.rules, claim)
    assert found is not None
    return found


def trace_of(row: Bug, rules: str, claim: str) -> list[str] | None:
    """The actions of a shortest trace in a row's scope; None where the property holds."""
    found: Any = bugs.explore_defect(row, rules, search_budget(1, 4 << 30), quiet=True)
    (verdict,) = [v.verdict for v in found.verdicts if v.claim == claim]
    if isinstance(verdict, Holds):
        return None
    assert isinstance(verdict, Refuted)
    return [step.action for step in verdict.trace.steps]


def test_the_snapshot_unfences_before_assignments_are_settled() -> None:
    """A restart, a replica made, and unfenced while the controller still has it UNASSIGNED."""
    row = Bug("", "", "directories", "tiny", {}, {"failures": 0, "moves": 0})
    assert trace_of(row, "kafka-4.0", "fenced-until-settled") == ["crash", "start", "apply_metadata", "unfence"]


@pytest.mark.parametrize(
    ("directories", "rules", "verdict"),
    [
        (2, "kip", None),
        (2, "kip-one-directory-awaits-nothing", ["start", "fail_directory"]),
        (3, "kip", ["fail_directory", "start"]),
        (1, "kip", None),
        (1, "kip-one-directory-awaits-nothing", ["start"]),
    ],
)
def test_the_kip_fences_a_migrating_broker_for_ever(directories: int, rules: str, verdict: list[str] | None) -> None:
    """The broker does not say where its replica is, and is awaited: in steady state where two directories are left."""
    row = Bug("", "", "directories", "migration", {}, {"directories": directories})
    assert trace_of(row, rules, "broker-can-return") == verdict


@pytest.mark.parametrize(("scope", "length"), [("migration", 4), ("upgrade", 5)])
def test_the_kip_unfences_a_broker_that_has_one_directory_left(scope: str, length: int) -> None:
    """A failure leaves one directory registered, of which the document awaits nothing in steady state."""
    found = trace_of(Bug("", "", "directories", scope, {}), "kip", "fenced-until-settled")
    assert found is not None
    assert (len(found), found[-1]) == (length, "unfence")
    assert found[0] == "fail_directory"


def test_b12_hides_the_failure_of_an_added_replica() -> None:
    """The new leader's directory fails and is reported; the controller never learnt where it is, so nothing happens."""
    found = steps("catch-up-as-coded+added-replica-unreported", "failure-leads-away")
    assert {"reassign", "expand_isr", "fail_directory", "report"} <= set(found)


def test_b8_elects_on_a_directory_that_the_same_heartbeat_reports() -> None:
    """The last step is the heartbeat that unfences and reports."""
    assert steps("passes-share-one-base", "leader-directory-online")[-1] == "unfence"


def test_b13_assigns_an_accepted_move_back() -> None:
    """Metadata of the target, seen before the promotion, makes the broker ask for the source again."""
    found = steps("correction-ignores-future-log", "moves-go-forward")
    assert found.count("assign") == 2
    assert "promote" not in found
    assert found[-1] == "assign"
