"""What each engine does with each kind of claim is what the page of words says."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings

import kraftcheck as kc
from kraftcheck.solvers.hypothesis.machine import Violation, machine, run
from kraftcheck.solvers.hypothesis.tally import VacuousRun
from kraftcheck.solvers.reference.interpreter import Integers
from tests.model.language.words.kinds import CLAIMS, GOAL, JUDGED, LEFT, REFUSED, SEARCHED, WALKED, systems

EXPLORED = {("Holds", "Refuted"): SEARCHED, ("Holds", "Vacuous"): GOAL, ("Unknown", "Unknown"): LEFT,
            ("Incomplete", "Incomplete"): LEFT, ("Incomplete", "Refuted"): WALKED}  # fmt: skip
"""What the verdicts on a claim that holds and on one that does not come to."""

HYPOTHESIS = settings(max_examples=10, stateful_step_count=12, derandomize=True, database=None,
                      suppress_health_check=list(HealthCheck))  # fmt: skip


def verdicts(kind: str, engine: str) -> tuple[str, str]:
    """The verdicts on both claims of a kind."""
    asked = [kc.simulate(one, runs=20, seed=1) if engine == "simulate" else kc.explore(one) for one in systems(kind)]
    right, wrong = (type(one.verdict("claim")).__name__ for one in asked)
    return right, wrong


def proven(kind: str) -> str:
    """What a proof does with a kind."""
    try:
        asked = [kc.prove(one) for one in systems(kind)]
    except kc.Refusal as error:
        return REFUSED if "judges no liveness" in str(error) else str(error)
    if all("claim" not in one.verdicts for one in asked):
        return LEFT
    right, wrong = (type(one.verdict("claim")).__name__ for one in asked)
    return EXPLORED[right, wrong]


def run_by_hypothesis(kind: str) -> str:
    """What random runs of Hypothesis do with a kind."""
    right, wrong = systems(kind)
    try:
        run(machine(Integers(right, right.setting())), chosen=HYPOTHESIS)
        run(machine(Integers(wrong, wrong.setting())), chosen=HYPOTHESIS)
    except Violation:
        return WALKED
    except VacuousRun:
        return GOAL
    except ValueError as error:
        return REFUSED if "machines check safety only" in str(error) else str(error)
    return LEFT


def test_the_table_has_every_kind() -> None:
    """Each function that makes a claim is a row."""
    kinds = {name for name in kc._PLACES["kraftcheck.properties.kinds"] if "fairness" not in name} | {"refines"}
    assert {*CLAIMS} == {*JUDGED} == kinds


@pytest.mark.parametrize("kind", JUDGED)
def test_a_search_judges_every_kind(kind: str) -> None:
    """The claim that holds does, and the other one is refuted, or vacuous where it is a goal."""
    assert EXPLORED[verdicts(kind, "explore")] == JUDGED[kind][0]


@pytest.mark.slow
@pytest.mark.parametrize("kind", JUDGED)
def test_the_other_engines_judge_what_the_table_says(kind: str) -> None:
    """Proofs, walks and runs of Hypothesis tell the two claims apart, leave them, or refuse them."""
    assert (proven(kind), EXPLORED[verdicts(kind, "simulate")], run_by_hypothesis(kind)) == JUDGED[kind][1:]


@pytest.mark.parametrize("kind", ["recovers", "sometimes"])
def test_a_proof_of_nothing_is_refused(kind: str) -> None:
    """A system with a claim that proofs do not judge is no success of theirs: it used to exit 0."""
    _, wrong = systems(kind)
    bare = kc.System(wrong.name, wrong.summary, wrong.initial, wrong.actions, wrong.layout, wrong.properties)
    with pytest.raises(kc.Refusal, match="counter has no claim to prove: prove judges neither goals nor `recovers`"):
        kc.prove(bare)
