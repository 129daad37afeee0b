"""Liveness of the shipped systems: every verdict is the expected one, and every claim can fail, by a lasso."""

from __future__ import annotations

import functools
import time

import pytest

from kraftcheck.ci.systems.report import word_of
from kraftcheck.model.language.fairness import LIVENESS
from kraftcheck.model.language.system import Property
from kraftcheck.model.rules.ruleset import parse
from kraftcheck.properties.catalogue import FAIR_SYSTEMS
from kraftcheck.properties.expected.liveness import EXPECTED_LIVENESS
from kraftcheck.solvers.program.trace import trace
from kraftcheck.solvers.program.verdict import Refuted
from kraftcheck.solvers.search.explore import Exploration, explore

QUICK = {
    ("healing-sessions", "tiny", "fixed"), ("fair-directories", "tiny", "kip"), ("fair-zk-jbod", "controller", "kip"),
}  # fmt: skip
"""Rows that are explored at each change; the others at night."""

ROWS = [pytest.param(row, marks=() if row in QUICK else pytest.mark.slow) for row in EXPECTED_LIVENESS]


@functools.lru_cache(maxsize=4)
def explored(name: str, scope: str, rules: str) -> Exploration:
    """The exploration of a system with fairness."""
    system = FAIR_SYSTEMS[name]
    return explore(trace(system, system.setting(scope, rules=parse(rules))), clock=time.perf_counter, threads=2)


@pytest.mark.parametrize("row", ROWS, ids="-".join)
def test_each_verdict_is_the_expected_one(row: tuple[str, str, str]) -> None:
    """A row has the verdicts that are expected of it; what holds is not vacuous, and no step left the bounds."""
    words = {one.claim: word_of(one) for one in explored(*row).verdicts}
    assert {claim: word for claim, word in words.items() if word != "holds"} == EXPECTED_LIVENESS[row]


@pytest.mark.parametrize("name", FAIR_SYSTEMS)
def test_a_fair_system_has_liveness_alone(name: str) -> None:
    """Each property of a system with fairness is about whole behaviours, and `fixed` is explored for it."""
    scopes = {row[1] for row in EXPECTED_LIVENESS if (row[0], row[2]) == (name, "fixed")}
    assert scopes
    for scope in scopes:
        setting = FAIR_SYSTEMS[name].setting(scope, rules=parse("fixed"))
        assert {claim.kind for claim in FAIR_SYSTEMS[name].properties(setting)} <= set(LIVENESS)


def claims_of(row: tuple[str, str, str]) -> tuple[Property, ...]:
    """The liveness properties of a row."""
    system = FAIR_SYSTEMS[row[0]]
    return tuple(system.properties(system.setting(row[1], rules=parse(row[2]))))


def refutations() -> dict[tuple[str, str, str], list[tuple[str, str]]]:
    """By system, claim and variant: scope and rules of the rows in which the claim is expected to hold."""
    listed: dict[tuple[str, str, str], list[tuple[str, str]]] = {}
    for row, odd in EXPECTED_LIVENESS.items():
        if row[2] in ("fixed", "kip"):
            for claim in claims_of(row):
                for variant in claim.refuted_by if claim.id not in odd else ():
                    listed.setdefault((row[0], claim.id, variant), []).append(row[1:])
    return listed


REFUTATIONS = refutations()


@pytest.mark.slow
@pytest.mark.parametrize(("name", "claim", "variant"), sorted(REFUTATIONS), ids="-".join)
def test_each_claim_can_fail(name: str, claim: str, variant: str) -> None:
    """In a scope where a claim holds, the variant that it names refutes it, by a lasso that ints confirm."""
    for scope, rules in sorted(REFUTATIONS[name, claim, variant], key=lambda row: row[1]):
        verdict = explored(name, scope, f"{rules}+{variant}").verdict(claim).verdict
        if isinstance(verdict, Refuted):
            assert verdict.trace.loop is not None
            return
    pytest.fail(f"{variant} refutes {claim} in no scope")


@pytest.mark.parametrize("name", FAIR_SYSTEMS)
def test_every_claim_holds_somewhere(name: str) -> None:
    """Each claim of a system with fairness has a row in which it holds, and so can be broken there."""
    claims = {claim.id for row in EXPECTED_LIVENESS if row[0] == name for claim in claims_of(row)}
    assert {claim for system, claim, _ in REFUTATIONS if system == name} == claims
