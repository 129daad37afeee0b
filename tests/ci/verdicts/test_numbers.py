"""What is proven for any number of brokers, compared with numbers: a contradiction is red, whatever is expected."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve

from kraftcheck.ci.prove.question import run_proof
from kraftcheck.ci.prove.request import ProofRequest
from kraftcheck.ci.verdicts import proofs, row
from kraftcheck.ci.verdicts.command import unexpected_code
from kraftcheck.ci.verdicts.proofs import EXPLORED, FINITE, numbers_that_agree, of_number, proven_with
from kraftcheck.model.language.system import ANY, System
from kraftcheck.properties.register.proofs import ANY_NUMBER, NOT_PROVEN
from kraftcheck.properties.register.verdicts import EVERY, expected
from kraftcheck.solvers.reference.confirm import EngineDisagreement
from kraftcheck.solvers.smt.induction import Proof
from kraftcheck.solvers.smt.queries import Effort, Premises, Questions
from kraftcheck.solvers.smt.theory import INITIATION
from tests.ci.verdicts.test_check_proofs import BUDGET, checked, faults
from tests.shared.any_number import FORGETS, LEASE

WRONG = ("elections", "tiny", "kip")
CLAIM = "leader-is-replica"
"""What the rules of `WRONG` refute, with two brokers."""
EFFORT = Effort(timeout=60)


def assume_what_is_false(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a premise of every proof for any number be false, as of a wrong axiom."""
    right = Questions.premises

    def wrong(self: Questions, action: str, assumed: Any, within: bool = True) -> Premises:
        premises = right(self, action, assumed, within)
        if action == INITIATION or not premises.endless():
            return premises
        graph = self.subject.program.graph
        false = {"a wrong axiom": self.read.expression(graph.constant(False))}
        return evolve(premises, truths={**premises.truths, **false})

    monkeypatch.setattr(Questions, "premises", wrong)


def of_any(system: System) -> ProofRequest:
    """The request to prove a lease for any number of brokers."""
    return ProofRequest(system, None, {"brokers": ANY}, None)


def lease_proof() -> Proof:
    """The proof that a lease's leader is unfenced."""
    proof = run_proof(of_any(LEASE), EFFORT, (), 1, quiet=True)
    assert proof.proven("leader-unfenced")
    return proof


def test_a_contradiction_makes_the_check_red(monkeypatch: pytest.MonkeyPatch) -> None:
    """A claim that a wrong axiom proves for any number, and that two brokers refute, ends the check with exit 24."""
    assert EVERY[WRONG][CLAIM].startswith("refuted")
    monkeypatch.setattr(proofs, "ANY_NUMBER", {WRONG: (CLAIM,)})
    monkeypatch.setattr("kraftcheck.ci.verdicts.command.proofs_named", lambda _: frozenset())
    assume_what_is_false(monkeypatch)
    ran = checked(WRONG)
    assert ran.code == 24
    assert f"{CLAIM} is proven, and a run of " in ran.err


def test_a_number_that_refutes_what_is_proven_for_any_is_a_fault() -> None:
    """A search with two brokers is compared with the proof, here of other rules."""
    with pytest.raises(EngineDisagreement, match="leader-unfenced is proven, and a run of 2 steps refutes it"):
        numbers_that_agree(of_any(FORGETS), lease_proof(), EFFORT, BUDGET, quiet=True)


def test_what_is_proven_and_refuted_of_a_row_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    """A proof at the bounds of a scope is compared with the search there, also where both are expected."""
    monkeypatch.setattr(row, "row_proofs", lambda *_: [proofs.ProofRow(WRONG, {CLAIM: True}, 1, 0.0, False)])
    parts = row.row_parts(WRONG, True, row.RowOptions(BUDGET, True, None, False))
    assert faults(next(parts)) == []
    with pytest.raises(EngineDisagreement, match=f"elections tiny kip: {CLAIM} is proven, and refuted"):
        next(parts)


def test_a_number_for_which_a_claim_is_not_inductive_is_a_fault() -> None:
    """The proof with five brokers and replicas is made with another encoding, and must succeed too."""
    elections = ProofRequest(WRONG[0], WRONG[1], {"brokers": ANY}, WRONG[2])
    assert dict(of_number(elections, FINITE).bounds) == {"brokers": FINITE, "replication": FINITE}
    assert proven_with(of_any(LEASE), ["leader-unfenced"], FINITE, EFFORT, 1, quiet=True)
    with pytest.raises(EngineDisagreement, match=r"leader-unfenced is proven for any .* and with 5 fence breaks it"):
        proven_with(of_any(FORGETS), ["leader-unfenced"], FINITE, EFFORT, 1, quiet=True)


def test_a_number_that_is_not_decided_is_no_pass() -> None:
    """A search that was cut agrees with nothing, and the check is incomplete then."""
    proof = lease_proof()
    assert numbers_that_agree(of_any(LEASE), proof, EFFORT, BUDGET, quiet=True) == (*EXPLORED, FINITE)
    cut = evolve(BUDGET, max_states=2)
    assert numbers_that_agree(of_any(LEASE), proof, EFFORT, cut, quiet=True) == (FINITE,)
    any_row = proofs._proof_row(("elections", "small", "fixed"), proof, {"brokers": ANY})
    assert [(one.id, unexpected_code(one)) for one in faults(evolve(any_row, numbers=(2, FINITE)))] == [
        ("with 3 brokers", 20)
    ]
    assert faults(evolve(any_row, numbers=(*EXPLORED, FINITE))) == []


def test_every_row_that_is_proven_for_any_number_is_explored_and_proven_as_well() -> None:
    """What the check proves for any number it expects to hold where it explores, and finds no proof to be open."""
    for any_row, claims in ANY_NUMBER.items():
        assert {expected(any_row, claim) for claim in claims} == {"holds"}
        assert not {*claims} & {*NOT_PROVEN.get(any_row, ())}
