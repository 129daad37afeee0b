"""`kraftcheck bugs --engine z3`: a variant that refutes a proven property must break its proof."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from attrs import field, frozen

from kraftcheck.ci.prove.proof_rows import BrokenProofRow, Place, chosen, every_row, of_proofs, rows
from kraftcheck.ci.prove.question import run_proof
from kraftcheck.ci.prove.request import ProofRequest
from kraftcheck.ci.systems import report
from kraftcheck.ci.terminal.console import Screen, console
from kraftcheck.ci.terminal.files import check_writable, write_json
from kraftcheck.ci.terminal.interrupts import Interrupted
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.properties.catalogue import SYSTEMS
from kraftcheck.properties.register.proofs import NOT_FOR_ANY
from kraftcheck.solvers.program.verdict import EXIT_VACUOUS
from kraftcheck.solvers.smt.induction import Proof
from kraftcheck.solvers.smt.queries import UNDECIDED, Effort, ObligationAnswer
from kraftcheck.solvers.smt.reading.z3_endless import NOT_SHOWN

EFFORT = Effort(timeout=120)

TIME_UP = "; the solver's time was up"


@frozen
class BrokenClaim:
    """How the proof of a claim breaks.

    Attributes:
        claim: its id.
        by: the actions that break it, and where.
        answered: whether a solver had an answer, that nothing refutes the step; without, its time was up.
    """

    claim: str
    by: str
    answered: bool = True


@frozen
class BrokenProof:
    """The outcome of the proofs under a variant.

    Attributes:
        row: the variant.
        broken: the properties whose proofs broke.
        refused: for each property about which provers cannot be asked, why.
    """

    row: BrokenProofRow
    broken: tuple[BrokenClaim, ...]
    refused: dict[str, str] = field(factory=dict)

    @property
    def actions(self) -> dict[str, str]:
        """For each property whose proof broke, the actions that break it and where."""
        return {one.claim: one.by for one in self.broken}

    @property
    def proven(self) -> list[str]:
        """Properties that are still proven everywhere: their proofs prove nothing."""
        return [claim for claim in self.row.claims if claim not in {*self.actions, *self.refused}]

    @property
    def unanswered(self) -> list[str]:
        """Properties whose proofs broke only because the solver's time was up."""
        return [one.claim for one in self.broken if not one.answered]

    @property
    def faults(self) -> list[str]:
        """What must not be: properties that are proven all the same, or refused though `NOT_FOR_ANY` has no reason."""
        reviewed = (self.row.system, self.row.variant) in NOT_FOR_ANY
        return self.proven + ([] if reviewed else list(self.refused))


Attempt = Callable[[BrokenProofRow, int, bool], BrokenProof]
"""Tries to prove what a variant must refute, with so many workers, quietly or not."""


def attempt(row: BrokenProofRow, workers: int, quiet: bool) -> BrokenProof:
    """Try to prove, under a variant, what it must refute: in one place after the other, until every proof broke.

    In a place of the matrix only a proof that stands with the right rules can break.

    Raises:
        Interrupted: when a signal stopped it.
    """
    broken: list[BrokenClaim] = []
    for place in row.places():
        request = ProofRequest(row.system, place.scope, place.bounds, row.rules)
        claim_ids = {claim.id for claim in request.build().claims}
        remaining = [c for c in row.claims if c in claim_ids and c not in {one.claim for one in broken}]
        if remaining:
            failures = _failures(_proof(request, remaining, workers, quiet, row), remaining, place)
            if failures and not (row.base == "fixed" and place in of_proofs(row.system)):
                right = ProofRequest(row.system, place.scope, place.bounds, row.base)
                standing = _proof(right, [one.claim for one in failures], workers, quiet, row)
                failures = [one for one in failures if standing.proven(one.claim)]
            broken += failures
    return BrokenProof(row, tuple(broken))


def _proof(request: ProofRequest, claims: Sequence[str], workers: int, quiet: bool, row: BrokenProofRow) -> Proof:
    proof = run_proof(request, EFFORT, claims, workers, quiet)
    if proof.stopped:  # what was not asked any more is not broken
        raise Interrupted(f"stopped in the proofs of {row.system} {row.variant}")
    return proof


def _failures(proof: Proof, claims: Sequence[str], place: Place) -> list[BrokenClaim]:
    """The claims that are not inductive, with the actions that break them."""
    broken = []
    for claim in claims:
        if not proof.inductive(claim):
            answers = proof.failures(claim)
            by = sorted({answer.obligation.action for answer in answers})
            answered = not answers or any(map(is_answered, answers))
            broken.append(BrokenClaim(claim, f"{', '.join(by) or 'what it rests on'} in {place.words()}", answered))
    return broken


def is_answered(answer: ObligationAnswer) -> bool:
    """Whether the solver came to an end: for any number the end may be that the instances refute nothing."""
    return answer.result != UNDECIDED or answer.reason == NOT_SHOWN


def of_any_number(name: str) -> bool:
    """Whether a system has a bound that may be any."""
    return any(bound.takes_any for bound in SYSTEMS[name].bounds)


def broken_proofs(
    names: Sequence[str], workers: int, target: str | None, quiet: bool, method: Attempt | None = None
) -> int:
    """Go through the variants, report, and return the exit code: 0, or 21 where a proof does not break.

    Args:
        names: variants; none stands for all.
        workers, quiet: see `attempt`.
        target: where a document goes.
        method: how proofs for any number are broken, of the systems that have those; None: `attempt`.

    Raises:
        Refusal: for an unknown name, or one of systems without proofs for any number.
    """
    every = rows() if method is None else every_row()
    selected = [row for row in chosen(names, every) if method is None or of_any_number(row.system)]
    if not selected:
        raise Refusal(f"no property that {', '.join(names)} refutes is proven for any number; leave out --brokers")
    if target is not None:
        check_writable(target)
    screen, results = console(to_stderr=target == "-"), []
    for row in selected:
        results.append((method or attempt)(row, workers, quiet))
        _print(screen, results[-1], method is not None)
    code = EXIT_VACUOUS if any(result.faults for result in results) else 0
    if target is not None:
        write_json(target, document(results, code) | ({} if method is None else {"brokers": "any"}))
    screen.plain(closing(results, code))
    return code


def _print(screen: Screen, result: BrokenProof, of_any: bool) -> None:
    screen.plain(f"{result.row.system} {result.row.variant}")
    for one in result.broken:
        screen.plain(f"    {one.claim}: proof broken by {one.by}{'' if one.answered else TIME_UP}")
    for claim, reason in result.refused.items():
        screen.plain(f"    {'UNEXPECTED ' if claim in result.faults else ''}{claim} cannot be asked: {reason}")
    for claim in result.proven:
        also = ", or no run with few brokers refutes it" if of_any else ""
        screen.plain(f"    UNEXPECTED {claim} is proven all the same{also}")


def closing(results: Sequence[BrokenProof], code: int) -> str:
    """How many proofs were to break, and how many did not."""
    count = sum(len(result.row.claims) for result in results)
    kinds = (
        (sum(len(result.proven) for result in results), "do not break"),
        (sum(len(result.unanswered) for result in results), "break without an answer"),
        (sum(len(result.refused) for result in results), "cannot be asked"),
    )
    return (
        f"{len(results)} variants, {count} proofs: " + ", ".join(f"{n} {what}" for n, what in kinds) + f" (exit {code})"
    )


def document(results: Sequence[BrokenProof], code: int) -> dict[str, object]:
    """The column as plain values."""
    return {
        "version": report.DOCUMENT_VERSION,
        "command": "bugs",
        "engine": "z3",
        "exit_code": code,
        "bugs": [
            {"system": result.row.system, "variant": result.row.variant, "broken": dict(result.actions),
             "unbroken": result.proven, "unanswered": result.unanswered, "refused": dict(result.refused)}
            for result in results
        ],
        "versions": report.versions(),
    }  # fmt: skip
