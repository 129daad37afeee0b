"""Mutants of the column of Z3 in the matrix: which proofs must break, and what counts as broken."""

from __future__ import annotations

from tests.engine_mutants.mutant import Killer, Mutant
from tests.properties import test_broken_for_any, test_broken_proofs

BREAKING = (
    Mutant("matrix-unasked", "Only what a property names must break a proof, and not what the matrix shows.",
           "ci.prove.proof_rows:refuting", "[*shown, *named]", "[*named]",
           Killer(test_broken_proofs.test_every_row_of_the_matrix_is_asked_or_has_a_reason)),
    Mutant("variants-unasked", "Only what the matrix shows must break a proof, and not what a property names.",
           "ci.prove.proof_rows:refuting", "[*shown, *named]", "[*shown]",
           Killer(test_broken_proofs.test_every_row_of_the_matrix_is_asked_or_has_a_reason)),
    Mutant("broken-where-nothing-stands", "A proof breaks where the right rules have none.",
           "ci.prove.broken_proofs:attempt", "if standing.proven(one.claim)]", "]",
           Killer(test_broken_proofs.test_only_a_proof_that_stands_can_break, (1,))),
    Mutant("last-step-unasked", "What a run with few brokers refutes is not proven for any number, unasked.",
           "ci.prove.broken_for_any:_broken", "None if answer.result == PROVEN else", "",
           Killer(test_broken_for_any.test_a_step_that_breaks_nothing_is_proven_for_any_number)),
    Mutant("refused-passes", "A claim that cannot be asked for any number needs no reason.",
           "ci.prove.broken_proofs:BrokenProof.faults", "list(self.refused)", "[]",
           Killer(test_broken_for_any.test_a_claim_that_cannot_be_asked_needs_a_reason)),
    Mutant("time-up-is-an-answer", "A solver whose time is up has answered.",
           "ci.prove.broken_proofs:is_answered", "answer.result != UNDECIDED", "True",
           Killer(test_broken_for_any.test_a_solver_whose_time_is_up_is_told)),
)  # fmt: skip
