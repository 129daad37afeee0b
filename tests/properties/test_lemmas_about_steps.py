"""Lemmas about steps are true: the explorer finds no reachable step that breaks one, but by a defect."""

from __future__ import annotations

import time
from collections.abc import Mapping

import pytest
from attrs import evolve

from kraftcheck.model.language.system import ANY
from kraftcheck.model.rules.ruleset import parse
from kraftcheck.properties.catalogue import SYSTEMS
from kraftcheck.properties.kinds import STAYS
from kraftcheck.properties.replication.lemmas_logs import step_lemmas
from kraftcheck.solvers.exploration.explore import explore
from kraftcheck.solvers.program.trace import trace
from kraftcheck.solvers.program.verdict import Holds, Refuted

REPLICATION = SYSTEMS["replication"]

LEMMAS = {lemma.id for lemma in step_lemmas()}

THREE = {"brokers": 3, "replication": 3, "unclean-stops": 0, "fences": 2}
"""Enough brokers for an ELR while the ISR is at min ISR."""


def verdicts(rules: str, bounds: Mapping[str, int]) -> dict[str, type]:
    """The verdict on each lemma by exploration."""
    system = evolve(REPLICATION, properties=lambda setting: step_lemmas())
    result = explore(trace(system, system.setting("tiny", bounds, parse(rules))), clock=time.perf_counter)
    return {judged.claim: type(judged.verdict) for judged in result.verdicts if judged.claim in LEMMAS}


@pytest.mark.parametrize("bounds", [{}, {"min-isr": 1}, THREE], ids=str)
def test_no_step_breaks_a_lemma(bounds: Mapping[str, int]) -> None:
    """By the right rules every lemma holds of every reachable step."""
    assert verdicts("fixed", bounds) == dict.fromkeys(LEMMAS, Holds)


BROKEN = {
    "leader-change-keeps-epoch": "lemma-epoch-rises-with-leader",
    "alter-partition-ignores-broker-epoch": "lemma-candidates-join-by-request",
    "partition-epoch-follows-leader": "lemma-change-ends-the-request",
    "elr-keeps-unclean-replicas": "lemma-restart-ends-leadership",
}
"""A defect that breaks each lemma with two brokers; who is elected from outside is a loss by definition."""


@pytest.mark.parametrize("variant", BROKEN)
def test_a_defect_breaks_the_lemma(variant: str) -> None:
    """The lemma is no tautology: a wrong rule has a step that breaks it."""
    assert verdicts(f"fixed+{variant}", {})[BROKEN[variant]] is Refuted


def test_a_defect_leaves_an_elr_at_min_isr() -> None:
    """With three brokers the ELR outlives an ISR below min ISR where it is not emptied."""
    assert verdicts("fixed+elr-kept-at-min-isr", THREE)["lemma-min-isr-empties-elr"] is Refuted


def test_a_defect_drops_a_living_candidate() -> None:
    """Who stopped cleanly leaves ISR and ELR where every restart is taken for an unclean one."""
    assert verdicts("fixed+every-restart-is-unclean", {"clean-stops": 1})["lemma-living-candidates-stay"] is Refuted


def test_what_lemmas_rest_on_is_there_without_bounds() -> None:
    """Each name of a lemma about steps, or of an invariant that stays, is of a claim where epochs have no bound."""
    setting = REPLICATION.setting("tiny", {"brokers": ANY, "unbounded": 1}, parse("fixed"), proof=True)
    claims = [*REPLICATION.properties(setting), *REPLICATION.lemmas(setting)]
    invariants = {claim.id for claim in claims if claim.kind == "always"}
    assert {claim.id for claim in claims if claim.kind == "step"} >= LEMMAS
    named = {name.removesuffix(STAYS) for claim in claims for group in claim.rests_on for name in group}
    assert LEMMAS <= named <= LEMMAS | invariants
