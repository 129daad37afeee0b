"""The proofs of `kraftcheck check`: what must be proven is, and what must not be proven is not."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import frozen

from kraftcheck.ci.prove.command import Asked, proven
from kraftcheck.ci.terminal.console import Screen
from kraftcheck.ci.verdicts.unexpected import Surprise
from kraftcheck.properties.expected.proofs import NOT_PROVEN
from kraftcheck.properties.expected.verdicts import Row
from kraftcheck.solvers.program.verdict import EXIT_INCOMPLETE, EXIT_UNKNOWN, EXIT_VACUOUS
from kraftcheck.solvers.smt.induction import Proof
from kraftcheck.solvers.smt.queries import Effort

EFFORT = Effort(timeout=120)
PROVEN, NOT = "proven", "not proven"


@frozen
class ProofRow:
    """A proof of the check.

    Attributes:
        row: system, scope, rule set.
        proof: what came of it.
        odd: claims that are proven and should not be, or the other way.
    """

    row: Row
    proof: Proof
    odd: tuple[Surprise, ...]

    @property
    def claims(self) -> int:
        """How many claims were judged."""
        return len(self.proof.theory.claims)

    def line(self) -> str:
        """The row as the check prints it."""
        answers = self.proof.answers.values()
        mine = "as expected" if not self.odd else f"[bold red]{len(self.odd)} UNEXPECTED[/]"
        return (
            f"{' '.join(self.row):34} {len(answers):>12,} queries for any number of steps, "
            f"{sum(answer.seconds for answer in answers):.1f} s in Z3  {mine}"
        )


def prove_row(screen: Screen, row: Row, workers: int, quiet: bool) -> list[ProofRow]:
    """The proof of a row, printed; none where it has none."""
    if row not in NOT_PROVEN:
        return []
    proof = proven(Asked(row[0], row[1], {}, row[2]), EFFORT, (), workers, quiet)
    done = ProofRow(row, proof, tuple(_odd(row, proof)))
    screen.print(done.line(), soft_wrap=True)
    return [done]


def _odd(row: Row, proof: Proof) -> Iterator[Surprise]:
    known = [claim.id for claim in proof.theory.claims]
    for claim in known:
        wanted, got = (NOT if claim in NOT_PROVEN[row] else PROVEN), (PROVEN if proof.proven(claim) else NOT)
        if wanted != got:
            failed = EXIT_INCOMPLETE if proof.stopped else EXIT_UNKNOWN
            yield Surprise(row, claim, wanted, got, EXIT_VACUOUS if got == PROVEN else failed)
    for claim in sorted(set(NOT_PROVEN[row]) - set(known)):
        yield Surprise(row, claim, NOT, "not judged", EXIT_VACUOUS)
