"""The proofs of `kraftcheck check`, and what searches and proofs with few brokers say of those for any number."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from attrs import evolve, field, frozen

from kraftcheck.ci.prove.command import check_certificate, write_certificate
from kraftcheck.ci.prove.question import run_proof, with_lemmas
from kraftcheck.ci.prove.request import ProofRequest
from kraftcheck.ci.run.judged import HOLDS, JudgedProperty, JudgedRun, claims_of, expecting, not_judged
from kraftcheck.ci.run.questions import run
from kraftcheck.ci.systems.lookup import find_system
from kraftcheck.ci.systems.subject import Subject, program, subject
from kraftcheck.model.language.system import ANY
from kraftcheck.properties.register.proofs import ANY_NUMBER, CERTIFIED, NOT_PROVEN
from kraftcheck.properties.register.verdicts import Row
from kraftcheck.solvers.exploration.explore import SearchBudget
from kraftcheck.solvers.reference.confirm import EngineDisagreement
from kraftcheck.solvers.smt.induction import Proof
from kraftcheck.solvers.smt.queries import REFUTED, Effort
from kraftcheck.solvers.smt.smtlib import installed
from kraftcheck.solvers.smt.verdicts import SearchEvidence, confirm_proven

EXPLORED, FINITE = (2, 3), 5
"""Numbers of brokers that are explored; the number for which the same is proven again."""


def of_number(request: ProofRequest, number: int) -> ProofRequest:
    """A request with a number for what may be any, and for what that bounds, as the replicas of a partition."""
    bounds = request.subject().system.bounds
    counted = [bound.name for bound in bounds if request.bounds.get(bound.name) == ANY]
    numbers = {bound.name: number for bound in bounds if bound.name in counted or bound.freed_by in counted}
    return evolve(request, bounds={**request.bounds, **numbers})


def explored_with(request: ProofRequest, proof: Proof, number: int, budget: SearchBudget, quiet: bool) -> bool:
    """Whether a search with a number of brokers was whole, and reached what each proven claim speaks of.

    Raises:
        EngineDisagreement: where it refutes what is proven.
    """
    found = run(program(with_lemmas(of_number(request, number).subject(proof=False))), budget, quiet)
    evidence = SearchEvidence(others=(found,))
    confirm_proven(proof, evidence)
    return found.cut is None and all(evidence.reaches(claim) for claim in proof.targets if proof.proven(claim))


def proven_with(
    request: ProofRequest, claims: Sequence[str], number: int, effort: Effort, workers: int, quiet: bool
) -> bool:
    """Whether claims that are proven for any number are proven for this one too; False where there is no answer.

    Raises:
        EngineDisagreement: where one is not inductive.
    """
    finite = run_proof(of_number(request, number), effort, claims, workers, quiet)
    refuted = [a.obligation for claim in claims for a in finite.failures(claim) if a.result == REFUTED]
    if refuted:
        claim, action = refuted[0].claim, refuted[0].action
        raise EngineDisagreement(f"{claim} is proven for any number of brokers, and with {number} {action} breaks it")
    return all(map(finite.proven, claims))


def numbers_that_agree(
    request: ProofRequest, proof: Proof, effort: Effort, budget: SearchBudget, quiet: bool
) -> tuple[int, ...]:
    """The numbers of brokers for which what is proven for any number holds; one that is not decided is left out.

    Raises:
        EngineDisagreement: where it does not hold for one.
    """
    if not (proven := [claim for claim in proof.targets if proof.proven(claim)]):
        return ()
    agreeing = [number for number in EXPLORED if explored_with(request, proof, number, budget, quiet)]
    if proven_with(request, proven, FINITE, effort, budget.threads, quiet):
        agreeing.append(FINITE)
    return tuple(agreeing)


EFFORT = Effort(timeout=120)


@frozen
class ProofRow:
    """A proof of the check.

    Attributes:
        row: system, scope, rule set.
        proofs: of every claim that was to be proven, whether it is.
        queries, seconds: how many were answered, and in what time.
        stopped: whether it was stopped before it was finished.
        bounds: those that are not the scope's.
        certified: whether cvc5 confirmed the certificate; None where it was not asked.
        numbers: of a proof for any number of brokers, the numbers for which the same was found.
    """

    row: Row
    proofs: Mapping[str, bool]
    queries: int
    seconds: float
    stopped: bool
    bounds: Mapping[str, int] = field(factory=dict)
    certified: bool | None = None
    numbers: tuple[int, ...] = ()

    @property
    def proven(self) -> list[str]:
        """The ids of the claims that are proven."""
        return [id_ for id_, proven in self.proofs.items() if proven]

    def run(self) -> JudgedRun:
        """The claims beside what is expected of them, and the numbers of brokers with which none is decided."""
        chosen, open_claims = self.subject(), NOT_PROVEN.get(self.row, ())
        claims, failed = claims_of(chosen), "incomplete" if self.stopped else "unknown"
        rows = [
            expecting(
                JudgedProperty(id_, claims[id_].kind if id_ in claims else "always", HOLDS if proven else failed,
                               "for any number of steps" if proven else "not proven", proven, claim=claims.get(id_)),
                "unknown" if id_ in open_claims else HOLDS,
            )
            for id_, proven in self.proofs.items()
        ]  # fmt: skip
        if self.bounds and self.proven:
            rows += [JudgedProperty(f"with {number} brokers", "always", "incomplete", "not decided", False)
                     for number in sorted({*EXPLORED, FINITE} - {*self.numbers})]  # fmt: skip
        missing = not_judged(chosen, sorted({*open_claims} - {*self.proofs}), "nothing to prove has this name")
        rows += [expecting(one, "unknown") for one in missing]
        return JudgedRun(chosen, "prove", tuple(rows), self.seconds)

    def subject(self) -> Subject:
        """What was proven."""
        return subject(self.row[0], self.row[1], self.bounds, self.row[2], proof=True)

    def line(self, outcome: str) -> str:
        """The proof as the check prints it."""
        few = f" (so with {', '.join(map(str, self.numbers))})" if self.numbers else ""
        number = "".join(f" and of {name}" for name in self.bounds) + few
        confirmed = {None: "", True: ", confirmed by cvc5", False: "; cvc5 is not installed, and was not asked"}
        return (
            f"{' '.join(self.row):34} {self.queries:>12,} queries for any number of steps{number}, "
            f"{self.seconds:.1f} s in Z3{confirmed[self.certified]}  {outcome}"
        )


def row_proofs(row: Row, proven: bool, budget: SearchBudget, quiet: bool) -> Iterator[ProofRow]:
    """The proofs of a row, at its scope's bounds if asked; none follows one that was stopped.

    As many processes as the budget has threads ask Z3.

    Raises:
        EngineDisagreement: where what is proven for any number of brokers is refuted for one.
    """
    if proven:
        yield (of_scope := _of_scope(row, budget.threads, quiet))
        if of_scope.stopped:
            return
    if row in ANY_NUMBER:
        yield _of_any_number(row, budget, quiet)


def _of_scope(row: Row, workers: int, quiet: bool) -> ProofRow:
    """The proof of every claim at the bounds of the scope; its certificate is checked where that is expected."""
    proof = run_proof(ProofRequest(row[0], row[1], {}, row[2]), EFFORT, (), workers, quiet)
    certified = None if row != CERTIFIED or proof.stopped else _confirmed(row, proof)
    return _proof_row(row, proof, {}, certified)


def _of_any_number(row: Row, budget: SearchBudget, quiet: bool) -> ProofRow:
    """The proof of some claims for any number of brokers, from each other alone; and what numbers say of them."""
    whole, names = find_system(row[0]), ANY_NUMBER[row]
    few = evolve(
        whole,
        properties=lambda setting: [claim for claim in whole.properties(setting) if claim.id in names],
        lemmas=lambda setting: [claim for claim in whole.lemmas(setting) if claim.id in names],
    )
    bounds = {bound.name: ANY for bound in whole.bounds if bound.takes_any}
    request = ProofRequest(few, row[1], bounds, row[2], compared=False)
    proof = run_proof(request, EFFORT, (), 1, quiet)
    numbers = () if proof.stopped else numbers_that_agree(request, proof, EFFORT, budget, quiet)
    return evolve(_proof_row(row, proof, bounds), numbers=numbers)


def _proof_row(row: Row, proof: Proof, bounds: Mapping[str, int], certified: bool | None = None) -> ProofRow:
    claims = {claim.id: proof.proven(claim.id) for claim in proof.theory.claims}
    seconds = sum(answer.seconds for answer in proof.answers.values())
    return ProofRow(row, claims, len(proof.answers), seconds, proof.stopped, bounds=bounds, certified=certified)


def _confirmed(row: Row, proof: Proof) -> bool:
    """Whether cvc5 confirmed a proof's certificate; not where it is not installed; raises EngineDisagreement."""
    if not installed("cvc5"):
        return False
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "certificate"
        write_certificate(subject(row[0], row[1], {}, row[2], proof=True), proof, place)
        checked = check_certificate(place)
    if checked.returncode:
        fault = (checked.stdout + checked.stderr).strip().partition("\n")[0]
        raise EngineDisagreement(f"{' '.join(row)}: cvc5 does not confirm the certificate: {fault}")
    return True
