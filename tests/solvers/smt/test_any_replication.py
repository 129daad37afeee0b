"""Proofs of `replication` for any number of brokers, each of which holds sets of the others."""

from __future__ import annotations

import time
from collections.abc import Sequence

import pytest

from kraftcheck.ci.prove.request import ProofRequest
from kraftcheck.ci.systems.subject import subject
from kraftcheck.model.language.system import ANY
from kraftcheck.solvers.smt.induction import obligations
from kraftcheck.solvers.smt.queries import PROVEN, Effort, ObligationAnswer, Questions
from kraftcheck.solvers.smt.theory import DOMAINS, INITIATION, Theory, theory
from kraftcheck.solvers.smt.worker import SolverSession, proof_worker
from tests.shared.commands import kraftcheck


def any_replication(rules: str = "fixed", epochs: int = 1) -> Theory:
    """The theory of replication with any number of brokers and so many changes of the leader epoch."""
    chosen = subject("replication", "tiny", {"brokers": ANY, "epochs": epochs}, rules, proof=True)
    return theory(chosen.system, chosen.setting)


def session(of: Theory, action: str, timeout: float = 60.0) -> SolverSession:
    """A session about an action that may assume every invariant."""
    questions = Questions(of)
    premises = questions.premises(action, [claim.id for claim in of.invariants])
    return SolverSession(questions, premises, Effort(timeout=timeout), time.monotonic)


def open_claims(of: Theory, action: str, names: Sequence[str] = ()) -> list[str]:
    """Of some claims, or of all, those that are not proven of an action."""
    solver = session(of, action)
    asked = [o for o in obligations(of, names or [claim.id for claim in of.claims]) if o.action == action]
    assert asked
    return [o.claim for o in asked if solver.ask(o).result != PROVEN]


def test_a_new_topic_on_any_number_of_brokers_has_every_invariant() -> None:
    """Whatever brokers there are, and however many replicas, a new topic satisfies every invariant, and can be."""
    of = any_replication()
    assert open_claims(of, INITIATION) == []
    false = of.program.graph.constant(False)
    assert session(of, INITIATION)._check(Questions(of).read.expression(false), [false]).result != PROVEN


COMMITTING = ("leader-complete", "consistent-reads", "acknowledged-survives")
"""Claims that a record appended by the only member of an ISR might break."""


def test_a_record_produced_is_safe_with_any_number_of_brokers() -> None:
    """Appending a record, which commits it where nobody else is waited for, keeps headline claims."""
    assert open_claims(any_replication(), "produce", COMMITTING) == []


ACTIONS = (
    "produce", "produce_acks_1", "fetch", "apply_metadata", "propose_expand", "propose_shrink", "receive_answer",
    "alter_partition", "fence", "unfence", "register", "elect_preferred", "crash",
)  # fmt: skip
"""All actions."""


def asked(action: str, names: Sequence[str], epochs: int = 1) -> list[ObligationAnswer]:
    """The answers to what is asked of an action, from what three brokers use first."""
    request = ProofRequest("replication", "tiny", {"brokers": ANY, "epochs": epochs}, "fixed")
    of = proof_worker(request.build(), request.builders(), Effort(timeout=300), time.monotonic)
    subject_ = of.questions.subject
    wanted = [o for o in obligations(subject_, names or [c.id for c in subject_.claims]) if o.action == action]
    return of.answer(wanted, [claim.id for claim in subject_.invariants])


def test_the_actions_are_all_that_there_are() -> None:
    """No action is left out of the proof."""
    assert sorted(kind.action.name for kind in any_replication().program.kinds) == sorted(ACTIONS)


@pytest.mark.slow
@pytest.mark.parametrize("action", ACTIONS)
def test_every_claim_is_kept_with_any_number_of_brokers(action: str) -> None:
    """Every invariant, lemma and step property of `replication` is proven of the action, and it is possible."""
    of = any_replication()
    answers = asked(action, ())
    assert {answer.obligation.claim for answer in answers} == {claim.id for claim in of.claims}
    assert [answer.obligation.claim for answer in answers if answer.result != PROVEN] == []
    false = of.program.graph.constant(False)
    assert session(of, action)._check(Questions(of).read.expression(false), [false]).result != PROVEN


@pytest.mark.slow
@pytest.mark.parametrize("action", ACTIONS)
def test_every_claim_is_kept_with_two_changes_of_the_leader_epoch(action: str) -> None:
    """With two changes of the leader epoch every step keeps every claim too."""
    answers = asked(action, (), epochs=2)
    assert {answer.obligation.claim for answer in answers} == {claim.id for claim in any_replication(epochs=2).claims}
    assert [answer.obligation.claim for answer in answers if answer.result != PROVEN] == []


@pytest.mark.slow
@pytest.mark.parametrize("epochs", [1, 2])
@pytest.mark.parametrize("action", ACTIONS)
def test_only_the_last_epoch_bounds_any_number_of_brokers(action: str, epochs: int) -> None:
    """No field leaves its domain, but that an election after the last leader epoch is left out."""
    (answer,) = asked(action, DOMAINS, epochs)
    assert {*answer.fields} <= {"leader_epoch", "brokers.epoch"}
    assert answer.faults == ()


BROKEN = [
    ("hw-uses-committed-isr-only", "fetch", "lemma-candidates-hold-committed"),
    ("truncation-keeps-watermark", "fetch", "watermark-within-log"),
    ("no-leader-epoch-start-check", "propose_expand", "lemma-proposed-has-caught-up"),
    ("refusal-taken-for-success", "receive_answer", "metadata-match"),
    ("leader-change-keeps-epoch", "elect_preferred", "epochs-monotone"),
    ("fenced-may-join-isr", "alter_partition", "isr-active"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("variant", "action", "claim"), BROKEN)
def test_a_defect_of_replication_is_not_proven_away(variant: str, action: str, claim: str) -> None:
    """What a variant breaks is not proven for any number under it, and is by the right rules."""
    assert open_claims(any_replication(f"fixed+{variant}"), action, [claim]) == [claim]
    assert open_claims(any_replication(), action, [claim]) == []


def test_what_any_number_does_not_bound_is_refused() -> None:
    """A bound on how far brokers are behind has no any-number layout, and is refused."""
    ran = kraftcheck("prove", "replication", "--brokers", "any", "--scope", "tiny", "--lag", "2")
    assert ran.code == 2
    assert "any number of brokers takes no bound lag below epochs" in ran.err


def unbounded() -> Theory:
    """The theory of replication with any number of brokers, records and leader epochs."""
    chosen = subject("replication", "tiny", {"brokers": ANY, "unbounded": 1}, "fixed", proof=True)
    return theory(chosen.system, chosen.setting)


@pytest.mark.slow
def test_a_new_topic_without_any_bound_has_every_invariant() -> None:
    """Of any number of brokers, records and leader epochs a new topic satisfies every invariant, and can be."""
    of = unbounded()
    assert open_claims(of, INITIATION) == []
    false = of.program.graph.constant(False)
    assert session(of, INITIATION)._check(Questions(of).read.expression(false), [false]).result != PROVEN


@pytest.mark.slow
def test_few_have_the_epochs_that_explorers_take() -> None:
    """What is asked of few brokers first is of logs and epochs with a bound, with the same properties."""
    few = ProofRequest("replication", "tiny", {"brokers": ANY, "unbounded": 1}, "fixed").few()
    judged = [[claim.id for claim in of.claims if claim.id not in of.lemmas] for of in (few, unbounded())]
    assert judged[0] == judged[1]
    assert not few.endless
