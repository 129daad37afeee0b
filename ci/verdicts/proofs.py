"""The proofs of `kraftcheck check`: each claim must be proven, or must not be, as expected."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import frozen

from kraftcheck.ci.prove.command import ProofRequest, run_proof
from kraftcheck.ci.terminal.console import Screen
from kraftcheck.ci.verdicts.unexpected import UnexpectedVerdict
from kraftcheck.properties.expected.proofs import NOT_PROVEN
from kraftcheck.properties.expected.verdicts import Row
from kraftcheck.solvers.program.verdict import EXIT_INCOMPLETE, EXIT_UNKNOWN, EXIT_VACUOUS
from kraftcheck.solvers.smt.induction import Proof
from kraftcheck.solvers.smt.queries import Effort

EFFORT = Effort(timeout=120)
PROVEN, UNPROVEN = "proven", "not proven"


@frozen
class ProofRow:
    """A proof of the check.

    Attributes:
        row: system, scope, rule set.
        proof: what came of it.
        unexpected: claims that are proven and should not be, or the other way.
    """

    row: Row
    proof: Proof
    unexpected: tuple[UnexpectedVerdict, ...]

    @property
    def claims(self) -> int:
        """How many claims were judged."""
        return len(self.proof.theory.claims)

    def line(self) -> str:
        """The row as the check prints it."""
        answers = self.proof.answers.values()
        outcome = "as expected" if not self.unexpected else f"[bold red]{len(self.unexpected)} UNEXPECTED[/]"
        return (
            f"{' '.join(self.row):34} {len(answers):>12,} queries for any number of steps, "
            f"{sum(answer.seconds for answer in answers):.1f} s in Z3  {outcome}"
        )


def prove_row(screen: Screen, row: Row, workers: int, quiet: bool) -> list[ProofRow]:
    """The proof of a row, printed; none where it has none."""
    if row not in NOT_PROVEN:
        return []
    proof = run_proof(ProofRequest(row[0], row[1], {}, row[2]), EFFORT, (), workers, quiet)
    proof_row = ProofRow(row, proof, tuple(_unexpected(row, proof)))
    screen.print(proof_row.line(), soft_wrap=True)
    return [proof_row]


def _unexpected(row: Row, proof: Proof) -> Iterator[UnexpectedVerdict]:
    claims = [claim.id for claim in proof.theory.claims]
    for claim in claims:
        expected, actual = (
            (UNPROVEN if claim in NOT_PROVEN[row] else PROVEN),
            (PROVEN if proof.proven(claim) else UNPROVEN),
        )
        if expected != actual:
            failed = EXIT_INCOMPLETE if proof.stopped else EXIT_UNKNOWN
            yield UnexpectedVerdict(row, claim, expected, actual, EXIT_VACUOUS if actual == PROVEN else failed)
    for claim in sorted(set(NOT_PROVEN[row]) - set(claims)):
        yield UnexpectedVerdict(row, claim, UNPROVEN, "not judged", EXIT_VACUOUS)
