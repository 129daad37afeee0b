"""What is proven for any number of brokers, compared with numbers: two are explored, and a third is proven.

The proofs share the rules, and differ in what a set of brokers is: the search runs on masks, a proof for a number on
masks in Z3, and one for any number on sequences and the axioms of sizes. A false axiom proves what a number refutes.
"""

from __future__ import annotations

from collections.abc import Sequence

from attrs import evolve

from kraftcheck.ci.prove.evidence import with_lemmas
from kraftcheck.ci.prove.question import run_proof
from kraftcheck.ci.prove.request import ProofRequest
from kraftcheck.ci.run.search import SearchBudget, run
from kraftcheck.ci.systems.subject import program
from kraftcheck.model.language.bound import ANY
from kraftcheck.solvers.reference.confirm import EngineDisagreement
from kraftcheck.solvers.smt.induction import Proof
from kraftcheck.solvers.smt.queries import REFUTED, Effort
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
    """Whether a search with a number of brokers was whole.

    Raises:
        EngineDisagreement: where it refutes what is proven.
    """
    found = run(program(with_lemmas(of_number(request, number).subject(proof=False))), budget, quiet)
    confirm_proven(proof, SearchEvidence(others=(found,)))
    return found.cut is None


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

    Args:
        request, proof: for any number of brokers.
        effort: limits of each query with `FINITE` brokers.
        budget: of each search.
        quiet: whether no progress is shown.

    Raises:
        EngineDisagreement: where it does not hold for one.
    """
    if not (proven := [claim for claim in proof.targets if proof.proven(claim)]):
        return ()
    agreeing = [number for number in EXPLORED if explored_with(request, proof, number, budget, quiet)]
    if proven_with(request, proven, FINITE, effort, budget.workers, quiet):
        agreeing.append(FINITE)
    return tuple(agreeing)
