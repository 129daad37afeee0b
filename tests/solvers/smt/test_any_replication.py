"""Proofs of `replication` for any number of brokers, each of which holds sets of the others."""

from __future__ import annotations

import time

import pytest

from kraftcheck.ci.systems.subject import subject
from kraftcheck.model.language.bound import ANY
from kraftcheck.solvers.smt.induction import obligations
from kraftcheck.solvers.smt.queries import INITIATION, PROVEN, Effort, Obligation, Questions
from kraftcheck.solvers.smt.session import SolverSession
from kraftcheck.solvers.smt.theory import Theory, theory
from tests.shared.commands import kraftcheck

DURABILITY = {
    "leader-complete", "candidates-complete", "consistent-reads", "logs-match", "acknowledged-survives",
    "recovery-quorum",
}  # fmt: skip
"""Claims whose lemmas speak of three brokers at a time: they are open for any number."""


def any_replication(rules: str = "fixed") -> Theory:
    """The theory of replication with any number of brokers."""
    chosen = subject("replication", "tiny", {"brokers": ANY}, rules, proof=True)
    return theory(chosen.system, chosen.setting)


def session(of: Theory, action: str, timeout: float = 60.0) -> SolverSession:
    """A session about an action that may assume every invariant but those that are open."""
    questions = Questions(of)
    assumed = [claim.id for claim in of.invariants if claim.id not in DURABILITY]
    return SolverSession(questions, questions.premises(action, assumed), Effort(timeout=timeout), time.monotonic)


def test_a_new_topic_on_any_number_of_brokers_has_every_invariant() -> None:
    """Whatever brokers there are, and however many replicas, a new topic satisfies every invariant, and can be."""
    of = any_replication()
    solver, names = session(of, INITIATION), [claim.id for claim in of.invariants]
    answers = {o.claim: solver.ask(o).result for o in obligations(of, names) if o.action == INITIATION}
    assert answers == dict.fromkeys(names, PROVEN)
    false = of.program.graph.constant(False)
    assert solver._check(Questions(of).read.expression(false), [false]).result != PROVEN


@pytest.mark.slow
def test_a_record_produced_keeps_all_but_durability() -> None:
    """A leader among any number that appends a record keeps every claim that is asked, its quorum's among them."""
    of = any_replication()
    solver = session(of, "produce")
    wanted = [o for o in obligations(of, [claim.id for claim in of.claims])
              if o.action == "produce" and o.claim not in DURABILITY]  # fmt: skip
    assert [o.claim for o in wanted if solver.ask(o).result != PROVEN] == []
    assert "quorum-superset" in {o.claim for o in wanted}


@pytest.mark.slow
@pytest.mark.parametrize(("rules", "proven"), [("fixed", True), ("fixed+refusal-taken-for-success", False)])
def test_a_leader_that_takes_a_refusal_for_success_is_not_proven_right(rules: str, proven: bool) -> None:
    """What a leader knows after an answer is the controller's ISR by the right rules, and not proven by the defect."""
    of = any_replication(rules)
    answer = session(of, "receive_answer", 20.0).ask(Obligation("metadata-match", "receive_answer"))
    assert (answer.result == PROVEN) == proven


@pytest.mark.parametrize("bound", ["--lag 2", "--unbounded 1"])
def test_what_any_number_does_not_bound_or_free_is_refused(bound: str) -> None:
    """A bound on how far brokers are behind, and logs without end, have no any-number layout: both are refused."""
    ran = kraftcheck("prove", "replication", "--brokers", "any", "--scope", "tiny", *bound.split())
    assert ran.code == 2
    assert "any number of brokers takes no bound lag below epochs, nor --unbounded" in ran.err
