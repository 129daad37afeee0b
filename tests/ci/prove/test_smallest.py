"""Counterexamples to induction of claims about any number: with few participants, replayed and looked up."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve

import kraftcheck as kc
from kraftcheck.ci.prove.question import run_proof, search_evidence
from kraftcheck.ci.prove.request import ProofRequest
from kraftcheck.ci.run.questions import run, search_budget
from kraftcheck.model.language.system import ANY
from kraftcheck.solvers.exploration.explore import Exploration
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.verdict import Refuted, Unknown
from kraftcheck.solvers.smt.induction import Proof
from kraftcheck.solvers.smt.queries import Effort
from kraftcheck.solvers.smt.verdicts import NOT_DECIDED, UNREACHABLE, ClaimJudgement, judge
from tests.shared.any_number import ABORTED, COMMITTED, TWO_PHASE
from tests.shared.commands import kraftcheck

BUDGET = search_budget(1, 1 << 30, keep=True)


def few_abort(most: int, once_committed: bool) -> kc.System:
    """Two-phase commit with the claim that so many abort at most: always, or once a commit is decided."""

    def claim(state: Any) -> Any:
        few = state.aborted.size() <= most
        return kc.implies(state.decision == COMMITTED, few) if once_committed else few

    return evolve(
        TWO_PHASE,
        properties=lambda _: [kc.always("few-abort", "few abort", claim)],
        lemmas=lambda setting: [one for one in TWO_PHASE.lemmas(setting) if one.id == "committed-by-decision"],
    )


def judged(system: kc.System, most: int = 5_000_000) -> tuple[Proof, ClaimJudgement]:
    """The proof for any number of managers, and what it finds of the first claim."""
    request = ProofRequest(system, None, {"managers": ANY}, None)
    proof = run_proof(request, Effort(timeout=30), (), 1, quiet=True)

    def explore(program: Program, states: int) -> Exploration:
        return run(program, evolve(BUDGET, max_states=states), quiet=True)

    evidence = search_evidence(request, proof, most, explore)
    return proof, judge(proof, evidence)[0]


@pytest.mark.parametrize("most", [0, 1, 2, 3])
def test_what_is_not_inductive_is_shown_with_the_fewest(most: int) -> None:
    """The step takes one manager more than the claim allows, two at least, and begins where what is proven holds."""
    proof, found = judged(few_abort(most, once_committed=True))
    assert isinstance(found.verdict.verdict, Unknown)
    assert "not proven for any number: give_up" in found.verdict.verdict.reason
    cti = found.counterexample
    assert cti is not None
    assert (cti.numbers, cti.reach) == (f"managers {max(2, most + 1)}", UNREACHABLE)
    (step,) = cti.step.steps
    assert (step.action, step.state.aborted.size()) == ("give_up", most + 1)
    assert proof.assumed() == ["committed-by-decision"]
    assert proof.theory.claim("committed-by-decision").holds(cti.step.initial)


def test_few_assume_what_is_proven() -> None:
    """Lemmas exclude that who aborts meets who has committed; so the step that breaks the claim takes a fourth one."""

    def claim(state: Any) -> Any:
        few = kc.implies(state.decision == ABORTED, state.aborted.size() <= 3)
        return kc.all_of(kc.any_of(state.aborted.is_empty(), state.committed.is_empty()), few)

    system = evolve(TWO_PHASE, properties=lambda _: [kc.always("both", "consistent, and few abort", claim)])
    proof, found = judged(system, most=0)
    assert "abort" in [answer.obligation.action for answer in proof.failures("both")]
    assert found.counterexample is not None
    assert found.counterexample.numbers == "managers 4"


def test_what_four_refute_is_refuted() -> None:
    """A number that has a counterexample is explored: a claim that two and three managers keep, and four do not."""
    _, found = judged(few_abort(3, once_committed=False))
    assert isinstance(found.verdict.verdict, Refuted)
    assert len(found.verdict.verdict.trace.steps) == 4
    assert found.counterexample is not None
    assert found.counterexample.reach == "reachable"


def test_without_a_counterexample_there_is_none() -> None:
    """A claim that five managers keep stays unknown, with the steps that are not proven."""
    _, found = judged(few_abort(5, once_committed=True))
    assert isinstance(found.verdict.verdict, Unknown)
    assert found.verdict.verdict.reason.startswith("no answer: give_up")
    assert found.counterexample is None


def test_what_is_not_looked_up_is_not_decided() -> None:
    """Without a search, or with one that was cut, the counterexample is shown and not called unreachable."""
    for most, reason in ((0, "--search 0"), (2, "state limit 2")):
        _, found = judged(few_abort(0, once_committed=True), most)
        assert found.counterexample is not None
        assert found.counterexample.reach == NOT_DECIDED
        assert reason in found.counterexample.where


def test_the_command_prints_the_step() -> None:
    """`kraftcheck prove` shows the numbers, the state and the step; a rule that is not proven ends with exit 22."""
    ran = kraftcheck("prove", "tests.shared.any_number:UNSUPPORTED", "--managers", "any", "--quiet", "--workers", "1")
    assert ran.code == 22
    assert "consistent: counterexample to induction with managers 2, unreachable (not among all 56 states" in ran.text
    assert "aborted: {} -> {" in ran.text


FOUR = evolve(
    TWO_PHASE, bounds=[kc.Bound("managers", 4, 5, "number of resource managers", takes_any=True)],
    scopes={"default": {"managers": 4}},
)  # fmt: skip


def test_the_least_may_be_more_than_few() -> None:
    """A system that takes no fewer than four is asked about four, and proven for any number."""
    words = ("prove", "tests.ci.prove.test_smallest:FOUR", "--managers", "any", "--quiet", "--workers", "1")
    assert kraftcheck(*words, "--search", "10000").code == 0
