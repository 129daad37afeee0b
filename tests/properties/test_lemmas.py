"""Lemmas of proofs are true: the explorer finds no reachable state that breaks one."""

from __future__ import annotations

import time
from typing import Any

import pytest
from attrs import evolve

from kraftcheck.model.language.anynumber import Family
from kraftcheck.model.language.layout import Layout, leaves, rebuild
from kraftcheck.model.language.system import ScopeError, Setting, System
from kraftcheck.model.rules.ruleset import parse
from kraftcheck.model.systems.elections.system import replica_lists
from kraftcheck.properties.catalogue import SYSTEMS
from kraftcheck.properties.directories.lemmas import of_the_kip
from kraftcheck.solvers.exploration.explore import explore
from kraftcheck.solvers.program.trace import trace
from kraftcheck.solvers.program.verdict import Holds, Vacuous
from kraftcheck.solvers.smt.induction import prove
from kraftcheck.solvers.smt.queries import Effort
from kraftcheck.solvers.smt.theory import theory
from tests.shared.samples import one_in

SCOPES = [("elections", "tiny"), ("elections", "small"), ("elections", "directories")]
FURTHER = [("directories", "tiny"), ("directories", "small"), ("replication", "tiny"), ("replication", "small"),
           ("unclean-recovery", "requests"), ("unclean-recovery", "returning"),
           ("broker-ids", "static"), ("broker-ids", "sessions"), ("broker-ids", "small"),
           ("zk-controller", "pair"), ("zk-controller", "small"),
           ("zk-jbod", "jobs"), ("zk-jbod", "log"), ("zk-jbod", "writers"), ("zk-jbod", "repair")]  # fmt: skip
"""Scopes of the systems that are proven under the right rules only."""


UNBROKEN = (Holds, Vacuous)
"""Verdicts on lemmas that no state breaks: at a small scope one may speak of nothing."""


def with_lemmas(system: System) -> System:
    """The system whose properties are its lemmas."""
    return evolve(system, properties=system.lemmas)


def setting_of(name: str, scope: str, rules: str) -> Setting:
    """A setting of a shipped system."""
    return SYSTEMS[name].setting(scope, rules=parse(rules))


def _slow(*row: Any) -> Any:
    return pytest.param(row, marks=pytest.mark.slow)


OPERATED = [
    {"config-changes": 2}, {"config-changes": 1, "reassignments": 1},
    {"reassignments": 1, "config-changes": 1, "unclean-stops": 0},
]  # fmt: skip
"""Bounds of `replication` in which operators reassign and change min.insync.replicas."""

CASES = [
    *one_in(3, [*[(*at, rules, {}) for at in SCOPES for rules in ("fixed", "kip")],
                *[(*at, "fixed", {}) for at in FURTHER]]),
    *[("replication", "tiny", "fixed", bounds) for bounds in OPERATED],
    _slow("replication", "small", "fixed", {"config-changes": 1}),
    _slow("replication", "tiny", "fixed", {"brokers": 3, "replication": 2, "reassignments": 1, "unclean-stops": 0}),
    _slow("replication", "tiny", "fixed", {"reassignments": 2, "config-changes": 1}),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]} {case[1]} {case[2]} {case[3]}")
def test_no_reachable_state_breaks_a_lemma(case: tuple[str, str, str, dict[str, int]]) -> None:
    """Every lemma holds in every reachable state of the small scopes, whatever operators reassign and configure."""
    name, scope, rules, bounds = case
    system = SYSTEMS[name]
    at = system.setting(scope, bounds, parse(rules))
    result = explore(trace(with_lemmas(system), at), clock=time.perf_counter)
    judged = {found.claim: found.verdict for found in result.verdicts if found.claim != "deadlock"}
    assert len(judged) == len(system.lemmas(at)) >= 5
    assert [claim for claim, verdict in judged.items() if not isinstance(verdict, UNBROKEN)] == []
    assert not bounds.get("reassignments") or result.fired["reassign"] > 0


@pytest.mark.parametrize("brokers", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_no_reachable_state_breaks_a_lemma_of_the_kip(brokers: int) -> None:
    """Why KIP-858 fences until settled while nothing is moved is true in every reachable state, and said only there."""
    system = SYSTEMS["directories"]
    still = system.setting("small", {"brokers": brokers, "replication": brokers}, parse("kip"))
    listed = of_the_kip(still)
    result = explore(trace(evolve(system, properties=lambda _: listed), still), clock=time.perf_counter)
    judged = {found.claim: found.verdict for found in result.verdicts if found.claim != "deadlock"}
    assert len(judged) == len(listed) == 4
    assert {type(verdict) for verdict in judged.values()} == {Holds}
    for scope, rules in (("tiny", "kip"), ("small", "fixed")):
        assert of_the_kip(setting_of("directories", scope, rules)) == ()


@pytest.mark.parametrize("scope", ["shared", "newcomer"])
def test_no_way_to_find_an_id_breaks_a_lemma_of_registration(scope: str) -> None:
    """Why ids are unique while no session is lost is true however brokers find them; the rest is not said there."""
    system, setting = SYSTEMS["broker-ids"], setting_of("broker-ids", scope, "kip")
    result = explore(trace(with_lemmas(system), setting), clock=time.perf_counter)
    judged = {found.claim: found.verdict for found in result.verdicts if found.claim != "deadlock"}
    assert set(judged) == {"lemma-chosen-has-id", "lemma-live-is-registered"}
    assert {type(verdict) for verdict in judged.values()} == {Holds}
    assert not SYSTEMS["broker-ids"].lemmas(setting_of("broker-ids", "sessions", "kip"))


def test_lemmas_have_names_and_sentences() -> None:
    """A lemma is an invariant whose id begins with `lemma-`, unlike every property's, and it says what it claims."""
    for name, scope in SCOPES + FURTHER:
        setting = setting_of(name, scope, "fixed")
        lemmas, promised = SYSTEMS[name].lemmas(setting), SYSTEMS[name].properties(setting)
        assert {lemma.kind for lemma in lemmas} == {"always"}
        assert all(lemma.id.startswith("lemma-") and len(lemma.sentence) > 15 for lemma in lemmas)
        assert not any(claim.id.startswith("lemma-") for claim in promised)


@pytest.mark.parametrize(("brokers", "largest"), [(2, 2), (3, 2), (3, 3), (4, 3)])
def test_the_condition_of_replica_lists_is_their_listing(brokers: int, largest: int) -> None:
    """Of all values in its shape, the family's condition admits exactly those that it lists."""
    family: Family = replica_lists(brokers, largest)
    layout = Layout(family.shape)
    every = [layout.unpack([number]) for number in range(1 << layout.bits)]
    inside = [v for v in every if all(-1 <= leaf < brokers for _, leaf in leaves(v))]
    admitted = {tuple(leaf for _, leaf in leaves(v)) for v in inside if family.member(v)}
    assert admitted == {value.slots for value in family}
    assert len(family) == len(admitted)
    feed = iter(next(iter(admitted)))
    assert family.member(rebuild(family.shape, lambda: next(feed)))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scope", "bounds", "solver"),
    [
        ("tiny", {"reassignments": 2}, "z3"),
        ("small", {"brokers": 4, "replication": 4}, "bitwuzla"),
        ("small", {"brokers": 5, "replication": 5}, "bitwuzla"),
    ],
)
def test_nothing_committed_is_lost_on_more_brokers(scope: str, bounds: dict[str, int], solver: str) -> None:
    """Everything that `replication` promises is proven with reassignments, and on 4 and 5 brokers; `check` proves 3."""
    pytest.importorskip(solver)
    system = SYSTEMS["replication"]
    subject = theory(system, system.setting(scope, bounds, parse("fixed"), proof=True))
    found = prove(lambda: subject, effort=Effort(timeout=600, solver=solver), clock=time.monotonic)
    assert [claim.id for claim in subject.claims if not found.proven(claim.id)] == []


@pytest.mark.slow
@pytest.mark.parametrize("brokers", [4, 5])
def test_fencing_until_settled_is_proven_on_more_brokers(brokers: int) -> None:
    """So is fencing until settled in `directories`, where the explorer has no such scope."""
    pytest.importorskip("bitwuzla")
    system = SYSTEMS["directories"]
    bounds = {"brokers": brokers, "replication": brokers}
    subject = theory(system, system.setting("small", bounds, parse("fixed"), proof=True))
    effort = Effort(timeout=600, solver="bitwuzla")
    found = prove(lambda: subject, effort=effort, clock=time.monotonic, only=["fenced-until-settled"])
    assert found.proven("fenced-until-settled")
    with pytest.raises(ScopeError, match="brokers = "):
        system.setting("small", bounds, parse("fixed"))
