"""Liveness of the shipped systems: every verdict is the expected one, and every claim can fail, by a lasso."""

from __future__ import annotations

import functools
import time

import pytest

from kraftcheck.ci.systems.report import word_of
from kraftcheck.model.language.fairness import LIVENESS
from kraftcheck.model.rules.ruleset import parse
from kraftcheck.properties.catalogue import FAIR_SYSTEMS
from kraftcheck.properties.expected.liveness import EXPECTED_LIVENESS
from kraftcheck.solvers.program.trace import trace
from kraftcheck.solvers.program.verdict import Refuted
from kraftcheck.solvers.search.explore import Exploration, explore

QUICK = {("healing-sessions", "tiny", "fixed"), ("healing-elections", "tiny", "kafka-3.9")}
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


def refutations() -> list[tuple[str, str, str, str]]:
    """System, scope, claim and variant: each claim at the first scope where `fixed` is expected to hold it."""
    listed = {}
    for name, scope, rules in EXPECTED_LIVENESS:
        if rules == "fixed":
            for claim in FAIR_SYSTEMS[name].properties(FAIR_SYSTEMS[name].setting(scope, rules=parse(rules))):
                for variant in claim.refuted_by:
                    listed.setdefault((name, claim.id, variant), scope)
    return [(name, scope, claim, variant) for (name, claim, variant), scope in listed.items()]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "scope", "claim", "variant"), sorted(refutations(), key=lambda one: one[3]))
def test_each_claim_can_fail(name: str, scope: str, claim: str, variant: str) -> None:
    """The variant that a claim names for it refutes it, by a lasso that ints confirm."""
    verdict = explored(name, scope, f"fixed+{variant}").verdict(claim).verdict
    assert isinstance(verdict, Refuted)
    assert verdict.trace.loop is not None
